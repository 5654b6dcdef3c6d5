/** The contract of a group's life cycle: opened, resolved, regressed, and which fixes helped before. */
import { expect } from "vitest";
import { assert } from "../../src/std/assert.ts";
import { buried, skipped, succeeded } from "../support/settlements.ts";
import { decide, GROUP, record, told } from "./group-words.ts";
import { AUTHOR, type Declare, newItem, QUEUE } from "./workbench.ts";

export function groupLifeTests(test: Declare): void {
  opening(test);
  resolving(test);
  helping(test);
}

function opening(test: Declare): void {
  test("an unknown signature has no record", async (bench) => {
    expect(await bench.engine.readGroup("s1")).toBeNull();
    expect(await bench.engine.listGroupRecords({})).toEqual([]);
  });

  test("the first burial with a signature opens its group; later ones do not", async (bench) => {
    await bench.registerHolder();
    const since = bench.clock.now();
    await bench.bury(["a"], GROUP);
    bench.clock.advance(1000);
    await bench.bury(["b"], GROUP);
    expect(await record(bench)).toEqual({
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

  test("several burials with one signature in one step open its group once", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.settle(...(await bench.lease(2)).map((lease) => buried(lease, GROUP)));
    expect(await told(bench)).toEqual([["group_opened", "a", "s1"]]);
  });

  test("a group spans all queues", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.engine.add("job-2", [newItem("b")]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), GROUP));
    expect(await bench.engine.listGroupRecords({})).toHaveLength(1);
    await decide(bench, { state: "ignored" });
    expect((await bench.engine.listGroups({})).map(({ state }) => state)).toEqual(["ignored", "ignored"]);
  });

  test("a signature keeps the pattern of its first letter", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.bury(["b"], { signature: "s1", pattern: "another", reprocessEligible: false });
    expect((await record(bench)).pattern).toBe("pattern of s1");
    expect((await bench.letter("b"))?.errorPattern).toBe("pattern of s1");
  });

  test("the record of a signature remains when its letters are gone", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.operate("purge", ["a"]);
    expect(await record(bench)).toMatchObject({ ...GROUP, state: "open" });
  });

  test("an imported letter opens its group, and one imported as resolved reopens none", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    const letter = await bench.letter("a");
    assert(letter, "a is a letter");
    await decide(bench, { state: "resolved" });
    await bench.job("job-2");
    const resolution = { kind: "requeue", at: 5 } as const;
    const closed = { ...letter, itemId: "closed", resolution };
    await bench.engine.importLetters("job-2", [closed, { ...closed, itemId: "new", errorSignature: "s2" }]);
    expect(await record(bench)).toMatchObject({ state: "resolved", regressions: 0 });
    expect(await record(bench, "s2")).toMatchObject({ state: "open" });
    await bench.engine.importLetters("job-2", [letter]);
    expect(await record(bench)).toMatchObject({ state: "open", isRegression: true });
    expect((await bench.engine.listGroups({ queue: "job-2" }))[0]).toMatchObject({ algorithm: "imported" });
  });
}

function resolving(test: Declare): void {
  test("a group is resolved when its last letter succeeds, in whatever queue", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.engine.add("job-2", [newItem("other")]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), GROUP));
    await bench.bury(["a"], GROUP);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect(await record(bench)).toMatchObject({ state: "open" });
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    await bench.begin("op-2", { queue: "job-2" });
    await bench.engine.advance("op-2", { max: 1 });
    await bench.settle(succeeded(await bench.leaseOne("holder-1", "job-2")));
    const resolved = await record(bench);
    expect(resolved).toMatchObject({ state: "resolved", since: bench.clock.now() });
    expect(resolved.author).toBeUndefined();
    expect(await told(bench, cursor)).toEqual([["group_resolved", "other", "s1"]]);
  });

  test("waiting letters are counted at the end of the step, and resolving writes one event", async (bench) => {
    await bench.registerHolder();
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
    expect(await record(bench, "s2")).toMatchObject({ state: "open", isRegression: false });
  });

  test("a success without a letter, a skip, a discard and a purge resolve no group", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["skipped"], GROUP);
    await bench.settle(skipped(await bench.redriveOne("op-1", "skipped")));
    await bench.bury(["discarded"], GROUP);
    await bench.operate("discard", ["discarded"]);
    await bench.bury(["purged"], GROUP);
    await bench.operate("purge", ["purged"]);
    await bench.add("works at once");
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await record(bench)).toMatchObject({ state: "open", fixes: [] });
    expect(await bench.told("group_resolved")).toEqual([]);
  });

  test("each burial into a resolved group reopens it as a regression", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    bench.clock.advance(1000);
    const cursor = await bench.lastEvent();
    await bench.bury(["b"], GROUP);
    expect(await record(bench)).toMatchObject({
      ...{ state: "open", since: bench.clock.now(), regressions: 1, isRegression: true },
    });
    expect(await told(bench, cursor)).toEqual([["group_reopened", "b", "regression"]]);
    expect(await bench.engine.listGroups({})).toMatchObject([{ state: "open", isRegression: true }]);
    await bench.settle(succeeded(await bench.redriveOne("op-2", "b")));
    expect(await record(bench)).toMatchObject({ state: "resolved", regressions: 1, isRegression: false });
    await bench.bury(["c"], GROUP);
    expect(await record(bench)).toMatchObject({ regressions: 2, isRegression: true });
  });

  test("a redriven letter that fails again reopens a group that a person resolved", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await decide(bench, { state: "resolved" });
    await bench.settle(buried(await bench.redriveOne("op-1", "a"), GROUP));
    expect(await record(bench)).toMatchObject({ state: "open", isRegression: true });
  });

  test("restoring a letter is not a new failure", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.operate("discard", ["a"]);
    await decide(bench, { state: "resolved" });
    await bench.operate("restore", ["a"]);
    expect(await record(bench)).toMatchObject({ state: "resolved", regressions: 0 });
  });
}

function helping(test: Declare): void {
  test("fixes are counted for each redrive and kind, newest first", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"], GROUP);
    bench.clock.advance(2000);
    await bench.bury(["c", "d"], GROUP);
    bench.clock.advance(1000);
    const edit = await bench.edit("d", { data: "better" });
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 4 });
    await bench.settle(...(await bench.lease(3)).map(succeeded).reverse());
    const firstAt = bench.clock.now();
    bench.clock.advance(500);
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await record(bench)).fixes).toEqual([
      {
        ...{ at: bench.clock.now(), kind: "manual_fix", count: 1, operationId: "op-1", editId: edit },
        ...{ author: AUTHOR, waitedMs: 1500 },
      },
      { at: firstAt, kind: "requeue", count: 3, operationId: "op-1", author: AUTHOR, waitedMs: 1000 },
    ]);
  });

  test("a repeated fix has its count, its last time and its shortest wait", async (bench) => {
    await bench.registerHolder();
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
    expect((await record(bench)).fixes).toMatchObject([{ at, count: 3, waitedMs: 1010 }]);
  });

  test("a fix names the rule of the edit before it", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    const editId = await bench.edit("a", { data: "better", rule: "trim" });
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect((await record(bench)).fixes).toMatchObject([{ kind: "auto_fix", editId, rule: "trim" }]);
  });

  test("with several edits, the fix names the one of the letter that succeeded last", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"], GROUP);
    const edits = [await bench.edit("a", { data: 1 }), await bench.edit("b", { data: 2 })];
    await bench.operate("redrive");
    for (const [place, lease] of (await bench.lease(2)).entries()) {
      await bench.settle(succeeded(lease));
      expect((await record(bench)).fixes).toMatchObject([{ count: place + 1, editId: edits[place] }]);
    }
  });

  test("a fix belongs to the signature that the letter had when it succeeded", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], GROUP);
    await bench.settle(buried(await bench.redriveOne("op-1", "a"), { signature: "s2" }));
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect((await record(bench)).fixes).toEqual([]);
    expect((await record(bench, "s2")).fixes).toMatchObject([{ operationId: "op-2", count: 1 }]);
  });

  test("the ten newest fixes are listed", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["keeps it open"], GROUP);
    for (let n = 1; n <= 12; n += 1) {
      await bench.bury([`item-${n}`], GROUP);
      await bench.settle(succeeded(await bench.redriveOne(`op-${n}`, `item-${n}`)));
    }
    const shown = (await record(bench)).fixes.map(({ operationId }) => operationId);
    expect(shown).toEqual(Array.from({ length: 10 }, (_, place) => `op-${12 - place}`));
  });
}
