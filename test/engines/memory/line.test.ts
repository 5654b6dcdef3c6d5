import fc from "fast-check";
import { expect, it } from "vitest";
import { enterLine, leaveLine } from "../../../src/engines/memory/line.ts";
import { newQueue, type Row } from "../../../src/engines/memory/store.ts";
import { PRIORITIES, type Priority, rankOf } from "../../../src/item/priority.ts";
import { AssertionError } from "../../../src/kit/assert.ts";

const queue = newQueue("queue-1");

function row(ref: number, dueAt: number, priority: Priority = "normal"): Row {
  return {
    ref,
    queue,
    itemId: `item-${ref}`,
    data: null,
    state: "ready",
    dueAt,
    priority,
    name: undefined,
    expiresAt: undefined,
    lane: undefined,
    origin: undefined,
    offspring: [],
    started: 0,
    attempts: [],
    spent: 0,
    losses: 0,
    revision: 1,
    index: 0,
    redriveCount: 0,
    operation: undefined,
    burial: undefined,
    resolution: undefined,
    purged: false,
    evidence: [],
    amendments: [],
    notes: [],
  };
}

it("the line is in order of priority, due time and age, whatever came and left", () => {
  const visits = fc.array(
    fc.record({
      dueAt: fc.integer({ min: 0, max: 5 }),
      priority: fc.constantFrom(...PRIORITIES),
      leaves: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(visits, (guests) => {
      const rows = guests.map(({ dueAt, priority }, place) => row(place + 1, dueAt, priority));
      const line: Row[] = [];
      for (const each of rows) enterLine(line, each);
      for (const each of rows) if (guests[each.ref - 1]?.leaves) leaveLine(line, each);
      const left = rows.filter(({ ref }) => !guests[ref - 1]?.leaves);
      const order = (a: Row, b: Row) =>
        rankOf(a.priority) - rankOf(b.priority) || a.dueAt - b.dueAt || a.ref - b.ref;
      expect(line).toEqual(left.toSorted(order));
    }),
  );
});

it("a row that does not stand in line cannot leave it", () => {
  expect(() => leaveLine([row(1, 0)], row(2, 0))).toThrow(AssertionError);
});
