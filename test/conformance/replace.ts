/** The contract of replacing intake: new data for waiting items only, as a new revision. */
import { expect } from "vitest";
import type { NewItem } from "../../src/item/item.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

const replace = ({ engine }: Workbench, ...items: readonly NewItem[]) =>
  engine.add(QUEUE, items, { replace: { author: AUTHOR } });
const NONE = { added: 0, existing: 0, changed: 0, changedIds: [], replaced: 0 } as const;

export function replaceTests(test: Declare): void {
  waiting(test);
  others(test);
}

function waiting(test: Declare): void {
  test("a waiting item gets the new data as a new revision, and the old data is kept", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    bench.clock.advance(500);
    const at = bench.clock.now();
    expect(await replace(bench, { itemId: "a", data: [2] })).toEqual({ ...NONE, replaced: 1 });
    const item = await bench.item("a");
    expect(item).toMatchObject({ data: [2], revision: 2, state: "ready" });
    expect(await bench.engine.listAmendments(item.ref)).toEqual([
      { revision: 2, at, author: AUTHOR, before: { name: "a" } },
    ]);
    expect(await bench.told("item_replaced")).toMatchObject([
      { at, queue: QUEUE, itemId: "a", data: { revision: 2, author: AUTHOR } },
    ]);
    expect(await bench.lease(5)).toMatchObject([{ itemId: "a", data: [2], revision: 2 }]);
  });

  test("a replacement sets name, priority, due time and expiry; fields that it omits have their defaults", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    const more = {
      name: "old",
      priority: "high",
      dueAt: now + 9000,
      expiresAt: now + 9999,
      orderingKey: "l",
    } as const;
    await bench.engine.add(QUEUE, [{ itemId: "a", data: 1, ...more }, newItem("b")]);
    await replace(bench, { itemId: "a", data: 2 });
    const item = await bench.item("a");
    expect(item).toMatchObject({ priority: "normal", dueAt: now, orderingKey: "l" });
    expect(item).not.toHaveProperty("name");
    expect(item).not.toHaveProperty("expiresAt");
    await replace(bench, {
      itemId: "b",
      data: 2,
      name: "new",
      priority: "high",
      expiresAt: now + 1,
      dueAt: now - 1,
    });
    expect(await bench.item("b")).toMatchObject({
      name: "new",
      priority: "high",
      expiresAt: now + 1,
      dueAt: now - 1,
    });
    expect((await bench.lease(1))[0]?.itemId).toBe("b");
  });

  test("a held item is replaced and stays held", async (bench) => {
    await bench.add("a");
    await bench.engine.hold(QUEUE, ["a"], { author: AUTHOR });
    expect(await replace(bench, { itemId: "a", data: 2 })).toMatchObject({ replaced: 1 });
    expect(await bench.item("a")).toMatchObject({ state: "held", data: 2 });
  });

  test("equal data replaces nothing, compared with the current and not the original data", async (bench) => {
    await bench.add("a");
    expect(await replace(bench, newItem("a"))).toEqual({ ...NONE, existing: 1 });
    await replace(bench, { itemId: "a", data: 2 });
    expect(await replace(bench, { itemId: "a", data: 2 })).toEqual({ ...NONE, existing: 1 });
    expect(await replace(bench, newItem("a"))).toEqual({ ...NONE, replaced: 1 });
    expect(await bench.item("a")).toMatchObject({ data: { name: "a" }, revision: 3 });
  });

  test("an id that occurs twice in one batch is added and then replaced", async (bench) => {
    const report = await replace(bench, { itemId: "a", data: 1 }, { itemId: "a", data: 2 });
    expect(report).toEqual({ ...NONE, added: 1, replaced: 1 });
    expect(await bench.item("a")).toMatchObject({ data: 2, revision: 2 });
  });
}

function others(test: Declare): void {
  test("leased, done and dead items are not replaced", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["dead"]);
    await bench.add("done", "leased");
    await bench.settle(succeeded(await bench.leaseOne()));
    await bench.leaseOne();
    const ids = ["dead", "done", "leased"];
    const report = await replace(bench, ...ids.map((itemId) => ({ itemId, data: "new" })));
    expect(report).toEqual({ ...NONE, changed: 3, changedIds: ids });
    for (const id of ids) expect(await bench.item(id)).toMatchObject({ data: { name: id }, revision: 1 });
    expect(await bench.told("item_replaced")).toEqual([]);
  });

  test("an item that was replaced before it was done is compared with its last data", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await replace(bench, { itemId: "a", data: 2 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await replace(bench, { itemId: "a", data: 2 })).toEqual({ ...NONE, existing: 1 });
    expect(await replace(bench, { itemId: "a", data: 3 })).toMatchObject({ changed: 1 });
  });

  test("a letter in retry that is replaced counts as a manual fix when it succeeds", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("redrive");
    expect(await replace(bench, { itemId: "a", data: 2 })).toMatchObject({ replaced: 1 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ kind: "manual_fix" });
    expect((await bench.letter("a"))?.amendments).toHaveLength(1);
  });

  test("an item that dies after its replacement is a letter with an amendment", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await replace(bench, { itemId: "a", data: 2 });
    await bench.settle(buried(await bench.leaseOne()));
    expect(await bench.letter("a")).toMatchObject({
      itemData: 2,
      revision: 2,
      amendments: [{ revision: 2 }],
    });
  });
}
