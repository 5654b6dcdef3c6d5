/** Reads late results, amendments and notes of many letters. Most letters have none. */
import type { StoredLetter } from "../../engine.ts";
import type { LateResult, LetterNote } from "../../item/letter.ts";
import { listAmendments } from "../sql/amendments.ts";
import { withAdditions } from "../sql/letters.ts";
import { runOn } from "./db.ts";
import type { Session } from "./session.ts";

/** Adds the records to letters that have some; `refs` are the numbers of their items. */
export function withPageAdditions(
  session: Session,
  letters: StoredLetter[],
  refs: readonly number[],
): StoredLetter[] {
  const bounds = [Math.min(...refs), Math.max(...refs)] as const;
  const hasLateResults = hasAny(session, "late_results", bounds);
  const hasNotes = hasAny(session, "notes", bounds);
  if (!hasLateResults && !hasNotes && !letters.some(isAmended)) return letters;
  const lateResults = hasLateResults ? recordsOf<LateResult>(session, LATE_RESULTS, refs) : undefined;
  const notes = hasNotes ? recordsOf<LetterNote>(session, NOTES, refs) : undefined;
  return letters.map((letter) => {
    const { ref, revision } = letter;
    const amendments = revision > 1 ? runOn(session, (db) => listAmendments(db, ref)) : null;
    return withAdditions(letter, { lateResults: lateResults?.get(ref), amendments, notes: notes?.get(ref) });
  });
}

function isAmended({ revision }: StoredLetter): boolean {
  return revision > 1;
}

/** A single index lookup. */
function hasAny(
  session: Session,
  table: "late_results" | "notes",
  [first, last]: readonly [number, number],
): boolean {
  return session.get(`SELECT 1 FROM ${table} WHERE ref BETWEEN ? AND ? LIMIT 1`, first, last) !== undefined;
}

const LATE_RESULTS = `SELECT r.ref, r.at, r.attempt AS attemptNumber, r.outcome, r.note
  FROM json_each(?) refs CROSS JOIN late_results r ON r.ref = refs.value ORDER BY r.rowid`;
const NOTES = `SELECT r.ref, r.at, r.author, r.text
  FROM json_each(?) refs CROSS JOIN notes r ON r.ref = refs.value ORDER BY r.rowid`;

function recordsOf<Entry extends object>(
  session: Session,
  sql: string,
  refs: readonly number[],
): ReadonlyMap<number, Entry[]> {
  const found = new Map<number, Entry[]>();
  for (const { ref, ...rest } of session.all<{ readonly ref: number }>(sql, refs)) {
    const entries = found.get(ref);
    if (entries === undefined) found.set(ref, [rest as Entry]);
    else entries.push(rest as Entry);
  }
  return found;
}
