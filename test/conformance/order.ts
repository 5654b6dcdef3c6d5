/** The contract of the order in which items are leased, and of the rate: priority, due time, age. */
import { expect } from "vitest";
import type { SettleAndLeaseResult } from "../../src/engine.ts";
import type { NewItem } from "../../src/item/item.ts";
import type { Rate } from "../../src/item/rate.ts";
import { buried, retried } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function orderTests(test: Declare): void {
  order(test);
  properties(test);
  rates(test);
}

async function addAll(bench: Workbench, items: Readonly<Record<string, Partial<NewItem>>>): Promise<void> {
  const all = Object.entries(items).map(([itemId, more]) => ({ itemId, data: itemId, ...more }));
  expect(await bench.engine.add(QUEUE, all)).toMatchObject({ added: all.length });
}

async function leaseIds(bench: Workbench, max: number): Promise<readonly string[]> {
  return (await bench.lease(max)).map(({ itemId }) => itemId);
}

function order(test: Declare): void {
  test("items are leased by priority, then due time, then age", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    await addAll(bench, {
      "low, early": { priority: "low", dueAt: now - 9000 },
      "normal 2": {},
      "normal 3": { priority: "normal" },
      "normal, early": { dueAt: now - 5 },
      "high, late": { priority: "high" },
      "high, early": { priority: "high", dueAt: now - 1 },
    });
    expect(await leaseIds(bench, 1)).toEqual(["high, early"]);
    expect(await leaseIds(bench, 3)).toEqual(["high, late", "normal, early", "normal 2"]);
    expect(await leaseIds(bench, 9)).toEqual(["normal 3", "low, early"]);
  });

  test("a high item that is not due does not delay lower ones, and is first once it is due", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    await addAll(bench, { high: { priority: "high", dueAt: now + 1000 }, low: { priority: "low" } });
    const lease = { settle: [], lease: { queue: QUEUE, max: 1 } };
    expect((await bench.engine.settleAndLease("holder-1", lease)).leased).toMatchObject([{ itemId: "low" }]);
    await addAll(bench, { "low 2": { priority: "low" } });
    bench.clock.advance(1000);
    expect(await leaseIds(bench, 1)).toEqual(["high"]);
  });

  test("the answer has the earliest due time of all priorities", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    await addAll(bench, {
      a: { priority: "high", dueAt: now + 3000 },
      b: { priority: "low", dueAt: now + 1000 },
      c: { dueAt: now + 2000 },
    });
    const ask = () =>
      bench.engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 5 } });
    expect((await ask()).nextDueAt).toBe(now + 1000);
    bench.clock.advance(1500);
    expect(await ask()).toMatchObject({ leased: [{ itemId: "b" }], nextDueAt: now + 2000 });
  });

  test("the lease of a redrive also follows the priorities", async (bench) => {
    await bench.registerHolder();
    await addAll(bench, { a: { priority: "low" }, b: {}, c: { priority: "high" } });
    for (const lease of await bench.lease(3)) await bench.settle(buried(lease));
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 9 });
    const { leased } = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 9, operationId: "op-1" },
    });
    expect(leased.map(({ itemId }) => itemId)).toEqual(["c", "b", "a"]);
  });

  test("a retried item keeps its priority", async (bench) => {
    await bench.registerHolder();
    await addAll(bench, { a: { priority: "high" }, b: {} });
    await bench.settle(retried(await bench.leaseOne(), 0));
    expect(await leaseIds(bench, 1)).toEqual(["a"]);
  });
}

function properties(test: Declare): void {
  test("an item keeps its name, priority, due time, expiry and ordering key", async (bench) => {
    await bench.registerHolder();
    const now = bench.clock.now();
    const more = {
      name: "Größe №1",
      priority: "low",
      dueAt: now - 7,
      expiresAt: now + 9,
      orderingKey: "l",
    } as const;
    await addAll(bench, { a: more, b: {} });
    expect(await bench.item("a")).toMatchObject(more);
    const plain = await bench.item("b");
    expect(plain).toMatchObject({ priority: "normal", dueAt: now });
    for (const field of ["name", "expiresAt", "orderingKey", "requeuedFrom", "requeuedAs"])
      expect(plain).not.toHaveProperty(field);
    const [b, a] = await bench.lease(5);
    expect(a).toMatchObject({ itemId: "a", name: more.name, expiresAt: more.expiresAt });
    expect(b).not.toHaveProperty("name");
    expect(b).not.toHaveProperty("expiresAt");
    expect((await bench.engine.listLeases("holder-1"))[0]).toEqual(a);
  });

  test("an expired item is leased too, because the runner decides what that means", async (bench) => {
    await bench.registerHolder();
    await addAll(bench, { a: { expiresAt: bench.clock.now() - 1 } });
    expect(await leaseIds(bench, 1)).toEqual(["a"]);
  });

  test("a redrive removes the expiry and keeps the other fields", async (bench) => {
    await bench.registerHolder();
    await addAll(bench, { a: { expiresAt: bench.clock.now(), name: "n", priority: "high" } });
    await bench.settle(buried(await bench.leaseOne()));
    expect(await bench.item("a")).toHaveProperty("expiresAt");
    await bench.operate("redrive");
    expect(await bench.item("a")).not.toHaveProperty("expiresAt");
    expect(await bench.item("a")).toMatchObject({ name: "n", priority: "high" });
  });
}

function rates(test: Declare): void {
  const ask = (bench: Workbench, max: number, rate: Rate): Promise<SettleAndLeaseResult> =>
    bench.engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max, rate } });

  test("no more is leased than the rate allows, and the answer has the time of the next lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d");
    const rate = { perSecond: 2 };
    const now = bench.clock.now();
    expect(await ask(bench, 9, rate)).toMatchObject({ leased: [{ itemId: "a" }], nextDueAt: now + 500 });
    bench.clock.advance(499);
    expect(await ask(bench, 9, rate)).toMatchObject({ leased: [], nextDueAt: now + 500 });
    bench.clock.advance(1);
    expect(await ask(bench, 1, rate)).toMatchObject({ leased: [{ itemId: "b" }], nextDueAt: null });
    bench.clock.advance(60_000);
    expect((await ask(bench, 9, rate)).leased).toHaveLength(1);
  });

  test("a high rate can save up a tenth of a second, and not more", async (bench) => {
    await bench.registerHolder();
    await bench.add(...Array.from({ length: 30 }, (_, place) => `item-${place}`));
    const rate = { perSecond: 100 };
    expect((await ask(bench, 30, rate)).leased).toHaveLength(10);
    bench.clock.advance(50);
    expect((await ask(bench, 30, rate)).leased).toHaveLength(5);
    bench.clock.advance(5000);
    expect((await ask(bench, 30, rate)).leased).toHaveLength(10);
  });

  test("all workers of a queue share its rate, and another queue has its own", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add("a", "b");
    await bench.engine.add("job-2", [{ itemId: "c", data: null }]);
    const lease = { queue: QUEUE, max: 1, rate: { perSecond: 1 } };
    const of = async (holder: string, queue: string) =>
      (await bench.engine.settleAndLease(holder, { settle: [], lease: { ...lease, queue } })).leased.length;
    expect([await of("holder-1", QUEUE), await of("holder-2", QUEUE)]).toEqual([1, 0]);
    expect(await of("holder-2", "job-2")).toBe(1);
  });

  test("if nothing is due, the rate gives no time for the next lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const rate = { perSecond: 0.1 };
    expect(await ask(bench, 5, rate)).toMatchObject({ leased: [{ itemId: "a" }], nextDueAt: null });
    await bench.engine.add(QUEUE, [{ itemId: "b", data: 1, dueAt: bench.clock.now() + 60_000 }]);
    expect((await ask(bench, 5, rate)).nextDueAt).toBe(bench.clock.now() + 60_000);
  });

  test("unused leases do not count against the rate", async (bench) => {
    await bench.registerHolder();
    const rate = { perSecond: 1 };
    expect((await ask(bench, 5, rate)).leased).toEqual([]);
    await bench.add("a");
    expect((await ask(bench, 5, rate)).leased).toHaveLength(1);
  });
}
