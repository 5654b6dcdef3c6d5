/** The contract of durability, for engines with persistent stores: acknowledged changes survive. */
import { expect } from "vitest";
import { buried, lost, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function durabilityTests(test: Declare): void {
  const everything = async ({ engine }: Workbench) => ({
    job: await engine.findJob(QUEUE),
    counts: await engine.count(QUEUE),
    items: await engine.findItems("", { queue: QUEUE, limit: 100 }),
    attempts: await Promise.all([1, 2, 3].map((ref) => engine.listAttempts(ref))),
    amendments: await Promise.all([1, 2, 3].map((ref) => engine.listAmendments(ref))),
    letters: await engine.listLetters({ limit: 100 }),
    closed: await engine.listLetters({ states: ["discarded", "done"], limit: 100 }),
    groups: await engine.listGroups({}),
    arrivals: await engine.listArrivals({ bucketMs: 60_000 }),
    holders: await engine.listHolders(),
    leases: await engine.listLeases("holder-1"),
    events: await engine.listEvents({ after: 0, limit: 1000 }),
    operations: await engine.listOperations({}),
    selected: await engine.listSelected("op-1", { limit: 100 }),
    counters: await engine.listCounters(),
    errors: await engine.listErrors({ limit: 100 }),
    notes: await Promise.all([1, 2, 3].map((ref) => engine.listNotes(ref))),
    gate: await engine.readDocument(`gate/${QUEUE}`),
    document: await engine.readDocument("watch/one"),
  });

  test("invariant 2: everything acknowledged is there after the store is reopened", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three items were added");
    await bench.settle(buried(a), retried(b, 1000));
    await bench.begin("op-1");
    const before = await everything(bench);
    expect(before.items).toHaveLength(3);
    await bench.reopen();
    expect(await everything(bench)).toEqual(before);
  });

  test("pauses, ordering keys, holds, gates, rates and documents are there after the store is reopened", async (bench) => {
    await bench.registerHolder();
    const more = { priority: "high", orderingKey: "l", name: "n", expiresAt: bench.clock.now() + 9 } as const;
    await bench.engine.add(QUEUE, [
      { itemId: "a", data: 1, ...more },
      { itemId: "b", data: 1, orderingKey: "l" },
      { itemId: "c", data: 1 },
      { itemId: "d", data: 1 },
    ]);
    await bench.engine.hold(QUEUE, ["a"], { author: "ada" });
    await bench.engine.writeDocument("watch/one", { seen: 0, body: { at: 1 } });
    const rate = { perSecond: 1 };
    const ask = { queue: QUEUE, max: 5, rate };
    const gate = { queue: QUEUE, seen: 0, next: { parkedUntil: 7 } };
    const { leased } = await bench.engine.settleAndLease("holder-1", { settle: [], lease: ask, gate });
    expect(leased).toMatchObject([{ itemId: "c" }]);
    await bench.begin("op-1");
    await bench.engine.changeJob(QUEUE, { pause: { author: "ada", reason: "r" } });
    const before = await everything(bench);
    expect(before).toMatchObject({ gate: { version: 1 }, document: { version: 1 }, job: { pause: {} } });
    await bench.reopen();
    expect(await everything(bench)).toEqual(before);
    await bench.engine.changeJob(QUEUE, { pause: null });
    expect((await bench.engine.settleAndLease("holder-1", { settle: [], lease: ask })).leased).toEqual([]);
    bench.clock.advance(1000);
    expect(await bench.lease(5)).toMatchObject([{ itemId: "d" }]);
  });

  test("resolutions of letters are there after the store is reopened", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d"], { poison: true });
    await bench.begin("op-1", { kind: "discard", reason: "not ours", plan: { n: 1 } });
    await bench.edit("a", { data: { fixed: true }, note: "n" });
    await bench.engine.addNote((await bench.item("a")).ref, { author: "ada", text: "note" });
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    await bench.operate("purge", ["b"]);
    await bench.engine.advance("op-1", { max: 3, progress: { stage: 2 } });
    await bench.engine.changeOperation("op-1", { status: "paused" });
    const before = await everything(bench);
    expect(before.closed.letters).toMatchObject([
      { itemId: "c" },
      { itemId: "a", notes: [{}], amendments: [{}] },
    ]);
    expect(before.counts).toMatchObject({ purged: 1, resolved: 1, discarded: 2 });
    await bench.reopen();
    expect(await everything(bench)).toEqual(before);
  });

  test("a search for letters continues at its cursor", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1", { selection: "enlisted" });
    await bench.engine.enlist("op-1", {
      letterSequences: [await bench.letterSequence("b")],
      cursor: "place-1",
    });
    await bench.reopen();
    const found = await bench.engine.findOperation("op-1");
    expect(found).toMatchObject({ status: "selecting", cursor: "place-1", selected: 1 });
    const last = { letterSequences: [await bench.letterSequence("a")], cursor: null };
    expect(await bench.engine.enlist("op-1", last)).toMatchObject({ status: "open", selected: 2 });
  });

  test("a lease outlives the process that opened the store, and the next process can settle it", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.reopen();
    expect(await bench.engine.listLeases("holder-1")).toEqual([lease]);
    await bench.settle(lost(lease));
    await bench.reopen();
    expect(await bench.item("a")).toMatchObject({ state: "ready", lostCount: 1 });
  });

  test("an operation continues where it stopped", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.settle(...(await bench.lease(2)).map((lease) => buried(lease)));
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.reopen();
    expect(await bench.engine.advance("op-1", { max: 5 })).toMatchObject({
      selected: 2,
      done: 2,
      refused: 0,
    });
    await bench.reopen();
    await bench.settle(...(await bench.lease(2)).map(succeeded));
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({
      succeeded: 2,
      endedAt: bench.clock.now(),
    });
  });

  test("decisions about groups are there after the store is reopened", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { signature: "s1" });
    const until = { at: 5, count: 9, perHour: 1 };
    await bench.engine.changeGroup("s1", {
      author: "ada",
      state: "ignored",
      ignoreUntil: until,
      note: "later",
    });
    await bench.engine.correct({ from: "s2", text: "x", to: "s1", pattern: "p", author: "ada" });
    const before = [await bench.engine.readGroup("s1"), await bench.engine.listCorrections()];
    await bench.reopen();
    expect([await bench.engine.readGroup("s1"), await bench.engine.listCorrections()]).toEqual(before);
    expect(before).toMatchObject([{ state: "ignored", ignoreUntil: until }, [{ from: "s2" }]]);
  });

  test("event ids keep increasing after the store is reopened", async (bench) => {
    const before = await bench.lastEvent();
    await bench.reopen();
    await bench.add("a");
    expect(await bench.lastEvent()).toBeGreaterThan(before);
    expect(await bench.eventTypes(before)).toEqual(["item_queued"]);
  });
}
