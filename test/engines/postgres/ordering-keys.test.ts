/** Ordering keys while many add, lease and settle at once: what one leases at this moment is not put into the line by another. */
import { afterAll, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { postgresStores } from "../../support/postgres-stores.ts";
import { succeeded } from "../../support/settlements.ts";

const QUEUE = "job-1";
const KEYS = 2;
const ADDERS = 3;
const WORKERS = 3;
const ITEMS_EACH = 30;
const stores = postgresStores();
afterAll(() => stores.remove());

it("each item of an ordering key is leased once, one at a time, while more are added", async () => {
  const engine = await stores.open();
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "queue", spec: {} });
  const holders = await Promise.all(
    Array.from({ length: WORKERS }, (_, n) =>
      engine.registerHolder({
        id: `h${n}`,
        queue: QUEUE,
        host: "a",
        pid: 1,
        processStart: "1",
        ttlMs: 60_000,
      }),
    ),
  );
  const atWork = new Map<string, number>();
  const overlaps: string[] = [];
  let left = ADDERS * ITEMS_EACH;

  const work = async (holder: string) => {
    while (left > 0) {
      const { leased } = await engine.settleAndLease(holder, { settle: [], lease: { queue: QUEUE, max: 2 } });
      for (const { itemId } of leased) begin(itemId);
      await Promise.resolve();
      for (const { itemId } of leased) atWork.delete(keyOf(itemId));
      const { stale } = await engine.settleAndLease(holder, {
        settle: leased.map((item) => succeeded(item)),
      });
      left -= leased.length - stale.length;
    }
  };
  const begin = (itemId: string) => {
    if (atWork.has(keyOf(itemId))) overlaps.push(itemId);
    atWork.set(keyOf(itemId), 1);
  };

  await Promise.all([
    ...Array.from({ length: ADDERS }, (_, n) => addOneByOne(engine, `${n}`)),
    ...holders.map(({ id }) => work(id)),
  ]);
  expect(await engine.check()).toEqual([]);
  expect(overlaps).toEqual([]);
  const all = ADDERS * ITEMS_EACH;
  expect(await engine.count(QUEUE)).toMatchObject({ done: all, attempts: all, ready: 0, leased: 0 });
  await engine.close();
});

async function addOneByOne(engine: Engine, name: string): Promise<void> {
  for (let n = 0; n < ITEMS_EACH; n += 1) {
    const orderingKey = `key-${n % KEYS}`;
    await engine.add(QUEUE, [{ itemId: `${orderingKey}/${name}/${n}`, data: n, orderingKey }]);
  }
}

function keyOf(itemId: string): string {
  return itemId.split("/")[0] ?? "";
}
