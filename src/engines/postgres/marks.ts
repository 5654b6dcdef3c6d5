/**
 * What is known of signatures beyond their letters, in PostgreSQL: read, listed, and changed by people. How a
 * transaction's own burials and successes change them is in group-cache.ts.
 */
import { WorkError } from "../../errors.ts";
import type { GroupChange, GroupMark, GroupState } from "../../item/group.ts";
import { afterChange, changedEvent, type GroupLife } from "../../item/group.ts";
import type { LetterNote } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { lifeOf, type MarkRow, standingOf } from "../mark-row.ts";
import { writeEvent } from "./events.ts";
import { fixesOf } from "./fixes.ts";
import { allOf, anyOf, condition } from "./groups.ts";
import type { Tx } from "./session.ts";

/** A mark as it is written down. */
const COLUMNS =
  "signature, pattern, state, since, author, ignore_until, new_letters, recent, regressions, is_regression";

export async function readGroup(tx: Tx, signature: string): Promise<GroupMark | null> {
  const rows = await tx.all<MarkRow>(`SELECT ${COLUMNS} FROM group_records WHERE signature = ?`, signature);
  return (await marksOf(tx, rows))[0] ?? null;
}

/** By signature. Everything that is given must hold. There are as many as groups ever were, not as letters. */
export async function listMarks(
  tx: Tx,
  { states, prefix }: { readonly states?: readonly GroupState[]; readonly prefix?: string },
): Promise<GroupMark[]> {
  const { sql, values } = allOf([
    states && condition(anyOf("state"), states),
    prefix !== undefined &&
      condition("(starts_with(signature, ?) OR starts_with(pattern, ?))", prefix, prefix),
  ]);
  const rows = await tx.all<MarkRow>(
    `SELECT ${COLUMNS} FROM group_records WHERE ${sql} ORDER BY signature COLLATE "C"`,
    ...values,
  );
  return marksOf(tx, rows);
}

/** Under the lock of letters, for burials read and change marks. */
export async function markGroup(tx: Tx, signature: string, change: GroupChange): Promise<GroupMark> {
  const mark = (await readLives(tx, [signature])).get(signature);
  if (mark === undefined) {
    throw new WorkError("item_not_found", `There is no group ${signature} in this store.`, {
      hint: "List the groups with `redrive groups`.",
    });
  }
  const { pattern, life } = mark;
  await writeLives(tx, [{ signature, pattern, life: afterChange(life, change, tx.now) }]);
  if (change.note !== undefined) {
    const row = [signature, tx.now, change.author, change.note];
    await tx.insert("group_notes (signature, at, author, text)", [row]);
  }
  await writeEvent(tx, tx.now, changedEvent(signature, change), {});
  const changed = await readGroup(tx, signature);
  assert(changed, `the mark of ${signature} vanished inside one write`);
  return changed;
}

/** The part of a mark that a transaction changes, and the pattern that it never does. */
export interface KnownMark {
  readonly pattern: string;
  readonly life: GroupLife;
}

/** Those of the signatures that are known. */
export async function readLives(
  tx: Tx,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, KnownMark>> {
  const rows = await tx.all<MarkRow>(
    `SELECT ${COLUMNS} FROM group_records WHERE signature = ANY (?::text[])`,
    signatures,
  );
  return new Map(rows.map((row) => [row.signature, { pattern: row.pattern, life: lifeOf(row) }]));
}

/** Makes the marks that are not there; of the others the pattern stays. */
export async function writeLives(
  tx: Tx,
  marks: readonly (KnownMark & { readonly signature: string })[],
): Promise<void> {
  await tx.insert(
    `group_records (${COLUMNS})`,
    marks.map(({ signature, pattern, life }) => [
      ...[signature, pattern, life.state, life.since, life.author ?? null],
      life.ignoreUntil === undefined ? null : JSON.stringify(life.ignoreUntil),
      ...[life.newLetters, JSON.stringify(life.recent), life.regressions, life.isRegression ? 1 : 0],
    ]),
    `ON CONFLICT (signature) DO UPDATE SET state = excluded.state, since = excluded.since, author = excluded.author,
            ignore_until = excluded.ignore_until, new_letters = excluded.new_letters, recent = excluded.recent,
            regressions = excluded.regressions, is_regression = excluded.is_regression`,
  );
}

async function marksOf(tx: Tx, rows: readonly MarkRow[]): Promise<GroupMark[]> {
  if (rows.length === 0) return [];
  const signatures = rows.map(({ signature }) => signature);
  const [notes, fixes] = await Promise.all([notesOf(tx, signatures), fixesOf(tx, signatures)]);
  return rows.map((row) => {
    const { signature, pattern } = row;
    const kept = { notes: notes.get(signature) ?? [], fixes: fixes.get(signature) ?? [] };
    return { signature, pattern, ...standingOf(row), ...kept };
  });
}

async function notesOf(
  tx: Tx,
  signatures: readonly string[],
): Promise<ReadonlyMap<string, readonly LetterNote[]>> {
  const rows = await tx.all<LetterNote & { readonly signature: string }>(
    "SELECT signature, at, author, text FROM group_notes WHERE signature = ANY (?::text[]) ORDER BY no",
    signatures,
  );
  const found = new Map<string, LetterNote[]>();
  for (const { signature, ...note } of rows) found.set(signature, [...(found.get(signature) ?? []), note]);
  return found;
}
