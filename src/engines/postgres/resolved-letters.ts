/**
 * Letters whose story ends, and those that come back or are deleted. A closed letter leaves the line of those that wait
 * with its number and all that is known of it; many at a time are moved by a few statements, under the lock of letters.
 */
import type { Resolution, ResolutionKind } from "../../item/letter.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import { HEADER_COLUMNS, HEADER_COLUMNS_OF_L, type Ledger, type Unburied } from "./bury.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import type { Tx } from "./session.ts";

/** The item of a redriven letter was done in the end. */
export interface LetterEnd {
  readonly letter: Unburied;
  readonly queue: number;
  readonly operation: number | null;
  readonly revision: number;
}

/** In the order given. */
export async function resolveLetters(
  { tx, deltas, groups }: Ledger,
  ends: readonly LetterEnd[],
): Promise<void> {
  if (ends.length === 0) return;
  const edits = await lastEdits(
    tx,
    ends.filter(({ revision }) => revision > 1).map(({ letter }) => letter),
  );
  await insertResolved(
    tx,
    ends.map((end) => ({ ...end, kind: kindOf(edits.get(end.letter.no)) })),
  );
  for (const { letter, queue, operation } of ends) {
    const { no, ref, grp, signature, buried_at } = letter;
    const edit = edits.get(no);
    deltas.group(grp, "resolved", 1);
    deltas.queue(queue, "resolved", 1);
    const how = { edit: edit?.operation ?? null, rule: edit?.rule ?? null };
    const waitedMs = Math.max(0, tx.now - buried_at);
    groups.succeeded({ signature, operation, kind: kindOf(edit), ...how, waitedMs }, { queue, ref });
  }
}

/** The last amendment since the burial. */
interface Edit {
  readonly rule: string | null;
  readonly operation: string | null;
}

/** By the number of the letter. */
async function lastEdits(tx: Tx, letters: readonly Unburied[]): Promise<ReadonlyMap<number, Edit>> {
  if (letters.length === 0) return new Map();
  const rows = await tx.all<Edit & { readonly letter: number }>(
    `SELECT DISTINCT ON (a.letter) a.letter, a.rule, a.operation
       FROM unnest(?::bigint[], ?::bigint[]) AS l (ref, no) JOIN amendments a ON a.ref = l.ref AND a.letter = l.no
      ORDER BY a.letter, a.revision DESC`,
    letters.map(({ ref }) => ref),
    letters.map(({ no }) => no),
  );
  return new Map(rows.map((row) => [row.letter, row]));
}

function kindOf(edit: Edit | undefined): ResolutionKind {
  if (edit === undefined) return "requeue";
  return edit.rule === null ? "manual_fix" : "auto_fix";
}

async function insertResolved(
  tx: Tx,
  ends: readonly (LetterEnd & { readonly kind: ResolutionKind })[],
): Promise<void> {
  const letters = ends.map(({ letter }) => letter);
  await tx.run(
    `INSERT INTO resolved_letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}, kind, closed_at, author, operation)
     SELECT e.no, e.ref, e.grp, e.buried_at, e.reason, e.artifacts, e.poison, e.message, e.first_at, e.arrived_at,
            e.source_signature, e.kind, ?1::bigint, o.author, o.id
       FROM unnest(?2::bigint[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::text[], ?7::text[], ?8::int[], ?9::text[],
                   ?10::text[], ?11::bigint[], ?12::bigint[], ?13::bigint[], ?14::text[])
            AS e (no, ref, grp, buried_at, reason, artifacts, poison, message, kind, operation, first_at, arrived_at,
                  source_signature)
       LEFT JOIN operations o ON o.no = e.operation`,
    tx.now,
    letters.map(({ no }) => no),
    letters.map(({ ref }) => ref),
    letters.map(({ grp }) => grp),
    letters.map(({ buried_at }) => buried_at),
    letters.map(({ reason }) => reason),
    letters.map(({ artifacts }) => artifacts),
    letters.map(({ poison }) => poison),
    letters.map(({ message }) => message),
    ends.map(({ kind }) => kind),
    ends.map(({ operation }) => operation),
    letters.map(({ first_at }) => first_at),
    letters.map(({ arrived_at }) => arrived_at),
    letters.map(({ source_signature }) => source_signature),
  );
}

/** A letter that a bulk step works on. */
export interface BulkLetter extends LetterPlace {
  readonly ref: number;
}

/** Letters of one queue, and where what is done to them is counted. */
export interface Bulk {
  readonly tx: Tx;
  readonly deltas: CounterDeltas;
  readonly queue: number;
  readonly letters: readonly BulkLetter[];
}

/** Dead letters are given up, all for one reason or each for its own. */
export async function discardLetters(
  bulk: Bulk,
  {
    at,
    author,
    reason,
    operationId,
  }: Omit<Resolution, "kind" | "reason"> & { readonly reason?: string | readonly string[] },
): Promise<void> {
  const { tx, deltas, queue, letters } = bulk;
  if (letters.length === 0) return;
  await tx.run(
    `INSERT INTO resolved_letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}, kind, closed_at, author, why, operation)
     SELECT l.no, l.ref, l.grp, l.buried_at, ${HEADER_COLUMNS_OF_L}, 'discard', ?1::bigint, ?2::text, d.why, ?3::text
       FROM unnest(?4::bigint[], ?5::text[]) AS d (no, why) JOIN letters l ON l.no = d.no`,
    at,
    author ?? null,
    operationId ?? null,
    numbersOf(letters),
    letters.map((_, place) => (typeof reason === "object" ? (reason[place] ?? null) : (reason ?? null))),
  );
  await takeFromLine(bulk);
  await setState(tx, letters, "discarded");
  for (const { grp } of letters) deltas.group(grp, "discarded", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** Discarded letters are dead again, under the numbers that they had. */
export async function restoreLetters({ tx, deltas, queue, letters }: Bulk): Promise<void> {
  if (letters.length === 0) return;
  await tx.run(
    `WITH back AS (DELETE FROM resolved_letters WHERE no = ANY (?::bigint[]) RETURNING no, ref, grp, buried_at, ${HEADER_COLUMNS})
     INSERT INTO letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}) SELECT no, ref, grp, buried_at, ${HEADER_COLUMNS} FROM back`,
    numbersOf(letters),
  );
  await setState(tx, letters, "dead");
  for (const letter of letters) {
    deltas.restored(letter);
    deltas.group(letter.grp, "discarded", -1);
  }
  deltas.queue(queue, "letters", letters.length);
  deltas.queue(queue, "discarded", -letters.length);
  deltas.queue(queue, "dead", letters.length);
}

/** Dead letters are deleted with all that their items hold. */
export async function purgeDead(bulk: Bulk): Promise<void> {
  const { tx, deltas, queue, letters } = bulk;
  if (letters.length === 0) return;
  await takeFromLine(bulk);
  await empty(tx, letters);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** The same for discarded ones. */
export async function purgeDiscarded(bulk: Bulk): Promise<void> {
  if (bulk.letters.length === 0) return;
  await forget(bulk, "discarded");
  await empty(bulk.tx, bulk.letters);
}

/** Of a resolved letter only the record goes: its item was done, and stays so. */
export async function purgeResolved(bulk: Bulk): Promise<void> {
  if (bulk.letters.length === 0) return;
  await forget(bulk, "resolved");
  bulk.deltas.queue(bulk.queue, "resolved", -bulk.letters.length);
}

async function takeFromLine({ tx, deltas, queue, letters }: Bulk): Promise<void> {
  await tx.run("DELETE FROM letters WHERE no = ANY (?::bigint[])", numbersOf(letters));
  for (const letter of letters) deltas.unburied(letter);
  deltas.queue(queue, "letters", -letters.length);
}

async function forget({ tx, deltas, letters }: Bulk, counter: "discarded" | "resolved"): Promise<void> {
  await tx.run("DELETE FROM resolved_letters WHERE no = ANY (?::bigint[])", numbersOf(letters));
  for (const { grp } of letters) deltas.group(grp, counter, -1);
}

/** What an item holds besides its bare row. */
const HELD = ["payloads", "attempts", "late_results", "notes", "amendments"] as const;

/** The items first: whoever writes a note locks its item, so that the note is there before or never. */
async function empty(tx: Tx, letters: readonly BulkLetter[]): Promise<void> {
  await tx.run(
    `UPDATE items SET state = 'discarded', purged = 1, lane = NULL, expires_at = NULL
      WHERE ref = ANY (?::bigint[])`,
    refsOf(letters),
  );
  await Promise.all(
    HELD.map((table) => tx.run(`DELETE FROM ${table} WHERE ref = ANY (?::bigint[])`, refsOf(letters))),
  );
}

async function setState(tx: Tx, letters: readonly BulkLetter[], state: "dead" | "discarded"): Promise<void> {
  await tx.run("UPDATE items SET state = ? WHERE ref = ANY (?::bigint[])", state, refsOf(letters));
}

function numbersOf(letters: readonly BulkLetter[]): number[] {
  return letters.map(({ no }) => no);
}

function refsOf(letters: readonly BulkLetter[]): number[] {
  return letters.map(({ ref }) => ref);
}
