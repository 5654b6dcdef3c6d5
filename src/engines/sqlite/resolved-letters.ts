/**
 * Letters whose story ends, and those that come back or are deleted. A closed letter leaves the line of those that wait
 * with its number and all that is known of it; many at a time are moved by a few statements.
 */
import type { Resolution, ResolutionKind } from "../../item/letter.ts";
import type { LetterPlace } from "../sql/deltas.ts";
import { HEADER_COLUMNS, type Ledger, type Unburied } from "./bury.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import type { Session } from "./session.ts";
import { readAgain } from "./text-index.ts";

/** The item of a redriven letter was done in the end. */
export function resolveLetter(
  { session, deltas, groups }: Ledger,
  end: {
    readonly letter: Unburied;
    readonly queue: number;
    readonly operation: number | null;
    readonly revision: number;
    readonly at: number;
  },
): void {
  const { letter, queue, operation, at } = end;
  const { ref, signature } = letter;
  const edit = end.revision === 1 ? undefined : lastEdit(session, letter);
  const kind = kindOf(edit);
  session.run(
    `INSERT INTO resolved_letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}, kind, closed_at, author, operation)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, o.author, o.id FROM (SELECT 1) LEFT JOIN operations o ON o.no = ?`,
    ...[letter.no, letter.ref, letter.grp, letter.buried_at, letter.reason, letter.artifacts, letter.poison],
    ...[letter.first_at, letter.arrived_at, letter.source_signature],
    kind,
    at,
    operation,
  );
  deltas.group(letter.grp, "resolved", 1);
  deltas.queue(queue, "resolved", 1);
  const waitedMs = Math.max(0, at - letter.buried_at);
  const how = { edit: edit?.operation ?? null, rule: edit?.rule ?? null, waitedMs };
  groups.succeeded({ signature, operation, kind, ...how }, { queue, ref });
}

/** The last amendment since the burial. */
interface Edit {
  readonly rule: string | null;
  readonly operation: string | null;
}

function lastEdit(session: Session, { ref, no }: Unburied): Edit | undefined {
  return session.get<Edit>(
    "SELECT rule, operation FROM amendments WHERE ref = ? AND letter = ? ORDER BY revision DESC LIMIT 1",
    ref,
    no,
  );
}

function kindOf(edit: Edit | undefined): ResolutionKind {
  if (edit === undefined) return "requeue";
  return edit.rule === null ? "manual_fix" : "auto_fix";
}

/** A letter that a bulk step works on. */
export interface BulkLetter extends LetterPlace {
  readonly ref: number;
}

/** Letters of one queue, and where what is done to them is counted. */
export interface Bulk {
  readonly session: Session;
  readonly deltas: CounterDeltas;
  readonly queue: number;
  readonly letters: readonly BulkLetter[];
}

/** Dead letters are given up. */
export function discardLetters(
  bulk: Bulk,
  { at, author, reason, operationId }: Omit<Resolution, "kind">,
): void {
  const { session, deltas, queue, letters } = bulk;
  session.run(
    `INSERT INTO resolved_letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}, kind, closed_at, author, why, operation)
     SELECT no, ref, grp, buried_at, ${HEADER_COLUMNS}, 'discard', ?, ?, ?, ? FROM letters
      WHERE no IN (SELECT value FROM json_each(?))`,
    at,
    author ?? null,
    reason ?? null,
    operationId ?? null,
    numbersOf(letters),
  );
  takeFromLine(bulk);
  setState(session, letters, "discarded");
  for (const { grp } of letters) deltas.group(grp, "discarded", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** Discarded letters are dead again, under the numbers that they had. */
export function restoreLetters({ session, deltas, queue, letters }: Bulk): void {
  session.run(
    `INSERT INTO letters (no, ref, grp, buried_at, ${HEADER_COLUMNS}) SELECT no, ref, grp, buried_at, ${HEADER_COLUMNS} FROM resolved_letters
      WHERE no IN (SELECT value FROM json_each(?))`,
    numbersOf(letters),
  );
  session.run(
    "DELETE FROM resolved_letters WHERE no IN (SELECT value FROM json_each(?))",
    numbersOf(letters),
  );
  readAgain(
    session,
    letters.map(({ no }) => no),
  );
  setState(session, letters, "dead");
  for (const letter of letters) {
    deltas.restored(letter);
    deltas.group(letter.grp, "discarded", -1);
  }
  deltas.queue(queue, "letters", letters.length);
  deltas.queue(queue, "discarded", -letters.length);
  deltas.queue(queue, "dead", letters.length);
}

/** Dead letters are deleted with all that their items hold. */
export function purgeDead(bulk: Bulk): void {
  const { session, deltas, queue, letters } = bulk;
  takeFromLine(bulk);
  empty(session, letters);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** The same for discarded ones. */
export function purgeDiscarded(bulk: Bulk): void {
  forget(bulk, "discarded");
  empty(bulk.session, bulk.letters);
}

/** Of a resolved letter only the record goes: its item was done, and stays so. */
export function purgeResolved(bulk: Bulk): void {
  forget(bulk, "resolved");
  bulk.deltas.queue(bulk.queue, "resolved", -bulk.letters.length);
}

function takeFromLine({ session, deltas, queue, letters }: Bulk): void {
  session.run("DELETE FROM letters WHERE no IN (SELECT value FROM json_each(?))", numbersOf(letters));
  for (const letter of letters) deltas.unburied(letter);
  deltas.queue(queue, "letters", -letters.length);
}

function forget({ session, deltas, letters }: Bulk, counter: "discarded" | "resolved"): void {
  session.run(
    "DELETE FROM resolved_letters WHERE no IN (SELECT value FROM json_each(?))",
    numbersOf(letters),
  );
  for (const { grp } of letters) deltas.group(grp, counter, -1);
}

/** What an item holds besides its bare row. */
const HELD = ["payloads", "attempts", "late_results", "notes", "amendments"] as const;

function empty(session: Session, letters: readonly BulkLetter[]): void {
  for (const table of HELD) {
    session.run(`DELETE FROM ${table} WHERE ref IN (SELECT value FROM json_each(?))`, refsOf(letters));
  }
  session.run(
    "UPDATE items SET state = 'discarded', purged = 1, lane = NULL, expires_at = NULL WHERE ref IN (SELECT value FROM json_each(?))",
    refsOf(letters),
  );
}

function setState(session: Session, letters: readonly BulkLetter[], state: "dead" | "discarded"): void {
  const sql = "UPDATE items SET state = ? WHERE ref IN (SELECT value FROM json_each(?))";
  session.run(sql, state, refsOf(letters));
}

function numbersOf(letters: readonly BulkLetter[]): string {
  return JSON.stringify(letters.map(({ no }) => no));
}

function refsOf(letters: readonly BulkLetter[]): string {
  return JSON.stringify(letters.map(({ ref }) => ref));
}
