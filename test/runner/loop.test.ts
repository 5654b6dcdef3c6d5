import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, fail, Hands, Notebook, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.each(ENGINES)("the runner's loop on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("runs every item once and reports that it has finished", async () => {
    await make("a", "b", "c");
    const notebook = new Notebook();
    expect(await kit.end(kit.run(succeed, { slots: 1, observer: notebook }))).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 3, attempts: 3 });
    expect(notebook.lines.filter((line) => line.startsWith("started"))).toEqual([
      "started a",
      "started b",
      "started c",
    ]);
    expect(notebook.lines.indexOf("done a")).toBeLessThan(notebook.lines.indexOf("done b"));
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("stores the progress of an attempt at once and then once a second, always the newest", async () => {
    await make("a");
    const told: unknown[] = [];
    let report: (value: number) => void = () => {};
    const hands = new Hands();
    const run = kit.run(
      (item, context) => {
        report = context.progress;
        return hands.handler(item, context);
      },
      { observer: { progress: ({ itemId }, value) => told.push([itemId, value]) } },
    );
    const stored = async () =>
      (await kit.engine.listItems({ queue: QUEUE, limit: 1 })).map(({ progress }) => progress?.value);
    await kit.until(() => hands.running.length === 1);
    for (const value of [1, 2, 3]) report(value);
    expect(told).toEqual([
      ["a", 1],
      ["a", 2],
      ["a", 3],
    ]);
    expect(await stored()).toEqual([1]);
    await kit.pass(900);
    expect(await stored()).toEqual([1]);
    await kit.pass(200);
    expect(await stored()).toEqual([3]);
    expect(() => report("x".repeat(5000) as unknown as number)).toThrow("the limit is 4096");
    hands.letGo("a");
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await stored()).toEqual([3]);
  });

  it("retries an item as often as the item says", async () => {
    await make("a");
    await kit.engine.add(QUEUE, [{ ...newItem("b"), retries: 0 }]);
    const tries: string[] = [];
    const run = kit.run(
      async (item) => {
        tries.push(item.itemId);
        return fail()(item);
      },
      { slots: 1, policy: policyOf({ maxAttempts: 3 }) },
    );
    await kit.end(run);
    expect(tries.filter((id) => id === "a")).toHaveLength(3);
    expect(tries.filter((id) => id === "b")).toHaveLength(1);
  });

  it("finishes an empty queue", async () => {
    await make();
    expect(await kit.end(kit.run(succeed))).toEqual({ end: "finished" });
  });

  it("never runs more at once than it has slots, and fills a slot that has become free", async () => {
    await make("a", "b", "c", "d", "e");
    const hands = new Hands();
    const run = kit.run(hands.handler, { slots: 2 });
    await kit.until(() => hands.running.length === 2);
    await kit.pass(2000);
    expect(hands.started).toEqual(["a", "b"]);
    expect(await kit.counts()).toEqual({ ready: 3, leased: 2, attempts: 2 });
    hands.letGo("a");
    await kit.until(() => hands.started.length === 3);
    expect(hands.running).toEqual(["b", "c"]);
    while (!run.isOver) {
      hands.letAllGo();
      await kit.pass(25);
    }
    expect(hands.mostAtOnce).toBe(2);
    expect(await kit.counts()).toEqual({ done: 5, attempts: 5 });
  });

  it("each slot has one attempt at a time, and the attempt knows its slot", async () => {
    await make("a", "b", "c", "d", "e", "f");
    const busy = new Set<number>();
    const seen = new Set<number>();
    const handler = async (_item: LeasedItem, { slot }: { slot: number }): Promise<Outcome> => {
      expect(busy.has(slot)).toBe(false);
      busy.add(slot);
      seen.add(slot);
      await kit.clock.sleep(50);
      busy.delete(slot);
      return { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { slots: 3 }));
    expect([...seen].sort()).toEqual([1, 2, 3]);
  });

  it("group commit: attempts that end together are settled in one step", async () => {
    await make("a", "b", "c", "d");
    const hands = new Hands();
    const run = kit.run(hands.handler, { slots: 4 });
    await kit.until(() => hands.running.length === 4);
    hands.letAllGo();
    await kit.end(run);
    expect(kit.steps.map(({ settle }) => settle.length).filter((size) => size > 0)).toEqual([4]);
  });

  it("invariant 2: an end is reported only after the store has it", async () => {
    await make("a");
    const states: Promise<string>[] = [];
    const observer = { settled: () => void states.push(kit.item("a").then(({ state }) => state)) };
    await kit.end(kit.run(succeed, { observer }));
    expect(await Promise.all(states)).toEqual(["done"]);
  });

  it.each<[string, unknown, RegExp]>([
    ["null", null, /threw null/],
    ["a symbol", Symbol("odd"), /Symbol\(odd\)/],
    ["undefined", undefined, /threw undefined/],
    ["an error whose message throws", hostileError(), /cannot be shown|Error|threw/],
  ])("a handler that throws %s has failed, and the failure is on record", async (_name, thrown, message) => {
    await make("a", "b");
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      if (item.itemId === "a") throw thrown;
      return { kind: "succeeded" };
    };
    expect(await kit.end(kit.run(handler))).toEqual({ end: "finished" });
    const letter = await kit.engine.readLetter((await kit.item("a")).ref);
    expect(letter?.failureHistory).toHaveLength(1);
    expect(letter?.failureHistory[0]?.errorMessage).toMatch(message);
    expect(letter?.failureHistory[0]).toMatchObject({ attemptNumber: 1, stepFailed: "handler" });
    expect(await kit.counts()).toEqual({ done: 1, dead: 1, letters: 1, attempts: 2 });
  });

  it("a handler that throws before it returns a promise has failed too", async () => {
    await make("a");
    const handler = (): Promise<Outcome> => {
      throw new Error("at once");
    };
    await kit.end(kit.run(handler));
    expect((await kit.engine.readLetter((await kit.item("a")).ref))?.failureHistory[0]?.errorMessage).toBe(
      "at once",
    );
  });

  it.each([1, 2, 4])("with %i attempts allowed, that many are made", async (maxAttempts) => {
    await make("a");
    await kit.end(kit.run(fail(), { policy: policyOf({ maxAttempts }) }));
    expect(await kit.outcomes("a")).toEqual(new Array(maxAttempts).fill("failed"));
    expect((await kit.engine.readLetter((await kit.item("a")).ref))?.failureHistory).toHaveLength(
      maxAttempts,
    );
  });

  it("a retry waits for its due time and occupies no slot meanwhile", async () => {
    await make("a", "b", "c");
    const starts: [string, number][] = [];
    const zero = kit.clock.now();
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      starts.push([item.itemId, kit.clock.now() - zero]);
      return item.itemId === "a" && item.attempt === 1 ? fail()(item) : { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { slots: 1, policy: policyOf({ maxAttempts: 2 }) }));
    expect(starts.map(([itemId]) => itemId)).toEqual(["a", "b", "c", "a"]);
    const [firstAt, , , retryAt] = starts.map(([, at]) => at);
    expect((retryAt ?? 0) - (firstAt ?? 0)).toBeGreaterThanOrEqual(1000);
  });

  it("a clock that is set back does not keep the runner from polling", async () => {
    await make("a");
    const hands = new Hands();
    let putBackMs = 0;
    const clock = {
      now: () => kit.clock.now() - putBackMs,
      monotonicNow: kit.clock.monotonicNow,
      uptimeNow: kit.clock.uptimeNow,
      after: (ms: number, action: () => void) => kit.clock.after(ms, action),
      sleep: (ms: number, signal?: AbortSignal) => kit.clock.sleep(ms, signal),
    };
    const run = kit.run(hands.handler, { slots: 2, clock });
    await kit.until(() => hands.running.length === 1);
    await kit.pass(1000);
    putBackMs = 3_600_000;
    await kit.engine.add(QUEUE, [newItem("b")]);
    await kit.until(() => hands.running.length === 2, 5000);
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
  });

  it("two runners share a queue and do nothing twice", async () => {
    await make(...Array.from({ length: 40 }, (_none, index) => `item-${index}`));
    const started: string[] = [];
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      started.push(item.itemId);
      await kit.clock.sleep(30);
      return { kind: "succeeded" };
    };
    const runs = [kit.run(handler, { slots: 3 }), kit.run(handler, { slots: 3 })];
    for (const run of runs) expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(new Set(started).size).toBe(40);
    expect(started).toHaveLength(40);
  });

  it("waits for what another runner holds, and runs items that others add meanwhile", async () => {
    await make("a");
    const other = new Hands();
    const mine: string[] = [];
    const first = kit.run(other.handler);
    await kit.until(() => other.running.length === 1);
    const second = kit.run(async (item) => {
      mine.push(item.itemId);
      return { kind: "succeeded" };
    });
    await kit.pass(3000);
    expect(second.isOver).toBe(false);
    await kit.engine.add(QUEUE, [{ itemId: "late", data: 1 }]);
    await kit.until(() => mine.length + other.started.length === 2);
    other.letAllGo();
    await kit.until(() => first.isOver && second.isOver);
    expect(await kit.counts()).toEqual({ done: 2, attempts: 2 });
  });
});

function hostileError(): Error {
  return Object.defineProperty(new Error("never read"), "message", {
    get() {
      throw new Error("no message for you");
    },
  });
}
