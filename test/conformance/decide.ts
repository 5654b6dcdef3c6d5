/** The contract of decisions about a letter: edit its data, discard it, restore it. */
import { expect } from "vitest";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE } from "./workbench.ts";

export function decideTests(test: Declare): void {
  editing(test);
  discarding(test);
  restoring(test);
}

function editing(test: Declare): void {
  test("an edit creates a revision and keeps the previous data", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const at = bench.clock.now();
    const first = await bench.edit("a", { data: { name: "A" }, note: "typo" });
    bench.clock.advance(1000);
    const second = await bench.edit("a", { data: null, rule: "rule-1" });
    const amendments = [
      { revision: 2, at, author: AUTHOR, note: "typo", operationId: first, before: { name: "a" } },
      {
        revision: 3,
        at: at + 1000,
        author: AUTHOR,
        rule: "rule-1",
        operationId: second,
        before: { name: "A" },
      },
    ];
    expect(await bench.letter("a")).toMatchObject({ itemData: null, revision: 3, state: "dead" });
    expect((await bench.letter("a"))?.amendments).toEqual(amendments);
    expect(await bench.engine.listAmendments((await bench.item("a")).ref)).toEqual(amendments);
  });

  test("a bulk edit gives each letter its own data", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.begin("op-1", { kind: "edit" });
    const selected = await bench.engine.listSelected("op-1", { limit: 9 });
    const letters = selected.map(({ letterSequence, itemId }) => ({
      letterSequence,
      data: { fixed: itemId },
    }));
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({ done: 3, refused: 0 });
    for (const itemId of ["a", "b", "c"])
      expect(await bench.item(itemId)).toMatchObject({ data: { fixed: itemId }, revision: 2 });
  });

  test("an edit with equal data creates no revision and counts as done", async (bench) => {
    await bench.registerHolder();
    await bench.engine.add(QUEUE, [{ itemId: "a", data: { x: 1, y: [2] } }]);
    await bench.settle(buried(await bench.leaseOne()));
    await bench.begin("op-1", { kind: "edit" });
    const letters = [{ letterSequence: await bench.letterSequence("a"), data: { y: [2], x: 1 } }];
    expect(await bench.engine.advance("op-1", { letters })).toMatchObject({ done: 1, refused: 0 });
    expect(await bench.letter("a")).toMatchObject({ revision: 1 });
    expect(await bench.letter("a")).not.toHaveProperty("amendments");
    expect(await bench.told("dlq_item_amended")).toEqual([]);
  });

  test("each amendment has its own event", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const first = await bench.edit("a", { data: 1 });
    const second = await bench.edit("a", { data: 2, rule: "rule-1" });
    expect(
      (await bench.told("dlq_item_amended")).map(({ itemId, queue, data }) => [queue, itemId, data]),
    ).toEqual([
      [QUEUE, "a", { operation_id: first, revision: 2, author: AUTHOR }],
      [QUEUE, "a", { operation_id: second, revision: 3, author: AUTHOR, rule: "rule-1" }],
    ]);
  });

  test("a redriven letter is processed with its new data and stays in its group", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { signature: "s1" });
    await bench.edit("a", { data: { fixed: true } });
    expect(await bench.engine.listGroups({})).toMatchObject([{ signature: "s1", count: 1 }]);
    expect(await bench.redriveOne("op-1", "a")).toMatchObject({
      data: { fixed: true },
      revision: 2,
      redriveCount: 1,
    });
  });

  test("a leased letter cannot be edited", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1", { kind: "edit" });
    const letterSequence = await bench.letterSequence("a");
    await bench.redriveOne("op-2", "a");
    const step = { letters: [{ letterSequence, data: 1 }] };
    expect(await bench.engine.advance("op-1", step)).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.item("a")).toMatchObject({ data: { name: "a" }, revision: 1 });
  });

  test("intake compares with the original data of an item", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.edit("a", { data: { name: "A" } });
    const original = await bench.engine.add(QUEUE, [{ itemId: "a", data: { name: "a" } }]);
    expect(original).toMatchObject({ existing: 1, changed: 0 });
    const edited = await bench.engine.add(QUEUE, [{ itemId: "a", data: { name: "A" } }]);
    expect(edited).toMatchObject({ existing: 0, changed: 1 });
    expect(await bench.item("a")).toMatchObject({ data: { name: "A" } });
  });

  test("an item without amendments has an empty list", async (bench) => {
    await bench.add("a");
    expect(await bench.engine.listAmendments((await bench.item("a")).ref)).toEqual([]);
    expect(await bench.engine.listAmendments(9999)).toEqual([]);
  });
}

function discarding(test: Declare): void {
  test("a discarded letter can still be read, with its author and reason", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    bench.clock.advance(1000);
    const { id } = await bench.operate("discard", ["a"], { reason: "not ours" });
    expect(await bench.letter("a")).toMatchObject({
      state: "discarded",
      itemData: { name: "a" },
      failureCount: 1,
      resolution: {
        kind: "discard",
        at: bench.clock.now(),
        author: AUTHOR,
        reason: "not ours",
        operationId: id,
      },
    });
  });

  test("a discarded letter no longer waits: groups and counts exclude it, and it is not leased", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.operate("discard", ["a"]);
    expect(await bench.letterIds()).toEqual(["b"]);
    expect(await bench.engine.listGroups({})).toMatchObject([{ count: 1 }]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 1, discarded: 1, letters: 1, total: 2 });
    expect(await bench.engine.info()).toMatchObject({ letters: 1, items: 2 });
    expect(await bench.lease(5)).toEqual([]);
  });

  test("invariant 6: each discarded letter has an event, and the step has one too", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1", { kind: "discard" });
    await bench.redriveOne("op-2", "b");
    await bench.engine.advance("op-1", { max: 10 });
    const told = await bench.told("dlq_item_removed", "dlq_items_discarded");
    expect(told.map(({ type, itemId, data }) => [type, itemId, data])).toEqual([
      ["dlq_item_removed", "a", { why: "discarded", operation_id: "op-1" }],
      ["dlq_items_discarded", undefined, { operation_id: "op-1", count: 1, refused: 1 }],
    ]);
  });
}

function restoring(test: Declare): void {
  test("a restored letter has its old data and its old letter number", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    const before = await bench.letter("a");
    await bench.operate("discard", ["a"]);
    bench.clock.advance(90_000);
    await bench.operate("restore", ["a"]);
    expect(await bench.letter("a")).toEqual(before);
    expect(await bench.letterIds()).toEqual(["b", "a"]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 2, discarded: 0, letters: 2 });
    expect(await bench.engine.listGroups({})).toMatchObject([{ count: 2 }]);
  });

  test("a restored letter can be redriven like any other", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("discard");
    await bench.operate("restore");
    await bench.settle(retried(await bench.redriveOne("op-1", "a")));
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ kind: "requeue" });
  });

  test("each restored letter has an event, and the step has one too", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { signature: "s1" });
    await bench.operate("discard");
    const cursor = await bench.lastEvent();
    const { id } = await bench.operate("restore");
    const told = await bench.engine.listEvents({ after: cursor, limit: 10 });
    expect(told.map(({ type, itemId, data }) => [type, itemId, data])).toEqual([
      ["dlq_item_added", "a", { reason: "restored", signature: "s1", operation_id: id }],
      ["dlq_items_restored", undefined, { operation_id: id, count: 1, refused: 0 }],
    ]);
  });
}
