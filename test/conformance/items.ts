/** The contract of the list of items. */
import { expect } from "vitest";
import type { ItemState } from "../../src/item/state.ts";
import { succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE, type Workbench } from "./workbench.ts";

const list = async ({ engine }: Workbench, states?: readonly ItemState[]) =>
  (await engine.listItems({ queue: QUEUE, ...(states && { states }), limit: 100 })).map(
    ({ itemId }) => itemId,
  );

export function itemTests(test: Declare): void {
  test("the items of a queue are listed oldest first, page by page", async (bench) => {
    await bench.job("job-2");
    await bench.add("c", "a");
    await bench.engine.add("job-2", [{ itemId: "x", data: 1 }]);
    await bench.add("b");
    const first = await bench.engine.listItems({ queue: QUEUE, limit: 2 });
    expect(first).toEqual([await bench.item("c"), await bench.item("a")]);
    const rest = await bench.engine.listItems({ queue: QUEUE, limit: 2, after: first[1]?.ref ?? 0 });
    expect(rest).toEqual([await bench.item("b")]);
    expect(await bench.engine.listItems({ queue: QUEUE, limit: 0 })).toEqual([]);
  });

  test("a queue with thousands of items is listed in the same order", async (bench) => {
    const names = Array.from({ length: 2100 }, (_, at) => `item-${(at * 7) % 2100}`);
    await bench.add(...names);
    const ids = async (after: number) =>
      (await bench.engine.listItems({ queue: QUEUE, limit: 50, after, states: ["ready"] })).map(
        ({ itemId }) => itemId,
      );
    expect(await ids(0)).toEqual(names.slice(0, 50));
    const { ref } = await bench.item(names[2059] ?? "");
    expect(await ids(ref)).toEqual(names.slice(2060));
  });

  test("items can be listed by their states", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["dead"]);
    await bench.add("done", "leased", "held", "ready");
    await bench.settle(succeeded(await bench.leaseOne()));
    await bench.leaseOne();
    await bench.engine.hold(QUEUE, ["held"], { author: AUTHOR });
    expect(await list(bench)).toEqual(["dead", "done", "leased", "held", "ready"]);
    expect(await list(bench, ["held"])).toEqual(["held"]);
    expect(await list(bench, ["ready", "dead", "leased"])).toEqual(["dead", "leased", "ready"]);
    expect(await list(bench, [])).toEqual([]);
    const { ref } = await bench.item("held");
    expect(await bench.engine.listItems({ queue: QUEUE, states: ["held"], after: ref, limit: 9 })).toEqual(
      [],
    );
  });

  test("items can be listed by their complete ids", async (bench) => {
    await bench.job("job-2");
    await bench.add("c", "a", "ab", "b");
    await bench.engine.add("job-2", [{ itemId: "c", data: 1 }]);
    const named = { queue: QUEUE, itemIds: ["b", "a", "nobody", "c"] };
    const found = await bench.engine.listItems({ ...named, limit: 9 });
    expect(found).toEqual([await bench.item("c"), await bench.item("a"), await bench.item("b")]);
    expect(await bench.engine.listItems({ ...named, limit: 1 })).toEqual(found.slice(0, 1));
    const after = found[0]?.ref ?? 0;
    expect(await bench.engine.listItems({ ...named, after, limit: 9 })).toEqual(found.slice(1));
    expect(await bench.engine.listItems({ ...named, states: ["held"], limit: 9 })).toEqual([]);
    expect(await bench.engine.listItems({ queue: QUEUE, itemIds: [], limit: 9 })).toEqual([]);
  });

  test("an unknown queue has no list", async ({ engine }) => {
    await expect(engine.listItems({ queue: "job-9", limit: 1 })).rejects.toMatchObject({
      code: "job_not_found",
    });
  });
}
