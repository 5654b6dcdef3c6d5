/**
 * Resolves, restores and deletes letters in bulk, with a few statements. A resolved letter keeps its number
 * and all its data.
 */
import type { Resolution, ResolutionKind } from "../../item/letter.ts";
import { type Ledger, letterColumns, type Unburied } from "./bury.ts";
import { type Db, type Step, together } from "./db.ts";
import type { Deltas, NumberedLetter } from "./deltas.ts";

/** A redriven letter whose item succeeded. */
export interface LetterEnd {
  readonly letter: Unburied;
  readonly queue: number;
  readonly operation: number | null;
  readonly revision: number;
}

/** Resolves letters in the order given. */
export function* resolveLetters(
  { db, deltas, groups }: Omit<Ledger, "events">,
  ends: readonly LetterEnd[],
): Step<void> {
  if (ends.length === 0) return;
  const edits = yield* lastEdits(
    db,
    ends.filter(({ revision }) => revision > 1).map(({ letter }) => letter),
  );
  yield* insertResolved(
    db,
    ends.map((end) => ({ ...end, kind: kindOf(edits.get(end.letter.no)) })),
  );
  for (const { letter, queue, operation } of ends) {
    const { no, ref, grp, signature, buried_at } = letter;
    const edit = edits.get(no);
    deltas.group(grp, "resolved", 1);
    deltas.queue(queue, "resolved", 1);
    const how = { edit: edit?.operation ?? null, rule: edit?.rule ?? null };
    const waitedMs = Math.max(0, db.now - buried_at);
    groups.succeeded({ signature, operation, kind: kindOf(edit), ...how, waitedMs }, { queue, ref });
  }
}

/** The last amendment since the burial. */
interface Edit {
  readonly rule: string | null;
  readonly operation: string | null;
}

/** The last edit of each letter, by letter number. */
function* lastEdits(db: Db, letters: readonly Unburied[]): Step<ReadonlyMap<number, Edit>> {
  if (letters.length === 0) return new Map();
  const asked = db.sql.relation(
    "l",
    { ref: "bigint", no: "bigint" },
    letters.map(({ ref, no }) => [ref, no]),
  );
  const rows = yield* db.all<Edit & { readonly letter: number }>(
    `SELECT a.letter, a.rule, a.operation FROM ${asked.sql} ${db.sql.joinInOrder} amendments a ON a.ref = l.ref AND a.letter = l.no
      ORDER BY a.revision`,
    ...asked.values,
  );
  return new Map(rows.map((row) => [row.letter, row]));
}

function kindOf(edit: Edit | undefined): ResolutionKind {
  if (edit === undefined) return "requeue";
  return edit.rule === null ? "manual_fix" : "auto_fix";
}

function* insertResolved(
  db: Db,
  ends: readonly (LetterEnd & { readonly kind: ResolutionKind })[],
): Step<void> {
  const { letterHeader, relation, typed } = db.sql;
  const columns = {
    ...({ no: "bigint", ref: "bigint", grp: "bigint", buried_at: "bigint" } as const),
    ...letterHeader,
  };
  const rows = relation(
    "e",
    { ...columns, kind: "text", redrive: "bigint" },
    ends.map(({ letter, kind, operation }) => [
      ...Object.keys(columns).map((column) => letter[column] ?? null),
      ...[kind, operation],
    ]),
  );
  yield* db.run(
    `INSERT INTO resolved_letters (${letterColumns(db.sql)}, kind, closed_at, author, operation)
     SELECT ${letterColumns(db.sql, "e")}, e.kind, ${typed("?", "bigint")}, o.author, o.id
       FROM ${rows.sql} LEFT JOIN operations o ON o.no = e.redrive`,
    db.now,
    ...rows.values,
  );
}

export interface BulkLetter extends NumberedLetter {
  readonly ref: number;
}

/** Letters of one queue, and the counters that a bulk step changes. */
export interface Bulk {
  readonly db: Db;
  readonly deltas: Deltas;
  readonly queue: number;
  readonly letters: readonly BulkLetter[];
}

/** Discards dead letters, with one common reason or a separate reason for each. */
export function* discardLetters(
  bulk: Bulk,
  {
    at,
    author,
    reason,
    operationId,
  }: Omit<Resolution, "kind" | "reason"> & { readonly reason?: string | readonly string[] },
): Step<void> {
  const { db, deltas, queue, letters } = bulk;
  if (letters.length === 0) return;
  const { typed, relation, joinInOrder } = db.sql;
  const reasonOf = (index: number) => (typeof reason === "object" ? reason[index] : reason) ?? null;
  const discarded = relation(
    "d",
    { no: "bigint", why: "text" },
    letters.map(({ no }, index) => [no, reasonOf(index)]),
  );
  yield* db.run(
    `INSERT INTO resolved_letters (${letterColumns(db.sql)}, kind, closed_at, author, operation, why)
     SELECT ${letterColumns(db.sql, "l")}, 'discard', ${typed("?", "bigint")}, ${typed("?", "text")}, ${typed("?", "text")}, d.why
       FROM ${discarded.sql} ${joinInOrder} letters l ON l.no = d.no`,
    ...[at, author ?? null, operationId ?? null],
    ...discarded.values,
  );
  yield* removeLetters(bulk);
  yield* setState(bulk, "discarded");
  for (const { grp } of letters) deltas.group(grp, "discarded", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** Makes discarded letters dead again, with their old numbers. */
export function* restoreLetters(bulk: Bulk): Step<void> {
  const { db, deltas, queue, letters } = bulk;
  if (letters.length === 0) return;
  const columns = letterColumns(db.sql);
  const numbers = letters.map(({ no }) => no);
  yield* db.run(
    `INSERT INTO letters (${columns}) SELECT ${columns} FROM resolved_letters WHERE ${db.sql.among("no", "?")}`,
    numbers,
  );
  yield* deleteRows(bulk, "resolved_letters");
  yield* db.reindexTexts(numbers);
  yield* setState(bulk, "dead");
  for (const letter of letters) {
    deltas.restored(letter);
    deltas.group(letter.grp, "discarded", -1);
  }
  deltas.queue(queue, "letters", letters.length);
  deltas.queue(queue, "discarded", -letters.length);
  deltas.queue(queue, "dead", letters.length);
}

/** Deletes dead letters with all data of their items. */
export function* purgeDead(bulk: Bulk): Step<void> {
  const { deltas, queue, letters } = bulk;
  if (letters.length === 0) return;
  yield* removeLetters(bulk);
  yield* empty(bulk);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "discarded", letters.length);
}

/** Deletes discarded letters with all data of their items. */
export function* purgeDiscarded(bulk: Bulk): Step<void> {
  if (bulk.letters.length === 0) return;
  yield* forget(bulk, "discarded");
  yield* empty(bulk);
}

/** Deletes only the records of resolved letters, because their items are done and are kept. */
export function* purgeResolved(bulk: Bulk): Step<void> {
  if (bulk.letters.length === 0) return;
  yield* forget(bulk, "resolved");
  bulk.deltas.queue(bulk.queue, "resolved", -bulk.letters.length);
}

function* removeLetters(bulk: Bulk): Step<void> {
  const { deltas, queue, letters } = bulk;
  yield* deleteRows(bulk, "letters");
  for (const letter of letters) deltas.unburied(letter);
  deltas.queue(queue, "letters", -letters.length);
}

function* forget(bulk: Bulk, counter: "discarded" | "resolved"): Step<void> {
  yield* deleteRows(bulk, "resolved_letters");
  for (const { grp } of bulk.letters) bulk.deltas.group(grp, counter, -1);
}

function deleteRows({ db, letters }: Bulk, table: "letters" | "resolved_letters"): Step<number> {
  return db.run(
    `DELETE FROM ${table} WHERE ${db.sql.among("no", "?")}`,
    letters.map(({ no }) => no),
  );
}

/** The tables that contain the data of an item, apart from its row in `items`. */
const HELD = ["payloads", "attempts", "late_results", "notes", "amendments", "progress"] as const;

/** Updates the items first, which locks them: a concurrent note is either deleted here or refused. */
function* empty({ db, letters }: Bulk): Step<void> {
  const refs = letters.map(({ ref }) => ref);
  const chosen = `WHERE ${db.sql.among("ref", "?")}`;
  yield* db.run(
    `UPDATE items SET state = 'discarded', purged = 1, ordering_key = NULL, expires_at = NULL ${chosen}`,
    refs,
  );
  yield* together(...HELD.map((table) => db.run(`DELETE FROM ${table} ${chosen}`, refs)));
}

function setState({ db, letters }: Bulk, state: "dead" | "discarded"): Step<number> {
  return db.run(
    `UPDATE items SET state = ?1 WHERE ${db.sql.among("ref", "?2")}`,
    state,
    letters.map(({ ref }) => ref),
  );
}
