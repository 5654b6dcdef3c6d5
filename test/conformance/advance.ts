/** The contract of operation steps of all kinds: what they process, what they refuse, and that the totals are consistent. */
import { expect } from "vitest";
import { leftOf, OPERATION_KINDS, REFUSAL } from "../../src/item/operation.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, type Workbench } from "./workbench.ts";

export function advanceTests(test: Declare): void {
  steps(test);
  books(test);
  dueTimes(test);
}

function steps(test: Declare): void {
  test("a step processes only the letters that it names", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.begin("op-1", { kind: "discard", reason: "not ours" });
    const letterSequences = [await bench.letterSequence("c"), await bench.letterSequence("a"), 9999];
    const letters = letterSequences.map((letterSequence) => ({ letterSequence }));
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({
      selected: 3,
      done: 2,
      refused: 0,
    });
    expect(await bench.letterIds()).toEqual(["b"]);
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({ done: 2, refused: 0 });
  });

  test("a letter that is named twice in a step is processed once, with the first entry", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1", { kind: "edit" });
    const letterSequence = await bench.letterSequence("a");
    const letters = [1, 2].map((data) => ({ letterSequence, data }));
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({ done: 1, refused: 0 });
    expect(await bench.item("a")).toMatchObject({ data: 1, revision: 2 });
  });

  test("every kind refuses a letter that changed after its data was read", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1", { kind: "edit", filter: { itemIds: ["a"] } });
    const letterSequence = await bench.letterSequence("a");
    await bench.engine.advance("op-1", { letters: [{ letterSequence, data: 1, revision: 1 }] });
    for (const [id, kind, data] of [
      ["op-2", "edit", { data: 2 }],
      ["op-3", "purge", {}],
    ] as const) {
      await bench.begin(id, { kind, filter: { itemIds: ["a"] } });
      const stale = { letters: [{ letterSequence, revision: 1, ...data }] };
      expect(await bench.engine.advance(id, stale)).toMatchObject({ done: 0, refused: 1 });
      expect(await bench.engine.listRefusals(id)).toEqual([{ reason: REFUSAL.gone, count: 1 }]);
    }
    expect(await bench.item("a")).toMatchObject({ data: 1, revision: 2 });
  });

  test("a letter that its step refuses stays unchanged, and the reason is stored", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    const letters = [{ letterSequence: await bench.letterSequence("a"), refuse: "the schema says no" }];
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.letter("a")).toMatchObject({ state: "dead", redriveCount: 0 });
    expect(await bench.engine.listRefusals("op-1")).toEqual([{ reason: "the schema says no", count: 1 }]);
  });

  test("a step stores the progress that it is given, even if it processes no letter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1, progress: { stage: 1, seen: ["s1"] } });
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ progress: { stage: 1, seen: ["s1"] } });
    const next = await bench.engine.advance("op-1", { progress: { stage: 2 } });
    expect(next.progress).toEqual({ stage: 2 });
    expect(await bench.told("dlq_items_reprocessed")).toHaveLength(1);
  });

  test("a letter that succeeded meanwhile is refused and not run again", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1", { force: true });
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect(await bench.engine.advance("op-1", { max: 1 })).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.engine.listRefusals("op-1")).toEqual([{ reason: REFUSAL.gone, count: 1 }]);
    expect(await bench.item("a")).toMatchObject({ state: "done", attempts: 2 });
  });

  test("of two operations on the same letters, the second refuses what the first has taken", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1");
    await bench.begin("op-2", { kind: "discard" });
    await bench.engine.advance("op-1", { max: 1 });
    expect(await bench.engine.advance("op-2", { max: 10 })).toMatchObject({ done: 1, refused: 1 });
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 1, refused: 1 });
    expect(await bench.item("a")).toMatchObject({ state: "ready" });
    expect(await bench.item("b")).toMatchObject({ state: "discarded" });
  });

  test("a letter that was restored after its selection for deletion is refused", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("discard");
    await bench.begin("op-1", { kind: "purge", filter: { states: ["discarded"] } });
    await bench.operate("restore");
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.letter("a")).toMatchObject({ state: "dead", itemData: { name: "a" } });
  });
}

function books(test: Declare): void {
  /** Two letters in the states that the kind processes, one that has changed since, and one that was not selected. */
  const prepare = async (bench: Workbench, kind: (typeof OPERATION_KINDS)[number]) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d"]);
    if (kind === "restore" || kind === "clear") await bench.operate("discard");
    const states = kind === "restore" || kind === "clear" ? (["discarded"] as const) : (["dead"] as const);
    await bench.begin("op-1", { kind, filter: { states } });
    await bench.operate("purge", ["b"], { filter: { states } });
  };

  for (const kind of OPERATION_KINDS) {
    test(`invariant 7: a ${kind} accounts for all selected letters at every step`, async (bench) => {
      await prepare(bench, kind);
      const letterSequences = (await bench.engine.listSelected("op-1", { limit: 9 })).map(
        ({ letterSequence }) => letterSequence,
      );
      const seen: number[][] = [];
      for (const letterSequence of letterSequences) {
        const { selected, done, refused } = await bench.engine.advance("op-1", {
          letters: [{ letterSequence, ...(kind === "edit" && { data: letterSequence }) }],
        });
        const pending = await bench.engine.listSelected("op-1", { status: "pending", limit: 9 });
        expect(selected).toBe(done + refused + pending.length);
        seen.push([done, refused, pending.length]);
      }
      expect(seen).toEqual([
        [1, 0, 3],
        [1, 1, 2],
        [2, 1, 1],
        [3, 1, 0],
      ]);
      const operation = await bench.engine.closeOperation("op-1");
      expect(leftOf(operation)).toBe(kind === "redrive" ? 3 : 0);
      expect(operation.status).toBe(kind === "redrive" ? "open" : "ended");
    });
  }

  test("an ended operation has a status and an end time", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1", { kind: "discard" });
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "open" });
    await bench.engine.advance("op-1", { max: 10 });
    bench.clock.advance(500);
    const endedAt = bench.clock.now();
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "ended", endedAt });
    expect(await bench.engine.listOperations({ open: true })).toEqual([]);
  });

  test("a redrive counts the letters that failed again with the same failure", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"], { signature: "s1" });
    await bench.operate("redrive");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three letters were redriven");
    await bench.settle(buried(a, { signature: "s1" }), buried(b, { signature: "s2" }), succeeded(c));
    const [operation] = await bench.engine.listOperations({});
    expect(operation).toMatchObject({ done: 3, succeeded: 1, failed: 2, returned: 1, author: AUTHOR });
  });
}

function dueTimes(test: Declare): void {
  test("a redrive can set how long its letters wait", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1, due: { delayMs: 3000, sinceBurialMs: [] } });
    expect(await bench.item("a")).toMatchObject({ state: "ready", dueAt: bench.clock.now() + 3000 });
    expect(await bench.lease(1)).toEqual([]);
  });

  test("the wait since the burial grows with the number of redrives; the last entry repeats", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const due = { delayMs: 0, sinceBurialMs: [1000, 5000] };
    for (const [round, wait] of [1000, 5000, 5000].entries()) {
      const buriedAt = bench.clock.now();
      bench.clock.advance(400);
      await bench.begin(`op-${round}`);
      await bench.engine.advance(`op-${round}`, { max: 1, due });
      expect(await bench.item("a")).toMatchObject({ dueAt: buriedAt + wait });
      bench.clock.advance(wait);
      await bench.settle(buried(await bench.leaseOne()));
    }
  });

  test("the longer of the two waits applies", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    bench.clock.advance(4000);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1, due: { delayMs: 500, sinceBurialMs: [1000] } });
    expect(await bench.item("a")).toMatchObject({ dueAt: bench.clock.now() + 500 });
  });
}
