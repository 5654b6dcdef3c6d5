/** The contract of a group's life: opened, resolved, come back, ignored; what people decide and what helped before. */
import { expect } from "vitest";
import type { GroupChange, GroupMark, IgnoreUntil } from "../../src/item/group.ts";
import { assert } from "../../src/kit/assert.ts";
import { buried, skipped, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function groupLifeTests(test: Declare): void {
  opening(test);
  resolving(test);
  ignoring(test);
  deciding(test);
  listing(test);
}

const MINUTE_MS = 60_000;
const GROUP = { signature: "s1", pattern: "pattern of s1" };

async function mark(bench: Workbench, signature = "s1"): Promise<GroupMark> {
  const found = await bench.engine.readGroup(signature);
  assert(found, `${signature} was seen`);
  return found;
}

/** What groups were told, in short, after the cursor. */
async function told(bench: Workbench, after = 0): Promise<readonly unknown[]> {
  const types = ["group_opened", "group_reopened", "group_resolved", "group_changed"] as const;
  const events = await bench.engine.listEvents({ after, types, limit: 100 });
  return events.map(({ type, itemId, data }) => [type, itemId, data?.why ?? data?.signature]);
}

function decide(bench: Workbench, change: Omit<GroupChange, "author">): Promise<GroupMark> {
  return bench.engine.markGroup("s1", { author: AUTHOR, ...change });
}

function opening(test: Declare): void {
  test("a signature that was never seen has no mark", async (bench) => {
    expect(await bench.engine.readGroup("s1")).toBeNull();
    expect(await bench.engine.listMarks({})).toEqual([]);
  });

  test("the first burial of a signature opens its group, and later ones do not", async (bench) => {
    await bench.enter();
    const since = bench.clock.now();
    await bench.bury(["a"], GROUP);
    bench.clock.advance(1000);
    await bench.bury(["b"], GROUP);
    expect(await mark(bench)).toEqual({
      ...GROUP,
      state: "open",
      since,
      regressions: 0,
      isRegression: false,
      notes: [],
      fixes: [],
    });
    const [opened, ...more] = await bench.told("group_opened");
    expect(opened).toMatchObject({ queue: QUEUE, itemId: "a", data: GROUP });
    expect(more).toEqual([]);
  });

  test("several of one signature in one step open its group once", async (bench) => {
    await bench.enter();
    await bench.add("a", "b");
    await bench.settle(...(await bench.lease(2)).map((lease) => buried(lease, GROUP)));
    expect(await told(bench)).toEqual([["group_opened", "a", "s1"]]);
  });

  test("a group is one over all queues", async (bench) => {
    await bench.job("job-2");
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.engine.add("job-2", [newItem("b")]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), GROUP));
    expect(await bench.engine.listMarks({})).toHaveLength(1);
    await decide(bench, { state: "ignored" });
    expect((await bench.engine.listGroups({})).map(({ state }) => state)).toEqual(["ignored", "ignored"]);
  });

  test("a signature has the pattern of its first letter, whatever later ones come with", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.bury(["b"], { signature: "s1", pattern: "another", reprocessEligible: false });
    expect((await mark(bench)).pattern).toBe("pattern of s1");
    expect((await bench.letter("b"))?.errorPattern).toBe("pattern of s1");
  });

  test("the mark of a signature stays when its letters are gone", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.operate("purge", ["a"]);
    expect(await mark(bench)).toMatchObject({ ...GROUP, state: "open" });
  });

  test("a letter from elsewhere opens its group, and one that comes in closed reopens none", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    const letter = await bench.letter("a");
    assert(letter, "a is a letter");
    await decide(bench, { state: "resolved" });
    await bench.job("job-2");
    const resolution = { kind: "requeue", at: 5 } as const;
    const closed = { ...letter, itemId: "closed", resolution };
    await bench.engine.importLetters("job-2", [closed, { ...closed, itemId: "new", errorSignature: "s2" }]);
    expect(await mark(bench)).toMatchObject({ state: "resolved", regressions: 0 });
    expect(await mark(bench, "s2")).toMatchObject({ state: "open" });
    await bench.engine.importLetters("job-2", [letter]);
    expect(await mark(bench)).toMatchObject({ state: "open", isRegression: true });
    expect((await bench.engine.listGroups({ queue: "job-2" }))[0]).toMatchObject({ algorithm: "imported" });
  });
}

function resolving(test: Declare): void {
  test("a group is resolved when the last of its letters succeeds, in whatever queue", async (bench) => {
    await bench.job("job-2");
    await bench.enter();
    await bench.engine.add("job-2", [newItem("other")]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), GROUP));
    await bench.bury(["a"], GROUP);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect(await mark(bench)).toMatchObject({ state: "open" });
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    await bench.begin("op-2", { queue: "job-2" });
    await bench.engine.advance("op-2", { max: 1 });
    await bench.settle(succeeded(await bench.leaseOne("holder-1", "job-2")));
    const resolved = await mark(bench);
    expect(resolved).toMatchObject({ state: "resolved", since: bench.clock.now() });
    expect(resolved.author).toBeUndefined();
    expect(await told(bench, cursor)).toEqual([["group_resolved", "other", "s1"]]);
  });

  test("whether letters wait is asked at the end of the step, and told once", async (bench) => {
    await bench.enter();
    await bench.bury(["a", "b"], GROUP);
    await bench.bury(["c"], { signature: "s2" });
    await bench.operate("redrive", ["a", "b"]);
    await bench.settle(...(await bench.lease(2)).map(succeeded));
    expect((await bench.told("group_resolved")).map(({ itemId }) => itemId)).toEqual(["b"]);
    await bench.operate("redrive", ["c"]);
    await bench.add("d");
    const [c, d] = await bench.lease(2);
    assert(c && d, "both are due");
    await bench.settle(
      succeeded(c.itemId === "c" ? c : d),
      buried(c.itemId === "c" ? d : c, { signature: "s2" }),
    );
    expect(await mark(bench, "s2")).toMatchObject({ state: "open", isRegression: false });
  });

  test("a first success, a skip, a discard and a purge resolve no group", async (bench) => {
    await bench.enter();
    await bench.bury(["skipped"], GROUP);
    await bench.settle(skipped(await bench.redriveOne("op-1", "skipped")));
    await bench.bury(["discarded"], GROUP);
    await bench.operate("discard", ["discarded"]);
    await bench.bury(["purged"], GROUP);
    await bench.operate("purge", ["purged"]);
    await bench.add("works at once");
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await mark(bench)).toMatchObject({ state: "open", fixes: [] });
    expect(await bench.told("group_resolved")).toEqual([]);
  });

  test("a burial into a resolved group opens it as a regression, each time", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    await bench.bury(["b"], GROUP);
    expect(await mark(bench)).toMatchObject({
      ...{ state: "open", since: bench.clock.now(), regressions: 1, isRegression: true },
    });
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "regression"]]);
    expect(await bench.engine.listGroups({})).toMatchObject([{ state: "open", isRegression: true }]);
    await bench.settle(succeeded(await bench.redriveOne("op-2", "b")));
    expect(await mark(bench)).toMatchObject({ state: "resolved", regressions: 1, isRegression: false });
    await bench.bury(["c"], GROUP);
    expect(await mark(bench)).toMatchObject({ regressions: 2, isRegression: true });
  });

  test("a redriven letter that fails again reopens what a person called resolved", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    await bench.settle(buried(await bench.redriveOne("op-1", "a"), GROUP));
    expect(await mark(bench)).toMatchObject({ state: "open", isRegression: true });
  });

  test("a letter that is restored is no new failure", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.operate("discard", ["a"]);
    await decide(bench, { state: "resolved" });
    await bench.operate("restore", ["a"]);
    expect(await mark(bench)).toMatchObject({ state: "resolved", regressions: 0 });
  });

  helping(test);
}

function helping(test: Declare): void {
  test("what helped is counted for each redrive and kind, newest first", async (bench) => {
    await bench.enter();
    await bench.bury(["a", "b"], GROUP);
    bench.clock.advance(2000);
    await bench.bury(["c", "d"], GROUP);
    bench.clock.advance(1000);
    const edit = await bench.edit("d", { data: "better" });
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 4 });
    await bench.settle(...(await bench.lease(3)).map(succeeded));
    const firstAt = bench.clock.now();
    bench.clock.advance(500);
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await mark(bench)).fixes).toEqual([
      {
        ...{ at: bench.clock.now(), kind: "manual_fix", count: 1, operationId: "op-1", editId: edit },
        ...{ author: AUTHOR, waitedMs: 1500 },
      },
      { at: firstAt, kind: "requeue", count: 3, operationId: "op-1", author: AUTHOR, waitedMs: 1000 },
    ]);
  });

  test("a fix goes on counting, and says when it helped last and how short the wait can be", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    bench.clock.advance(1000);
    await bench.bury(["b", "c"], GROUP);
    bench.clock.advance(1000);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 3 });
    for (const lease of await bench.lease(3)) {
      await bench.settle(succeeded(lease));
      bench.clock.advance(10);
    }
    const at = bench.clock.now() - 10;
    expect((await mark(bench)).fixes).toMatchObject([{ at, count: 3, waitedMs: 1010 }]);
  });

  test("the rule that made the edit before it is named", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    const editId = await bench.edit("a", { data: "better", rule: "trim" });
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect((await mark(bench)).fixes).toMatchObject([{ kind: "auto_fix", editId, rule: "trim" }]);
  });

  test("a fix belongs to the signature that the letter had when it succeeded", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await bench.settle(buried(await bench.redriveOne("op-1", "a"), { signature: "s2" }));
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect((await mark(bench)).fixes).toEqual([]);
    expect((await mark(bench, "s2")).fixes).toMatchObject([{ operationId: "op-2", count: 1 }]);
  });

  test("the ten newest fixes are shown", async (bench) => {
    await bench.enter();
    await bench.bury(["keeps it open"], GROUP);
    for (let n = 1; n <= 12; n += 1) {
      await bench.bury([`item-${n}`], GROUP);
      await bench.settle(succeeded(await bench.redriveOne(`op-${n}`, `item-${n}`)));
    }
    const shown = (await mark(bench)).fixes.map(({ operationId }) => operationId);
    expect(shown).toEqual(Array.from({ length: 10 }, (_, place) => `op-${12 - place}`));
  });
}

function ignoring(test: Declare): void {
  const ignore = async (bench: Workbench, ignoreUntil?: IgnoreUntil) => {
    await bench.enter();
    await bench.bury(["first"], GROUP);
    return decide(bench, { state: "ignored", ...(ignoreUntil && { ignoreUntil }) });
  };
  const state = async (bench: Workbench) => (await mark(bench)).state;

  test("a group that is ignored without an end stays so, also when its last letter succeeds", async (bench) => {
    const ignored = await ignore(bench);
    expect(ignored).toMatchObject({ state: "ignored", author: AUTHOR, since: bench.clock.now() });
    expect(ignored.ignoreUntil).toBeUndefined();
    await bench.bury(["a", "b", "c"], GROUP);
    await bench.operate("redrive");
    await bench.settle(...(await bench.lease(9)).map(succeeded));
    expect(await mark(bench)).toMatchObject({ state: "ignored", fixes: [{ count: 4 }] });
    expect(await told(bench)).toEqual([
      ["group_opened", "first", "s1"],
      ["group_changed", undefined, "s1"],
    ]);
  });

  test("an end that says nothing is no end", async (bench) => {
    expect((await ignore(bench, {})).ignoreUntil).toBeUndefined();
  });

  test("the first burial at or after the time opens it", async (bench) => {
    const at = bench.clock.now() + 1000;
    expect(await ignore(bench, { at })).toMatchObject({ ignoreUntil: { at } });
    bench.clock.advance(999);
    await bench.bury(["a"], GROUP);
    expect(await state(bench)).toBe("ignored");
    bench.clock.advance(1);
    expect(await state(bench)).toBe("ignored");
    const cursor = await bench.lastEvent();
    await bench.bury(["b"], GROUP);
    const opened = await mark(bench);
    expect(opened).toMatchObject({ state: "open", since: at, isRegression: false, regressions: 0 });
    expect([opened.author, opened.ignoreUntil]).toEqual([undefined, undefined]);
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "time"]]);
  });

  test("the burial that makes it so many opens it, and those before it was ignored do not count", async (bench) => {
    await ignore(bench, { count: 3 });
    await bench.bury(["a", "b"], GROUP);
    expect(await state(bench)).toBe("ignored");
    const cursor = await bench.lastEvent();
    await bench.bury(["c"], GROUP);
    expect(await told(bench, cursor)).toEqual([["group_reopened", "c", "count"]]);
    expect(await state(bench)).toBe("open");
  });

  test("burials of one step are counted one by one, and the group is opened once", async (bench) => {
    await ignore(bench, { count: 2 });
    await bench.add("a", "b", "c", "d");
    const cursor = await bench.lastEvent();
    await bench.settle(...(await bench.lease(4)).map((lease) => buried(lease, GROUP)));
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "count"]]);
  });

  test("more than so many within one hour open it, and older ones are forgotten", async (bench) => {
    await ignore(bench, { perHour: 2 });
    await bench.bury(["a", "b"], GROUP);
    bench.clock.advance(60 * MINUTE_MS);
    await bench.bury(["c", "d"], GROUP);
    expect(await state(bench)).toBe("ignored");
    bench.clock.advance(59 * MINUTE_MS);
    const cursor = await bench.lastEvent();
    await bench.bury(["e"], GROUP);
    expect(await told(bench, cursor)).toEqual([["group_reopened", "e", "rate"]]);
  });

  test("whichever comes first opens it", async (bench) => {
    await ignore(bench, { at: bench.clock.now() + 1000, count: 2, perHour: 9 });
    await bench.bury(["a", "b"], GROUP);
    expect(await bench.told("group_reopened")).toMatchObject([{ data: { why: "count" } }]);
  });

  test("to be ignored anew begins a new count", async (bench) => {
    await ignore(bench, { count: 2, perHour: 1 });
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "ignored", ignoreUntil: { count: 2, perHour: 1 } });
    await bench.bury(["b"], GROUP);
    expect(await state(bench)).toBe("ignored");
    await bench.bury(["c"], GROUP);
    expect(await state(bench)).toBe("open");
  });
}

function deciding(test: Declare): void {
  test("a person's word is written down with name and time, and told", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    const marked = await decide(bench, { state: "resolved", note: "it was the disk" });
    const at = bench.clock.now();
    expect(marked).toMatchObject({
      ...{ state: "resolved", since: at, author: AUTHOR },
      notes: [{ at, author: AUTHOR, text: "it was the disk" }],
    });
    expect(await mark(bench)).toEqual(marked);
    const [event] = await bench.engine.listEvents({ after: cursor, limit: 10 });
    const data = { signature: "s1", author: AUTHOR, state: "resolved", note: "it was the disk" };
    expect(event).toMatchObject({ type: "group_changed", data });
    expect(event?.queue).toBeUndefined();
  });

  test("a note alone leaves the state as it is, and notes stay in order", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    const { since } = await decide(bench, { state: "ignored", ignoreUntil: { count: 5 } });
    bench.clock.advance(1000);
    await decide(bench, { note: "one" });
    const marked = await bench.engine.markGroup("s1", { author: "bob", note: "two" });
    expect(marked).toMatchObject({ state: "ignored", since, author: AUTHOR, ignoreUntil: { count: 5 } });
    expect(marked.notes.map(({ author, text }) => [author, text])).toEqual([
      [AUTHOR, "one"],
      ["bob", "two"],
    ]);
  });

  test("an event tells until when a group is ignored", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "ignored", ignoreUntil: { at: 0, count: 2, perHour: 3 } });
    const until = { at: "1970-01-01T00:00:00.000Z", count: 2, per_hour: 3 };
    expect(await bench.told("group_changed")).toMatchObject([{ data: { ignore_until: until } }]);
  });

  test("a group that a person opens is no regression any more", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    await bench.bury(["b"], GROUP);
    expect(await decide(bench, { state: "open" })).toMatchObject({ isRegression: false, regressions: 1 });
  });

  test("a state that is given again counts from now", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    bench.clock.advance(1000);
    expect(await decide(bench, { state: "resolved" })).toMatchObject({ since: bench.clock.now() });
  });

  test("a signature that was never seen cannot be marked", async (bench) => {
    await expect(decide(bench, { state: "resolved" })).rejects.toMatchObject({ code: "item_not_found" });
    expect(await bench.engine.readGroup("s1")).toBeNull();
    expect(await bench.told("group_changed")).toEqual([]);
  });

  test("only what is ignored has an end", async (bench) => {
    await bench.enter();
    await bench.bury(["a"], GROUP);
    await expect(decide(bench, { state: "resolved", ignoreUntil: { count: 1 } })).rejects.toThrow();
    expect(await mark(bench)).toMatchObject({ state: "open" });
  });
}

function listing(test: Declare): void {
  const three = async (bench: Workbench) => {
    await bench.enter();
    for (const signature of ["b2", "a1", "a%"])
      await bench.bury([signature], { signature, pattern: `P ${signature}` });
    await bench.engine.markGroup("a1", { author: AUTHOR, state: "resolved", note: "n" });
    await bench.engine.markGroup("b2", { author: AUTHOR, state: "ignored" });
  };
  const names = async (bench: Workbench, filter: Parameters<Workbench["engine"]["listMarks"]>[0]) =>
    (await bench.engine.listMarks(filter)).map(({ signature }) => signature);

  test("marks are listed in the order of their signatures, with all that is known", async (bench) => {
    await three(bench);
    expect(await names(bench, {})).toEqual(["a%", "a1", "b2"]);
    expect((await bench.engine.listMarks({}))[1]).toEqual(await mark(bench, "a1"));
  });

  test("marks are found by state, and by the beginning of signature or pattern", async (bench) => {
    await three(bench);
    expect(await names(bench, { states: ["resolved", "ignored"] })).toEqual(["a1", "b2"]);
    expect(await names(bench, { states: [] })).toEqual([]);
    expect(await names(bench, { prefix: "a" })).toEqual(["a%", "a1"]);
    expect(await names(bench, { prefix: "a%" })).toEqual(["a%"]);
    expect(await names(bench, { prefix: "P b" })).toEqual(["b2"]);
    expect(await names(bench, { prefix: "2" })).toEqual([]);
    expect(await names(bench, { prefix: "p" })).toEqual([]);
    expect(await names(bench, { prefix: "a", states: ["resolved"] })).toEqual(["a1"]);
  });

  test("groups are listed by the state of their signatures", async (bench) => {
    await three(bench);
    const listed = async (filter: Parameters<Workbench["engine"]["listGroups"]>[0]) =>
      (await bench.engine.listGroups(filter)).map(({ signature, state }) => [signature, state]);
    expect(await listed({ states: ["open"] })).toEqual([["a%", "open"]]);
    expect(await listed({ queue: QUEUE, states: ["resolved", "ignored"] })).toEqual([
      ["a1", "resolved"],
      ["b2", "ignored"],
    ]);
    expect(await listed({ states: [] })).toEqual([]);
    expect(await listed({ queue: "job-9", states: ["open"] })).toEqual([]);
  });
}
