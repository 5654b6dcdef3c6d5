/**
 * What a test of the runner works with: one store with one queue, a clock that the test moves, handlers as functions,
 * and a record of what the runner told its observer.
 */
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import type { AttemptContext, Handler } from "../../src/attempt/handler.ts";
import type { Engine, SettleAndLease } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { ErrorClass } from "../../src/item/error-type.ts";
import type { Item, LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/retry/policy.ts";
import type { RunObserver, RunOptions, RunResult } from "../../src/runner/run-options.ts";
import { runQueue } from "../../src/runner/runner.ts";
import { assert } from "../../src/std/assert.ts";
import type { Clock } from "../../src/std/clock.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { failureOf } from "../support/settlements.ts";
import { sqliteStores } from "../support/sqlite-stores.ts";
import type { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";

/** How to open each engine that the runner is tested with. */
export const ENGINES: readonly (readonly [string, Open])[] = [
  ["memory", async (clock) => openMemoryEngine({ clock })],
  ["sqlite", (clock, directory) => sqliteStores(directory).open(clock)],
];

type Open = (clock: Clock, directory: TemporaryDirectory) => Promise<Engine>;

export interface Run {
  /** Resolves with the result or the error that `runQueue` threw. */
  readonly end: Promise<RunResult | { readonly error: unknown }>;
  isOver: boolean;
  stop(): void;
}

export class RunKit {
  readonly clock: TestClock;
  readonly engine: Engine;
  /** The steps that the runners asked of the store, those that failed too. */
  readonly steps: SettleAndLease[] = [];

  private constructor(clock: TestClock, engine: Engine) {
    this.clock = clock;
    this.engine = engine;
  }

  /** A store with the queue and items of these ids in it. */
  static async open(
    open: Open,
    directory: TemporaryDirectory,
    ...itemIds: readonly string[]
  ): Promise<RunKit> {
    const clock = new TestClock();
    const kit = new RunKit(clock, await open(clock, directory));
    await kit.engine.createJob({ id: QUEUE, name: "a queue", kind: "map", spec: {} });
    await kit.engine.add(QUEUE, itemIds.map(newItem));
    return kit;
  }

  /** Starts a runner on the kit's clock. Four slots and no retries unless told otherwise. */
  run(handler: Handler, options: Partial<RunOptions> & { readonly policy?: Policy } = {}): Run {
    const abort = new AbortController();
    const engine = this.#recording(options.engine ?? this.engine);
    const run: Run = {
      end: runQueue({
        queue: QUEUE,
        policy: policyOf(),
        slots: 4,
        clock: this.clock,
        random: () => 0.5,
        ...options,
        handler,
        engine,
        stop: abort.signal,
      }).then(
        (result) => over(result),
        (error: unknown) => over({ error }),
      ),
      isOver: false,
      stop: () => abort.abort(),
    };
    const over = <T>(end: T): T => {
      run.isOver = true;
      return end;
    };
    return run;
  }

  /** Lets time pass in small steps until the condition holds. */
  async until(condition: () => boolean, limitMs = 120_000): Promise<void> {
    const deadline = this.clock.now() + limitMs;
    for (;;) {
      await breathe();
      if (condition()) return;
      assert(
        this.clock.now() < deadline,
        `it did not come to be within ${limitMs} ms: ${condition.toString()}`,
      );
      this.clock.advance(STEP_MS);
    }
  }

  /** Lets this much time pass, and everything happen that has to. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    await breathe();
    while (this.clock.now() < until) {
      this.clock.advance(Math.min(STEP_MS, until - this.clock.now()));
      await breathe();
    }
  }

  /** Lets time pass until the run has ended; what it ended with. */
  async end(run: Run): Promise<RunResult | { readonly error: unknown }> {
    await this.until(() => run.isOver);
    return run.end;
  }

  async item(itemId: string): Promise<Item> {
    const [found] = await this.engine.findItems(itemId, { queue: QUEUE, limit: 1 });
    assert(found?.itemId === itemId, `there is no item ${itemId}`);
    return found;
  }

  /** The outcomes of all attempts of an item, oldest first. */
  async outcomes(itemId: string): Promise<readonly string[]> {
    const attempts = await this.engine.listAttempts((await this.item(itemId)).ref);
    return attempts.map(({ outcome }) => outcome);
  }

  /** How many items are in each of the states that have any, and the number of attempts. */
  async counts(): Promise<Record<string, number>> {
    const counts = await this.engine.count(QUEUE);
    return Object.fromEntries(Object.entries(counts).filter(([name, n]) => n > 0 && name !== "total"));
  }

  /** The store must be clean and hold no lease of a runner that has ended. */
  async close(): Promise<void> {
    expect(await this.engine.check()).toEqual([]);
    await this.engine.close();
  }

  #recording(engine: Engine): Engine {
    return {
      ...engine,
      settleAndLease: (holderId, settleAndLease) => {
        this.steps.push(settleAndLease);
        return engine.settleAndLease(holderId, settleAndLease);
      },
    };
  }
}

const STEP_MS = 25;

/** Lets every promise and immediate that is on its way arrive; a turn of the runner takes a few. */
async function breathe(): Promise<void> {
  for (let turns = 0; turns < 12; turns += 1) await setImmediate();
}

export function policyOf(change: Partial<Policy> = {}): Policy {
  const backoff = { kind: "fixed", delayMs: 1000, jitter: false } as const;
  return { ...DEFAULT_POLICY, maxAttempts: 1, backoff, ...change };
}

export const succeed = async (): Promise<Outcome> => ({ kind: "succeeded" });

/** A handler that always fails in this way. */
export function fail(errorClass: ErrorClass = "unknown", retryAfterMs?: number) {
  return async (item: LeasedItem): Promise<Outcome> => ({
    kind: "failed",
    failure: failureOf(item, { errorClass }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Attempts that the test ends by hand. */
export class Hands {
  /** The ids of all items that were started, in order. */
  readonly started: string[] = [];
  /** The ids of those whose signal was aborted. */
  readonly aborted: string[] = [];
  mostAtOnce = 0;
  readonly #held = new Map<string, (outcome: Outcome) => void>();

  get running(): readonly string[] {
    return [...this.#held.keys()];
  }

  /** Holds each attempt until it is let go; one that is aborted ends as released, as a good handler does. */
  readonly handler = (item: LeasedItem, { signal }: AttemptContext): Promise<Outcome> => {
    this.started.push(item.itemId);
    return new Promise((resolve) => {
      const end = (outcome: Outcome) => {
        this.#held.delete(item.itemId);
        resolve(outcome);
      };
      this.#held.set(item.itemId, end);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#held.size);
      signal.addEventListener("abort", () => {
        if (this.#held.get(item.itemId) !== end) return;
        this.aborted.push(item.itemId);
        end({ kind: "released", why: String(signal.reason) });
      });
    });
  };

  /** Ends the attempt of an item, as a success unless told otherwise. */
  letGo(itemId: string, outcome: Outcome = { kind: "succeeded" }): void {
    const end = this.#held.get(itemId);
    assert(end, `${itemId} does not run`);
    end(outcome);
  }

  letAllGo(): void {
    for (const itemId of this.running) this.letGo(itemId);
  }
}

/** Writes down what the runner says. */
export class Notebook implements RunObserver {
  readonly lines: string[] = [];
  started = (item: LeasedItem): void => void this.lines.push(`started ${item.itemId}`);
  settled: NonNullable<RunObserver["settled"]> = (item, { verdict }) =>
    void this.lines.push(`${verdict.kind} ${item.itemId}`);
  added = (items: number): void => void this.lines.push(`added ${items}`);
  trouble: NonNullable<RunObserver["trouble"]> = ({ code }) => void this.lines.push(`trouble ${code}`);
  recovered = (): void => void this.lines.push("recovered");
}
