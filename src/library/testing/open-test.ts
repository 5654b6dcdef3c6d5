/**
 * Opens an in-memory store for a test, with a clock that the test controls and `drain` to wait for the
 * workers.
 */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { RedriveError } from "../../errors.ts";
import * as t from "../../std/check-input.ts";
import { systemClock } from "../../std/clock.ts";
import type { OpenContext, Running } from "../context.ts";
import type { Middleware } from "../middleware.ts";
import { openContext } from "../open.ts";
import { middlewares } from "../queue-options.ts";
import { Redrive } from "../redrive.ts";
import { type Duration, durationFrom, type Shape, type Time, time } from "../values.ts";
import { TestClock } from "./test-clock.ts";

/** The options of `openTest`. */
export interface TestOptions {
  /** The time at which the clock starts. Default: the current time. */
  readonly start?: Time;
  /** Middleware around each attempt, outermost first, as in the program. */
  readonly use?: readonly Middleware[];
}

/** The options of `drain`. */
export interface DrainOptions {
  /** Repeatedly moves the clock to the next due time until no item is waiting. Default false. */
  readonly advance?: boolean;
  /** How long handlers may take in real time. After that `drain` rejects with `wait_timeout`. Default 5 s. */
  readonly timeout?: Duration;
}

const testOptions = z.strictObject({
  start: time.optional(),
  use: middlewares.optional(),
} satisfies Shape<TestOptions>);

const drainOptions = z.strictObject({
  advance: t.flag.optional(),
  timeout: durationFrom(1).optional(),
} satisfies Shape<DrainOptions>);

const DRAIN_MS_MAX = 5000;
/**
 * A worker that was notified polls within two rounds of the event loop, because the store is in this process.
 */
const QUIET_ROUNDS = 10;
/** The number of rounds without a pause. After that, the wait yields the CPU to slow handlers. */
const BUSY_ROUNDS = 50;
const PAGE_MAX = 500;

/** Opens an in-memory store for one test. Close it, or declare it with `await using`. */
export async function openTest(options: TestOptions = {}): Promise<TestStore> {
  t.checkInput(testOptions, options, { caller: "openTest", name: "options" });
  const clock = new TestClock(options.start);
  const home = join(tmpdir(), `redrive-test-${randomUUID()}`); // the folder is created only if something is written to it
  const turns = new Set<string>();
  const context: OpenContext = {
    ...(await openContext("memory:", { clock, home, ...(options.use && { use: options.use }) })),
    running: new RunningWorkers(turns),
    onTurn: (queue) => void turns.add(queue),
  };
  return new TestStore(context, { clock, home, turns });
}

/** A worker that has just started must poll once before its queue counts as idle. */
class RunningWorkers extends Set<Running> {
  readonly #turns: Set<string>;

  constructor(turns: Set<string>) {
    super();
    this.#turns = turns;
  }

  override add(worker: Running): this {
    this.#turns.delete(worker.queue);
    return super.add(worker);
  }

  override delete(worker: Running): boolean {
    this.#turns.add(worker.queue); // it may have ended before its first poll, while other workers of the queue are idle
    return super.delete(worker);
  }
}

interface TestParts {
  readonly clock: TestClock;
  readonly home: string;
  /** The queues whose workers have polled at least once. */
  readonly turns: ReadonlySet<string>;
}

/** An in-memory store with its clock. */
export class TestStore implements AsyncDisposable {
  /** The store, as `open` returns it. */
  readonly redrive: Redrive;
  readonly clock: TestClock;
  readonly #context: OpenContext;
  readonly #parts: TestParts;

  /** @internal */
  constructor(context: OpenContext, parts: TestParts) {
    this.redrive = new Redrive(context);
    this.clock = parts.clock;
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * Waits until the workers of this program have processed all due items. Without a worker, items remain
   * waiting.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    const given = t.parseInput(drainOptions, options, { caller: "drain", name: "options" });
    const { advance = false, timeout = DRAIN_MS_MAX } = given;
    const endsAt = systemClock.monotonicNow() + timeout;
    do await this.#untilQuiet(endsAt, timeout);
    while (advance && (await this.#moveToNextItem()));
  }

  /** Stops the workers and closes the store. */
  async close(): Promise<void> {
    await this.redrive.close({ timeout: 0 });
    await rm(this.#parts.home, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #untilQuiet(endsAt: number, timeoutMs: number): Promise<void> {
    const { clock } = this;
    for (let quiet = 0, round = 0; quiet < QUIET_ROUNDS; round += 1) {
      const { activity } = clock;
      await (round < BUSY_ROUNDS ? nextRound() : systemClock.sleep(1));
      const isQuiet = !(await this.#isWorking()) && activity === clock.activity;
      quiet = isQuiet ? quiet + 1 : 0;
      if (!isQuiet && systemClock.monotonicNow() > endsAt) throw await this.#tooLate(timeoutMs);
    }
  }

  async #isWorking(): Promise<boolean> {
    const { engine, running } = this.#context;
    for (const queue of queuesOf(running)) {
      if (!this.#parts.turns.has(queue)) return true;
      if ((await engine.count(queue)).leased > 0) return true;
    }
    return false;
  }

  async #tooLate(timeoutMs: number): Promise<RedriveError> {
    const { engine, running } = this.#context;
    const names: string[] = [];
    for (const queue of queuesOf(running)) {
      const leased = await engine.listItems({ queue, states: ["leased"], limit: 3 });
      names.push(...leased.map(({ itemId }) => `${itemId} of ${queue}`));
    }
    const what = names.length === 0 ? "The workers are not idle" : `Still running: ${names.join(", ")}`;
    return new RedriveError("wait_timeout", `${what}, after ${timeoutMs} ms.`, {
      hint: "If a handler waits for the clock, move the clock while drain waits. Otherwise give drain a longer timeout.",
    });
  }

  /** Returns false if no item is waiting for a later time. */
  async #moveToNextItem(): Promise<boolean> {
    const { engine, running } = this.#context;
    let nextAt = Number.POSITIVE_INFINITY;
    for (const queue of queuesOf(running))
      for (let after: number | undefined = 0; after !== undefined; ) {
        const items = await engine.listItems({ queue, states: ["ready"], after, limit: PAGE_MAX });
        for (const { dueAt } of items) if (dueAt > this.clock.now()) nextAt = Math.min(nextAt, dueAt);
        after = items.length === PAGE_MAX ? items.at(-1)?.ref : undefined;
      }
    if (!Number.isFinite(nextAt)) return false;
    this.clock.set(nextAt);
    return true;
  }
}

function queuesOf(running: OpenContext["running"]): ReadonlySet<string> {
  return new Set([...running].map(({ queue }) => queue));
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
