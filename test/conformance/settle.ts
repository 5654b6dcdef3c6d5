/** The contract of settling: the new state of an item after each verdict, and what is counted. */
import { expect } from "vitest";
import { AssertionError } from "../../src/std/assert.ts";
import {
  buried,
  buriedAsLost,
  failureOf,
  lost,
  parked,
  released,
  retried,
  skipped,
  succeeded,
} from "../support/settlements.ts";
import { type Declare, QUEUE } from "./workbench.ts";

export function settleTests(test: Declare): void {
  verdicts(test);
  records(test);
}

function verdicts(test: Declare): void {
  test("done ends the item and counts no attempt", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.item("a")).toMatchObject({
      state: "done",
      attempts: 1,
      attemptsCounted: 0,
      lostCount: 0,
    });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ done: 1, leased: 0, letters: 0, attempts: 1 });
    expect(await bench.letter("a")).toBeNull();
  });

  test("retry counts an attempt and delays the item by the store's clock", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    bench.clock.advance(700);
    await bench.settle(retried(lease, 2000));
    const dueAt = bench.clock.now() + 2000;
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      dueAt,
      attempts: 1,
      attemptsCounted: 1,
      lostCount: 0,
    });
  });

  test("a lost attempt counts as lost and not as a try", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(lost(await bench.leaseOne()));
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      attempts: 1,
      attemptsCounted: 0,
      lostCount: 1,
    });
    expect(await bench.leaseOne()).toMatchObject({ attempt: 2, attemptsCounted: 0, lostCount: 1 });
  });

  test("invariant 5: an item that is parked for an outage counts no attempt", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(parked(await bench.leaseOne(), 30_000));
    const dueAt = bench.clock.now() + 30_000;
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      dueAt,
      attempts: 1,
      attemptsCounted: 0,
      lostCount: 0,
    });
  });

  test("invariant 5: a released item counts no attempt and keeps its position", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    bench.clock.advance(1000);
    await bench.add("b");
    const lease = await bench.leaseOne();
    bench.clock.advance(1000);
    await bench.settle(released(lease));
    const dueAt = bench.clock.now() - 2000;
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      dueAt,
      attempts: 1,
      attemptsCounted: 0,
      lostCount: 0,
    });
    expect((await bench.lease(2)).map(({ itemId }) => itemId)).toEqual(["a", "b"]);
  });

  test("skip ends the item without a letter", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(skipped(await bench.leaseOne()));
    expect(await bench.item("a")).toMatchObject({ state: "skipped", attemptsCounted: 1 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ skipped: 1, letters: 0 });
    expect(await bench.letter("a")).toBeNull();
  });

  test("bury and stop create a letter", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three items were added");
    const stop = buried(b);
    await bench.settle(buried(a), { ...stop, verdict: { kind: "stop", reason: "stopped" } }, buriedAsLost(c));
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 3, letters: 3, leased: 0, attempts: 3 });
    expect(await bench.item("b")).toMatchObject({ state: "dead", attemptsCounted: 1, lostCount: 0 });
    expect(await bench.item("c")).toMatchObject({ state: "dead", attemptsCounted: 0, lostCount: 1 });
  });

  test("invariant 1: an item is in exactly one state, and the counters add up", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e", "f");
    const [a, b, c, d] = await bench.lease(5);
    if (!a || !b || !c || !d) throw new Error("six items were added");
    await bench.settle(succeeded(a), buried(b), skipped(c), retried(d, 1000));
    const counts = await bench.engine.count(QUEUE);
    const ended = { done: 1, dead: 1, skipped: 1, held: 0, discarded: 0, resolved: 0, purged: 0, evicted: 0 };
    expect(counts).toEqual({ ...ended, ready: 2, leased: 1, total: 6, letters: 1, attempts: 5 });
  });
}

function records(test: Declare): void {
  test("the results of successes are listed by age, page by page", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d");
    const [a, b, c, d] = await bench.lease(4);
    if (!a || !b || !c || !d) throw new Error("four items were added");
    await bench.settle(
      { ...succeeded(c), result: { words: 3 } },
      { ...succeeded(a), result: "one" },
      buried(b),
      succeeded(d),
    );
    const list = (after: number, limit: number) => bench.engine.listResults(QUEUE, { after, limit });
    expect(await list(0, 2)).toEqual([
      { ref: a.ref, itemId: "a", result: "one" },
      { ref: c.ref, itemId: "c", result: { words: 3 } },
    ]);
    expect(await list(c.ref, 2)).toEqual([{ ref: d.ref, itemId: "d", result: null }]);
    expect((await bench.engine.listAttempts(c.ref)).at(-1)).toMatchObject({ result: { words: 3 } });
  });

  test("a result may be a bigint of any size; a small one is read as a number", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three items were added");
    await bench.settle(
      { ...succeeded(a), result: 3n },
      { ...succeeded(b), result: { small: [-7n], large: 9007199254740993n } },
      { ...succeeded(c), result: { number: 3 } },
    );
    expect(await bench.engine.listResults(QUEUE, { after: 0, limit: 3 })).toEqual([
      { ref: a.ref, itemId: "a", result: 3 },
      { ref: b.ref, itemId: "b", result: { small: [-7], large: 9007199254740993n } },
      { ref: c.ref, itemId: "c", result: { number: 3 } },
    ]);
  });

  test("each of many successes in one step has its own times, log and result", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e", "f", "g");
    const startedAt = bench.clock.now();
    const first = await bench.lease(3);
    bench.clock.advance(10);
    const leased = [...first, ...(await bench.lease(4))];
    bench.clock.advance(5);
    const text = 'a "quoted" \\ \u{1f600} \u0000 \ud800 text';
    const left = [{}, { log: "/logs/é 1.log" }, { result: text }, { result: { list: [1, null, text] } }];
    const more = [{ result: null }, { result: "null" }, { log: "2.log", result: 0.5 }];
    const settlements = leased.map((lease, at) => ({ ...succeeded(lease), ...[...left, ...more][at] }));
    await bench.settle(...settlements);
    for (const [at, { ref }] of leased.entries()) {
      expect(await bench.engine.listAttempts(ref)).toEqual([
        {
          ...{ number: 1, outcome: "succeeded", holder: "holder-1" },
          ...{ startedAt: startedAt + (at < 3 ? 0 : 10), endedAt: startedAt + 15 },
          ...[...left, ...more][at],
        },
      ]);
    }
  });

  test("many different outcomes in one step have the same effects as one by one, in order", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e", "f", "g", "h");
    const [a, b, c, d, e, f, g, h] = await bench.lease(8);
    if (!a || !b || !c || !d || !e || !f || !g || !h) throw new Error("eight items were added");
    await bench.settle(released(g));
    bench.clock.advance(250);
    const failure = failureOf(b, { errorMessage: 'b: "no" \u{1f600} \ud800' });
    const notes = [{ author: "ada", text: "it was near" }];
    const cursor = await bench.lastEvent();
    const settle = [
      { ...retried(a, 5000), log: "a.log" },
      { ...buried(b), failure },
      { ...succeeded(c), notes, counts: ["extra"] },
      lost(d, 100),
      succeeded(e),
      buried(f, { signature: "00000000000000bb" }),
      buried(g), // the lease was released before
      retried(h),
    ];
    const { stale } = await bench.engine.settleAndLease(null, { settle });
    expect(stale).toEqual([{ ref: g.ref, attempt: 1 }]);
    const now = bench.clock.now();
    const items = await bench.engine.listItems({ queue: QUEUE, limit: 10 });
    expect(
      items.map(({ itemId, state, attemptsCounted, lostCount }) => [
        itemId,
        state,
        attemptsCounted,
        lostCount,
      ]),
    ).toEqual([
      ["a", "ready", 1, 0],
      ["b", "dead", 1, 0],
      ["c", "done", 0, 0],
      ["d", "ready", 0, 1],
      ["e", "done", 0, 0],
      ["f", "dead", 1, 0],
      ["g", "ready", 0, 0],
      ["h", "ready", 1, 0],
    ]);
    expect(items.filter(({ state }) => state === "ready").map(({ dueAt }) => dueAt - now)).toEqual([
      ...[5000, 100, -250, 0],
    ]);
    const [record] = await bench.engine.listAttempts(a.ref);
    expect(record).toMatchObject({ outcome: "failed", log: "a.log", startedAt: now - 250, endedAt: now });
    expect((await bench.letter("b"))?.failureHistory).toEqual([failure]);
    expect(await bench.letterIds()).toEqual(["f", "b"]); // newest first
    expect(await bench.engine.listNotes(c.ref)).toMatchObject(notes);
    const types = (await bench.engine.listEvents({ after: cursor, limit: 99 })).map(
      ({ type, itemId }) => `${itemId} ${type}`,
    );
    expect(types.filter((type) => !type.includes("group_opened"))).toEqual([
      ...["a attempt_failed", "a attempt_retrying", "b attempt_failed", "b dlq_item_added"],
      ...["c attempt_succeeded", "d attempt_lost", "d attempt_retrying", "e attempt_succeeded"],
      ...["f attempt_failed", "f dlq_item_added", "g late_result", "h attempt_failed", "h attempt_retrying"],
    ]);
  });

  test("invariant 4: every attempt leaves one record with its outcome", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const startedAt = bench.clock.now();
    const first = await bench.leaseOne();
    bench.clock.advance(250);
    await bench.settle({ ...retried(first), log: "/logs/a/1.log" });
    const second = await bench.leaseOne();
    await bench.settle(released(second));
    const third = await bench.leaseOne();
    await bench.settle(lost(third));
    const fourth = await bench.leaseOne();
    await bench.settle(succeeded(fourth));
    const attempts = await bench.engine.listAttempts(first.ref);
    expect(attempts[0]).toEqual({
      number: 1,
      outcome: "failed",
      holder: "holder-1",
      startedAt,
      endedAt: startedAt + 250,
      failure: failureOf(first),
      log: "/logs/a/1.log",
    });
    expect(attempts.map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, "failed"],
      [2, "released"],
      [3, "lost"],
      [4, "succeeded"],
    ]);
    expect(attempts[3]?.failure).toBeUndefined();
    expect(attempts[2]?.failure?.errorType).toEqual({ name: "WorkerLost" });
  });

  test("every field of a failure is stored", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    const failure = failureOf(lease, {
      errorContext: ["map", "agent 3"],
      stackTrace: "at main",
      jsonLogLocation: "/logs/agent.json",
      signal: "SIGKILL",
      stdoutTail: "line\nline",
      stderrTail: "\u001b[31mred\u001b[0m",
      log: "/logs/a/1.log",
      evidence: [
        { path: "/tmp/shot.png", sha256: "ab12", bytes: 7, mediaType: "image/png", host: "robot-3" },
        { path: "/tmp/gone.png", missing: true },
        { path: "/srv/dumps", problem: "is a folder", kept: "/home/e/ab/ab12" },
      ],
      source: {
        executionId: "20260216143022",
        flow: "DF1",
        subflow: "Main",
        action: "5",
        actionName: "Click",
      },
    });
    await bench.settle({ ...retried(lease), failure });
    expect((await bench.engine.listAttempts(lease.ref))[0]?.failure).toEqual(failure);
  });

  test("an unknown item has no attempts", async (bench) => {
    expect(await bench.engine.listAttempts(12_345)).toEqual([]);
    expect(await bench.engine.readLetter(12_345)).toBeNull();
  });

  test("an inconsistent settlement is a bug, and nothing of the call is written", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two items were added");
    const { death: _, ...withoutDeath } = buried(b);
    const call = bench.engine.settleAndLease(null, { settle: [succeeded(a), withoutDeath] });
    await expect(call).rejects.toThrow(AssertionError);
    expect(await bench.engine.listLeases("holder-1")).toEqual([a, b]);
  });
}
