/** Amendments replace the data of an item and keep the old data. Notes are texts that people add to an item. */

import type { NewNote } from "../../item/item.ts";
import type { Amendment, LetterNote } from "../../item/letter.ts";
import { canonicalJson, compact, type Json, parseJson, stringifyJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { writeEvent } from "./events.ts";

/** The item and letter that an amendment belongs to. */
interface Subject {
  readonly ref: number;
  /** The letter's number; null if the item had none or the amendment was imported. */
  readonly letter: number | null;
}

interface NewAmendment extends Subject, Pick<Amendment, "at" | "author" | "rule" | "note" | "operationId"> {
  readonly data: Json;
}

/** Amends several items, each at most once. Returns null for an item whose data is unchanged: it gets no new revision. */
export function* amendAll(db: Db, changes: readonly NewAmendment[]): Step<(Amendment | null)[]> {
  const rows = yield* db.all<Current>(
    `SELECT i.ref, i.revision, (SELECT p.data FROM payloads p WHERE p.ref = i.ref) AS data FROM items i
      WHERE ${db.sql.among("i.ref", "?")} ${db.sql.forUpdate}`,
    changes.map(({ ref }) => ref),
  );
  const current = new Map(rows.map((row) => [row.ref, row]));
  const made = changes.map((change) => amendmentFor(change, current.get(change.ref)));
  const amendments = made.filter((one) => one !== null);
  if (amendments.length === 0) return made;
  yield* insertAmendments(db, amendments);
  const changed = db.sql.relation(
    "n",
    { ref: "bigint", revision: "bigint", data: "text" },
    changes.flatMap(({ ref, data }, at) => {
      const revision = made[at]?.revision;
      return revision === undefined ? [] : [[ref, revision, stringifyJson(data)]];
    }),
  );
  for (const set of ["items SET revision = n.revision", "payloads SET data = n.data"]) {
    const [table] = set.split(" ");
    yield* db.run(`UPDATE ${set} FROM ${changed.sql} WHERE ${table}.ref = n.ref`, ...changed.values);
  }
  return made;
}

interface Current {
  readonly ref: number;
  readonly revision: number;
  readonly data: string | null;
}

function amendmentFor(change: NewAmendment, current: Current | undefined): (Amendment & Subject) | null {
  const before = parseJson(current?.data ?? "null") as Json;
  if (canonicalJson(before) === canonicalJson(change.data)) return null;
  const { ref, letter, at, author, rule, note, operationId } = change;
  const revision = (current?.revision ?? 0) + 1;
  return compact({ ref, letter, revision, at, author, rule, note, operationId, before });
}

/** Inserts amendments without updating items or payloads. */
export function insertAmendments(db: Db, amendments: readonly (Amendment & Subject)[]): Step<number> {
  return db.insert(
    "amendments (ref, revision, at, author, rule, note, operation, letter, before)",
    amendments.map(({ ref, revision, at, author, rule, note, operationId, letter, before }) => [
      ...[ref, revision, at, author, rule ?? null, note ?? null, operationId ?? null, letter],
      stringifyJson(before),
    ]),
  );
}

export interface AmendmentRow {
  readonly revision: number;
  readonly at: number;
  readonly author: string;
  readonly rule: string | null;
  readonly note: string | null;
  readonly operation: string | null;
  readonly before: string;
}

/** Lists an item's amendments, oldest first. */
export function* listAmendments(db: Db, ref: number): Step<Amendment[]> {
  const rows = yield* db.all<AmendmentRow>(
    "SELECT revision, at, author, rule, note, operation, before FROM amendments WHERE ref = ? ORDER BY revision",
    ref,
  );
  return rows.map(amendmentOf);
}

export function amendmentOf(row: AmendmentRow): Amendment {
  return compact({
    revision: row.revision,
    at: row.at,
    author: row.author,
    rule: row.rule ?? undefined,
    note: row.note ?? undefined,
    operationId: row.operation ?? undefined,
    before: parseJson(row.before) as Json,
  });
}

/** Locks the item, so that a concurrent purge either prevents the note or deletes it. */
export function* addNote(db: Db, ref: number, { author, text }: NewNote): Step<boolean> {
  const { typed } = db.sql;
  const written = yield* db.run(
    `INSERT INTO notes (ref, at, author, text)
     SELECT i.ref, ${typed("?2", "bigint")}, ${typed("?3", "text")}, ${typed("?4", "text")} FROM items i
      WHERE i.ref = ?1 AND i.purged = 0 ${db.sql.forShare}`,
    ...[ref, db.now, author, text],
  );
  if (written === 0) return false;
  const item = yield* db.get<{ queue: number }>("SELECT queue FROM items WHERE ref = ?", ref);
  const data = { author, action: "note_added" };
  yield* writeEvent(db, { type: "change_recorded", data }, compact({ queue: item?.queue, ref }));
  return true;
}

/** Inserts the notes of settlements, whose items are already leased and locked. */
export function insertNotes(db: Db, notes: readonly (NewNote & { readonly ref: number })[]): Step<number> {
  return db.insert(
    "notes (ref, at, author, text)",
    notes.map(({ ref, author, text }) => [ref, db.now, author, text]),
  );
}

/** Lists an item's notes, oldest first. */
export function listNotes(db: Db, ref: number): Step<LetterNote[]> {
  return db.all<LetterNote>(
    `SELECT at, author, text FROM notes WHERE ref = ? ORDER BY ${db.sql.serial}`,
    ref,
  );
}
