/** What people said about where letters belong, in SQLite. There are few: they are read together. */
import { compact } from "../../item/failure.ts";
import type { Correction } from "../../item/group.ts";
import { assert } from "../../kit/assert.ts";
import type { Session } from "./session.ts";

/** Replaces the one with the same origin and text, and is the newest then. */
export function correct(session: Session, { from, text, to, pattern, author }: Omit<Correction, "at">): void {
  assert(from !== to, `group ${from} is corrected to itself`);
  assert(text !== "", `group ${from} is split by an empty text`);
  removeCorrection(session, from, text);
  session.insert("corrections (origin, folded, text, target, pattern, author, at)", [
    [from, foldedOf(text), text ?? null, to, pattern, author, session.clock.now()],
  ]);
}

export function removeCorrection(session: Session, from: string, text?: string): boolean {
  const sql = "DELETE FROM corrections WHERE origin = ? AND folded = ?";
  return session.run(sql, from, foldedOf(text)).changes > 0;
}

function foldedOf(text: string | undefined): string {
  return text?.toLowerCase() ?? "";
}

interface CorrectionRow {
  readonly origin: string;
  readonly text: string | null;
  readonly target: string;
  readonly pattern: string;
  readonly author: string;
  readonly at: number;
}

/** Oldest first: a new one gets the highest number. */
export function listCorrections(session: Session): Correction[] {
  const rows = session.all<CorrectionRow>("SELECT * FROM corrections ORDER BY no");
  return rows.map(({ origin, text, target, pattern, author, at }) =>
    compact({ from: origin, text: text ?? undefined, to: target, pattern, author, at }),
  );
}
