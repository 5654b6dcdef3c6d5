/**
 * Makes an item a letter, resolves it, opens it again or deletes it, and updates the counters of waiting letters.
 */
import type { DeathRecord } from "../../../src/item/item.ts";
import type { Resolution } from "../../../src/item/letter.ts";
import { assert } from "../../../src/std/assert.ts";
import { countArrival, countWaiting } from "./arrivals.ts";
import { enterGroup, leaveGroup } from "./groups.ts";
import { type Burial, frozenCopy, type Row, type Store } from "./store.ts";

/**
 * Buries the item. A redriven item that died again is the same letter with a new death record. An imported letter
 * has its own times.
 */
export function buryRow(
  store: Store,
  row: Row,
  death: DeathRecord,
  times: Pick<Burial, "at" | "firstAt"> = { at: store.now, firstAt: firstFailure(store, row) },
): void {
  removeLetter(store, row);
  store.burials += 1;
  const { revision } = row;
  const [number, arrivedAt] = [store.burials, store.now];
  row.burial = { number, ...times, arrivedAt, death: frozenCopy(death), revision };
  store.letters.set(row.burial.number, row);
  countArrival(store, row.queue.name, row.burial);
  enterQueue(store, row);
}

/** A letter that dies again keeps its time. */
function firstFailure(store: Store, { burial, attempts }: Row): number {
  if (burial) return burial.firstAt;
  return attempts.find(({ outcome }) => outcome === "failed" || outcome === "lost")?.endedAt ?? store.now;
}

/** The letter no longer waits, but can still be read. The item has the state that the letter's end gave it. */
export function closeLetter(store: Store, row: Row, resolution: Resolution): void {
  leaveQueue(store, row);
  row.resolution = frozenCopy(resolution);
  if (row.state === "done") row.queue.resolved += 1;
}

/** The letter waits again, under its old death record. */
export function reopenLetter(store: Store, row: Row): void {
  assert(row.resolution, `the letter of item ${row.ref} is not closed`);
  row.resolution = undefined;
  enterQueue(store, row);
}

/** Removes the death record, if there is one. The item, its attempts and their failures stay. */
export function removeLetter(store: Store, row: Row): void {
  if (!row.burial) return;
  if (!row.resolution) leaveQueue(store, row);
  else if (row.state === "done") row.queue.resolved -= 1;
  store.letters.delete(row.burial.number);
  row.burial = undefined;
  row.resolution = undefined;
}

/** The death record of a row that must be a letter. */
export function burialOf(row: Row): Burial {
  assert(row.burial, `item ${row.ref} is listed as a letter and has no death`);
  return row.burial;
}

function enterQueue(store: Store, row: Row): void {
  row.queue.letters += 1;
  enterGroup(store, row.queue.name, burialOf(row));
  countWaiting(store, row.queue.name, burialOf(row), 1);
}

function leaveQueue(store: Store, row: Row): void {
  row.queue.letters -= 1;
  leaveGroup(store, row.queue.name, burialOf(row));
  countWaiting(store, row.queue.name, burialOf(row), -1);
}
