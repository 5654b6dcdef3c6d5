import fc from "fast-check";
import { expect, it } from "vitest";
import { enterLine, leaveLine } from "../../../src/engines/memory/line.ts";
import { newQueue, type Row } from "../../../src/engines/memory/store.ts";
import { AssertionError } from "../../../src/kit/assert.ts";

const queue = newQueue("queue-1");

function row(ref: number, dueAt: number): Row {
  return {
    ref,
    queue,
    itemId: `item-${ref}`,
    data: null,
    state: "ready",
    dueAt,
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

it("the line is in order of due time and then of age, whatever came and left", () => {
  const visits = fc.array(fc.record({ dueAt: fc.integer({ min: 0, max: 5 }), leaves: fc.boolean() }));
  fc.assert(
    fc.property(visits, (guests) => {
      const rows = guests.map(({ dueAt }, place) => row(place + 1, dueAt));
      const line: Row[] = [];
      for (const each of rows) enterLine(line, each);
      for (const each of rows) if (guests[each.ref - 1]?.leaves) leaveLine(line, each);
      const left = rows.filter(({ ref }) => !guests[ref - 1]?.leaves);
      expect(line).toEqual(left.toSorted((a, b) => a.dueAt - b.dueAt || a.ref - b.ref));
    }),
  );
});

it("a row that does not stand in line cannot leave it", () => {
  expect(() => leaveLine([row(1, 0)], row(2, 0))).toThrow(AssertionError);
});
