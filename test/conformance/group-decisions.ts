/** The contract of decisions about groups: ignoring them with a condition, notes, and filters by them. */
import { expect } from "vitest";
import type { IgnoreUntil } from "../../src/item/group.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { decide, GROUP, record, told } from "./group-words.ts";
import { AUTHOR, type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function groupDecisionTests(test: Declare): void {
  ignoring(test);
  deciding(test);
  listing(test);
}

const MINUTE_MS = 60_000;

function ignoring(test: Declare): void {
  const ignore = async (bench: Workbench, ignoreUntil?: IgnoreUntil) => {
    await bench.registerHolder();
    await bench.bury(["first"], GROUP);
    return decide(bench, { state: "ignored", ...(ignoreUntil && { ignoreUntil }) });
  };
  const state = async (bench: Workbench) => (await record(bench)).state;

  test("a group that is ignored without a condition stays ignored, even when its last letter succeeds", async (bench) => {
    const ignored = await ignore(bench);
    expect(ignored).toMatchObject({ state: "ignored", author: AUTHOR, since: bench.clock.now() });
    expect(ignored.ignoreUntil).toBeUndefined();
    await bench.bury(["a", "b", "c"], GROUP);
    await bench.operate("redrive");
    await bench.settle(...(await bench.lease(9)).map(succeeded));
    expect(await record(bench)).toMatchObject({ state: "ignored", fixes: [{ count: 4 }] });
    expect(await told(bench)).toEqual([
      ["group_opened", "first", "s1"],
      ["group_changed", undefined, "s1"],
    ]);
  });

  test("a condition without a value is no condition", async (bench) => {
    expect((await ignore(bench, {})).ignoreUntil).toBeUndefined();
  });

  test("the first burial at or after the given time reopens the group", async (bench) => {
    const at = bench.clock.now() + 1000;
    expect(await ignore(bench, { at })).toMatchObject({ ignoreUntil: { at } });
    bench.clock.advance(999);
    await bench.bury(["a"], GROUP);
    expect(await state(bench)).toBe("ignored");
    bench.clock.advance(1);
    expect(await state(bench)).toBe("ignored");
    const cursor = await bench.lastEvent();
    await bench.bury(["b"], GROUP);
    const opened = await record(bench);
    expect(opened).toMatchObject({ state: "open", since: at, isRegression: false, regressions: 0 });
    expect([opened.author, opened.ignoreUntil]).toEqual([undefined, undefined]);
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "time"]]);
  });

  test("the group reopens at the given number of burials since it was ignored", async (bench) => {
    await ignore(bench, { count: 3 });
    await bench.bury(["a", "b"], GROUP);
    expect(await state(bench)).toBe("ignored");
    const cursor = await bench.lastEvent();
    await bench.bury(["c"], GROUP);
    expect(await told(bench, cursor)).toEqual([["group_reopened", "c", "count"]]);
    expect(await state(bench)).toBe("open");
  });

  test("burials of one step are counted one by one, and the group reopens once", async (bench) => {
    await ignore(bench, { count: 2 });
    await bench.add("a", "b", "c", "d");
    const cursor = await bench.lastEvent();
    await bench.settle(...(await bench.lease(4)).map((lease) => buried(lease, GROUP)));
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "count"]]);
  });

  test("the group reopens if more than the given number die within an hour; older ones do not count", async (bench) => {
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

  test("the first condition that is met reopens the group", async (bench) => {
    await ignore(bench, { at: bench.clock.now() + 1000, count: 2, perHour: 9 });
    await bench.bury(["a", "b"], GROUP);
    expect(await bench.told("group_reopened")).toMatchObject([{ data: { why: "count" } }]);
  });

  test("ignoring a group again starts a new count", async (bench) => {
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
  test("a person's decision is stored with name and time, and has an event", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    const changed = await decide(bench, { state: "resolved", note: "it was the disk" });
    const at = bench.clock.now();
    expect(changed).toMatchObject({
      ...{ state: "resolved", since: at, author: AUTHOR },
      notes: [{ at, author: AUTHOR, text: "it was the disk" }],
    });
    expect(await record(bench)).toEqual(changed);
    const [event] = await bench.engine.listEvents({ after: cursor, limit: 10 });
    const data = { signature: "s1", author: AUTHOR, state: "resolved", note: "it was the disk" };
    expect(event).toMatchObject({ type: "group_changed", data });
    expect(event?.queue).toBeUndefined();
  });

  test("a note alone does not change the state, and notes stay in order", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    const { since } = await decide(bench, { state: "ignored", ignoreUntil: { count: 5 } });
    bench.clock.advance(1000);
    await decide(bench, { note: "one" });
    const changed = await bench.engine.changeGroup("s1", { author: "bob", note: "two" });
    expect(changed).toMatchObject({ state: "ignored", since, author: AUTHOR, ignoreUntil: { count: 5 } });
    expect(changed.notes.map(({ author, text }) => [author, text])).toEqual([
      [AUTHOR, "one"],
      ["bob", "two"],
    ]);
  });

  test("the event says until when a group is ignored", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "ignored", ignoreUntil: { at: 0, count: 2, perHour: 3 } });
    const until = { at: "1970-01-01T00:00:00.000Z", count: 2, per_hour: 3 };
    expect(await bench.told("group_changed")).toMatchObject([{ data: { ignore_until: until } }]);
  });

  test("a group that a person opens is no longer a regression", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    await bench.bury(["b"], GROUP);
    expect(await decide(bench, { state: "open" })).toMatchObject({ isRegression: false, regressions: 1 });
  });

  test("setting the current state again restarts its time", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    bench.clock.advance(1000);
    expect(await decide(bench, { state: "resolved" })).toMatchObject({ since: bench.clock.now() });
  });

  test("an unknown signature cannot be changed", async (bench) => {
    await expect(decide(bench, { state: "resolved" })).rejects.toMatchObject({ code: "item_not_found" });
    expect(await bench.engine.readGroup("s1")).toBeNull();
    expect(await bench.told("group_changed")).toEqual([]);
  });

  test("only an ignored group has a condition", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await expect(decide(bench, { state: "resolved", ignoreUntil: { count: 1 } })).rejects.toThrow();
    expect(await record(bench)).toMatchObject({ state: "open" });
  });
}

function listing(test: Declare): void {
  const three = async (bench: Workbench) => {
    await bench.registerHolder();
    for (const signature of ["b2", "a1", "a%"])
      await bench.bury([signature], { signature, pattern: `P ${signature}` });
    await bench.engine.changeGroup("a1", { author: AUTHOR, state: "resolved", note: "n" });
    await bench.engine.changeGroup("b2", { author: AUTHOR, state: "ignored" });
  };
  const names = async (bench: Workbench, filter: Parameters<Workbench["engine"]["listGroupRecords"]>[0]) =>
    (await bench.engine.listGroupRecords(filter)).map(({ signature }) => signature);

  test("records are listed by signature, with all their fields", async (bench) => {
    await three(bench);
    expect(await names(bench, {})).toEqual(["a%", "a1", "b2"]);
    expect((await bench.engine.listGroupRecords({}))[1]).toEqual(await record(bench, "a1"));
  });

  test("records are found by state and by the start of their signature or pattern", async (bench) => {
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
