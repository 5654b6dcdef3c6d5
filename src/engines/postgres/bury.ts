/**
 * Burying and unburying in PostgreSQL, a whole batch by a few statements: the rows of `letters`, always counted in the
 * same transaction. Only under the lock of letters, which makes burials rise in number in the order in which they are committed.
 */

import type { DeathRecord } from "../../item/item.ts";
import { artifactsToJson } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import type { GroupCache } from "./group-cache.ts";
import type { LetterTable } from "./letters.ts";
import type { Tx } from "./session.ts";

/** What a transaction writes into, and what it sums up until its end. */
export interface Ledger {
  readonly tx: Tx;
  readonly deltas: CounterDeltas;
  readonly groups: GroupCache;
}

export interface Burial {
  readonly ref: number;
  readonly queue: number;
  /** As `groupAll` gave it. */
  readonly death: DeathRecord;
  /** Of the failure that it died of. */
  readonly message: string;
  /** When the item failed for the first time. */
  readonly firstAt: number;
}

/** Numbered in the order given. The marks of the groups are told by the caller, one by one, with `groups.buried`. */
export async function buryAll({ tx, deltas, groups }: Ledger, burials: readonly Burial[]): Promise<void> {
  if (burials.length === 0) return;
  const at = tx.now;
  const numbers = await groups.numbersOf(burials.map(({ queue, death }) => ({ queue, at, header: death })));
  for (const [place, { ref, queue, firstAt }] of burials.entries()) {
    const grp = numbers[place];
    assert(grp !== undefined, `the letter of item ${ref} has no group`);
    deltas.buried({ grp, buried_at: at, first_at: firstAt });
    deltas.queue(queue, "letters", 1);
  }
  const headers = burials.map(({ death, message, firstAt }) => headerValues(death, { message, firstAt }));
  tx.part(
    tx.run(
      BURY,
      burials.length,
      at,
      burials.map(({ ref }) => ref),
      numbers,
      headers.map(([reason]) => reason),
      headers.map(([, artifacts]) => artifacts),
      headers.map(([, , poison]) => poison),
      headers.map(([, , , message]) => message),
      headers.map(([, , , , firstAt]) => firstAt),
    ),
  );
}

/** The number of the newest burial, also when its letter has left. */
export async function lastBurial(tx: Tx): Promise<number> {
  const row = await tx.get<{ last: number }>("SELECT last FROM letter_numbers");
  assert(row, "the store has lost count of its burials");
  return row.last;
}

const TAKE = `
  UPDATE letter_numbers SET last = last + ?1::bigint, latest_at = greatest(latest_at, ?2::bigint),
         unordered = CASE WHEN ?2::bigint < latest_at THEN last + ?1::bigint ELSE unordered END RETURNING last`;

/** The columns of what is written on a death record besides its group. */
export const HEADER_COLUMNS = "reason, artifacts, poison, message, first_at, arrived_at, source_signature";

/** The same of letters `l`. */
export const HEADER_COLUMNS_OF_L = HEADER_COLUMNS.split(", ")
  .map((column) => `l.${column}`)
  .join(", ");

const BURY = `
  WITH taken AS (${TAKE})
  INSERT INTO letters (no, ref, grp, buried_at, ${HEADER_COLUMNS})
  SELECT t.last - ?1::bigint + b.place, b.ref, b.grp, ?2::bigint, b.reason, b.artifacts, b.poison, b.message, b.first_at,
         NULL, NULL
    FROM taken t CROSS JOIN unnest(?3::bigint[], ?4::bigint[], ?5::text[], ?6::text[], ?7::integer[], ?8::text[],
                                   ?9::bigint[])
                            WITH ORDINALITY AS b (ref, grp, reason, artifacts, poison, message, first_at, place)`;

/** Takes the next numbers, for letters with times of their own, which need not rise. The first of them. */
export async function takeImportedBurials(tx: Tx, count: number, latestAt: number): Promise<number> {
  const row = await tx.get<{ last: number }>(
    `UPDATE letter_numbers SET last = last + ?1::bigint, latest_at = greatest(latest_at, ?2::bigint),
            unordered = last + ?1::bigint RETURNING last`,
    count,
    latestAt,
  );
  assert(row, "the store has lost count of its burials");
  return row.last - count + 1;
}

/** The values of `HEADER_COLUMNS`. */
export function headerValues(
  { reason, worktreeArtifacts, poison, sourceSignature }: DeathRecord,
  { message, firstAt, arrivedAt }: { message: string; firstAt: number; arrivedAt?: number },
): HeaderValues {
  const artifacts =
    worktreeArtifacts === undefined ? null : stringifyJson(artifactsToJson(worktreeArtifacts));
  return [
    ...([reason, artifacts, poison ? 1 : 0, foldMessage(message)] as const),
    ...([firstAt, arrivedAt ?? null, sourceSignature ?? null] as const),
  ];
}

type HeaderValues = readonly [
  reason: string,
  artifacts: string | null,
  poison: number,
  message: string,
  firstAt: number,
  arrivedAt: number | null,
  sourceSignature: string | null,
];

/** As letters are searched by it: PostgreSQL's own `lower` depends on the server's locale. */
export function foldMessage(message: string): string {
  return message.toLowerCase();
}

/** A letter that was taken out of the line of those that wait. */
export interface Unburied extends LetterPlace {
  readonly ref: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly poison: number;
  readonly message: string;
  readonly arrived_at: number | null;
  readonly source_signature: string | null;
  readonly signature: string;
}

/** Takes the letters of these items away; their attempts and failures stay with the items. By item. */
export async function unburyAll(
  tx: Tx,
  deltas: CounterDeltas,
  items: readonly { readonly ref: number; readonly queue: number }[],
): Promise<ReadonlyMap<number, Unburied>> {
  if (items.length === 0) return new Map();
  const rows = await tx.all<Unburied>(
    `DELETE FROM letters l USING groups g WHERE g.no = l.grp AND l.ref = ANY (?::bigint[])
     RETURNING l.no, l.ref, l.grp, l.buried_at, ${HEADER_COLUMNS_OF_L}, g.signature`,
    items.map(({ ref }) => ref),
  );
  const letters = new Map(rows.map((row) => [row.ref, row]));
  for (const { ref, queue } of items) {
    const letter = letters.get(ref);
    assert(letter, `item ${ref} is redriven and no letter`);
    deltas.unburied(letter);
    deltas.queue(queue, "letters", -1);
  }
  return letters;
}

/** Letters on their way whose attempts failed and are made again: they are found by what was said last. */
export async function failedAgain(
  tx: Tx,
  failures: readonly { readonly ref: number; readonly message: string }[],
): Promise<void> {
  if (failures.length === 0) return;
  await tx.run(
    `UPDATE letters l SET message = f.message FROM unnest(?::bigint[], ?::text[]) AS f (ref, message)
      WHERE l.ref = f.ref`,
    failures.map(({ ref }) => ref),
    failures.map(({ message }) => foldMessage(message)),
  );
}

/** Letters that came in as bare rows of another store get their messages from the attempts, which came before them. */
export async function recallMessages(tx: Tx, table: LetterTable, numbers: readonly number[]): Promise<void> {
  const rows = await tx.all<{ ref: number; failure: string }>(
    `SELECT l.ref, a.failure FROM ${table} l CROSS JOIN LATERAL
            (SELECT failure FROM attempts WHERE ref = l.ref AND failure IS NOT NULL ORDER BY number DESC LIMIT 1) a
      WHERE l.no = ANY (?::bigint[])`,
    numbers,
  );
  await tx.run(
    `UPDATE ${table} l SET message = f.message FROM unnest(?::bigint[], ?::text[]) AS f (ref, message)
      WHERE l.ref = f.ref`,
    rows.map(({ ref }) => ref),
    rows.map(({ failure }) => foldMessage(messageIn(failure))),
  );
}

function messageIn(failure: string): string {
  const { error_message: message } = JSON.parse(failure) as { readonly error_message?: unknown };
  return typeof message === "string" ? message : "";
}
