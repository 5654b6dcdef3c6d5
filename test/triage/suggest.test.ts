/** Suggestions of groups that look like one. */
import { describe, expect, test } from "vitest";
import { suggestMerges } from "../../src/triage/suggest.ts";

const groupsOf = (...patterns: readonly string[]) =>
  patterns.map((pattern, at) => ({
    signature: `${at}`.padStart(16, "0"),
    pattern: pattern.includes("::") ? pattern : `CommandFailed::sh failed with exit code 1: ${pattern}`,
    count: 10 - at,
  }));

describe("groups are suggested as one", () => {
  test("when they differ in one word that may be a value", () => {
    const groups = groupsOf(
      "the Rome archive is full again",
      "the Paris archive is full again",
      "no space on the disk",
    );
    const [found, ...more] = suggestMerges(groups);
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      into: groups[0],
      others: [groups[1]],
      common: "sh failed with exit code 1 the <?> archive is full again",
    });
    expect([...(found?.words.values() ?? [])].sort()).toEqual(["Paris", "Rome"]);
  });

  test("even if one of them has a mask there", () => {
    const groups = groupsOf("the Rome archive is full again", "the <path> archive is full again");
    expect(suggestMerges(groups)).toHaveLength(1);
  });

  test.each([
    ["an ordinary word", "cannot read the big cart", "cannot write the big cart"],
    ["a code", "request to the shop failed: TS2345", "request to the shop failed: TS2322"],
    ["the name of an error", "the shop threw IOError again", "the shop threw KeyError again"],
    ["a constant", "the shop is in state SOLD_OUT", "the shop is in state TO_DO"],
    ["two words", "the Rome archive of Lima City is full", "the Paris archive of Oslo City is full"],
    [
      "the command",
      "CommandFailed::foo failed with exit code 1",
      "CommandFailed::bar failed with exit code 1",
    ],
    ["the type", "CommandFailed::the Rome archive is full again", "Unknown::the Paris archive is full again"],
    [
      "a function",
      "CommandFailed::the Rome archive is full again (in a)",
      "CommandFailed::the Oslo archive is full again (in b)",
    ],
    ["too little in common", "CommandFailed::Rome archive full", "CommandFailed::Paris archive full"],
  ])("but not by %s", (_what, one, other) => {
    expect(suggestMerges(groupsOf(one, other))).toEqual([]);
  });

  test("in any order alike, and each group is in one suggestion", () => {
    const groups = groupsOf(
      "the Rome archive of the Lima disk is full",
      "the Paris archive of the Lima disk is full",
      "the Paris archive of the Oslo disk is full",
      "the Cairo archive of the Lima disk is full",
    );
    const found = suggestMerges(groups);
    expect(suggestMerges(groups.toReversed())).toEqual(found);
    expect(found).toHaveLength(1);
    expect(found[0]?.others.map(({ signature }) => signature)).toEqual([
      groups[1]?.signature,
      groups[3]?.signature,
    ]);
  });

  test("but not if a person named them", () => {
    const named = { signature: "a", pattern: "the Rome archive is full again", count: 1 };
    expect(suggestMerges([named, ...groupsOf("CommandFailed::the Paris archive is full again")])).toEqual([]);
  });
});
