/** The contract of redrives: what is selected, sent back, refused, and accounted for. */
import { expect } from "vitest";
import { buried, lost, released, retried, skipped, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, newItem, QUEUE } from "./workbench.ts";

export function redriveTests(test: Declare): void {
  selecting(test);
  sending(test);
  accounting(test);
}

function selecting(test: Declare): void {
  test("an operation selects the matching dead letters, and does not change them yet", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"], { errorType: "Timeout" });
    await bench.bury(["c"]);
    const filter = { types: ["Timeout"] } as const;
    const begun = await bench.begin("op-1", { filter });
    expect(begun).toEqual({
      id: "op-1",
      kind: "redrive",
      queue: QUEUE,
      filter,
      force: false,
      author: AUTHOR,
      plan: {},
      status: "open",
      createdAt: bench.clock.now(),
      bound: await bench.letterSequence("c"),
      progress: {},
      selected: 2,
      done: 0,
      refused: 0,
      succeeded: 0,
      failed: 0,
      returned: 0,
    });
    expect(await bench.engine.findOperation("op-1")).toEqual(begun);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 3, letters: 3, ready: 0 });
  });

  test("an operation selects letters of its own queue only", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["a"]);
    expect(await bench.begin("op-1", { queue: "job-2" })).toMatchObject({ selected: 0 });
    expect(await bench.begin("op-3", { filter: { queue: "job-2" } })).toMatchObject({ selected: 0 });
    expect(await bench.begin("op-4", { filter: { queue: QUEUE } })).toMatchObject({ selected: 1 });
    const nowhere = bench.begin("op-2", { queue: "job-9" });
    await expect(nowhere).rejects.toMatchObject({ code: "job_not_found" });
  });

  test("a letter that is already in retry is not selected again", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.redriveOne("op-1", "a");
    expect(await bench.begin("op-2")).toMatchObject({ selected: 1 });
  });

  test("letters that are buried after the operation began are not included, even if they match", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    await bench.bury(["b"]);
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({
      selected: 1,
      done: 1,
      refused: 0,
    });
    expect(await bench.item("b")).toMatchObject({ state: "dead", redriveCount: 0 });
  });

  test("an unknown operation cannot be run or closed", async (bench) => {
    expect(await bench.engine.findOperation("op-9")).toBeNull();
    const code = expect.stringMatching(/_not_found$/);
    await expect(bench.engine.advance("op-9", { max: 1 })).rejects.toMatchObject({ code });
    await expect(bench.engine.closeOperation("op-9")).rejects.toMatchObject({ code });
  });
}

function sending(test: Declare): void {
  test("a redriven letter starts with new attempts and keeps its history", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(lost(await bench.leaseOne()));
    await bench.settle(retried(await bench.leaseOne()));
    await bench.settle(buried(await bench.leaseOne()));
    bench.clock.advance(60_000);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      dueAt: bench.clock.now(),
      attempts: 3,
      attemptsCounted: 0,
      lostCount: 0,
      redriveCount: 1,
    });
    expect(await bench.leaseOne()).toMatchObject({
      itemId: "a",
      attempt: 4,
      attemptsCounted: 0,
      lostCount: 0,
    });
  });

  test("invariant 7: a letter leaves only when its new attempt has succeeded", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const lease = await bench.redriveOne("op-1", "a");
    expect(await bench.letter("a")).toMatchObject({ state: "leased", failureCount: 1, redriveCount: 1 });
    await bench.settle(retried(lease));
    expect(await bench.letter("a")).toMatchObject({ state: "ready", failureCount: 2 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 1, dead: 0, letters: 1 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.letterIds()).toEqual([]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ done: 1, letters: 0, resolved: 1 });
  });

  test("invariant 7: a redriven item that fails again is the same letter with a longer history", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    const lease = await bench.redriveOne("op-1", "a");
    bench.clock.advance(1000);
    await bench.settle(buried(lease, { reason: "again", signature: "s2" }));
    const letter = await bench.letter("a");
    expect(letter).toMatchObject({ state: "dead", reason: "again", errorSignature: "s2", redriveCount: 1 });
    expect(letter?.failureHistory.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2]);
    expect(letter?.lastAttempt).toBe(bench.clock.now());
    expect(await bench.letterIds()).toEqual(["a", "b"]);
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect(await bench.letterIds()).toEqual(["b"]);
  });

  test("a call redrives at most the requested number, oldest burial first", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["c", "a", "b"]);
    await bench.begin("op-1");
    expect(await bench.engine.advance("op-1", { max: 2 })).toMatchObject({
      selected: 3,
      done: 2,
      refused: 0,
    });
    expect(await bench.item("b")).toMatchObject({ state: "dead" });
    expect((await bench.lease(10)).map(({ itemId }) => itemId)).toEqual(["c", "a"]);
    expect(await bench.engine.advance("op-1", { max: 2 })).toMatchObject({ done: 3, refused: 0 });
  });

  test("invariant 7: a letter that is not eligible is refused and is still dead", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { reprocessEligible: false });
    await bench.bury(["b"]);
    await bench.begin("op-1");
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({
      selected: 2,
      done: 1,
      refused: 1,
    });
    expect(await bench.item("a")).toMatchObject({ state: "dead", redriveCount: 0 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 1, ready: 1, letters: 2 });
  });

  test("an edited letter is eligible, until it has the data again that failed", async (bench) => {
    await bench.registerHolder();
    const permanent = { errorClass: "permanent", reprocessEligible: false, signature: "s1" } as const;
    await bench.bury(["a"], permanent);
    const countsOf = async (eligible: boolean) =>
      (await bench.engine.listLetters({ queue: QUEUE, eligible, limit: 0 })).total;
    expect([await countsOf(true), await countsOf(false)]).toEqual([0, 1]);
    await bench.edit("a", { data: { n: 2 } });
    expect([await countsOf(true), await countsOf(false)]).toEqual([1, 0]);
    expect(await bench.letter("a")).toMatchObject({ reprocessEligible: true, errorSignature: "s1" });
    await bench.edit("a", { data: newItem("a").data });
    expect(await bench.letter("a")).toMatchObject({ reprocessEligible: false, revision: 3 });
    await bench.edit("a", { data: { n: 3 } });
    await bench.begin("op-1");
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 1, refused: 0 });
    await bench.settle(buried(await bench.leaseOne(), permanent));
    expect(await bench.letter("a")).toMatchObject({ reprocessEligible: false, manualReviewRequired: false });
    expect(await bench.engine.check()).toEqual([]);
  });

  test("editing data makes a poison letter no more eligible, nor equal data any letter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { poison: true, reprocessEligible: false, manualReviewRequired: true });
    await bench.bury(["b"], { reprocessEligible: false });
    await bench.edit("a", { data: "other" });
    await bench.edit("b", { data: newItem("b").data });
    expect(await bench.letter("a")).toMatchObject({ reprocessEligible: false, manualReviewRequired: true });
    expect(await bench.letter("b")).toMatchObject({ reprocessEligible: false });
  });

  test("a forced operation also redrives letters that are not eligible", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { reprocessEligible: false });
    await bench.begin("op-1", { force: true });
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({ done: 1, refused: 0 });
    expect(await bench.item("a")).toMatchObject({ state: "ready" });
  });

  test("a lease can be limited to the items of one operation", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.add("fresh");
    await bench.begin("op-1", { filter: { itemIds: ["b"] } });
    await bench.engine.advance("op-1", { max: 10 });
    const lease = { queue: QUEUE, max: 10, operationId: "op-1" };
    const answer = await bench.engine.settleAndLease("holder-1", { settle: [], lease });
    expect(answer.leased.map(({ itemId }) => itemId)).toEqual(["b"]);
    const [b] = answer.leased;
    if (!b) throw new Error("b was leased");
    await bench.settle(retried(b, 3000));
    const later = await bench.engine.settleAndLease("holder-1", { settle: [], lease });
    expect(later).toMatchObject({ leased: [], nextDueAt: bench.clock.now() + 3000 });
  });

  test("a lease without an operation takes redriven items in turn", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.add("fresh");
    bench.clock.advance(10);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 10 });
    expect((await bench.lease(10)).map(({ itemId }) => itemId)).toEqual(["fresh", "a"]);
  });
}

function accounting(test: Declare): void {
  test("invariant 7: a letter that another operation took meanwhile is refused", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.begin("op-1");
    const gone = await bench.redriveOne("op-2", "a");
    await bench.settle(succeeded(gone));
    const again = await bench.redriveOne("op-3", "b");
    await bench.settle(buried(again));
    expect(await bench.engine.advance("op-1", { max: 10 })).toMatchObject({
      selected: 3,
      done: 1,
      refused: 2,
    });
    expect(await bench.item("b")).toMatchObject({ state: "dead", redriveCount: 1 });
    expect(await bench.item("c")).toMatchObject({ state: "ready", redriveCount: 1 });
  });

  test("each call has one event with its own counts, and none if it counts nothing", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.bury(["c"], { reprocessEligible: false });
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.engine.advance("op-1", { max: 5 });
    await bench.engine.advance("op-1", { max: 5 });
    const told = await bench.engine.listEvents({ after: 0, types: ["dlq_items_reprocessed"], limit: 10 });
    expect(told).toMatchObject([
      { queue: QUEUE, data: { operation_id: "op-1", redriven: 1, refused: 0 } },
      { queue: QUEUE, data: { operation_id: "op-1", redriven: 1, refused: 1 } },
    ]);
    expect(told).toHaveLength(2);
  });

  test("an operation counts the outcomes of its items, and nothing before they end", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 10 });
    const [a, b, c, d] = await bench.lease(4);
    if (!a || !b || !c || !d) throw new Error("four letters were redriven");
    await bench.settle(succeeded(a), buried(b), skipped(c), released(d));
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ done: 4, succeeded: 1, failed: 2 });
    await bench.settle(retried(await bench.leaseOne()));
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ succeeded: 1, failed: 2 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ succeeded: 2, failed: 2 });
  });

  test("a redrive can give its items another priority, many at once or by name", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.add("new");
    await bench.begin("op-1");
    const [, b] = (await bench.engine.listLetters({ queue: QUEUE, order: "oldest", limit: 3 })).letters;
    await bench.engine.advance("op-1", {
      letters: [{ letterSequence: b?.letterSequence ?? 0 }],
      priority: "high",
    });
    await bench.engine.advance("op-1", { max: 1, priority: "low" });
    await bench.engine.advance("op-1", { max: 1 });
    const leased = await bench.lease(4);
    expect(leased.map(({ itemId }) => itemId).indexOf("b")).toBe(0);
    expect(leased.map(({ itemId }) => itemId).indexOf("a")).toBe(3);
    const [item] = await bench.engine.findItems("b", { queue: QUEUE, limit: 1 });
    expect(item?.priority).toBe("high");
  });

  test("an item counts for the operation that redrove it last", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ succeeded: 0, failed: 1 });
    expect(await bench.engine.findOperation("op-2")).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("a redrive ends in the step that settles its last letter, and not before", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await bench.engine.findOperation("op-1"))?.endedAt).toBeUndefined();
    await bench.engine.advance("op-1", { max: 1 });
    expect((await bench.engine.findOperation("op-1"))?.endedAt).toBeUndefined();
    await bench.settle(buried(await bench.leaseOne()));
    const endedAt = bench.clock.now();
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ endedAt, succeeded: 1, failed: 1 });
    bench.clock.advance(1000);
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ endedAt });
  });

  test("a redrive that selected nothing ends immediately", async (bench) => {
    await bench.begin("op-1");
    expect(await bench.engine.findOperation("op-1")).toMatchObject({
      selected: 0,
      endedAt: bench.clock.now(),
    });
  });

  test("operations are listed oldest first, of one queue or all, open ones or all", async (bench) => {
    await bench.job("job-2");
    await bench.begin("op-2", { kind: "edit" });
    await bench.begin("op-1", { kind: "edit", queue: "job-2" });
    await bench.begin("op-3", { kind: "edit" });
    await bench.engine.closeOperation("op-2");
    const ids = async (filter: { queue?: string; open?: boolean }) =>
      (await bench.engine.listOperations(filter)).map(({ id }) => id);
    expect(await ids({})).toEqual(["op-2", "op-1", "op-3"]);
    expect(await ids({ open: true })).toEqual(["op-1", "op-3"]);
    expect(await ids({ open: false })).toEqual(["op-2"]);
    expect(await ids({ queue: QUEUE, open: true })).toEqual(["op-3"]);
  });
}
