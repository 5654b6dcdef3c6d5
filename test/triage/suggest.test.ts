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
    const groups = groupsOf("no rome archive here", "no lima archive here", "no space on the disk");
    const [found, ...more] = suggestMerges(groups);
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      into: groups[0],
      others: [groups[1]],
      common: "sh failed with exit code 1 no <?> archive here",
    });
    expect([...(found?.words.values() ?? [])].sort()).toEqual(["lima", "rome"]);
  });

  test("even if one of them has a mask there", () => {
    const groups = groupsOf("no rome archive here", "no <path> archive here");
    expect(suggestMerges(groups)).toHaveLength(1);
  });

  test("even by an ordinary word if there are three of them", () => {
    const groups = groupsOf("no user archive here", "no shop archive here", "no order archive here");
    expect(suggestMerges(groups)).toMatchObject([{ into: groups[0], others: groups.slice(1) }]);
    const verbs = groupsOf("cannot read the cart", "cannot write the cart", "cannot close the cart");
    expect(suggestMerges(verbs)).toEqual([]);
    const infinitives = groupsOf(
      "failed to read the cart",
      "failed to write the cart",
      "failed to close the cart",
    );
    expect(suggestMerges(infinitives)).toEqual([]);
    const last = groupsOf("bad call to user", "bad call to shop", "bad call to order");
    expect(suggestMerges(last)).toHaveLength(1);
  });

  test.each([
    ["an ordinary word", "no user archive here", "no shop archive here"],
    ["a code", "request to the shop failed: TS2345", "request to the shop failed: TS2322"],
    ["the name of an error", "the shop threw IOError again", "the shop threw KeyError again"],
    ["a constant", "the shop is in state SOLD_OUT", "the shop is in state TO_DO"],
    ["two words", "no rome archive here, but lima", "no oslo archive here, but cairo"],
    [
      "the command",
      "CommandFailed::foo failed with exit code 1",
      "CommandFailed::bar failed with exit code 1",
    ],
    ["the type", "CommandFailed::no rome archive here", "Unknown::no lima archive here"],
    [
      "a function",
      "CommandFailed::no rome archive here (in a)",
      "CommandFailed::no lima archive here (in b)",
    ],
    ["too little in common", "no rome here", "no lima here"],
  ])("but not by %s", (_what, one, other) => {
    expect(suggestMerges(groupsOf(one, other))).toEqual([]);
  });

  test("in any order alike, and each group is in one suggestion", () => {
    const groups = groupsOf(
      "rome archive lima disk",
      "paris archive lima disk",
      "paris archive oslo disk",
      "cairo archive lima disk",
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
    const named = { signature: "a", pattern: "no rome archive here", count: 1 };
    expect(suggestMerges([named, ...groupsOf("CommandFailed::no lima archive here")])).toEqual([]);
  });
});
