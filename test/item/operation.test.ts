import { describe, expect, it } from "vitest";
import { EVENT_TYPES } from "../../src/item/event.ts";
import {
  amendmentEvent,
  KIND_RULES,
  leftOf,
  letterEvent,
  OPERATION_KINDS,
  type Operation,
  operationToJson,
  statusEvent,
  stepEvent,
} from "../../src/item/operation.ts";

const operation: Operation = {
  id: "op-1",
  kind: "redrive",
  queue: "job-1",
  filter: {},
  force: false,
  author: "ada",
  plan: {},
  status: "open",
  createdAt: Date.UTC(2026, 0, 1),
  bound: 9,
  progress: {},
  selected: 10,
  done: 6,
  refused: 1,
  succeeded: 3,
  failed: 2,
  returned: 1,
};

describe("the totals of an operation", () => {
  it("of a redrive, letters in retry and pending letters remain", () => {
    expect(leftOf(operation)).toBe(4);
  });

  it("of any other kind, pending letters remain", () => {
    expect(leftOf({ ...operation, kind: "purge", succeeded: 0, failed: 0 })).toBe(3);
  });

  it("its JSON has the numbers of every bulk command", () => {
    expect(operationToJson(operation)).toEqual({
      operation_id: "op-1",
      kind: "redrive",
      job_id: "job-1",
      status: "open",
      selected: 10,
      done: 6,
      redriven: 6,
      refused: 1,
      succeeded: 3,
      failed: 2,
      remaining: 4,
      created_at: "2026-01-01T00:00:00.000Z",
      author: "ada",
    });
  });

  it("letters processed by another kind have succeeded, and none was redriven", () => {
    const ended = {
      ...operation,
      kind: "discard",
      succeeded: 0,
      failed: 0,
      endedAt: 0,
      reason: "r",
    } as const;
    expect(operationToJson(ended)).toMatchObject({
      redriven: 0,
      succeeded: 6,
      remaining: 3,
      reason: "r",
      ended_at: "1970-01-01T00:00:00.000Z",
    });
  });
});

describe("the events of an operation", () => {
  it("each kind has its own event, and the states that it accepts", () => {
    const types = OPERATION_KINDS.map((kind) => KIND_RULES[kind].event);
    expect(new Set(types).size).toBe(OPERATION_KINDS.length);
    expect(types.every((type) => EVENT_TYPES.includes(type))).toBe(true);
    for (const kind of OPERATION_KINDS) expect(KIND_RULES[kind].states.length).toBeGreaterThan(0);
  });

  it("a redrive counts redriven letters, the other kinds processed ones", () => {
    expect(stepEvent(operation, { done: 2, refused: 1 })).toEqual([
      { type: "dlq_items_reprocessed", data: { operation_id: "op-1", redriven: 2, refused: 1 } },
    ]);
    expect(stepEvent({ id: "op-2", kind: "evict" }, { done: 2, refused: 0 })).toEqual([
      { type: "dlq_items_evicted", data: { operation_id: "op-2", count: 2, refused: 0 } },
    ]);
  });

  it("a step without an effect has no event, and an edit has none either", () => {
    expect(stepEvent(operation, { done: 0, refused: 0 })).toEqual([]);
    expect(stepEvent({ id: "op-1", kind: "edit" }, { done: 3, refused: 1 })).toEqual([]);
  });

  it.each([
    ["discard", [{ type: "dlq_item_removed", data: { why: "discarded", operation_id: "op-1" } }]],
    ["purge", [{ type: "dlq_item_removed", data: { why: "purged", operation_id: "op-1" } }]],
    ["clear", [{ type: "dlq_item_removed", data: { why: "cleared", operation_id: "op-1" } }]],
    ["evict", [{ type: "dlq_item_removed", data: { why: "evicted", operation_id: "op-1" } }]],
    [
      "restore",
      [{ type: "dlq_item_added", data: { reason: "restored", signature: "s1", operation_id: "op-1" } }],
    ],
    ["redrive", []],
    ["edit", []],
  ] as const)("what a %s says of one letter", (kind, events) => {
    expect(letterEvent({ id: "op-1", kind }, "s1")).toEqual(events);
  });

  it("an amendment and a change of status have an event with author and change", () => {
    const amendment = { revision: 2, at: 0, author: "ada", operationId: "op-1", before: 1 };
    expect(amendmentEvent(amendment).data).toEqual({ operation_id: "op-1", revision: 2, author: "ada" });
    expect(amendmentEvent({ ...amendment, rule: "r" }).data).toMatchObject({ rule: "r" });
    expect(statusEvent({ id: "op-1", status: "paused" })).toEqual({
      type: "operation_changed",
      data: { operation_id: "op-1", status: "paused" },
    });
  });
});
