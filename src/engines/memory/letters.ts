/**
 * Letters: the items that have a gravestone. That is every dead item, and every redriven one until its new attempt
 * has succeeded. They are ordered by the number of their burial, newest first, so that a clock that was put back
 * cannot make a page miss or repeat one.
 */
import type { LetterFilter, LetterPage, LetterQuery } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import type { Letter } from "../../item/letter.ts";
import { assert } from "../../kit/assert.ts";
import type { Burial, Row, Store } from "./store.ts";

/** The total counts all letters that match, whichever page is asked for. */
export function listLetters(store: Store, query: LetterQuery): LetterPage {
  const found = matchingLetters(store, query).sort(newestFirst);
  const rest = query.cursor === undefined ? found : after(found, query.cursor);
  const page = rest.slice(0, query.limit);
  const last = page.at(-1);
  const next = last && rest.length > page.length ? cursorOf(last) : null;
  return { letters: page.map(letterOf), total: found.length, next };
}

/** The letter of an item; null when it is none. */
export function readLetter(store: Store, ref: number): Letter | null {
  const row = store.rows[ref - 1];
  return row?.burial ? letterOf(row) : null;
}

/** The letters that fit the filter, in no order. */
export function matchingLetters(store: Store, filter: LetterFilter): Row[] {
  const buriedBy = store.now - (filter.olderThanMs ?? Number.NEGATIVE_INFINITY);
  return [...store.letters].filter((row) => {
    const { at, grave } = burialOf(row);
    return (
      (filter.queue === undefined || row.queue.name === filter.queue) &&
      (filter.itemIds === undefined || filter.itemIds.includes(row.itemId)) &&
      (filter.types === undefined || filter.types.includes(grave.errorType)) &&
      (filter.classes === undefined || filter.classes.includes(grave.errorClass)) &&
      (filter.signature === undefined || filter.signature === grave.signature) &&
      (filter.eligible === undefined || filter.eligible === grave.reprocessEligible) &&
      at <= buriedBy
    );
  });
}

/** The gravestone of a row that is known to be a letter. */
export function burialOf(row: Row): Burial {
  assert(row.burial, `item ${row.ref} is listed as a letter and has no grave`);
  return row.burial;
}

function newestFirst(a: Row, b: Row): number {
  return burialOf(b).number - burialOf(a).number;
}

/** A place between two letters, not a letter: the page after it stays right when that letter has gone. */
function cursorOf(row: Row): string {
  return Buffer.from(`before:${burialOf(row).number}`).toString("base64url");
}

function after(found: readonly Row[], cursor: string): readonly Row[] {
  const place = /^before:(\d+)$/.exec(Buffer.from(cursor, "base64url").toString());
  if (!place) {
    throw new WorkError("usage", `The cursor "${cursor}" is not one that a page of letters gave.`, {
      hint: "Leave it out to start at the first page.",
    });
  }
  return found.filter((row) => burialOf(row).number < Number(place[1]));
}

function letterOf(row: Row): Letter {
  const { grave } = burialOf(row);
  const failureHistory = row.attempts.flatMap(({ failure }) => failure ?? []);
  const lastFailed = row.attempts.findLast(({ failure }) => failure !== undefined);
  return compact({
    itemId: row.itemId,
    itemData: row.data,
    firstAttempt: row.attempts[0]?.startedAt ?? 0,
    lastAttempt: lastFailed?.endedAt ?? 0,
    failureCount: failureHistory.length,
    failureHistory,
    errorSignature: grave.signature,
    errorPattern: grave.pattern,
    reprocessEligible: grave.reprocessEligible,
    manualReviewRequired: grave.manualReviewRequired,
    worktreeArtifacts: grave.worktreeArtifacts,
    jobId: row.queue.name,
    queue: row.queue.name,
    state: row.state,
    reason: grave.reason,
    revision: row.revision,
    redriveCount: row.redriveCount,
    evidence: row.evidence.length > 0 ? [...row.evidence] : undefined,
  });
}
