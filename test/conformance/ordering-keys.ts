/** The contract of ordering keys: one item at a time, oldest first, whatever the outcome of earlier ones. */
import { expect } from "vitest";
import type { NewItem } from "../../src/item/item.ts";
import { buried, released, retried, skipped, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE, type Workbench } from "./workbench.ts";

async function addTo(
  bench: Workbench,
  orderingKey: string,
  ...items: readonly (string | NewItem)[]
): Promise<void> {
  const all = items.map((item) => (typeof item === "string" ? { itemId: item, data: item } : item));
  await bench.engine.add(
    QUEUE,
    all.map((item) => ({ ...item, orderingKey })),
  );
}

async function leaseIds(bench: Workbench): Promise<readonly string[]> {
  return (await bench.lease(9)).map(({ itemId }) => itemId);
}

export function orderingKeyTests(test: Declare): void {
  turns(test);
  returns(test);
}

function turns(test: Declare): void {
  test("one item of each ordering key runs at a time, and items without one are not delayed", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b");
    await addTo(bench, "two", "c", "d");
    await bench.add("e", "f");
    expect(await leaseIds(bench)).toEqual(["a", "c", "e", "f"]);
    expect(await leaseIds(bench)).toEqual([]);
  });

  test("the step that settles an item leases the next one with its ordering key", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b");
    const first = await bench.leaseOne();
    const { leased } = await bench.engine.settleAndLease("holder-1", {
      settle: [succeeded(first)],
      lease: { queue: QUEUE, max: 5 },
    });
    expect(leased).toMatchObject([{ itemId: "b" }]);
  });

  test("the oldest item of an ordering key is first, whatever the priorities and due times of the others", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    await addTo(
      bench,
      "one",
      { itemId: "a", data: 1, priority: "low" },
      { itemId: "b", data: 1, priority: "high", dueAt: now - 9000 },
    );
    expect(await leaseIds(bench)).toEqual(["a"]);
  });

  test("an item that waits for a retry delays its ordering key, and the answer has its due time", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b");
    await bench.settle(retried(await bench.leaseOne(), 4000));
    const ask = () =>
      bench.engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 5 } });
    expect(await ask()).toMatchObject({ leased: [], nextDueAt: bench.clock.now() + 4000 });
    bench.clock.advance(4000);
    expect((await ask()).leased).toMatchObject([{ itemId: "a" }]);
  });

  test("a younger item that is due sooner than the first does not change the next due time", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    const item = (itemId: string, dueAt: number) => ({ itemId, data: 1, dueAt });
    await addTo(bench, "one", item("a", now + 3000), item("b", now + 1000));
    const ask = () =>
      bench.engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 5 } });
    expect((await ask()).nextDueAt).toBe(now + 3000);
    await bench.engine.hold(QUEUE, ["a"], { author: AUTHOR });
    expect((await ask()).nextDueAt).toBeNull();
  });

  test("a held item delays its ordering key until it is released and done", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b");
    await bench.engine.hold(QUEUE, ["a"], { author: AUTHOR });
    expect(await leaseIds(bench)).toEqual([]);
    await bench.engine.unhold(QUEUE, ["a"], { author: AUTHOR });
    const [a] = await bench.lease(9);
    expect(a).toMatchObject({ itemId: "a" });
    if (a) await bench.settle(succeeded(a));
    expect(await leaseIds(bench)).toEqual(["b"]);
  });

  test("an item that is held while it waits behind another keeps its turn", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b", "c");
    await bench.engine.hold(QUEUE, ["b"], { author: AUTHOR });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await leaseIds(bench)).toEqual([]);
    await bench.engine.unhold(QUEUE, ["b"], { author: AUTHOR });
    expect(await leaseIds(bench)).toEqual(["b"]);
  });

  test("dead, skipped and done items delay nothing", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b", "c", "d");
    await bench.settle(buried(await bench.leaseOne()));
    await bench.settle(skipped(await bench.leaseOne()));
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await leaseIds(bench)).toEqual(["d"]);
  });
}

function returns(test: Declare): void {
  test("an older redriven item waits for the running younger one, and runs before the rest", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b", "c");
    await bench.settle(buried(await bench.leaseOne()));
    const b = await bench.leaseOne();
    await bench.operate("redrive");
    expect(await leaseIds(bench)).toEqual([]);
    await bench.settle(released(b));
    const [a] = await bench.lease(9);
    expect(a).toMatchObject({ itemId: "a" });
    if (a) await bench.settle(buried(a));
    expect(await leaseIds(bench)).toEqual(["b"]);
  });

  test("a cancelled redrive no longer delays its ordering key", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b");
    await bench.settle(buried(await bench.leaseOne()));
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1, due: { delayMs: 60_000, sinceBurialMs: [] } });
    expect(await leaseIds(bench)).toEqual([]);
    await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect(await leaseIds(bench)).toEqual(["b"]);
  });

  test("many letters of one ordering key that are redriven together run one by one", async (bench) => {
    await bench.registerHolder();
    await addTo(bench, "one", "a", "b", "c");
    for (let n = 0; n < 3; n += 1) await bench.settle(buried(await bench.leaseOne()));
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 9 });
    const worked: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const answer = await bench.engine.settleAndLease("holder-1", {
        settle: [],
        lease: { queue: QUEUE, max: 9, operationId: "op-1" },
      });
      expect(answer.leased).toHaveLength(1);
      worked.push(...answer.leased.map(({ itemId }) => itemId));
      await bench.settle(...answer.leased.map(succeeded));
    }
    expect(worked).toEqual(["a", "b", "c"]);
  });

  test("ordering keys with the same name in two queues are independent", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await addTo(bench, "one", "a");
    await bench.engine.add("job-2", [{ itemId: "b", data: 1, orderingKey: "one" }]);
    expect(await leaseIds(bench)).toEqual(["a"]);
    expect(await bench.lease(9, "holder-1", "job-2")).toHaveLength(1);
  });
}
