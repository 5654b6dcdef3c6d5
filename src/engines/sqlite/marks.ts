/**
 * What is known of signatures beyond their letters, in SQLite: read, listed, and changed by people. How a transaction's own
 * burials and successes change them is in group-cache.ts.
 */
import { WorkError } from "../../errors.ts";
import type { GroupChange, GroupMark, GroupState } from "../../item/group.ts";
import { afterChange, changedEvent, type GroupLife } from "../../item/group.ts";
import type { LetterNote } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { lifeOf, type MarkRow, standingOf } from "../mark-row.ts";
import { writeEvent } from "./events.ts";
import { listFixes } from "./fixes.ts";
import { allOf, anyOf, condition } from "./groups.ts";
import type { Session } from "./session.ts";

/** A mark as it is written down. */
export function readGroup(session: Session, signature: string): GroupMark | null {
  const row = session.get<MarkRow>("SELECT * FROM group_records WHERE signature = ?", signature);
  return row === undefined ? null : markOf(session, row);
}

/** By signature. Everything that is given must hold. There are as many as groups ever were, not as letters. */
export function listMarks(
  session: Session,
  { states, prefix }: { readonly states?: readonly GroupState[]; readonly prefix?: string },
): GroupMark[] {
  const { sql, values } = allOf([
    states && condition(anyOf("state"), JSON.stringify(states)),
    prefix !== undefined &&
      condition(`(${beginsWith("signature")} OR ${beginsWith("pattern")})`, prefix, prefix, prefix, prefix),
  ]);
  const rows = session.all<MarkRow>(`SELECT * FROM group_records WHERE ${sql} ORDER BY signature`, ...values);
  return rows.map((row) => markOf(session, row));
}

/** Not LIKE, to which some letters are no letters. */
function beginsWith(column: string): string {
  return `substr(${column}, 1, length(?)) = ?`;
}

export function markGroup(session: Session, signature: string, change: GroupChange): GroupMark {
  const row = session.get<MarkRow>("SELECT * FROM group_records WHERE signature = ?", signature);
  if (row === undefined) {
    throw new WorkError("item_not_found", `There is no group ${signature} in ${session.path}.`, {
      hint: "List the groups with `redrive groups`.",
    });
  }
  const now = session.clock.now();
  writeLife(session, signature, afterChange(lifeOf(row), change, now));
  if (change.note !== undefined) {
    const sql = "INSERT INTO group_notes (signature, at, author, text) VALUES (?, ?, ?, ?)";
    session.run(sql, signature, now, change.author, change.note);
  }
  writeEvent(session, now, changedEvent(signature, change), {});
  const mark = readGroup(session, signature);
  assert(mark, `the mark of ${signature} vanished inside one write`);
  return mark;
}

export function writeLife(session: Session, signature: string, life: GroupLife): void {
  session.run(
    `UPDATE group_records SET state = ?, since = ?, author = ?, ignore_until = ?, new_letters = ?, recent = ?, regressions = ?,
            is_regression = ? WHERE signature = ?`,
    ...[life.state, life.since, life.author ?? null],
    life.ignoreUntil === undefined ? null : JSON.stringify(life.ignoreUntil),
    ...[life.newLetters, JSON.stringify(life.recent), life.regressions, life.isRegression ? 1 : 0, signature],
  );
}

/** Of a signature that has, or had, letters. */
export function readLife(session: Session, signature: string): GroupLife {
  const row = session.get<MarkRow>("SELECT * FROM group_records WHERE signature = ?", signature);
  assert(row, `signature ${signature} has letters and no mark`);
  return lifeOf(row);
}

function markOf(session: Session, row: MarkRow): GroupMark {
  const { signature, pattern } = row;
  const notes = session.all<LetterNote>(
    "SELECT at, author, text FROM group_notes WHERE signature = ? ORDER BY rowid",
    signature,
  );
  return { signature, pattern, ...standingOf(row), notes, fixes: listFixes(session, signature) };
}
