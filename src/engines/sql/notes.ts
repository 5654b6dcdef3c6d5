/** What people and workers write on items, and so on letters. Never rewritten; a letter that is purged loses its notes. */
import type { NewNote } from "../../item/item.ts";
import type { LetterNote } from "../../item/letter.ts";
import type { Db, Step } from "./db.ts";

/** The item is locked meanwhile, so that a purge of the same moment comes before the note or takes it along. */
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

/** Those of settlements, whose items are leased and locked. */
export function insertNotes(db: Db, notes: readonly (NewNote & { readonly ref: number })[]): Step<number> {
  return db.insert(
    "notes (ref, at, author, text)",
    notes.map(({ ref, author, text }) => [ref, db.now, author, text]),
  );
}

/** Oldest first. */
export function listNotes(db: Db, ref: number): Step<LetterNote[]> {
  return db.all<LetterNote>(
    `SELECT at, author, text FROM notes WHERE ref = ? ORDER BY ${db.sql.serial}`,
    ref,
  );
}
