/** The contract of corrections and regrouping: to which groups existing and later letters belong. */
import { expect } from "vitest";
import type { Regrouped } from "../../src/engine.ts";
import type { Correction } from "../../src/item/group.ts";
import { mergeGroups, rebuildGroups, splitGroup } from "../../src/redrive/correct-groups.ts";
import { assert } from "../../src/std/assert.ts";
import { splitSignature } from "../../src/triage/grouping.ts";
import { signatureOf } from "../../src/triage/signature.ts";
import { buried, failureOf, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function regroupTests(test: Declare): void {
  correcting(test);
  laterFailures(test);
  moving(test);
  carrying(test);
  countingAnew(test);
}

/** Records that letters of one group belong to another. */
function correct(bench: Workbench, change: Partial<Correction> = {}): Promise<void> {
  const merge = { from: "s1", to: "s2", pattern: "pattern of s2", author: AUTHOR };
  return bench.engine.correct({ ...merge, ...change });
}

/** Adds an item and buries it for a failure with this message. */
async function bury(
  bench: Workbench,
  itemId: string,
  errorMessage = "boom",
  signature = "s1",
): Promise<void> {
  await bench.add(itemId);
  const lease = await bench.leaseOne();
  const death = { signature, pattern: `pattern of ${signature}` };
  await bench.settle({ ...buried(lease, death), failure: failureOf(lease, { errorMessage }) });
}

async function regroup(bench: Workbench, itemId: string, change: Partial<Regrouped> = {}): Promise<number> {
  const to = { signature: "s2", pattern: "pattern of s2", algorithm: "redrive-1" };
  return bench.engine.regroup([{ letterSequence: await bench.letterSequence(itemId), ...to, ...change }]);
}

async function groupOf(bench: Workbench, itemId: string): Promise<readonly unknown[]> {
  const letter = await bench.letter(itemId);
  return [letter?.errorSignature, letter?.errorPattern];
}

const sizes = async (bench: Workbench) =>
  (await bench.engine.listGroups({ queue: QUEUE })).map(({ signature, count }) => [signature, count]);

function correcting(test: Declare): void {
  test("corrections are listed oldest first, with author and time", async (bench) => {
    const at = bench.clock.now();
    await correct(bench);
    bench.clock.advance(1000);
    await correct(bench, { from: "s0", text: "Boom", to: "s3", pattern: "p" });
    expect(await bench.engine.listCorrections()).toEqual([
      { from: "s1", to: "s2", pattern: "pattern of s2", author: AUTHOR, at },
      { from: "s0", text: "Boom", to: "s3", pattern: "p", author: AUTHOR, at: at + 1000 },
    ]);
  });

  test("a correction with the same origin and text replaces the earlier one, ignoring case", async (bench) => {
    await correct(bench);
    await correct(bench, { text: "boom" });
    await correct(bench, { to: "s3" });
    await correct(bench, { text: "BOOM", to: "s4" });
    const corrections = await bench.engine.listCorrections();
    expect(corrections.map(({ text, to }) => [text, to])).toEqual([
      [undefined, "s3"],
      ["BOOM", "s4"],
    ]);
  });

  test("a correction is removed by its origin and text", async (bench) => {
    await correct(bench);
    await correct(bench, { text: "boom" });
    expect(await bench.engine.removeCorrection("s1", "bo")).toBe(false);
    expect(await bench.engine.removeCorrection("s9")).toBe(false);
    expect(await bench.engine.removeCorrection("s1", "Boom")).toBe(true);
    expect(await bench.engine.removeCorrection("s1", "boom")).toBe(false);
    expect(await bench.engine.listCorrections()).toMatchObject([{ from: "s1", to: "s2" }]);
    expect(await bench.engine.removeCorrection("s1")).toBe(true);
    expect(await bench.engine.listCorrections()).toEqual([]);
  });

  test("a group cannot be corrected to itself, nor split by an empty text", async (bench) => {
    await expect(correct(bench, { to: "s1" })).rejects.toThrow();
    await expect(correct(bench, { text: "" })).rejects.toThrow();
    expect(await bench.engine.listCorrections()).toEqual([]);
  });

  test("a correction does not move existing letters", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a");
    await correct(bench);
    expect(await sizes(bench)).toEqual([["s1", 1]]);
    expect(await bench.engine.readGroup("s2")).toBeNull();
  });
}

function laterFailures(test: Declare): void {
  test("later failures of a merged group join the other group", async (bench) => {
    await bench.registerHolder();
    await correct(bench);
    const cursor = await bench.lastEvent();
    await bury(bench, "a");
    expect(await groupOf(bench, "a")).toEqual(["s2", "pattern of s2"]);
    expect(await sizes(bench)).toEqual([["s2", 1]]);
    expect(await bench.engine.readGroup("s1")).toBeNull();
    const events = await bench.engine.listEvents({ after: cursor, limit: 100 });
    expect(events.flatMap(({ data }) => data?.signature ?? [])).toEqual(["s2", "s2"]);
    await bench.engine.removeCorrection("s1");
    await bury(bench, "b");
    expect(await groupOf(bench, "b")).toEqual(["s1", "pattern of s1"]);
  });

  test("later failures whose message contains the text join the split group", async (bench) => {
    await bench.registerHolder();
    await correct(bench, { text: "GRÖSSE", to: "s3", pattern: "size" });
    await bury(bench, "a", "ungültige größe 7"); // case folding must not turn ß into ss
    await bury(bench, "b", "ungültige Grösse 7");
    expect(await groupOf(bench, "a")).toEqual(["s1", "pattern of s1"]);
    expect(await groupOf(bench, "b")).toEqual(["s3", "size"]);
  });

  test("a split precedes a merge of the same group, and an older split precedes a newer one", async (bench) => {
    await bench.registerHolder();
    await correct(bench);
    await correct(bench, { text: "disk", to: "s3", pattern: "disk" });
    await correct(bench, { text: "full", to: "s4", pattern: "full" });
    await bury(bench, "both", "the disk is full");
    await bury(bench, "one", "the house is full");
    await bury(bench, "none", "nothing");
    const letters = ["both", "one", "none"];
    const found = await Promise.all(letters.map(async (itemId) => (await groupOf(bench, itemId))[0]));
    expect(found).toEqual(["s3", "s4", "s2"]);
  });

  test("a split that was merged later is followed to the end, and a cycle ends", async (bench) => {
    await bench.registerHolder();
    await correct(bench, { text: "disk", to: "s3", pattern: "disk" });
    await correct(bench, { from: "s3", to: "s2" });
    await bury(bench, "a", "the disk is full");
    expect(await groupOf(bench, "a")).toEqual(["s2", "pattern of s2"]);
    await correct(bench, { from: "s2", to: "s3", pattern: "disk" });
    await bury(bench, "b", "no memory", "s2");
    expect((await groupOf(bench, "b"))[0]).toBe("s3");
  });

  test("corrections also apply to imported letters", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "the disk is full");
    const letter = await bench.letter("a");
    assert(letter, "a is a letter");
    await correct(bench, { text: "disk" });
    await bench.job("job-2");
    await bench.engine.importLetters("job-2", [letter]);
    const groups = await bench.engine.listGroups({ queue: "job-2" });
    expect(groups).toMatchObject([{ signature: "s2", count: 1, algorithm: "imported" }]);
    const [imported] = (await bench.told("dlq_item_added")).slice(-1);
    expect(imported?.data).toMatchObject({ reason: "imported", signature: "s2" });
  });

  test("a redriven letter that fails with the same corrected signature has failed again in the same way", async (bench) => {
    await bench.registerHolder();
    await correct(bench);
    await bury(bench, "a");
    const lease = await bench.redriveOne("op-1", "a");
    await bench.settle(buried(lease, { signature: "s1" }));
    expect(await bench.engine.findOperation("op-1")).toMatchObject({ failed: 1, returned: 1 });
  });

  test("a burial by a correction reopens the group that it joins", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "boom", "s2");
    await bench.engine.changeGroup("s2", { author: AUTHOR, state: "resolved" });
    await correct(bench);
    await bury(bench, "b");
    expect(await bench.engine.readGroup("s2")).toMatchObject({ state: "open", isRegression: true });
  });
}

function moving(test: Declare): void {
  test("regrouping moves a letter to the group that a burial would select now, and changes nothing else", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a");
    await bench.engine.addNote((await bench.item("a")).ref, { author: AUTHOR, text: "n" });
    const before = await bench.letter("a");
    bench.clock.advance(5000);
    const cursor = await bench.lastEvent();
    expect(await regroup(bench, "a")).toBe(1);
    expect(await bench.letter("a")).toEqual({
      ...before,
      errorSignature: "s2",
      errorPattern: "pattern of s2",
    });
    expect(await bench.eventTypes(cursor)).toEqual(["group_opened"]);
    expect(await bench.engine.readGroup("s2")).toMatchObject({ state: "open", since: bench.clock.now() });
    expect(await bench.engine.readGroup("s1")).toMatchObject({ state: "open" });
  });

  test("corrections are applied to the given signature", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "the disk is full");
    await bury(bench, "b", "nothing");
    await correct(bench, { text: "disk", to: "s3", pattern: "disk" });
    const again = { signature: "s1", pattern: "pattern of s1" };
    expect([await regroup(bench, "a", again), await regroup(bench, "b", again)]).toEqual([1, 0]);
    expect(await sizes(bench)).toEqual([
      ["s1", 1],
      ["s3", 1],
    ]);
    await bench.engine.removeCorrection("s1", "disk");
    expect(await regroup(bench, "a", again)).toBe(1);
    expect(await sizes(bench)).toEqual([["s1", 2]]);
  });

  test("deleted letters are skipped; if a letter is listed twice, the first entry counts", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a");
    await bury(bench, "b");
    const [letterSequence, gone] = [await bench.letterSequence("a"), await bench.letterSequence("b")];
    await bench.operate("purge", ["b"]);
    const to = { pattern: "p", algorithm: "redrive-1" };
    const letters = [
      { letterSequence: gone, signature: "s2", ...to },
      { letterSequence: 999, signature: "s2", ...to },
      { letterSequence, signature: "s3", ...to },
      { letterSequence, signature: "s4", ...to },
    ];
    expect(await bench.engine.regroup(letters)).toBe(1);
    expect(await groupOf(bench, "a")).toEqual(["s3", "p"]);
    expect(await bench.engine.readGroup("s4")).toBeNull();
    expect(await bench.engine.regroup([])).toBe(0);
  });

  test("an existing record is unchanged", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a", "boom", "s2");
    await bench.engine.changeGroup("s2", { author: AUTHOR, state: "resolved" });
    await bury(bench, "b");
    await regroup(bench, "b", { pattern: "another" });
    expect(await bench.engine.readGroup("s2")).toMatchObject({ state: "resolved", regressions: 0 });
    expect(await groupOf(bench, "b")).toEqual(["s2", "pattern of s2"]);
  });

  test("a group has the algorithm of its first letter, or of the last grouping", async (bench) => {
    const algorithms = async () =>
      (await bench.engine.listGroups({})).map(({ signature, algorithm }) => [signature, algorithm]);
    await bench.registerHolder();
    await bury(bench, "a");
    await bench.bury(["b"], { signature: "s1", algorithm: "redrive-2", reprocessEligible: false });
    expect(await algorithms()).toEqual([["s1", "redrive-1"]]);
    expect(await regroup(bench, "b", { signature: "s1", algorithm: "redrive-2" })).toBe(0);
    expect(await algorithms()).toEqual([["s1", "redrive-2"]]);
    await regroup(bench, "a", { algorithm: "redrive-3" });
    expect(await algorithms()).toEqual([
      ["s1", "redrive-2"],
      ["s2", "redrive-3"],
    ]);
  });
}

/** A letter whose message has this signature now, in a group that an older algorithm named. */
async function buryOutdated(bench: Workbench, itemId: string, message: string, signature: string) {
  await bench.add(itemId);
  const lease = await bench.leaseOne();
  const failure = failureOf(lease, { errorMessage: message });
  const death = { signature, pattern: signatureOf(failure).pattern, algorithm: "redrive-0" };
  await bench.settle({ ...buried(lease, death), failure });
  return signatureOf(failure).signature;
}

function carrying(test: Declare): void {
  test("a rebuild with a new algorithm keeps states and notes", async (bench) => {
    await bench.registerHolder();
    const ignored = await buryOutdated(bench, "a", "disk full", "s1");
    const resolved = await buryOutdated(bench, "b", "no route to the shop", "s2");
    const open = await buryOutdated(bench, "c", "bad cart", "s3");
    const { engine } = bench;
    await engine.changeGroup("s1", {
      author: AUTHOR,
      state: "ignored",
      ignoreUntil: { count: 7 },
      note: "wait",
    });
    await engine.changeGroup("s2", { author: AUTHOR, state: "resolved" });
    await rebuildGroups(engine, { rules: [] });
    expect(await engine.readGroup(ignored)).toMatchObject({
      state: "ignored",
      author: AUTHOR,
      ignoreUntil: { count: 7 },
      notes: [{ text: "wait", author: AUTHOR }],
    });
    expect(await engine.readGroup(resolved)).toMatchObject({ state: "resolved", notes: [] });
    expect(await engine.readGroup(open)).toMatchObject({ state: "open", notes: [] });
    await engine.changeGroup(ignored, { author: AUTHOR, state: "open" });
    await rebuildGroups(engine, { rules: [] });
    expect(await engine.readGroup(ignored)).toMatchObject({ state: "open", notes: [{ text: "wait" }] });
    expect(await engine.check()).toEqual([]);
  });

  test("a group that joins an open and an ignored one is open", async (bench) => {
    await bench.registerHolder();
    const joined = await buryOutdated(bench, "a", "no file 'a'", "s1");
    expect(await buryOutdated(bench, "b", 'no file "b"', "s2")).toBe(joined);
    await bench.engine.changeGroup("s1", { author: AUTHOR, state: "ignored", note: "wait" });
    await rebuildGroups(bench.engine, { rules: [] });
    expect(await bench.engine.readGroup(joined)).toMatchObject({ state: "open", notes: [{ text: "wait" }] });
  });

  test("a rebuild with a new algorithm keeps merges and splits, also for later failures", async (bench) => {
    await bench.registerHolder();
    const full = await buryOutdated(bench, "a", "disk full", "s1");
    const busy = await buryOutdated(bench, "b", "disk busy", "s2");
    const route = await buryOutdated(bench, "c", "no route to the shop", "s3");
    const { engine } = bench;
    await mergeGroups(engine, { groups: [await record(bench, "s1")], into: await record(bench, "s2") }, by);
    const split = await splitGroup(engine, await record(bench, "s3"), { ...by, text: "shop", name: "shop" });
    expect(split.moved).toBe(1);
    await rebuildGroups(engine, { rules: [] });
    expect((await groupOf(bench, "a"))[0]).toBe(busy);
    expect((await groupOf(bench, "b"))[0]).toBe(busy);
    expect(await groupOf(bench, "c")).toEqual([splitSignature(route, "shop"), "shop"]);
    const kept = (await engine.listCorrections()).map(({ from, text, to }) => [from, text, to]);
    expect(kept).toEqual([
      [full, undefined, busy],
      [route, "shop", splitSignature(route, "shop")],
    ]);
    await bury(bench, "d", "disk full", full);
    expect((await groupOf(bench, "d"))[0]).toBe(busy);
    await rebuildGroups(engine, { rules: [] });
    expect(await engine.listCorrections()).toHaveLength(2);
    expect(await engine.check()).toEqual([]);
  });
}

const by = { author: AUTHOR };

async function record(bench: Workbench, signature: string) {
  const found = await bench.engine.readGroup(signature);
  assert(found !== null, `there is no group ${signature}`);
  return found;
}

function countingAnew(test: Declare): void {
  /** A letter of s1 in every state. */
  const inAllStates = async (bench: Workbench) => {
    await bench.registerHolder();
    for (const itemId of ["dead", "away", "resolved", "discarded"]) await bury(bench, itemId);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "resolved")));
    await bench.operate("discard", ["discarded"]);
    await bench.operate("redrive", ["away"]);
  };

  test("waiting and resolved letters move with all their counters", async (bench) => {
    await inAllStates(bench);
    const states = ["dead", "ready", "done", "discarded"] as const;
    for (const itemId of ["dead", "away", "resolved", "discarded"]) {
      expect(await regroup(bench, itemId)).toBe(1);
      expect(await bench.engine.check()).toEqual([]);
    }
    for (const state of states) {
      expect(await bench.letterIds({ states: [state], signatures: ["s2"] })).toHaveLength(1);
      expect(await bench.letterIds({ states: [state], signatures: ["s1"] })).toEqual([]);
    }
    expect(await sizes(bench)).toEqual([["s2", 2]]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ letters: 2, resolved: 1, discarded: 1 });
  });

  test("arrivals move too, and a minute without burials is omitted", async (bench) => {
    await inAllStates(bench);
    const arrivals = (signature: string) =>
      bench.engine.listArrivals({ bucketMs: 60_000, signatures: [signature] });
    expect(await arrivals("s1")).toMatchObject([{ waiting: 2, ever: 4 }]);
    for (const itemId of ["dead", "resolved"]) await regroup(bench, itemId);
    expect(await arrivals("s1")).toMatchObject([{ waiting: 1, ever: 2 }]);
    expect(await arrivals("s2")).toMatchObject([{ waiting: 1, ever: 2 }]);
    for (const itemId of ["away", "discarded"]) await regroup(bench, itemId);
    expect(await arrivals("s1")).toEqual([]);
    expect(await arrivals("s2")).toMatchObject([{ waiting: 2, ever: 4 }]);
  });

  test("the times of a group span its regrouped burials, and filters by age use them", async (bench) => {
    await bench.registerHolder();
    await bury(bench, "a");
    const firstAt = bench.clock.now();
    bench.clock.advance(10_000);
    await bury(bench, "b", "boom", "s2");
    await regroup(bench, "a");
    expect(await bench.engine.listGroups({})).toMatchObject([
      { count: 2, firstAt, lastAt: firstAt + 10_000 },
    ]);
    expect(await bench.letterIds({ signatures: ["s2"], olderThanMs: 5000 })).toEqual(["a"]);
  });

  test("a letter keeps its eligibility in its new group", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { signature: "s1", errorType: "Timeout", reprocessEligible: false });
    await regroup(bench, "a");
    expect(await bench.letterIds({ signatures: ["s2"], types: ["Timeout"], eligible: false })).toEqual(["a"]);
  });

  test("an operation continues with letters that were regrouped after it began", async (bench) => {
    await inAllStates(bench);
    await bench.begin("discard-it", { kind: "discard", filter: { itemIds: ["dead"] } });
    await bench.begin("restore-it", { kind: "restore", filter: { itemIds: ["discarded"] } });
    for (const itemId of ["dead", "discarded", "away"]) await regroup(bench, itemId);
    expect(await bench.engine.advance("discard-it", { max: 1 })).toMatchObject({ done: 1 });
    expect(await bench.engine.advance("restore-it", { max: 1 })).toMatchObject({ done: 1 });
    expect(await bench.engine.listSelected("discard-it", { limit: 9 })).toMatchObject([{ signature: "s1" }]);
    const [restored] = (await bench.told("dlq_item_added")).slice(-1);
    expect(restored).toMatchObject({ itemId: "discarded", data: { signature: "s2" } });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await sizes(bench)).toEqual([["s2", 1]]);
    expect((await bench.engine.readGroup("s2"))?.fixes).toMatchObject([{ count: 1 }]);
  });
}
