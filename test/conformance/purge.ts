/** The contract of purging letters: what is deleted, what stays, and that each is counted and has an event. */
import { expect } from "vitest";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function purgeTests(test: Declare): void {
  deleting(test);
  counting(test);
  clearing(test);
}

/** A letter with all optional parts. */
async function richLetter(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  await bench.add("a");
  const late = await bench.leaseOne();
  await bench.settle(retried(late));
  await bench.engine.settleAndLease(null, { settle: [succeeded(late)] });
  await bench.settle(buried(await bench.leaseOne()));
  await bench.edit("a", { data: { secret: "s" } });
  await bench.engine.addNote((await bench.item("a")).ref, { author: "ada", text: "note" });
  expect(await bench.letter("a")).toMatchObject({ revision: 2, lateResults: [{}], notes: [{}] });
}

function deleting(test: Declare): void {
  for (const kind of ["purge", "evict"] as const) {
    test(`a ${kind} deletes a letter with all its data, and the bare item remains`, async (bench) => {
      await richLetter(bench);
      const { ref } = await bench.item("a");
      expect(await bench.operate(kind)).toMatchObject({ kind, status: "ended", done: 1 });
      expect(await bench.engine.readLetter(ref)).toBeNull();
      expect(await bench.engine.listAttempts(ref)).toEqual([]);
      expect(await bench.engine.listAmendments(ref)).toEqual([]);
      expect(await bench.item("a")).toMatchObject({ ref, data: null, state: "discarded", attempts: 2 });
      expect(await bench.letterIds({ states: ["dead", "discarded", "done"] })).toEqual([]);
      expect(await bench.engine.listGroups({})).toEqual([]);
      expect(await bench.engine.addNote(ref, { author: "ada", text: "too late" })).toBe(false);
    });
  }

  test("a discarded letter is deleted in the same way", async (bench) => {
    await richLetter(bench);
    await bench.operate("discard");
    await bench.operate("purge", undefined, { filter: { states: ["discarded"] } });
    expect(await bench.letter("a")).toBeNull();
    expect(await bench.item("a")).toMatchObject({ data: null, state: "discarded", attempts: 2 });
  });

  test("only the record of a resolved letter is deleted: the item, its data and its attempts remain", async (bench) => {
    await richLetter(bench);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    const { ref } = await bench.item("a");
    const attempts = await bench.engine.listAttempts(ref);
    await bench.operate("purge", undefined, { filter: { states: ["done"] } });
    expect(await bench.letter("a")).toBeNull();
    expect(await bench.item("a")).toMatchObject({ state: "done", data: { secret: "s" }, attempts: 3 });
    expect(await bench.engine.listAttempts(ref)).toEqual(attempts);
    expect(await bench.engine.listAmendments(ref)).toHaveLength(1);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ done: 1, resolved: 0, purged: 1 });
  });

  test("a purged item is not added again, whatever its data", async (bench) => {
    await richLetter(bench);
    await bench.operate("purge");
    const report = await bench.engine.add(QUEUE, [newItem("a"), { itemId: "a", data: "other" }]);
    expect(report).toEqual({ added: 0, existing: 2, changed: 0, changedIds: [], replaced: 0 });
    expect(await bench.lease(5)).toEqual([]);
  });

  test("no other operation can process a deleted letter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    for (const kind of ["redrive", "discard", "purge"] as const) await bench.begin(kind, { kind });
    await bench.operate("evict");
    for (const kind of ["redrive", "discard", "purge"] as const)
      expect(await bench.engine.advance(kind, { max: 9 })).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.begin("op-1", { kind: "restore" })).toMatchObject({ selected: 0 });
  });
}

function counting(test: Declare): void {
  test("invariant 6: every removal has an event and is counted", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["purged", "cleared", "evicted", "stays"]);
    await bench.operate("discard", ["cleared"]);
    const cursor = await bench.lastEvent();
    const purge = await bench.operate("purge", ["purged"]);
    const clear = await bench.operate("clear", ["cleared"], { filter: { states: ["discarded"] } });
    const evict = await bench.operate("evict", ["evicted"]);
    const told = await bench.engine.listEvents({ after: cursor, limit: 100 });
    expect(told.map(({ type, itemId, data }) => [type, itemId ?? data?.count, data?.why])).toEqual([
      ["dlq_item_removed", "purged", "purged"],
      ["dlq_items_purged", 1, undefined],
      ["dlq_item_removed", "cleared", "cleared"],
      ["dlq_items_cleared", 1, undefined],
      ["dlq_item_removed", "evicted", "evicted"],
      ["dlq_items_evicted", 1, undefined],
    ]);
    const operations = told.map(({ data }) => data?.operation_id);
    expect(operations).toEqual([purge, purge, clear, clear, evict, evict].map(({ id }) => id));
    expect(await bench.engine.count(QUEUE)).toMatchObject({ purged: 2, evicted: 1, letters: 1, dead: 1 });
  });

  test("the totals of a queue do not change when letters are deleted", async (bench) => {
    await richLetter(bench);
    await bench.bury(["b"]);
    await bench.operate("purge", ["a"]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({
      total: 2,
      dead: 1,
      discarded: 1,
      letters: 1,
      attempts: 3,
    });
  });

  test("a step that deletes nothing and refuses nothing writes no event", async (bench) => {
    await bench.registerHolder();
    await bench.begin("op-1", { kind: "purge" });
    const cursor = await bench.lastEvent();
    await bench.engine.advance("op-1", { max: 10 });
    expect(await bench.eventTypes(cursor)).toEqual([]);
  });
}

function clearing(test: Declare): void {
  test("a clear deletes resolved and discarded letters, and never a waiting one", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["resolved", "discarded", "ready", "leased", "dead"]);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "resolved")));
    await bench.operate("discard", ["discarded"]);
    await bench.redriveOne("op-2", "leased");
    await bench.operate("redrive", ["ready"]);
    const states = ["dead", "ready", "leased", "discarded", "done"] as const;
    const operation = await bench.operate("clear", undefined, { filter: { states } });
    expect(operation).toMatchObject({ selected: 5, done: 2, refused: 3 });
    expect(await bench.letterIds()).toEqual(["dead", "leased", "ready"]);
    expect(await bench.letterIds({ states: ["discarded", "done"] })).toEqual([]);
  });
}
