/**
 * Reads and lists groups, signature records and fixes, and edits the records. group-cache.ts updates them for
 * the burials and successes of a transaction.
 */

import type { LetterGroup } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import {
  afterChange,
  changedEvent,
  type GroupChange,
  type GroupFix,
  type GroupLife,
  type GroupRecord,
  type GroupState,
  type IgnoreUntil,
  type MinuteCount,
} from "../../item/group.ts";
import type { LetterNote, ResolutionKind } from "../../item/letter.ts";
import { assert } from "../../std/assert.ts";
import { compact } from "../../std/json.ts";
import { allOf, condition, groupConditions } from "./conditions.ts";
import { type Db, type Dialect, type Step, together } from "./db.ts";
import { writeEvent } from "./events.ts";

const COLUMNS =
  "signature, pattern, state, since, author, ignore_until, new_letters, recent, regressions, is_regression";

export interface RecordRow {
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
  // Does not use LIKE, because the prefix may contain wildcards.
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
  return rows.map((row) =>
    recordOf(row, { notes: notes.get(row.signature) ?? [], fixes: fixes.get(row.signature) ?? [] }),
  );
}

export function recordOf(row: RecordRow, kept: Pick<GroupRecord, "notes" | "fixes">): GroupRecord {
  const { signature, pattern } = row;
  return { signature, pattern, ...standingOf(row), ...kept };
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

/** The successes in one transaction that count as one fix. `edit` and `rule` come from the last success. */
export interface FixSum {
  readonly signature: string;
  /** The number of the redrive operation. */
  readonly operation: number | null;
  readonly kind: ResolutionKind;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly waitedMs: number;
}

/**
 * Adds fixes in the order of their first success and numbers them in this order. The records of their groups
 * must exist.
 */
export function* countFixes(db: Db, fixes: readonly FixSum[]): Step<void> {
  if (fixes.length === 0) return;
  const sums = db.sql.relation(
    "s",
    {
      ...{ position: "bigint", signature: "text", operation: "bigint", kind: "text" },
      ...{ count: "bigint", edit: "text", rule: "text", waited_ms: "bigint" },
    },
    fixes.map(({ signature, operation, kind, count, edit, rule, waitedMs }, position) => [
      ...[position, signature, operation, kind, count, edit, rule, waitedMs],
    ]),
  );
  yield* db.run(
    `INSERT INTO group_fixes AS f (signature, operation, kind, at, count, edit, rule, waited_ms, author)
     SELECT s.signature, coalesce(o.id, ''), s.kind, ${db.sql.typed("?", "bigint")}, s.count, s.edit, s.rule, s.waited_ms, o.author
       FROM ${sums.sql} LEFT JOIN operations o ON o.no = s.operation WHERE true ORDER BY s.position
     ON CONFLICT (signature, operation, kind) DO UPDATE SET at = excluded.at, count = f.count + excluded.count,
            edit = excluded.edit, rule = excluded.rule, waited_ms = ${db.sql.smaller("f.waited_ms", "excluded.waited_ms")}`,
    db.now,
    ...sums.values,
  );
}

const FIX_COLUMNS = ["signature", "operation", "kind", "at", "count", "edit", "rule", "author", "waited_ms"];

export interface FixRow {
  readonly signature: string;
  readonly operation: string;
  readonly kind: ResolutionKind;
  readonly at: number;
  readonly count: number;
  readonly edit: string | null;
  readonly rule: string | null;
  readonly author: string | null;
  readonly waited_ms: number;
}

const FIXES_MAX = 10;

/** The record of the signature in a parameter with its notes and fixes, as columns of a SELECT. Each is the JSON text of a list of rows. */
export function groupColumns({ jsonRows, serial }: Dialect, signature: string): string {
  const note = ["at", "author", "text"];
  const ofSignature = `WHERE signature = ${signature}`;
  const fixes = `SELECT * FROM group_fixes ${ofSignature} ORDER BY at DESC, no DESC LIMIT ${FIXES_MAX}`;
  return [
    `${jsonRows(`SELECT ${COLUMNS} FROM group_records ${ofSignature}`, COLUMNS.split(", "))} AS records`,
    `${jsonRows(`SELECT at, author, text FROM group_notes ${ofSignature} ORDER BY ${serial}`, note)} AS group_notes`,
    `${ifAny(`group_fixes ${ofSignature}`, jsonRows(fixes, FIX_COLUMNS))} AS fixes`,
  ].join(", ");
}

/** SQL for rows of a table, null if there are none: SQLite prepares to sort before it knows, which takes longer than all searches. */
export function ifAny(from: string, rows: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM ${from}) THEN ${rows} END`;
}

/** The latest fixes of each signature, newest first. */
function* fixesOf(db: Db, signatures: readonly string[]): Step<ReadonlyMap<string, readonly GroupFix[]>> {
  const rows = yield* db.all<FixRow>(
    `SELECT ${FIX_COLUMNS.join(", ")}
       FROM (SELECT g.*, row_number() OVER (PARTITION BY signature ORDER BY at DESC, no DESC) AS position
               FROM group_fixes g WHERE ${db.sql.among("signature", "?", "text")}) f
      WHERE position <= ${FIXES_MAX} ORDER BY position`,
    signatures,
  );
  const found = new Map<string, GroupFix[]>();
  for (const row of rows) found.set(row.signature, [...(found.get(row.signature) ?? []), fixOf(row)]);
  return found;
}

export function fixOf(row: FixRow): GroupFix {
  return compact({
    at: row.at,
    kind: row.kind,
    count: row.count,
    operationId: row.operation === "" ? undefined : row.operation,
    editId: row.edit ?? undefined,
    rule: row.rule ?? undefined,
    author: row.author ?? undefined,
    waitedMs: row.waited_ms,
  });
}

interface GroupRow {
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
  readonly algorithm: string;
  readonly state: GroupState;
  readonly is_regression: number;
}

/**
 * Merges groups with the same queue and signature that differ only in classification; the first one names the
 * result.
 */
export function* listGroups(
  db: Db,
  filter: {
    readonly queue?: string;
    readonly signatures?: readonly string[];
    readonly states?: readonly GroupState[];
  },
): Step<LetterGroup[]> {
  const { sql, values } = allOf([
    groupConditions(db.sql, filter),
    filter.states && condition(db.sql.among("m.state", "?", "text"), filter.states),
  ]);
  const rows = yield* db.all<GroupRow>(
    `SELECT q.name AS queue, g.signature, g.pattern, g.error_type, g.error_class, g.count, g.first_at, g.last_at,
            g.algorithm, m.state, m.is_regression
       FROM groups g ${db.sql.joinInOrder} queues q ON q.no = g.queue ${db.sql.joinInOrder} group_records m ON m.signature = g.signature
      WHERE ${sql} ORDER BY g.no`,
    ...values,
  );
  const merged = new Map<string, LetterGroup>();
  for (const row of rows) {
    const key = `${row.queue}\n${row.signature}`;
    const first = merged.get(key);
    merged.set(key, first === undefined ? groupOf(row) : withRow(first, row));
  }
  return [...merged.values()].filter((group) => group.count > 0).sort(byWeight);
}

function withRow(group: LetterGroup, row: GroupRow): LetterGroup {
  return {
    ...group,
    count: group.count + row.count,
    firstAt: Math.min(group.firstAt, row.first_at),
    lastAt: Math.max(group.lastAt, row.last_at),
  };
}

function groupOf(row: GroupRow): LetterGroup {
  return {
    queue: row.queue,
    signature: row.signature,
    pattern: row.pattern,
    errorType: row.error_type,
    errorClass: row.error_class,
    count: row.count,
    firstAt: row.first_at,
    lastAt: row.last_at,
    state: row.state,
    isRegression: row.is_regression === 1,
    algorithm: row.algorithm,
  };
}

function byWeight(a: LetterGroup, b: LetterGroup): number {
  return (
    b.count - a.count || b.lastAt - a.lastAt || compare(a.signature, b.signature) || compare(a.queue, b.queue)
  );
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
