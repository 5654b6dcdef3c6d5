/** What people write on letters. Never rewritten; a letter that is purged takes its notes with it. */
import type { LetterNote } from "../../item/letter.ts";
import type { Session } from "./session.ts";

export function addNote(session: Session, ref: number, { author, text }: Omit<LetterNote, "at">): boolean {
  const { changes } = session.run(
    `INSERT INTO notes (ref, at, author, text) SELECT ?1, ?2, ?3, ?4
      WHERE EXISTS (SELECT 1 FROM letters WHERE ref = ?1) OR EXISTS (SELECT 1 FROM closed WHERE ref = ?1)`,
    ref,
    session.clock.now(),
    author,
    text,
  );
  return changes > 0;
}

/** Oldest first. */
export function listNotes(session: Session, ref: number): LetterNote[] {
  return session.all<LetterNote>("SELECT at, author, text FROM notes WHERE ref = ? ORDER BY rowid", ref);
}
