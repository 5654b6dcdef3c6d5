/** What is written on items, and so on their letters. Never rewritten; an item that is purged loses its notes. */
import type { NewNote } from "../../item/item.ts";
import type { LetterNote } from "../../item/letter.ts";
import type { Session } from "./session.ts";

export function addNote(session: Session, ref: number, { author, text }: NewNote): boolean {
  const { changes } = session.run(
    `INSERT INTO notes (ref, at, author, text) SELECT ?1, ?2, ?3, ?4
      WHERE EXISTS (SELECT 1 FROM items WHERE ref = ?1 AND purged = 0)`,
    ref,
    session.clock.now(),
    author,
    text,
  );
  return changes > 0;
}

/** Those of one item, oldest first. */
export function listNotes(session: Session, ref: number): readonly LetterNote[] {
  return session.all<LetterNote>("SELECT at, author, text FROM notes WHERE ref = ? ORDER BY rowid", ref);
}

/** Those of many items, oldest first. */
export function notesOf(session: Session, refs: readonly number[]): ReadonlyMap<number, LetterNote[]> {
  const rows = session.all<LetterNote & { readonly ref: number }>(
    `SELECT n.ref, n.at, n.author, n.text FROM json_each(?) refs CROSS JOIN notes n ON n.ref = refs.value ORDER BY n.rowid`,
    JSON.stringify(refs),
  );
  return byRef(rows);
}

/** The rows of each item, without the item's number. */
export function byRef<Row extends { readonly ref: number }>(
  rows: readonly Row[],
): ReadonlyMap<number, Omit<Row, "ref">[]> {
  const found = new Map<number, Omit<Row, "ref">[]>();
  for (const { ref, ...rest } of rows) found.set(ref, [...(found.get(ref) ?? []), rest]);
  return found;
}
