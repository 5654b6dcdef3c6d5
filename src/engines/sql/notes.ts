/** Notes that people and workers add to items and so to letters. Notes never change; purging a letter deletes them. */
import type { NewNote } from "../../item/item.ts";
import type { LetterNote } from "../../item/letter.ts";
import type { Db, Step } from "./db.ts";

/** Locks the item, so that a concurrent purge either prevents the note or deletes it. */
export function* addNote(db: Db, ref: number, { author, text }: NewNote): Step<boolean> {
  const { typed } = db.sql;
  const written = yield* db.run(
    `INSERT INTO notes (ref, at, author, text)
     SELECT i.ref, ${typed("?2", "bigint")}, ${typed("?3", "text")}, ${typed("?4", "text")} FROM items i
      WHERE i.ref = ?1 AND i.purged = 0 ${db.sql.forShare}`,
    ...[ref, db.now, author, text],
  );
  return written > 0;
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
