import { expect, it } from "vitest";
import { settlementOf } from "../../src/dead-letter/bury.ts";
import { failureToJson, withPlainType } from "../../src/item/failure.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { failureOf } from "../support/settlements.ts";

const item: LeasedItem = {
  ref: 1,
  attempt: 7,
  queue: "q",
  itemId: "a",
  data: "a",
  attemptsCounted: 0,
  lostCount: 0,
  revision: 1,
  redriveCount: 0,
  index: 0,
  startedAt: 0,
};
const outcome = { kind: "failed", failure: failureOf(item) } as const;
const verdict = { kind: "bury", reason: "out of retries (1 of 1 attempts used)" } as const;

const deathAfter = (redriveCount: number, poisonAfter?: number) =>
  settlementOf(
    { ...item, redriveCount },
    { outcome, verdict, ...(poisonAfter !== undefined && { poisonAfter }) },
  ).death;

it("a letter that failed again in five redrives is poison: only a person retries it", () => {
  expect(deathAfter(4)).toMatchObject({ reprocessEligible: true, reason: verdict.reason });
  expect(deathAfter(4)?.poison).toBeUndefined();
  expect(deathAfter(5)).toMatchObject({
    poison: true,
    reprocessEligible: false,
    manualReviewRequired: true,
    reason:
      "out of retries (1 of 1 attempts used); failed again after 5 redrives: poison, needs manual review",
  });
});

it("the number of allowed redrives can be set", () => {
  expect(deathAfter(1, 2)?.poison).toBeUndefined();
  expect(deathAfter(1, 1)).toMatchObject({
    poison: true,
    reason:
      "out of retries (1 of 1 attempts used); failed again after 1 redrive: poison, needs manual review",
  });
});

it("its group does not change, so that it is found with the others", () => {
  expect(deathAfter(9)?.signature).toBe(deathAfter(0)?.signature);
});

it("an item that is not buried has no death record, however often it was redriven", () => {
  const settlement = settlementOf(
    { ...item, redriveCount: 9 },
    { outcome: { kind: "succeeded" }, verdict: { kind: "done" } },
  );
  expect(settlement.death).toBeUndefined();
});

it("a type that the sources write as a name is stored as one, and its facts are in the context", () => {
  const conflict = { name: "MergeConflict", fields: { files: ["a.txt", "b.txt"] } } as const;
  const failure = failureOf({ ref: 1, attempt: 1 }, { errorType: conflict, errorContext: ["merging"] });
  expect(withPlainType(failure)).toMatchObject({
    errorType: { name: "MergeConflict" },
    errorContext: ["merging", "files: a.txt, b.txt"],
  });
  expect(failureToJson(withPlainType(failure)).error_type).toBe("MergeConflict");
  const command = failureOf({ ref: 1, attempt: 1 });
  expect(withPlainType(command)).toBe(command);
});
