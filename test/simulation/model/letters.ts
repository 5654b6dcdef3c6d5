/**
 * Letters: the items with a death record. These are dead items, redriven ones until their new attempt has
 * succeeded, and resolved ones until they are deleted.
 */
import type { LetterPage, LetterPart, LetterQuery, StoredLetter } from "../../../src/engine.ts";
import type { NewNote } from "../../../src/item/item.ts";
import { compact } from "../../../src/std/json.ts";
import { burialOf } from "./bury.ts";
import { record } from "./events.ts";
import { matchingLetters } from "./filter.ts";
import { comparePlaces, placeOf, readCursor, writeCursor } from "./letter-order.ts";
import type { Row, Store } from "./store.ts";

/** The total counts all letters that match, whichever page is asked for. */
export function listLetters(store: Store, query: LetterQuery): LetterPage {
  const { order = "newest", limit, cursor } = query;
  const found = matchingLetters(store, query)
    .map((row) => ({ row, place: placeOf(row, order) }))
    .sort((a, b) => comparePlaces(order, a.place, b.place));
  const start = cursor === undefined ? undefined : readCursor(order, cursor);
  const rest = start ? found.filter(({ place }) => comparePlaces(order, place, start) > 0) : found;
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return {
    letters: page.map(({ row }) => (query.parts ? withParts(letterOf(row), query.parts) : letterOf(row))),
    total: found.length,
    next: last && rest.length > page.length ? writeCursor(order, last.place) : null,
  };
}

/** Leaves out what was not requested, so that a caller that requests too little is found out here too. */
function withParts(letter: StoredLetter, parts: readonly LetterPart[]): StoredLetter {
  const has = (part: LetterPart) => parts.includes(part);
  const { lateResults, amendments, notes, poison, worktreeArtifacts, sourceSignature, resolution, ...rest } =
    letter;
  return compact({
    ...rest,
    ...(!has("data") && { itemData: null }),
    ...(has("record") ? { poison, worktreeArtifacts, sourceSignature, resolution } : NO_RECORD),
    ...(!has("times") && !has("failures") && { failureCount: 0, firstAttempt: 0, lastAttempt: 0 }),
    ...(!has("failures") && { failureHistory: has("last_failure") ? letter.failureHistory.slice(-1) : [] }),
    ...(has("additions") && { lateResults, amendments, notes }),
  }) as StoredLetter;
}

const NO_RECORD = { state: "dead", revision: 0, redriveCount: 0, reason: "" } as const;

/** The letter of an item; null if it is none. */
export function readLetter(store: Store, ref: number): StoredLetter | null {
  const row = store.rows[ref - 1];
  return row?.burial ? letterOf(row) : null;
}

/** False if there is no such item, or only its bare row. */
export function addNote(store: Store, ref: number, { author, text }: NewNote): boolean {
  const row = store.rows[ref - 1];
  if (!row || row.purged) return false;
  row.notes.push(Object.freeze({ at: store.now, author, text }));
  const { itemId } = row;
  record(store, {
    type: "change_recorded",
    queue: row.queue.name,
    itemId,
    data: { author, action: "note_added" },
  });
  return true;
}

function letterOf(row: Row): StoredLetter {
  const { death, number, firstAt } = burialOf(row);
  const failed = row.attempts.filter(({ outcome }) => outcome === "failed" || outcome === "lost");
  return compact({
    ref: row.ref,
    letterSequence: number,
    itemId: row.itemId,
    itemData: row.data,
    firstAttempt: firstAt,
    lastAttempt: failed.at(-1)?.endedAt ?? 0,
    failureCount: failed.length,
    failureHistory: failed.flatMap(({ failure }) => failure ?? []),
    errorSignature: death.signature,
    errorPattern: death.pattern,
    sourceSignature: death.sourceSignature,
    reprocessEligible: death.reprocessEligible,
    manualReviewRequired: death.manualReviewRequired,
    worktreeArtifacts: death.worktreeArtifacts,
    jobId: row.queue.name,
    queue: row.queue.name,
    state: row.state,
    reason: death.reason,
    revision: row.revision,
    redriveCount: row.redriveCount,
    poison: death.poison || undefined,
    lateResults: someOf(row.lateResults),
    amendments: someOf(row.amendments),
    notes: someOf(row.notes),
    resolution: row.resolution,
  });
}

/** Omits an empty list. */
function someOf<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? [...list] : undefined;
}
