import { describe, expect, it } from "vitest";
import { importedLetter } from "../../src/item/imported-letter.ts";
import type { Letter, ResolutionKind } from "../../src/item/letter.ts";
import { failureOf } from "../support/settlements.ts";

const FIRST = Date.UTC(2026, 0, 1);
const LAST = Date.UTC(2026, 0, 2);

/** A letter whose attempts with these numbers failed. */
function letterOf(numbers: readonly number[], change: Partial<Letter> = {}): Letter {
  return {
    itemId: "a",
    itemData: { name: "a" },
    firstAttempt: FIRST,
    lastAttempt: LAST,
    failureCount: numbers.length,
    failureHistory: numbers.map((attempt) =>
      failureOf({ ref: 0, attempt }, { timestamp: FIRST + attempt * 5000 }),
    ),
    errorSignature: "s1",
    errorPattern: "p",
    reprocessEligible: true,
    manualReviewRequired: false,
    jobId: "job-1",
    queue: "job-1",
    state: "dead",
    reason: "out of retries",
    revision: 1,
    redriveCount: 0,
    ...change,
  };
}

const numbersOf = (letter: Letter) =>
  importedLetter(letter).attempts.map(({ number, failure }) => [number, failure?.attemptNumber]);

describe("the attempts of an imported letter", () => {
  it("each failure is a failed attempt, and the numbers between them are released ones", () => {
    const { attempts } = importedLetter(letterOf([2, 4]));
    expect(attempts.map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, "released"],
      [2, "failed"],
      [3, "released"],
      [4, "failed"],
    ]);
  });

  it("the first and last failure are those of the letter, and the last attempt ends with it", () => {
    const given = importedLetter(letterOf([1, 2]));
    expect(given).toMatchObject({ firstAt: FIRST, lastAt: LAST });
    expect(given.attempts).toMatchObject([
      { startedAt: FIRST + 5000 - 1200, endedAt: FIRST + 5000 },
      { startedAt: FIRST + 10_000 - 1200, endedAt: LAST },
    ]);
    expect(importedLetter(letterOf([2])).attempts[0]).toMatchObject({ startedAt: FIRST });
  });

  it("failures that are only counted get the numbers missing in the history, then those after it", () => {
    const told = ({ attempts }: ReturnType<typeof importedLetter>) =>
      attempts.map(({ outcome, failure }) => (failure ? failure.attemptNumber : outcome));
    expect(told(importedLetter(letterOf([1], { failureCount: 3 })))).toEqual([1, "failed", "failed"]);
    expect(told(importedLetter(letterOf([5], { failureCount: 5 })))).toEqual([...Array(4).fill("failed"), 5]);
    expect(told(importedLetter(letterOf([4], { failureCount: 2 })))).toEqual([
      ...["failed", "released", "released", 4],
    ]);
    expect(told(importedLetter(letterOf([], { failureCount: 2 })))).toEqual(["failed", "failed"]);
    expect(told(importedLetter(letterOf([], { failureCount: 0 })))).toEqual(["failed"]);
  });

  it.each([
    ["that do not rise", [1, 1, 1]],
    ["that fall", [3, 2, 1]],
    ["that begin at 0", [0, 1, 2]],
    ["that are no whole numbers", [0.5, 1.5, 2.5]],
    ["that are too many to be true", [1, 2, 4_000_000_000]],
  ])("a history with numbers %s is numbered anew", (_, numbers) => {
    expect(numbersOf(letterOf(numbers))).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });
});

describe("the state of an imported letter", () => {
  it.each([
    ["dead", undefined, "dead"],
    ["ready", undefined, "dead"],
    ["leased", undefined, "dead"],
    ["discarded", "discard", "discarded"],
    ["discarded", undefined, "dead"],
    ["done", "manual_fix", "done"],
    ["done", "auto_fix", "done"],
    ["done", "requeue", "done"],
  ] satisfies [Letter["state"], ResolutionKind | undefined, string][])(
    "%s, resolved as %s, comes in %s",
    (state, kind, expected) => {
      const resolution = kind && { resolution: { kind, at: LAST } };
      expect(importedLetter(letterOf([1], { state, ...resolution })).state).toBe(expected);
    },
  );
});

describe("the other fields of an imported letter", () => {
  it("the death record has the fields of the letter and its last failure", () => {
    const letter = letterOf([1], { poison: true, reprocessEligible: false, manualReviewRequired: true });
    expect(importedLetter(letter).death).toEqual({
      reason: "out of retries",
      errorType: "CommandFailed",
      errorClass: "unknown",
      signature: "s1",
      pattern: "p",
      algorithm: "imported",
      reprocessEligible: false,
      manualReviewRequired: true,
      poison: true,
    });
  });

  it("the revision is that of the last amendment, whatever the letter states", () => {
    const amendment = { revision: 9, at: LAST, author: "ada", before: 1 };
    const imported = importedLetter(letterOf([1], { revision: 7, amendments: [amendment, amendment] }));
    expect(imported.revision).toBe(3);
    expect(imported.amendments.map(({ revision }) => revision)).toEqual([2, 3]);
    expect(importedLetter(letterOf([1], { revision: 7 })).revision).toBe(1);
  });

  it("a letter without an id is a bug of the reader", () => {
    expect(() => importedLetter(letterOf([1], { itemId: "" }))).toThrow(/no item id/);
  });
});
