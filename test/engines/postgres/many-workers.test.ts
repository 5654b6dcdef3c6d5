/** Many connections at once: nobody gets an item that another one has, and every counter is right in the end. */
import { afterAll, expect, it } from "vitest";
import type { Engine, NewHolder } from "../../../src/engine.ts";
import { postgresStores } from "../../support/postgres-stores.ts";
import { buried, retried, succeeded } from "../../support/settlements.ts";

const QUEUE = "q";
const stores = postgresStores();
afterAll(() => stores.remove());

const holder = (id: string): NewHolder => ({
  id,
  queue: QUEUE,
  host: "host-1",
  pid: 1,
  processStart: "1",
  ttlMs: 60_000,
});

async function openMany(count: number): Promise<readonly Engine[]> {
  const first = await stores.open();
  await first.createJob({ id: QUEUE, name: QUEUE, kind: "queue", spec: {} });
  const others = await Promise.all(Array.from({ length: count - 1 }, () => stores.join(first)));
  return [first, ...others];
}

it("each item is run by one worker, and successes, retries and burials add up", async () => {
  const engines = await openMany(5);
  const [first] = engines;
  const items = Array.from({ length: 300 }, (_, n) => ({ itemId: `i${n}`, data: n }));
  await first?.add(QUEUE, items);
  const held = new Set<string>();
  const work = async (engine: Engine, id: string) => {
    await engine.registerHolder(holder(id));
    let settle: ReturnType<typeof succeeded>[] = [];
    for (;;) {
      const { leased, stale } = await engine.settleAndLease(id, { settle, lease: { queue: QUEUE, max: 7 } });
      expect(stale).toEqual([]);
      if (leased.length === 0) return;
      for (const { itemId } of leased) {
        expect(held.has(itemId)).toBe(false);
        held.add(itemId);
      }
      for (const { itemId } of leased) held.delete(itemId);
      settle = leased.map((item) => {
        if (item.attempt === 1 && item.index % 5 === 0) return retried(item);
        return item.index % 7 === 0 ? buried(item) : succeeded(item);
      });
    }
  };
  await Promise.all(engines.map((engine, no) => work(engine, `holder-${no}`)));
  // Those who found nothing may have left before the last retries came back.
  if (first) await work(first, "holder-last");
  const dead = items.filter(({ data }) => data % 7 === 0).length;
  const retries = items.filter(({ data }) => data % 5 === 0).length;
  expect(await first?.count(QUEUE)).toMatchObject({ done: 300 - dead, dead, attempts: 300 + retries });
  expect(await first?.check()).toEqual([]);
  for (const engine of engines) await engine.close();
});

it("items with one ordering key run one at a time, however many workers there are", async () => {
  const engines = await openMany(4);
  const [first] = engines;
  await first?.add(
    QUEUE,
    Array.from({ length: 60 }, (_, n) => ({
      itemId: `i${String(n).padStart(2, "0")}`,
      data: n,
      orderingKey: `l${n % 3}`,
    })),
  );
  const order = new Map<string, string[]>();
  const busy = new Set<string>();
  let done = 0;
  const work = async (engine: Engine, id: string) => {
    await engine.registerHolder(holder(id));
    let settle: ReturnType<typeof succeeded>[] = [];
    while (done < 60) {
      for (const { lease } of settle) busy.delete(keyOf.get(lease.ref) ?? "");
      const { leased } = await engine.settleAndLease(id, { settle, lease: { queue: QUEUE, max: 5 } });
      done += settle.length;
      for (const { ref, data, itemId } of leased) {
        const orderingKey = `l${Number(data) % 3}`;
        keyOf.set(ref, orderingKey);
        expect(busy.has(orderingKey)).toBe(false);
        busy.add(orderingKey);
        order.set(orderingKey, [...(order.get(orderingKey) ?? []), itemId]);
      }
      settle = leased.map((item) => succeeded(item));
    }
  };
  const keyOf = new Map<number, string>();
  await Promise.all(engines.map((engine, no) => work(engine, `holder-${no}`)));
  for (const worked of order.values()) expect(worked).toEqual([...worked].sort());
  expect(await first?.check()).toEqual([]);
  for (const engine of engines) await engine.close();
});

it("items that several processes add at the same time exist once", async () => {
  const engines = await openMany(5);
  const items = Array.from({ length: 200 }, (_, n) => ({ itemId: `i${n}`, data: n }));
  const reports = await Promise.all(engines.map((engine) => engine.add(QUEUE, items)));
  expect(reports.reduce((sum, { added }) => sum + added, 0)).toBe(200);
  expect(reports.reduce((sum, { existing }) => sum + existing, 0)).toBe(800);
  expect(await engines[0]?.count(QUEUE)).toMatchObject({ ready: 200, total: 200 });
  expect(await engines[0]?.check()).toEqual([]);
  for (const engine of engines) await engine.close();
});

it("a holder that is removed while it leases has its leases, or gets none", async () => {
  const [first, second] = await openMany(2);
  if (!first || !second) throw new Error("two were opened");
  await first.add(
    QUEUE,
    Array.from({ length: 40 }, (_, n) => ({ itemId: `i${n}`, data: n })),
  );
  for (let n = 0; n < 20; n += 1) {
    const id = `holder-${n}`;
    await first.registerHolder(holder(id));
    const [leasing, isGone] = await Promise.all([
      first.settleAndLease(id, { settle: [], lease: { queue: QUEUE, max: 1 } }).then(
        ({ leased }) => leased.length,
        (error) => {
          expect(error).toMatchObject({ code: "lease_lost" });
          return 0;
        },
      ),
      second.unregisterHolder(id),
    ]);
    expect(isGone).toBe(leasing === 0);
  }
  expect(await first.check()).toEqual([]);
  await first.close();
  await second.close();
});
