/** One store, a service behind a faulty network, a clock that the test moves when it wants to, and targets that are closed at the end. */
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { Target, type TargetOptions } from "../../src/delivery/target.ts";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { Item } from "../../src/item/item.ts";
import { assert } from "../../src/std/assert.ts";
import type { Clock } from "../../src/std/clock.ts";
import { FaultyProxy } from "../support/faulty-proxy.ts";
import { TestClock } from "../support/test-clock.ts";
import { ReceiptServer } from "./receipt-server.ts";

export const TARGET = "asyncgate";

export const RECEIPT = {
  lease_id: "abc-123",
  task_id: "task-456",
  worker_id: "cognigate-0",
  status: "complete",
  timestamp: "2024-01-15T10:30:00Z",
  summary: "Task completed successfully",
  artifact_pointers: ["s3://bucket/results.json"],
} as const;

export class DeliveryKit {
  readonly engine: Engine;
  readonly server: ReceiptServer;
  readonly proxy: FaultyProxy;
  readonly clock: TestClock | undefined;
  readonly #targets: Target[] = [];

  private constructor(parts: Pick<DeliveryKit, "engine" | "server" | "proxy" | "clock">) {
    this.engine = parts.engine;
    this.server = parts.server;
    this.proxy = parts.proxy;
    this.clock = parts.clock;
  }

  /** With the time of the machine, unless a clock is asked for that the test moves. */
  static async open(time: "real" | "tested" = "real", engine?: Engine): Promise<DeliveryKit> {
    const clock = time === "tested" ? new TestClock() : undefined;
    const server = await ReceiptServer.open();
    const proxy = await FaultyProxy.before(server.url);
    return new DeliveryKit({
      engine: engine ?? openMemoryEngine({ ...(clock && { clock }) }),
      server,
      proxy,
      clock,
    });
  }

  /** The address of the service, through the faulty network. */
  get url(): string {
    return this.proxy.through(this.server.url);
  }

  /** A target that leads to the service, without waits between tries unless told otherwise. */
  target(options: TargetOptions = {}): Target {
    const clock: { clock?: Clock } = this.clock ? { clock: this.clock } : {};
    const target = new Target(this.engine, TARGET, { url: this.url, backoffBase: 0, ...clock, ...options });
    this.#targets.push(target);
    return target;
  }

  async item(key: string): Promise<Item> {
    const [found] = await this.engine.findItems(key, { queue: TARGET, limit: 1 });
    assert(found?.itemId === key, `there is no receipt ${key}`);
    return found;
  }

  /** The outcomes of all tries of a receipt, oldest first. */
  async outcomes(key: string): Promise<readonly string[]> {
    return (await this.engine.listAttempts((await this.item(key)).ref)).map(({ outcome }) => outcome);
  }

  /** Why the tries of a receipt failed: type, class and message. */
  async failures(key: string): Promise<readonly (readonly [string, string, string])[]> {
    const attempts = await this.engine.listAttempts((await this.item(key)).ref);
    return attempts.flatMap(({ failure }) =>
      failure ? [[failure.errorType.name, failure.errorClass, failure.errorMessage] as const] : [],
    );
  }

  /** How often each status was counted. */
  async statuses(): Promise<Record<string, number>> {
    const counters = await this.engine.listCounters();
    const own = counters.filter(({ queue, name }) => queue === TARGET && name.startsWith("receipt."));
    return Object.fromEntries(own.map(({ name, value }) => [name.slice("receipt.".length), value]));
  }

  /** Lets time pass in small steps until the condition holds. */
  async until(what: string, condition: () => boolean | Promise<boolean>, stepMs = STEP_MS): Promise<void> {
    const clock = this.clock;
    assert(clock, "only a clock of the test can be moved");
    const deadline = clock.now() + STEPS_MAX * stepMs;
    while (!(await condition())) {
      assert(clock.now() < deadline, `it did not come to be: ${what}`);
      await this.#breathe();
      clock.advance(stepMs);
    }
  }

  /** What goes over a socket takes a few turns of the event loop. */
  async #breathe(): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  }

  /** The store must be clean when all is over. */
  async close(): Promise<void> {
    const closing = Promise.all(this.#targets.map((target) => target.close()));
    let isOver = false;
    void closing.finally(() => {
      isOver = true;
    });
    if (this.clock) await this.until("closed", () => isOver);
    await closing;
    expect(await this.engine.check()).toEqual([]);
    await this.proxy.close();
    await this.server.close();
    await this.engine.close();
  }
}

const STEP_MS = 50;
const STEPS_MAX = 20_000;
