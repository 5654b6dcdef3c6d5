import { describe, expect, test } from "vitest";
import { EVENT_TYPES, eventsOf, eventToJson } from "../../src/item/event.ts";
import type { Settlement, Verdict } from "../../src/item/item.ts";

const lease = { ref: 1, attempt: 1 };
const settle = (outcome: Settlement["outcome"], verdict: Verdict): Settlement => ({
  lease,
  outcome,
  verdict,
});
const typesOf = (settlement: Settlement, wasLetter = false) =>
  eventsOf(settlement, wasLetter).map((event) => event.type);

describe("the events of a settlement", () => {
  test.each([
    ["succeeded", { kind: "done" }, ["attempt_succeeded"]],
    ["failed", { kind: "retry", delayMs: 5 }, ["attempt_failed", "attempt_retrying"]],
    ["failed", { kind: "park", delayMs: 5 }, ["attempt_failed", "attempt_parked"]],
    ["failed", { kind: "skip", reason: "r" }, ["attempt_failed", "item_skipped"]],
    ["failed", { kind: "bury", reason: "r" }, ["attempt_failed", "dlq_item_added"]],
    ["failed", { kind: "stop", reason: "r" }, ["attempt_failed", "dlq_item_added"]],
    ["released", { kind: "release" }, ["attempt_released"]],
    ["lost", { kind: "retry", delayMs: 5 }, ["attempt_lost", "attempt_retrying"]],
    ["lost", { kind: "bury", reason: "r" }, ["attempt_lost", "dlq_item_added"]],
  ] satisfies [Settlement["outcome"], Verdict, string[]][])("%s and %j", (outcome, verdict, types) => {
    expect(typesOf(settle(outcome, verdict))).toEqual(types);
    expect(types.every((type) => (EVENT_TYPES as readonly string[]).includes(type))).toBe(true);
  });

  test("the state of the worktree is part of the event that ends the attempt", () => {
    const done = { ...settle("succeeded", { kind: "done" }), mergedCommit: "abc" };
    expect(eventsOf(done, false)).toEqual([
      { type: "attempt_succeeded" },
      { type: "worktree_merged", data: { commit: "abc" } },
    ]);
    const dead = settle("failed", { kind: "bury", reason: "r" });
    const death = { worktreeArtifacts: { worktreePath: "/w", branchName: "b" } } as Settlement["death"];
    expect(eventsOf({ ...dead, ...(death && { death }) }, false).at(-1)).toEqual({
      type: "worktree_kept",
      data: { worktree_path: "/w", branch_name: "b" },
    });
  });

  test("a letter that succeeds leaves the queue with an event", () => {
    expect(typesOf(settle("succeeded", { kind: "done" }), true)).toEqual([
      "attempt_succeeded",
      "dlq_item_removed",
    ]);
  });

  test("a redriven letter that is retried or released has no event of leaving", () => {
    expect(typesOf(settle("failed", { kind: "retry", delayMs: 0 }), true)).not.toContain("dlq_item_removed");
    expect(typesOf(settle("released", { kind: "release" }), true)).toEqual(["attempt_released"]);
  });
});

test("an event as JSON names its job and item, and omits missing fields", () => {
  const event = { id: 3, at: 0, type: "attempt_started", queue: "job-1", itemId: "a", attempt: 2 } as const;
  expect(eventToJson(event)).toEqual({
    id: 3,
    at: "1970-01-01T00:00:00.000Z",
    type: "attempt_started",
    job_id: "job-1",
    item_id: "a",
    attempt: 2,
  });
  expect(Object.keys(eventToJson({ id: 1, at: 0, type: "store_write_failed" }))).toEqual([
    "id",
    "at",
    "type",
  ]);
});
