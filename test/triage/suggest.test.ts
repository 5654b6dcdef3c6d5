/** Suggestions of groups that look like one. */
import { describe, expect, test } from "vitest";
import { suggestMerges } from "../../src/triage/suggest.ts";

const groupsOf = (...patterns: readonly string[]) =>
  patterns.map((pattern, at) => ({
    signature: `${at}`.padStart(16, "0"),
    pattern: pattern.includes("::") ? pattern : `CommandFailed::sh failed with exit code 1: ${pattern}`,
    count: 10 - at,
  }));

describe("groups look like one", () => {
  test("when they differ in one word that may be a value", () => {
    const groups = groupsOf(
      "cannot copy rome to the disk",
      "cannot copy paris to the disk",
      "no space on the disk",
    );
    const [found, ...more] = suggestMerges(groups);
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      into: groups[0],
      others: [groups[1]],
      common: "sh failed with exit code 1 cannot copy <?> to the disk",
    });
    expect([...(found?.words.values() ?? [])].sort()).toEqual(["paris", "rome"]);
  });

  test("also when one of them has a mask there", () => {
    const groups = groupsOf("cannot copy rome to the disk", "cannot copy <path> to the disk");
    expect(suggestMerges(groups)).toHaveLength(1);
  });

  test.each([
    ["an ordinary word", "cannot read the big cart", "cannot write the big cart"],
    ["a code", "request to the shop failed: TS2345", "request to the shop failed: TS2322"],
    ["the name of an error", "the shop threw IOError again", "the shop threw KeyError again"],
    ["a constant", "the shop is in state SOLD_OUT", "the shop is in state TO_DO"],
    ["two words", "cannot copy rome to lima", "cannot copy paris to oslo"],
    [
      "the command",
      "CommandFailed::foo failed with exit code 1",
      "CommandFailed::bar failed with exit code 1",
    ],
    ["the type", "CommandFailed::cannot copy rome to it", "Unknown::cannot copy paris to it"],
    [
      "a function",
      "CommandFailed::cannot copy rome to it (in a)",
      "CommandFailed::cannot copy oslo to it (in b)",
    ],
    ["too little in common", "CommandFailed::copy rome", "CommandFailed::copy paris"],
  ])("but not by %s", (_what, one, other) => {
    expect(suggestMerges(groupsOf(one, other))).toEqual([]);
  });

  test("in the same way in any order, and each group is in one suggestion", () => {
    const groups = groupsOf(
      "cannot copy rome to lima again",
      "cannot copy paris to lima again",
      "cannot copy paris to oslo again",
      "cannot copy cairo to lima again",
    );
    const found = suggestMerges(groups);
    expect(suggestMerges(groups.toReversed())).toEqual(found);
    expect(found).toHaveLength(1);
    expect(found[0]?.others.map(({ signature }) => signature)).toEqual([
      groups[1]?.signature,
      groups[3]?.signature,
    ]);
  });

  test("groups that a person named are left alone", () => {
    const named = { signature: "a", pattern: "cannot copy rome to the disk", count: 1 };
    expect(suggestMerges([named, ...groupsOf("CommandFailed::cannot copy paris to the disk")])).toEqual([]);
  });
});
