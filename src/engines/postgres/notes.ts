/** What people and workers write on items, and so on letters. Never rewritten; a letter that is purged takes its notes with it. */
import type { NewNote } from "../../item/item.ts";
import type { LetterNote } from "../../item/letter.ts";
import type { Tx } from "./session.ts";

/** The item is locked meanwhile, so that a purge of the same moment comes before the note or takes it along. */
export async function addNote(tx: Tx, ref: number, { author, text }: NewNote): Promise<boolean> {
  const written = await tx.run(
    `WITH item AS (SELECT ref FROM items WHERE ref = ? AND purged = 0 FOR SHARE)
     INSERT INTO notes (ref, at, author, text) SELECT ref, ?::bigint, ?::text, ?::text FROM item`,
    ref,
    tx.now,
    author,
    text,
  );
  return written > 0;
}

/** Those of settlements, whose items are leased and locked. */
export async function insertNotes(
  tx: Tx,
  notes: readonly (NewNote & { readonly ref: number })[],
): Promise<void> {
  await tx.insert(
    "notes (ref, at, author, text)",
    notes.map(({ ref, author, text }) => [ref, tx.now, author, text]),
  );
}

/** Oldest first. */
export async function listNotes(tx: Tx, ref: number): Promise<LetterNote[]> {
  return tx.all<LetterNote>("SELECT at, author, text FROM notes WHERE ref = ? ORDER BY no", ref);
}

/** A note as part of another row. */
export type NoteTuple = readonly [at: number, author: string, text: string];

/** The list of an item's notes, oldest first; null when there are none. */
export function notesSql(ref: string): string {
  return `(SELECT json_agg(json_build_array(n.at, n.author, n.text) ORDER BY n.no) FROM notes n WHERE n.ref = ${ref})`;
}

export function noteFrom([at, author, text]: NoteTuple): LetterNote {
  return { at, author, text };
}
