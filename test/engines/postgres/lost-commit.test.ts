/** A COMMIT whose answer is lost: nobody knows whether it was carried out, and nothing may be lost or done twice. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import type { LeasedItem, Settlement } from "../../../src/item/item.ts";
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

/** A success with a counter of its own, which is settled in a transaction. */
const counted = (item: LeasedItem) => ({ ...succeeded(item), counts: ["receipts.sent"] });

const typesTold = async () =>
  (await beside.listEvents({ after: 0, limit: 100 })).map(({ type }) => type).sort();

it("a committed step returns its result as if the answer had not been lost", async () => {
  const item = await leaseOne();
  proxy.cutAt("COMMIT\0", "after");
  const answer = await engine.settleAndLease(HOLDER.id, {
    settle: [counted(item)],
    lease: { queue: QUEUE, max: 1 },
  });
  expect(proxy.cuts).toBe(1);
  expect(answer.stale).toEqual([]);
  expect(answer.leased.map(({ itemId }) => itemId)).toEqual(["b"]);
  expect(await beside.count(QUEUE)).toMatchObject({ done: 1, leased: 1, attempts: 2 });
});

it("items whose intake was committed are reported as added", async () => {
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

it("a step that never reached the server is a store failure, and the next try does it", async () => {
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

it("a runner that asks again while the server is away gets its leases and settles nothing twice", async () => {
  const item = await leaseOne();
  const request = { settle: [counted(item)], lease: { queue: QUEUE, max: 1 } };
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

it("a runner that wants no more releases leases that it never received", async () => {
  proxy.cutAt("COMMIT\0", "after");
  const lost = engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max: 2 } });
  proxy.refuse(true);
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable" });
  proxy.refuse(false);
  expect(await engine.settleAndLease(HOLDER.id, { settle: [] })).toMatchObject({ leased: [], stale: [] });
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 2, leased: 0 });
  expect(await beside.unregisterHolder(HOLDER.id)).toBe(true);
});

it("a runner that is another holder now does not get its settlements as late results", async () => {
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

it("a lease that was reaped meanwhile is stale, even if its settlement was in doubt", async () => {
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

/** The beginning of the statement that settles successes and leases without a transaction. */
const STEP = "WITH lessee AS";

/** By now the engine knows the holder, so that a step that only leases is one statement. */
const leaseAutocommit = (max = 1) =>
  engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max } });

/** From here on a statement without a transaction is all that is sent. */
const settleIn = () => engine.count(QUEUE);

it("a lease whose answer was lost is returned by the next step", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(STEP, "after");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(proxy.cuts).toBe(1);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2, attempts: 2 });
  const answer = await leaseAutocommit(2);
  expect(answer.leased).toMatchObject([{ itemId: "b", attempt: 1, data: 2 }]);
  await engine.settleAndLease(HOLDER.id, { settle: answer.leased.map(succeeded) });
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 1, done: 1 });
  expect((await leaseAutocommit()).leased).toEqual([]);
});

it("a lease that never arrived is made by the next step", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(STEP, "before");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "b", attempt: 1 }]);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2, attempts: 2 });
});

it("a lease that arrives after the holder has asked again leases nothing", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(STEP, "late");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "b" }]);
  await beside.add(QUEUE, [{ itemId: "c", data: 3 }]);
  await proxy.deliver();
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 1, leased: 2 });
  expect((await leaseAutocommit()).leased).toMatchObject([{ itemId: "c" }]);
});

it("a lease whose answer was lost is released by a holder that wants no more", async () => {
  await leaseOne();
  await settleIn();
  proxy.cutAt(STEP, "after");
  await expect(leaseAutocommit()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await engine.settleAndLease(HOLDER.id, { settle: [] })).toMatchObject({ leased: [], stale: [] });
  expect(await beside.count(QUEUE)).toMatchObject({ ready: 1, leased: 1 });
});

it("a lease whose answer cannot be read is returned by the next step", async () => {
  await leaseOne();
  const documents = `${stores.schemaOf(beside)}.documents`;
  const gate = gateName(QUEUE);
  await askPostgres(`INSERT INTO ${documents} (name, version, body) VALUES ($1, 1, 'no JSON')`, gate);
  await expect(leaseAutocommit()).rejects.toThrow(/JSON/);
  expect(await beside.count(QUEUE)).toMatchObject({ leased: 2 });
  await askPostgres(`DELETE FROM ${documents} WHERE name = $1`, gate);
  expect((await leaseAutocommit(2)).leased).toMatchObject([{ itemId: "b", attempt: 1 }]);
});

describe("a success that is settled with the next lease in one statement", () => {
  const step = (item: LeasedItem) => ({ settle: [succeeded(item)], lease: { queue: QUEUE, max: 1 } });
  const attempts = async () => (await typesTold()).filter((type) => type.startsWith("attempt_"));

  it.each(["before", "after"] as const)("is settled once if its answer is lost: %s", async (cut) => {
    const item = await leaseOne();
    await settleIn();
    proxy.cutAt(STEP, cut);
    await expect(engine.settleAndLease(HOLDER.id, step(item))).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(proxy.cuts).toBe(1);
    expect(await beside.count(QUEUE)).toMatchObject({ done: cut === "after" ? 1 : 0, leased: 1 });
    const answer = await engine.settleAndLease(HOLDER.id, step(item));
    expect(answer).toMatchObject({ stale: [], leased: [{ itemId: "b", attempt: 1 }] });
    expect(await beside.listLeases(HOLDER.id)).toEqual(answer.leased);
    expect(await attempts()).toEqual(["attempt_started", "attempt_started", "attempt_succeeded"]);
    expect((await beside.listCounters()).find(({ name }) => name === "attempts.succeeded")?.value).toBe(1);
  });

  it("is settled once if the statement arrives after the step was repeated", async () => {
    const item = await leaseOne();
    await settleIn();
    proxy.cutAt(STEP, "late");
    await expect(engine.settleAndLease(HOLDER.id, step(item))).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(await engine.settleAndLease(HOLDER.id, step(item))).toMatchObject({ leased: [{ itemId: "b" }] });
    await beside.add(QUEUE, [{ itemId: "c", data: 3 }]);
    await proxy.deliver();
    expect(await beside.count(QUEUE)).toMatchObject({ ready: 1, leased: 1, done: 1 });
  });

  it("is a late result if the lease was lost, and the next lease is kept", async () => {
    const item = await leaseOne();
    const { ref, attempt } = item;
    const lost = { lease: { ref, attempt }, outcome: "released", verdict: { kind: "park", delayMs: 60_000 } };
    await beside.settleAndLease(null, { settle: [lost as Settlement] });
    const answer = await engine.settleAndLease(HOLDER.id, step(item));
    expect(answer).toMatchObject({ stale: [{ ref, attempt }], leased: [{ itemId: "b", attempt: 1 }] });
    expect(await beside.listLeases(HOLDER.id)).toEqual(answer.leased);
    expect(await typesTold()).toContain("late_result");
  });

  it("is not settled for a holder that is gone, and the new holder settles it", async () => {
    const item = await leaseOne();
    await beside.registerHolder({ ...HOLDER, id: "holder-2" });
    const holders = `${stores.schemaOf(beside)}.holders`;
    await askPostgres(`UPDATE ${holders} SET gone = 1 WHERE id = $1`, HOLDER.id);
    await expect(engine.settleAndLease(HOLDER.id, step(item))).rejects.toMatchObject({ code: "lease_lost" });
    expect(await beside.count(QUEUE)).toMatchObject({ done: 0, leased: 1, ready: 1 });
    expect(await engine.settleAndLease("holder-2", step(item))).toMatchObject({
      stale: [],
      leased: [{ itemId: "b" }],
    });
  });
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

it("an intake with generated ids that arrives after it was repeated adds nothing", async () => {
  await settleIn();
  proxy.cutAt("m-1", "late");
  const batch = [{ itemId: "m-1", data: 3 }];
  expect(await engine.add(QUEUE, batch, { expectNew: true, generatedIds: true })).toMatchObject({ added: 1 });
  expect(proxy.cuts).toBe(1);
  await proxy.deliver();
  expect(await beside.count(QUEUE)).toMatchObject({ total: 3, ready: 3 });
});
