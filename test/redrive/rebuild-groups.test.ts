/** Grouping anew: the algorithm, the rules and the corrections of now, over letters of all states. */
import { describe, expect, test } from "vitest";
import { mergeGroups, rebuildGroups } from "../../src/redrive/correct-groups.ts";
import { explainGroup } from "../../src/redrive/explain-group.ts";
import { listGroups } from "../../src/redrive/groups.ts";
import { groupOf, ruleSignature } from "../../src/triage/grouping.ts";
import { failureOf } from "../support/settlements.ts";
import { A, B, GroupKit } from "./group-kit.ts";

const OLD = { algorithm: "redrive-0" };
const RULES = [{ name: "storage", match: { text: "disk" } }];

/** What the algorithm says of a letter of the kit. */
function anew(errorMessage: string): string {
  return groupOf(failureOf({ ref: 1, attempt: 1 }, { errorMessage })).signature;
}

describe("a rebuild", () => {
  const deaths = {
    i1: { signature: A, message: "no room", ...OLD },
    i2: { signature: B, message: "no room", ...OLD },
    i3: { signature: B, message: "disk full", ...OLD },
  };

  test("gives every letter its current group, and counts the changed ones", async () => {
    const kit = new GroupKit();
    await kit.bury(deaths);
    const room = anew("no room");
    const rebuilt = await rebuildGroups(kit.engine, { rules: RULES });
    expect(rebuilt).toEqual({ letters: 3, changed: 3, groupsBefore: 2, groupsAfter: 2 });
    expect(await kit.groups()).toEqual({ i1: room, i2: room, i3: ruleSignature("storage") });
    const { groups, outdated } = await listGroups(kit.engine, { states: ["open"] });
    expect(groups.map(({ pattern, count }) => [pattern, count])).toContainEqual(["storage", 1]);
    expect(outdated.letters).toBe(0);
    expect(await kit.engine.check()).toEqual([]);
    expect((await rebuildGroups(kit.engine, { rules: RULES })).changed).toBe(0);
  });

  test("as a dry run counts the same, and changes nothing", async () => {
    const kit = new GroupKit();
    await kit.bury(deaths);
    const rebuilt = await rebuildGroups(kit.engine, { rules: RULES, dryRun: true });
    expect(rebuilt).toEqual({ letters: 3, changed: 3, groupsBefore: 2, groupsAfter: 2 });
    expect(await kit.groups()).toEqual({ i1: A, i2: B, i3: B });
  });

  test("of one queue does not affect the others", async () => {
    const kit = new GroupKit();
    await kit.bury({ i1: deaths.i1, i2: { ...deaths.i2, queue: "job-2" } });
    expect(await rebuildGroups(kit.engine, { rules: [], queue: "job-2" })).toMatchObject({
      letters: 1,
      changed: 1,
    });
    expect(await kit.groups()).toEqual({ i1: A, i2: anew("no room") });
  });

  test("obeys the corrections", async () => {
    const kit = new GroupKit();
    await kit.bury({ ...deaths, b1: { signature: "dddd000000000004", message: "other", ...OLD } });
    await rebuildGroups(kit.engine, { rules: [] });
    const [room, disk] = [anew("no room"), anew("disk full")];
    await mergeGroups(
      kit.engine,
      { groups: [{ signature: disk, pattern: "" }], into: { signature: room, pattern: "" } },
      { author: "ann" },
    );
    expect((await rebuildGroups(kit.engine, { rules: [] })).changed).toBe(0);
    expect((await kit.groups()).i3).toBe(room);
    await kit.engine.removeCorrection(disk);
    expect(await rebuildGroups(kit.engine, { rules: [], dryRun: true })).toMatchObject({
      changed: 1,
      groupsAfter: 3,
    });
    await rebuildGroups(kit.engine, { rules: [] });
    expect((await kit.groups()).i3).toBe(disk);
  });

  test("gives a letter the same group whatever its data was changed to", async () => {
    const kit = new GroupKit();
    await kit.bury({ i1: { signature: A, message: "cannot read apple", data: "apple", ...OLD } });
    kit.clock.advance(1000);
    const edit = {
      id: "op-e",
      kind: "edit",
      queue: "job-1",
      filter: { queue: "job-1" },
      force: false,
      author: "ann",
      plan: {},
    } as const;
    await kit.engine.beginOperation(edit);
    const { letters } = await kit.engine.listLetters({ limit: 1 });
    await kit.engine.advance("op-e", {
      letters: letters.map(({ letterSequence }) => ({ letterSequence, data: "melon" })),
    });
    await rebuildGroups(kit.engine, { rules: [] });
    expect((await kit.groups()).i1).toBe(anew("cannot read apple"));
  });
});

describe("an explanation", () => {
  test("has the text that was read, the rule and similar groups", async () => {
    const kit = new GroupKit();
    await kit.bury({
      i1: { signature: A, pattern: "CommandFailed::disk full on <path>", message: "disk full on /a/b" },
      i2: { signature: B, pattern: "CommandFailed::disk gone on <path>", message: "disk gone on /a/b" },
    });
    const explanation = await explainGroup(kit.engine, await kit.record(A), RULES);
    expect(explanation).toMatchObject({
      signature: A,
      itemId: "i1",
      group: { rule: "storage", signature: ruleSignature("storage") },
      wouldMove: true,
      reading: { lines: ["disk full on /a/b"], pattern: "CommandFailed::disk full on <path>" },
      nearest: [{ signature: B, count: 1 }],
    });
    expect(explanation.nearest[0]?.distance).toBeLessThan(0.5);
  });

  test("of a group without letters has its pattern and similar groups", async () => {
    const kit = new GroupKit();
    await kit.bury({ i1: { signature: A } });
    const explanation = await explainGroup(kit.engine, { signature: B, pattern: "gone" }, []);
    expect(explanation).toMatchObject({
      signature: B,
      pattern: "gone",
      wouldMove: false,
      nearest: [{ signature: A }],
    });
    expect(explanation.reading).toBeUndefined();
  });
});
