/** A COMMIT whose answer is lost: nobody knows whether it was carried out, and nothing may be lost or done twice. */
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { gateName } from "../../../src/item/store-queries.ts";
import { askPostgres, postgresStores, postgresUrl } from "../../support/postgres-stores.ts";
import { succeeded } from "../../support/settlements.ts";
import { TcpProxy } from "../../support/tcp-proxy.ts";

const QUEUE = "job-1";
const HOLDER = { id: "holder-1", queue: QUEUE, host: "host-1", pid: 1, processStart: "1", ttlMs: 60_000 };
const stores = postgresStores();
afterAll(() => stores.remove());

let proxy: TcpProxy;
/** Another process, whose connections are not cut. */
let beside: Engine;
let engine: Engine;

beforeEach(async () => {
  beside = await stores.open();
  await beside.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await beside.registerHolder(HOLDER);
  await beside.add(QUEUE, [
    { itemId: "a", data: 1 },
    { itemId: "b", data: 2 },
  ]);
  const url = postgresUrl(stores.schemaOf(beside));
  proxy = await TcpProxy.before(url);
  engine = await openPostgresEngine({ url: proxy.through(url), doubtMsMax: 500 });
});

afterEach(async () => {
  expect(await beside.check()).toEqual([]);
  await engine.close();
  await beside.close();
  await proxy.close();
});

const leaseOne = async () => {
  const { leased } = await engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max: 1 } });
  const [item] = leased;
  if (!item) throw new Error("nothing was leased");
  return item;
};

const typesTold = async () =>
  (await beside.listEvents({ after: 0, limit: 100 })).map(({ type }) => type).sort();

it("what was committed is answered as if nothing had been", async () => {
  const item = await leaseOne();
  proxy.cutAt("COMMIT\0", "after");
  const answer = await engine.settleAndLease(HOLDER.id, {
    settle: [succeeded(item)],
    lease: { queue: QUEUE, max: 1 },
  });
  expect(proxy.cuts).toBe(1);
  expect(answer.stale).toEqual([]);
  expect(answer.leased.map(({ itemId }) => itemId)).toEqual(["b"]);
  expect(await beside.count(QUEUE)).toMatchObject({ done: 1, leased: 1, attempts: 2 });
});

it("items whose intake was committed are told of as added", async () => {
  proxy.cutAt("COMMIT\0", "after");
  const batch = ["c", "d"].map((itemId) => ({ itemId, data: 3 }));
  expect(await engine.add(QUEUE, batch)).toMatchObject({ added: 2, existing: 0 });
  expect(proxy.cuts).toBe(1);
});

it.each(["before", "after"] as const)("one item whose answer is lost is added once: %s", async (cut) => {
  await settleIn();
  proxy.cutAt("key-1", cut);
  expect(await engine.add(QUEUE, [{ itemId: "key-1", data: 3 }])).toMatchObject({ added: 1, existing: 0 });
  expect(proxy.cuts).toBe(1);
  expect(await engine.add(QUEUE, [{ itemId: "key-1", data: 3 }])).toMatchObject({ added: 0, existing: 1 });
  expect((await typesTold()).filter((type) => type === "item_queued")).toHaveLength(3);
});

it("what never reached the server is store trouble, and done by the next try", async () => {
  const item = await leaseOne();
  const settle = [succeeded(item)];
  proxy.cutAt("COMMIT\0", "before");
  await expect(engine.settleAndLease(HOLDER.id, { settle })).rejects.toMatchObject({
    code: "store_unavailable",
  });
  expect(await beside.count(QUEUE)).toMatchObject({ done: 0, leased: 1 });
  expect(await engine.settleAndLease(HOLDER.id, { settle })).toMatchObject({ stale: [] });
  expect(await beside.count(QUEUE)).toMatchObject({ done: 1, leased: 0 });
});

it("a runner that asks again, when nobody could be asked, gets its leases and settles nothing twice", async () => {
  const item = await leaseOne();
  const request = { settle: [succeeded(item)], lease: { queue: QUEUE, max: 1 } };
  proxy.cutAt("COMMIT\0", "after");
  const lost = engine.settleAndLease(HOLDER.id, request);
  proxy.refuse(true);
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable" });
  proxy.refuse(false);
  const answer = await engine.settleAndLease(HOLDER.id, request);
  expect(answer.stale).toEqual([]);
  expect(answer.leased).toMatchObject([{ itemId: "b", attempt: 1 }]);
  expect(await beside.listLeases(HOLDER.id)).toEqual(answer.leased);
  const told = ["attempt_started", "attempt_started", "attempt_succeeded"];
  expect((await typesTold()).filter((type) => type.startsWith("attempt_"))).toEqual(told);
  expect((await beside.listCounters()).find(({ name }) => name === "attempts.succeeded")?.value).toBe(1);
});

it("a runner that wants no more gives back what it was never told of", async () => {
  proxy.cutAt("COMMIT\0", "after");
  const lost = engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max: 2 } });
  proxy.refuse(true);
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable" });
  proxy.refuse(false);
  expect(await engine.settleAndLease(HOLDER.id, { settle: [] })).toMatchObject({ leased: [], stale: [] });
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 2, leased: 0 });
  expect(await beside.unregisterHolder(HOLDER.id)).toBe(true);
});

it("a runner that is another holder by now is not told that what it settled came late", async () => {
  const item = await leaseOne();
  const settle = [succeeded(item)];
  proxy.cutAt("COMMIT\0", "after");
  const lost = engine.settleAndLease(HOLDER.id, { settle });
  proxy.refuse(true);
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable" });
  proxy.refuse(false);
  expect(await beside.unregisterHolder(HOLDER.id)).toBe(true);
  await beside.registerHolder({ ...HOLDER, id: "holder-2" });
  const request = { settle, lease: { queue: QUEUE, max: 1 } };
  await expect(engine.settleAndLease(HOLDER.id, request)).rejects.toMatchObject({ code: "lease_lost" });
  expect(await engine.settleAndLease("holder-2", request)).toMatchObject({
    stale: [],
    leased: [{ itemId: "b" }],
  });
  expect(await typesTold()).not.toContain("late_result");
});

it("a lease that was reaped meanwhile is stale, also when its settlement was in doubt", async () => {
  const item = await leaseOne();
  const settle = [succeeded(item)];
  proxy.cutAt("COMMIT\0", "before");
  const lost = engine.settleAndLease(HOLDER.id, { settle });
  proxy.refuse(true);
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable" });
  await beside.settleAndLease(null, {
    settle: [{ lease: settle[0]?.lease ?? item, outcome: "released", verdict: { kind: "release" } }],
  });
  proxy.refuse(false);
  expect(await engine.settleAndLease(HOLDER.id, { settle })).toMatchObject({
    stale: [{ ref: item.ref, attempt: 1 }],
  });
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 2, done: 0 });
});

/** By now the engine knows who leases, so that what it only leases is sent at once, and by itself. */
const leaseAutocommit = (max = 1) =>
  engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max } });

/** From here on a statement that is sent by itself is all that is sent. */
const settleIn = () => engine.count(QUEUE);

it("a lease that was sent at once, and whose answer was lost, is handed out by the next step", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(HOLDER.id, "after");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(proxy.cuts).toBe(1);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2, attempts: 2 });
  const answer = await leaseAutocommit(2);
  expect(answer.leased).toMatchObject([{ itemId: "b", attempt: 1, data: 2 }]);
  await engine.settleAndLease(HOLDER.id, { settle: answer.leased.map(succeeded) });
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 1, done: 1 });
  expect((await leaseAutocommit()).leased).toEqual([]);
});

it("a lease that was sent at once and never arrived is given by the next step", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(HOLDER.id, "before");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "b", attempt: 1 }]);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2, attempts: 2 });
});

it("a lease that was sent at once and arrives after the holder has asked again leases nothing", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(HOLDER.id, "late");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "b" }]);
  await beside.add(QUEUE, [{ itemId: "c", data: 3 }]);
  await proxy.deliver();
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 1, leased: 2 });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "c" }]);
});

it("a lease that was sent at once, and whose answer was lost, is given back by who wants no more", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(HOLDER.id, "after");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await engine.settleAndLease(HOLDER.id, { settle: [] })).toMatchObject({ leased: [], stale: [] });
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 1, leased: 1 });
});

it("a lease that was sent at once, and whose second statement failed, is handed out by the next step", async () => {
  await leaseOne();
  const documents = `${stores.schemaOf(beside)}.documents`;
  const gate = gateName(QUEUE);
  await askPostgres(`INSERT INTO ${documents} (name, version, body) VALUES ($1, 1, 'no JSON')`, gate);
  await expect(leaseAutocommit()).rejects.toThrow(/JSON/);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2 });
  await askPostgres(`DELETE FROM ${documents} WHERE name = $1`, gate);
  expect((await leaseAutocommit(2)).leased).toMatchObject([{ itemId: "b", attempt: 1 }]);
});

it.each(["before", "after"] as const)(
  "made up names make an intake that is cut off %s its end come in once",
  async (cut) => {
    await settleIn();
    proxy.cutAt("m-2", cut);
    const batch = [
      { itemId: "m-1", data: 3 },
      { itemId: "m-2", data: 4 },
    ];
    expect(await engine.add(QUEUE, batch, { expectNew: true, generatedIds: true })).toMatchObject({
      added: 2,
      existing: 0,
    });
    expect(proxy.cuts).toBe(1);
    expect(await beside.count(QUEUE)).toMatchObject({ total: 4, ready: 4 });
    expect((await typesTold()).filter((type) => type === "item_queued")).toHaveLength(4);
  },
);

it("an intake of made up names that arrives after it was done again adds nothing", async () => {
  await settleIn();
  proxy.cutAt("m-1", "late");
  const batch = [{ itemId: "m-1", data: 3 }];
  expect(await engine.add(QUEUE, batch, { expectNew: true, generatedIds: true })).toMatchObject({ added: 1 });
  expect(proxy.cuts).toBe(1);
  await proxy.deliver();
  expect(await beside.count(QUEUE)).toMatchObject({ total: 3, ready: 3 });
});
