/**
 * Reads, lists and edits the records of signatures. group-cache.ts updates them for the burials and successes of a
 * transaction.
 */
import { RedriveError } from "../../errors.ts";
import {
  afterChange,
  changedEvent,
  type GroupChange,
  type GroupLife,
  type GroupRecord,
  type GroupState,
  type IgnoreUntil,
  type MinuteCount,
} from "../../item/group.ts";
import type { LetterNote } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { compact } from "../../std/json.ts";
import { allOf, condition } from "./conditions.ts";
import { type Db, type Step, together } from "./db.ts";
import { writeEvent } from "./event-log.ts";
import { fixesOf } from "./fixes.ts";

const COLUMNS =
  "signature, pattern, state, since, author, ignore_until, new_letters, recent, regressions, is_regression";

interface RecordRow {
  readonly signature: string;
  readonly pattern: string;
  readonly state: GroupState;
  readonly since: number;
  readonly author: string | null;
  readonly ignore_until: string | null;
  readonly new_letters: number;
  readonly recent: string;
  readonly regressions: number;
  readonly is_regression: number;
}

export function* readGroup(db: Db, signature: string): Step<GroupRecord | null> {
  const rows = yield* db.all<RecordRow>(
    `SELECT ${COLUMNS} FROM group_records WHERE signature = ?`,
    signature,
  );
  return (yield* recordsOf(db, rows))[0] ?? null;
}

/** Lists the records that match all given conditions, by signature. Their number grows with groups, not with letters. */
export function* listGroupRecords(
  db: Db,
  { states, prefix }: { readonly states?: readonly GroupState[]; readonly prefix?: string },
): Step<GroupRecord[]> {
  // Not LIKE, because the prefix may contain its wildcards.
  const begins = (column: string) => `substr(${column}, 1, length(${db.sql.typed("?", "text")})) = ?`;
  const { sql, values } = allOf([
    states && condition(db.sql.among("state", "?", "text"), states),
    prefix !== undefined &&
      condition(`(${begins("signature")} OR ${begins("pattern")})`, prefix, prefix, prefix, prefix),
  ]);
  const rows = yield* db.all<RecordRow>(
    `SELECT ${COLUMNS} FROM group_records WHERE ${sql} ORDER BY ${db.sql.inBytes("signature")}`,
    ...values,
  );
  return yield* recordsOf(db, rows);
}

export function* changeGroup(db: Db, signature: string, change: GroupChange): Step<GroupRecord> {
  const record = (yield* readLives(db, [signature])).get(signature);
  if (record === undefined) {
    throw new RedriveError("item_not_found", `There is no group ${signature} in this store.`, {
      hint: "List the groups with `redrive groups`.",
    });
  }
  const { pattern, life } = record;
  yield* writeLives(db, [{ signature, pattern, life: afterChange(life, change, db.now) }]);
  if (change.note !== undefined) {
    const row = [signature, db.now, change.author, change.note];
    yield* db.insert("group_notes (signature, at, author, text)", [row]);
  }
  yield* writeEvent(db, changedEvent(signature, change), {});
  const changed = yield* readGroup(db, signature);
  assert(changed, `the record of ${signature} vanished inside one write`);
  return changed;
}

/** The part of a record that transactions change, and the pattern, which never changes. */
interface KnownRecord {
  readonly pattern: string;
  readonly life: GroupLife;
}

/** Reads the records of the given signatures; omits signatures without a record. */
export function* readLives(db: Db, signatures: readonly string[]): Step<ReadonlyMap<string, KnownRecord>> {
  const rows = yield* db.all<RecordRow>(
    `SELECT ${COLUMNS} FROM group_records WHERE ${db.sql.among("signature", "?", "text")}`,
    signatures,
  );
  return new Map(rows.map((row) => [row.signature, { pattern: row.pattern, life: lifeOf(row) }]));
}

function lifeOf(row: RecordRow): GroupLife {
  return {
    ...standingOf(row),
    newLetters: row.new_letters,
    recent: JSON.parse(row.recent) as readonly MinuteCount[],
  };
}

function standingOf(row: RecordRow): Omit<GroupLife, "newLetters" | "recent"> {
  return compact({
    state: row.state,
    since: row.since,
    author: row.author ?? undefined,
    ignoreUntil: row.ignore_until === null ? undefined : (JSON.parse(row.ignore_until) as IgnoreUntil),
    regressions: row.regressions,
    isRegression: row.is_regression === 1,
  });
}

/** Inserts or updates records. Existing records keep their patterns. */
export function writeLives(
  db: Db,
  records: readonly (KnownRecord & { readonly signature: string })[],
): Step<number> {
  return db.insert(
    `group_records (${COLUMNS})`,
    records.map(({ signature, pattern, life }) => [
      ...[signature, pattern, life.state, life.since, life.author ?? null],
      life.ignoreUntil === undefined ? null : JSON.stringify(life.ignoreUntil),
      ...[life.newLetters, JSON.stringify(life.recent), life.regressions, life.isRegression ? 1 : 0],
    ]),
    `ON CONFLICT (signature) DO UPDATE SET state = excluded.state, since = excluded.since, author = excluded.author,
            ignore_until = excluded.ignore_until, new_letters = excluded.new_letters, recent = excluded.recent,
            regressions = excluded.regressions, is_regression = excluded.is_regression`,
  );
}

function* recordsOf(db: Db, rows: readonly RecordRow[]): Step<GroupRecord[]> {
  if (rows.length === 0) return [];
  const signatures = rows.map(({ signature }) => signature);
  const [notes, fixes] = yield* together(notesOf(db, signatures), fixesOf(db, signatures));
  return rows.map((row) => {
    const { signature, pattern } = row;
    const kept = { notes: notes.get(signature) ?? [], fixes: fixes.get(signature) ?? [] };
    return { signature, pattern, ...standingOf(row), ...kept };
  });
}

function* notesOf(db: Db, signatures: readonly string[]): Step<ReadonlyMap<string, readonly LetterNote[]>> {
  const rows = yield* db.all<LetterNote & { readonly signature: string }>(
    `SELECT signature, at, author, text FROM group_notes WHERE ${db.sql.among("signature", "?", "text")}
      ORDER BY ${db.sql.serial}`,
    signatures,
  );
  const found = new Map<string, LetterNote[]>();
  for (const { signature, ...note } of rows) found.set(signature, [...(found.get(signature) ?? []), note]);
  return found;
}
