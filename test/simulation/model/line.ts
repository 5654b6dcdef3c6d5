/**
 * The ready items of a queue in the order in which they are leased: by priority, due time and age. Works on lists
 * only; an item's priority and due time must not change while it is ready. Ordering keys admit one of their items.
 */
import { rankOf } from "../../../src/item/item.ts";
import type { ItemState } from "../../../src/item/state.ts";
import { assert } from "../../../src/std/assert.ts";
import type { Row } from "./store.ts";

/** The states in which an item delays the younger ones of its ordering key. */
const IN_THE_WAY: ReadonlySet<ItemState> = new Set(["ready", "leased", "held"]);

/** Whether a ready item must wait for another one of its ordering key. */
export function isBlocked(row: Row): boolean {
  if (row.orderingKey === undefined) return false;
  const orderingKey = row.queue.orderingKeys.get(row.orderingKey) ?? [];
  return orderingKey.some(
    (other) =>
      other !== row && (other.state === "leased" || (other.ref < row.ref && IN_THE_WAY.has(other.state))),
  );
}

/** Inserts the row at its position. */
export function enterLine(line: Row[], row: Row): void {
  line.splice(placeOf(line, row), 0, row);
}

/** Removes the row, which must be there. */
export function leaveLine(line: Row[], row: Row): void {
  const place = placeOf(line, row);
  assert(line[place] === row, `item ${row.ref} is ready but does not stand in line`);
  line.splice(place, 1);
}

/** True if the first is to be leased before the second. */
export function isBefore(first: Row, second: Row): boolean {
  const [a, b] = [rankOf(first.priority), rankOf(second.priority)];
  if (a !== b) return a < b;
  return first.dueAt === second.dueAt ? first.ref < second.ref : first.dueAt < second.dueAt;
}

/** The position of the row, or where it would be inserted. */
function placeOf(line: readonly Row[], row: Row): number {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = line[middle];
    if (other && isBefore(other, row)) low = middle + 1;
    else high = middle;
  }
  return low;
}
