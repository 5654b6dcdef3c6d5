/** The contract of holders and leases. */
import { expect } from "vitest";
import { AssertionError } from "../../src/std/assert.ts";
import { released, retried, succeeded } from "../support/settlements.ts";
import { type Declare, newHolder, QUEUE } from "./workbench.ts";

export function leaseTests(test: Declare): void {
  holders(test);
  leasing(test);
}

function holders(test: Declare): void {
  test("a holder is listed with its expiry until it unregisters", async (bench) => {
    const registered = await bench.engine.registerHolder(newHolder("holder-1"));
    expect(registered).toEqual({
      ...newHolder("holder-1"),
      expiresAt: bench.clock.now() + 10_000,
      expired: false,
    });
    expect(await bench.engine.listHolders()).toEqual([registered]);
    await bench.engine.unregisterHolder("holder-1");
    expect(await bench.engine.listHolders()).toEqual([]);
  });

  test("the holders of one queue can be listed", async (bench) => {
    await bench.job("job-2");
    await bench.engine.registerHolder(newHolder("holder-1"));
    const other = await bench.engine.registerHolder({ ...newHolder("holder-2"), queue: "job-2" });
    expect(await bench.engine.listHolders({ queue: "job-2" })).toEqual([other]);
    expect(await bench.engine.listHolders({ queue: "job-9" })).toEqual([]);
    expect(await bench.engine.listHolders()).toHaveLength(2);
  });

  test("an item is found by its id before items whose ids begin with it, in one queue", async (bench) => {
    await bench.add("a-10", "a-1", "a-11");
    const ids = async (limit: number) =>
      (await bench.engine.findItems("a-1", { queue: QUEUE, limit })).map(({ itemId }) => itemId);
    expect([await ids(1), await ids(9)]).toEqual([["a-1"], ["a-1", "a-10", "a-11"]]);
    expect(await bench.engine.findItems("a-1", { queue: "job-9", limit: 1 })).toEqual([]);
  });

  test("a holder that registers again after a lost answer is the same holder", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const held = await bench.leaseOne();
    bench.clock.advance(5000);
    const again = await bench.engine.registerHolder(newHolder("holder-1"));
    expect(await bench.engine.listHolders()).toEqual([again]);
    expect(again.expiresAt).toBe(bench.clock.now() + 10_000);
    expect(await bench.engine.listLeases("holder-1")).toEqual([held]);
  });

  test("registering again does not bring back a revoked holder", async (bench) => {
    await bench.registerHolder();
    bench.clock.advance(10_000);
    await bench.engine.revoke("holder-1", { isProcessDead: false });
    await bench.engine.registerHolder(newHolder("holder-1"));
    expect(await bench.engine.heartbeat("holder-1")).toBe(false);
  });

  test("a holder without heartbeats expires", async (bench) => {
    await bench.registerHolder();
    bench.clock.advance(9999);
    expect((await bench.engine.listHolders())[0]?.expired).toBe(false);
    bench.clock.advance(1);
    expect((await bench.engine.listHolders())[0]?.expired).toBe(true);
  });

  test("a heartbeat extends the expiry, even a late one", async (bench) => {
    await bench.registerHolder();
    bench.clock.advance(60_000);
    expect(await bench.engine.heartbeat("holder-1")).toBe(true);
    expect(await bench.engine.listHolders()).toMatchObject([
      { expired: false, expiresAt: bench.clock.now() + 10_000 },
    ]);
  });

  test("a heartbeat of an unregistered holder returns false", async (bench) => {
    await bench.registerHolder();
    await bench.engine.unregisterHolder("holder-1");
    expect(await bench.engine.heartbeat("holder-1")).toBe(false);
    expect(await bench.engine.heartbeat("nobody")).toBe(false);
  });

  test("an expired holder can be revoked: it can neither send heartbeats nor lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const held = await bench.leaseOne();
    expect(await bench.engine.revoke("holder-1", { isProcessDead: false })).toBe(false);
    bench.clock.advance(10_000);
    expect(await bench.engine.revoke("holder-1", { isProcessDead: false })).toBe(true);
    expect(await bench.engine.heartbeat("holder-1")).toBe(false);
    await expect(bench.leaseOne()).rejects.toMatchObject({ code: "lease_lost" });
    expect(await bench.engine.listLeases("holder-1")).toEqual([held]);
    expect(await bench.engine.listHolders()).toMatchObject([{ id: "holder-1", expired: true }]);
  });

  test("a holder that has sent a heartbeat since cannot be revoked, unless its process is dead", async (bench) => {
    await bench.registerHolder();
    bench.clock.advance(10_000);
    await bench.engine.heartbeat("holder-1");
    expect(await bench.engine.revoke("holder-1", { isProcessDead: false })).toBe(false);
    expect(await bench.engine.heartbeat("holder-1")).toBe(true);
    expect(await bench.engine.revoke("holder-1", { isProcessDead: true })).toBe(true);
    expect(await bench.engine.heartbeat("holder-1")).toBe(false);
    expect(await bench.engine.revoke("nobody", { isProcessDead: true })).toBe(false);
  });

  test("a holder cannot unregister while it holds a lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    expect(await bench.engine.unregisterHolder("holder-1")).toBe(false);
    await bench.settle(succeeded(lease));
    expect(await bench.engine.unregisterHolder("holder-1")).toBe(true);
    expect(await bench.engine.listHolders()).toEqual([]);
  });

  test("unregistering twice is allowed, because two reapers may do it", async (bench) => {
    await bench.registerHolder();
    await bench.engine.unregisterHolder("holder-1");
    await bench.engine.unregisterHolder("holder-1");
    expect(await bench.engine.listHolders()).toEqual([]);
  });

  test("the leases of a holder are listed as they were leased", async (bench) => {
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add("a", "b", "c");
    const held = await bench.lease(2);
    const other = await bench.leaseOne("holder-2");
    expect(await bench.engine.listLeases("holder-1")).toEqual(held);
    expect(await bench.engine.listLeases("holder-2")).toEqual([other]);
    expect(await bench.engine.listLeases("nobody")).toEqual([]);
  });
}

function leasing(test: Declare): void {
  test("invariant 4: a lease records a started attempt immediately", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    bench.clock.advance(5);
    const lease = await bench.leaseOne();
    const { ref } = await bench.item("a");
    expect(lease).toEqual({
      ref,
      attempt: 1,
      queue: QUEUE,
      itemId: "a",
      data: { name: "a" },
      attemptsCounted: 0,
      lostCount: 0,
      redriveCount: 0,
      index: 0,
      revision: 1,
      startedAt: bench.clock.now(),
    });
    expect(await bench.item("a")).toMatchObject({ state: "leased", attempts: 1 });
    const running = { number: 1, outcome: "running", holder: "holder-1", startedAt: bench.clock.now() };
    expect(await bench.engine.listAttempts(ref)).toEqual([running]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 0, leased: 1, attempts: 1, total: 1 });
  });

  test("invariant 3: a leased item is leased to nobody else", async (bench) => {
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add("a");
    await bench.leaseOne();
    expect(await bench.lease(10, "holder-2")).toEqual([]);
  });

  test("a lease returns at most the requested number, and only items of its queue", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    expect(await bench.lease(0)).toEqual([]);
    expect((await bench.lease(2)).map(({ itemId }) => itemId)).toEqual(["a", "b"]);
    expect(await bench.lease(10, "holder-1", "job-2")).toEqual([]);
  });

  test("items are leased by due time and then by age", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three items were added");
    await bench.settle(retried(a, 3000), retried(c, 1000), retried(b, 1000));
    bench.clock.advance(500);
    await bench.add("d");
    bench.clock.advance(3000);
    expect((await bench.lease(10)).map(({ itemId }) => itemId)).toEqual(["d", "b", "c", "a"]);
  });

  test("an item has its position in the queue, whatever came before it", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.add("b", "c");
    expect((await bench.lease(5)).map(({ itemId, index }) => [itemId, index])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ]);
  });

  test("an item that is not due is not leased, and the answer has its due time", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two items were added");
    await bench.settle(retried(a, 2000), retried(b, 1000));
    const early = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 5 },
    });
    const now = bench.clock.now();
    expect(early).toEqual({
      ...{ leased: [], stale: [], nextDueAt: now + 1000, isPaused: false, gate: null, now },
    });
    bench.clock.advance(1000);
    const due = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 5 },
    });
    expect(due.leased.map(({ itemId, attempt }) => [itemId, attempt])).toEqual([["b", 2]]);
    expect(due.nextDueAt).toBe(now + 2000);
  });

  test("the next due time is returned only if fewer items were leased than requested", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.settle(retried(await bench.leaseOne(), 2000));
    const answer = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
    });
    expect(answer.leased.map(({ itemId }) => itemId)).toEqual(["b"]);
    expect(answer.nextDueAt).toBeNull();
  });

  test("due items beyond the requested number are not the next due time", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const answer = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
    });
    expect(answer.leased).toHaveLength(1);
    expect(answer.nextDueAt).toBeNull();
  });

  test("one step first settles, then leases", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    const settle = [retried(lease)];
    const answer = await bench.engine.settleAndLease("holder-1", { settle, lease: { queue: QUEUE, max: 1 } });
    expect(answer.leased).toMatchObject([{ itemId: "a", attempt: 2, attemptsCounted: 1 }]);
  });

  test("an unknown holder cannot lease, and its call writes nothing", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const lease = await bench.leaseOne();
    const settle = [released(lease)];
    const call = bench.engine.settleAndLease("nobody", { settle, lease: { queue: QUEUE, max: 1 } });
    await expect(call).rejects.toMatchObject({ name: "RedriveError", code: "lease_lost" });
    expect(await bench.engine.listLeases("holder-1")).toEqual([lease]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 1, leased: 1, attempts: 1 });
  });

  test("leasing without a holder is a bug", async (bench) => {
    const call = bench.engine.settleAndLease(null, { settle: [], lease: { queue: QUEUE, max: 1 } });
    await expect(call).rejects.toThrow(AssertionError);
  });
}
