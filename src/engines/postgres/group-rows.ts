/** The rows of `groups`: found or made for a whole batch, under the lock of letters, so that nobody else makes the same. */
import type { DeathRecord } from "../../item/item.ts";
import { assert } from "../../std/assert.ts";
import type { Tx } from "./session.ts";

/** What makes the letters of a queue one row of `groups`, and what is written there of the first. */
export type LetterHeader = Pick<
  DeathRecord,
  | "signature"
  | "pattern"
  | "algorithm"
  | "errorType"
  | "errorClass"
  | "reprocessEligible"
  | "manualReviewRequired"
>;

/** A row that is wanted, and when it was first seen if it is new. */
export interface AskedRow {
  readonly queue: number;
  readonly at: number;
  readonly header: LetterHeader;
}

/** Their numbers, in the same order; no row is asked for twice. New rows get rising numbers. */
export async function findOrMakeRows(tx: Tx, asked: readonly AskedRow[]): Promise<number[]> {
  if (asked.length === 0) return [];
  const found = await findRows(tx, asked);
  const missing = asked.filter((_, place) => !found.has(place));
  if (missing.length > 0) await make(tx, missing);
  const all = missing.length > 0 ? await findRows(tx, asked) : found;
  return asked.map(({ header }, place) => {
    const number = all.get(place);
    assert(number !== undefined, `the group ${header.signature} was made and is not there`);
    return number;
  });
}

/** By the place of what is asked for: those that are there. */
export async function findRows(tx: Tx, asked: readonly AskedRow[]): Promise<ReadonlyMap<number, number>> {
  const rows = await tx.all<{ place: number; no: number }>(
    `SELECT a.place::int - 1 AS place, g.no
       FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::int[], ?::int[])
            WITH ORDINALITY AS a (queue, signature, error_type, error_class, eligible, review, place)
       JOIN groups g ON g.queue = a.queue AND g.signature = a.signature AND g.error_type = a.error_type
            AND g.error_class = a.error_class AND g.eligible = a.eligible AND g.review = a.review`,
    asked.map(({ queue }) => queue),
    asked.map(({ header }) => header.signature),
    asked.map(({ header }) => header.errorType),
    asked.map(({ header }) => header.errorClass),
    asked.map(({ header }) => Number(header.reprocessEligible)),
    asked.map(({ header }) => Number(header.manualReviewRequired)),
  );
  return new Map(rows.map(({ place, no }) => [place, no]));
}

async function make(tx: Tx, asked: readonly AskedRow[]): Promise<void> {
  await tx.insert(
    "groups (queue, signature, error_type, error_class, eligible, review, pattern, algorithm, first_at, last_at)",
    asked.map(({ queue, at, header }) => [
      ...[queue, header.signature, header.errorType, header.errorClass],
      ...[Number(header.reprocessEligible), Number(header.manualReviewRequired)],
      ...[header.pattern, header.algorithm, at, at],
    ]),
  );
}
