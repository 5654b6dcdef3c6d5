/** The contract of fencing: only the holder of the lease can settle. Late results are stored and change nothing. */
import { expect } from "vitest";
import { buried, lost, released, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE } from "./workbench.ts";

export function fencingTests(test: Declare): void {
  test("invariant 3: a stale token changes nothing", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const stale = await bench.leaseOne();
    await bench.settle(lost(stale));
    const held = await bench.leaseOne();
    const answer = await bench.engine.settleAndLease(null, { settle: [succeeded(stale)] });
    expect(answer.stale).toEqual([{ ref: stale.ref, attempt: 1 }]);
    expect(await bench.item("a")).toMatchObject({ state: "leased", attempts: 2, lostCount: 1 });
    expect(await bench.engine.listLeases("holder-1")).toEqual([held]);
    const outcomes = (await bench.engine.listAttempts(stale.ref)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["lost", "running"]);
  });

  test("invariant 3: the result of a worker that lost its lease is kept as a late result", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const first = await bench.leaseOne();
    await bench.settle(lost(first));
    bench.clock.advance(10);
    await bench.engine.settleAndLease(null, { settle: [succeeded(first)] });
    bench.clock.advance(10);
    await bench.engine.settleAndLease(null, { settle: [retried(first)] });
    await bench.settle(buried(await bench.leaseOne()));
    const now = bench.clock.now();
    expect((await bench.letter("a"))?.lateResults).toMatchObject([
      { at: now - 10, attemptNumber: 1, outcome: "succeeded" },
      { at: now, attemptNumber: 1, outcome: "failed", note: "attempt 1 failed with exit code 101" },
    ]);
    const late = await bench.engine.listEvents({ after: 0, types: ["late_result"], limit: 10 });
    expect(late).toMatchObject([
      { itemId: "a", queue: QUEUE, attempt: 1, data: { outcome: "succeeded" } },
      { itemId: "a", queue: QUEUE, attempt: 1, data: { outcome: "failed" } },
    ]);
  });

  test("a late result of an ended item changes nothing either", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.settle(succeeded(lease));
    const answer = await bench.engine.settleAndLease(null, { settle: [buried(lease)] });
    expect(answer.stale).toEqual([{ ref: lease.ref, attempt: 1 }]);
    expect(await bench.item("a")).toMatchObject({ state: "done", attemptsCounted: 0 });
    expect(await bench.engine.listGroups({})).toEqual([]);
  });

  test("invariant 3: among many successes of one step, a stale and a repeated one change nothing", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e", "f");
    const [a, ...others] = await bench.lease(6);
    if (a === undefined) throw new Error("nothing was leased");
    await bench.settle(lost(a));
    bench.clock.advance(60_000);
    const again = await bench.leaseOne();
    const told = [a, ...others, others[0] ?? a].map(succeeded);
    const answer = await bench.engine.settleAndLease(null, { settle: told });
    const staleOnes = [a, others[0] ?? a].map(({ ref, attempt }) => ({ ref, attempt }));
    expect(answer.stale).toEqual(staleOnes);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ leased: 1, done: 5, attempts: 7 });
    expect(await bench.engine.listLeases("holder-1")).toEqual([again]);
    expect((await bench.engine.listAttempts(a.ref)).map(({ outcome }) => outcome)).toEqual([
      "lost",
      "running",
    ]);
    const types = ["attempt_succeeded", "late_result"] as const;
    const events = await bench.engine.listEvents({ after: 0, types, limit: 20 });
    expect(events.map(({ type, itemId }) => `${type} ${itemId}`)).toEqual([
      "late_result a",
      ..."bcdef".split("").map((itemId) => `attempt_succeeded ${itemId}`),
      "late_result b",
    ]);
  });

  test("of two reapers with the same lost lease, one settles it, and the other writes nothing", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.settle(lost(lease));
    const cursor = await bench.lastEvent();
    const second = await bench.engine.settleAndLease(null, { settle: [lost(lease), released(lease)] });
    expect(second.stale).toHaveLength(2);
    expect(await bench.item("a")).toMatchObject({ state: "ready", lostCount: 1 });
    expect(await bench.eventTypes(cursor)).toEqual([]);
    await bench.settle(buried(await bench.leaseOne()));
    expect((await bench.letter("a"))?.lateResults ?? []).toEqual([]);
  });

  test("a lease that is settled twice in one call counts once", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    const answer = await bench.engine.settleAndLease(null, { settle: [retried(lease), retried(lease)] });
    expect(answer.stale).toEqual([{ ref: lease.ref, attempt: 1 }]);
    expect(await bench.item("a")).toMatchObject({ state: "ready", attemptsCounted: 1, attempts: 1 });
  });

  test("one call can settle held leases and return stale ones", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two items were added");
    await bench.settle(lost(a));
    const answer = await bench.engine.settleAndLease(null, { settle: [succeeded(a), succeeded(b)] });
    expect(answer.stale).toEqual([{ ref: a.ref, attempt: 1 }]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 1, done: 1 });
  });

  test("a lease of an unknown item is stale", async (bench) => {
    const lease = { ref: 12_345, attempt: 1 };
    const answer = await bench.engine.settleAndLease(null, { settle: [succeeded(lease)] });
    expect(answer.stale).toEqual([lease]);
  });

  test("of two settlements of one lease in one step the first counts, and the other is stale", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e");
    const [first, ...others] = await bench.lease(5);
    if (!first) throw new Error("five items were added");
    const settle = [retried(first, 0), ...others.map(succeeded), succeeded(first)];
    const { stale } = await bench.engine.settleAndLease(null, { settle });
    expect(stale).toEqual([{ ref: first.ref, attempt: 1 }]);
    expect(await bench.item("a")).toMatchObject({ state: "ready", attemptsCounted: 1 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ done: 4, ready: 1 });
  });
}
