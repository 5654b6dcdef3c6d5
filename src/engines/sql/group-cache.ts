/**
 * Caches the groups that one transaction uses. Looks up signatures and groups for a whole batch in one
 * statement, and writes changed records and fixes at the end. Requires the lock on letters, so that no other
 * transaction changes them.
 */
import type { EventSubject } from "../../item/event.ts";
import {
  afterBurial,
  afterLastSuccess,
  type Correction,
  corrected,
  type Grouping,
  type GroupLife,
  newLife,
  openedEvent,
  reopenedEvent,
  resolvedEvent,
} from "../../item/group.ts";
import type { DeathRecord } from "../../item/item.ts";
import { assert } from "../../std/assert.ts";
import { listCorrections } from "./corrections.ts";
import { type Db, type Step, together } from "./db.ts";
import type { EventLog } from "./events.ts";
import { countFixes, type FixSum, readLives, writeLives } from "./group-records.ts";

/**
 * The fields that identify a row of `groups` in a queue, and the fields that are stored from its first
 * letter.
 */
export type LetterHeader = Pick<
  DeathRecord,
  | "signature"
  | "pattern"
  | "algorithm"
  | "errorType"
  | "errorClass"
  | "reprocessEligible"
  | "manualReviewRequired"
>;

/** A row of `groups` to find or create; if it is created, `at` is its first failure time. */
interface AskedRow {
  readonly queue: number;
  readonly at: number;
  readonly header: LetterHeader;
}

/** The record of a signature. `life` is not read for open groups, because their burials do not need it. */
interface KnownGroup {
  readonly pattern: string;
  readonly isOpen: boolean;
  readonly life?: GroupLife;
}

export class GroupCache {
  readonly #db: Db;
  readonly #events: EventLog;
  /** Records that the transaction found or created; null for a signature without a record. */
  readonly #records = new Map<string, KnownGroup | null>();
  /** The records that `write` stores. */
  readonly #changed = new Map<string, { signature: string; pattern: string; life: GroupLife }>();
  /** The patterns of signatures that get their first letter in this transaction. */
  readonly #patterns = new Map<string, string>();
  readonly #rows = new Map<string, number>();
  readonly #fixes = new Map<string, FixSum>();
  /** The event subject of the last success of each signature. */
  readonly #succeeded = new Map<string, EventSubject>();
  #corrections: readonly Correction[] | undefined;

  constructor(db: Db, events: EventLog) {
    this.#db = db;
    this.#events = events;
  }

  /**
   * Returns the groups of failures with these messages, after corrections. A known signature keeps its pattern; a new one
   * gets the pattern of its first failure.
   */
  *groupAll<Group extends Grouping>(
    asked: readonly { readonly group: Group; readonly message: string }[],
  ): Step<Group[]> {
    if (asked.length === 0) return [];
    const meeting = this.#meet(asked.map(({ group }) => group.signature));
    // A record shows whether there are corrections. This saves a statement but costs PostgreSQL a round trip.
    if (this.#db.sql.isRowByRow) yield* meeting;
    else yield* together(this.#correctionsNow(), meeting);
    const corrections = yield* this.#correctionsNow();
    if (corrections.length === 0) return asked.map(({ group }) => this.#underItsPattern(group));
    const found = asked.map(({ group, message }) => corrected(group, message, corrections));
    yield* this.#meet(found.map(({ signature }) => signature));
    return found.map((group) => this.#underItsPattern(group));
  }

  /**
   * Like `groupAll` for one group, if neither a correction nor a closed record requires more than `find`
   * reads; otherwise undefined. Not a generator, because SQLite calls this for every burial.
   */
  groupOpen<Group extends Grouping>(
    group: Group,
    find: (sql: string, signature: string) => FoundRecord | undefined,
  ): Group | undefined {
    const { signature } = group;
    if (!this.#records.has(signature)) {
      const found = find(RECORD_OF, signature);
      if (found === undefined || found.is_open === 0 || found.is_corrected !== 0) return undefined;
      this.#records.set(signature, { pattern: found.pattern, isOpen: true });
      this.#corrections ??= [];
    }
    return this.#corrections?.length === 0 ? this.#underItsPattern(group) : undefined;
  }

  /** Like `numbersOf` for one row, if it exists; otherwise undefined. */
  existingNumber(
    asked: AskedRow,
    find: (sql: string, key: readonly (string | number)[]) => { readonly no: number } | undefined,
  ): number | undefined {
    const key = rowKey(asked);
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const no = find(GROUP_OF, keyOf(asked.queue, asked.header))?.no;
    if (no !== undefined) this.#rows.set(key, no);
    return no;
  }

  /** Prefetches in one batch the data that the burials of these letters will most likely need. */
  *foresee(queue: number, headers: readonly LetterHeader[]): Step<void> {
    if (headers.length === 0) return;
    yield* together(
      this.#findRows(headers.map((header) => ({ queue, at: this.#db.now, header }))),
      this.#correctionsNow(),
      this.#meet(headers.map(({ signature }) => signature)),
    );
  }

  /** Returns the record of a group that `groupAll` returned. The first letter of a signature opens its group. */
  know({ signature, pattern }: Grouping, subject: EventSubject): KnownGroup {
    const known = this.#records.get(signature);
    assert(known !== undefined, `signature ${signature} was never looked up`);
    if (known !== null) return known;
    const opened = this.#change(signature, pattern, newLife(this.#db.now));
    this.#events.add(openedEvent({ signature, pattern }), subject);
    return opened;
  }

  /** Records a burial, which may reopen a resolved or ignored group. */
  buried(group: Grouping, subject: EventSubject): void {
    const known = this.know(group, subject);
    if (known.isOpen) return;
    assert(known.life, `the record of ${group.signature} was not read`);
    const { life, why } = afterBurial(known.life, this.#db.now);
    this.#change(group.signature, known.pattern, life);
    if (why !== undefined) this.#events.add(reopenedEvent(group.signature, why), subject);
  }

  /** Records the success of a redriven letter. */
  succeeded(fix: Omit<FixSum, "count">, subject: EventSubject): void {
    const key = `${fix.signature}\n${fix.operation}\n${fix.kind}`;
    const before = this.#fixes.get(key);
    const waitedMs = Math.min(fix.waitedMs, before?.waitedMs ?? fix.waitedMs);
    this.#fixes.set(key, { ...fix, waitedMs, count: (before?.count ?? 0) + 1 });
    this.#succeeded.set(fix.signature, subject);
  }

  /**
   * Returns the numbers of the rows of `groups`, in the given order. Creates missing rows with ascending
   * numbers.
   */
  *numbersOf(asked: readonly AskedRow[]): Step<number[]> {
    const keys = asked.map(rowKey);
    const missing = yield* this.#findRows(asked, keys);
    if (missing.length > 0) {
      yield* insertGroups(this.#db, missing);
      yield* this.#findRows(missing);
    }
    return keys.map((key) => {
      const number = this.#rows.get(key);
      assert(number !== undefined, "a group was made and is not there");
      return number;
    });
  }

  /** Whether `write` must read the counters to see which groups are resolved. */
  get hasEnds(): boolean {
    return this.#succeeded.size > 0;
  }

  /**
   * Call after the counters are written, because they show whether letters are waiting, and before the events
   * are written.
   */
  *write(): Step<void> {
    if (this.hasEnds) yield* this.#resolveThoseOver();
    if (this.#changed.size === 0 && this.#fixes.size === 0) return;
    yield* together(
      writeLives(this.#db, [...this.#changed.values()]),
      countFixes(this.#db, [...this.#fixes.values()]),
    );
  }

  /** Looks up rows that are not cached. Returns the missing ones, each once. */
  *#findRows(asked: readonly AskedRow[], askedKeys = asked.map(rowKey)): Step<readonly AskedRow[]> {
    const unknown = new Map<string, AskedRow>();
    for (const [at, one] of asked.entries()) {
      const key = askedKeys[at] ?? "";
      if (!this.#rows.has(key) && !unknown.has(key)) unknown.set(key, one);
    }
    if (unknown.size === 0) return [];
    const keys = [...unknown.keys()];
    const found = yield* findGroups(this.#db, [...unknown.values()]);
    for (const { position, no } of found) this.#rows.set(keys[position] ?? "", no);
    return [...unknown].filter(([key]) => !this.#rows.has(key)).map(([, one]) => one);
  }

  *#resolveThoseOver(): Step<void> {
    const signatures = [...this.#succeeded.keys()];
    const [waiting, found] = yield* together(
      waitingOf(this.#db, signatures),
      readLives(this.#db, signatures),
    );
    for (const [signature, subject] of this.#succeeded) {
      if (waiting.has(signature)) continue;
      const record = this.#changed.get(signature) ?? found.get(signature);
      assert(record, `signature ${signature} has letters and no record`);
      const resolved = afterLastSuccess(record.life, this.#db.now);
      if (resolved === record.life) continue;
      this.#change(signature, record.pattern, resolved);
      this.#events.add(resolvedEvent(signature), subject);
    }
  }

  #underItsPattern<Group extends Grouping>(group: Group): Group {
    const { signature } = group;
    const pattern = this.#records.get(signature)?.pattern ?? this.#patterns.get(signature) ?? group.pattern;
    this.#patterns.set(signature, pattern);
    return pattern === group.pattern ? group : { ...group, pattern };
  }

  #change(signature: string, pattern: string, life: GroupLife): KnownGroup {
    const record = { pattern, isOpen: life.state === "open", life };
    this.#records.set(signature, record);
    this.#changed.set(signature, { signature, pattern, life });
    return record;
  }

  *#meet(signatures: readonly string[]): Step<void> {
    const unknown = signatures.filter((signature) => !this.#records.has(signature));
    if (unknown.length === 0) return;
    const rows = yield* findRecords(this.#db, unknown.length === 1 ? unknown : [...new Set(unknown)]);
    for (const signature of unknown) this.#records.set(signature, null);
    for (const row of rows) {
      this.#records.set(row.signature, { pattern: row.pattern, isOpen: row.is_open === 1 });
      if (row.is_corrected === 0) this.#corrections ??= [];
    }
    const others = rows.filter((row) => row.is_open === 0).map((row) => row.signature);
    if (others.length === 0) return;
    for (const [signature, record] of yield* readLives(this.#db, others))
      this.#records.set(signature, { ...record, isOpen: false });
  }

  *#correctionsNow(): Step<readonly Correction[]> {
    this.#corrections ??= yield* listCorrections(this.#db);
    return this.#corrections;
  }
}

function rowKey({ queue, header }: AskedRow): string {
  const { signature, errorType, errorClass, reprocessEligible, manualReviewRequired } = header;
  return `${queue}\n${signature}\n${errorType}\n${errorClass}\n${reprocessEligible}\n${manualReviewRequired}`;
}

function keyOf(queue: number, header: LetterHeader): (string | number)[] {
  const { signature, errorType, errorClass, reprocessEligible, manualReviewRequired } = header;
  return [queue, signature, errorType, errorClass, Number(reprocessEligible), Number(manualReviewRequired)];
}

export interface FoundRecord {
  readonly signature: string;
  readonly pattern: string;
  readonly is_open: number;
  /** Whether there are corrections for any group. */
  readonly is_corrected?: number;
}

const RECORD = "signature, pattern, CASE state WHEN 'open' THEN 1 ELSE 0 END AS is_open";
const RECORD_OF = `SELECT ${RECORD}, EXISTS (SELECT 1 FROM corrections) AS is_corrected FROM group_records WHERE signature = ?`;

function* findRecords(db: Db, signatures: readonly string[]): Step<readonly FoundRecord[]> {
  if (!db.sql.isRowByRow)
    return yield* db.all(
      `SELECT ${RECORD} FROM group_records WHERE ${db.sql.among("signature", "?", "text")}`,
      signatures,
    );
  const found: FoundRecord[] = [];
  for (const signature of signatures) {
    const record = yield* db.get<FoundRecord>(RECORD_OF, signature);
    if (record !== undefined) found.push(record);
  }
  return found;
}

const GROUP_OF = `SELECT no FROM groups WHERE queue = ? AND signature = ? AND error_type = ? AND error_class = ? AND eligible = ?
  AND review = ?`;

/** Returns the numbers of existing groups, with their indexes in `asked`. */
function* findGroups(
  db: Db,
  asked: readonly AskedRow[],
): Step<readonly { readonly position: number; readonly no: number }[]> {
  if (db.sql.isRowByRow) {
    const found: { position: number; no: number }[] = [];
    for (const [position, { queue, header }] of asked.entries()) {
      const row = yield* db.get<{ no: number }>(GROUP_OF, ...keyOf(queue, header));
      if (row !== undefined) found.push({ position, no: row.no });
    }
    return found;
  }
  const rows = db.sql.relation(
    "a",
    {
      ...{ position: "bigint", queue: "bigint", signature: "text", error_type: "text" },
      ...{ error_class: "text", eligible: "bigint", review: "bigint" },
    },
    asked.map(({ queue, header }, position) => [position, ...keyOf(queue, header)]),
  );
  return yield* db.all(
    `SELECT a.position, g.no FROM ${rows.sql}
       ${db.sql.joinInOrder} groups g ON g.queue = a.queue AND g.signature = a.signature AND g.error_type = a.error_type
            AND g.error_class = a.error_class AND g.eligible = a.eligible AND g.review = a.review`,
    ...rows.values,
  );
}

/** Requires the lock on letters, so that no other transaction creates the same groups. */
function insertGroups(db: Db, asked: readonly AskedRow[]): Step<number> {
  return db.insert(
    "groups (queue, signature, error_type, error_class, eligible, review, pattern, algorithm, first_at, last_at)",
    asked.map(({ queue, at, header }) => [
      ...keyOf(queue, header),
      ...[header.pattern, header.algorithm, at, at],
    ]),
  );
}

/**
 * Returns the signatures that have letters in any queue. Checks the newest groups first, because they most
 * likely have letters.
 */
function* waitingOf(db: Db, signatures: readonly string[]): Step<ReadonlySet<string>> {
  const asked = db.sql.relation(
    "a",
    { signature: "text" },
    signatures.map((signature) => [signature]),
  );
  const rows = yield* db.all<{ signature: string }>(
    `SELECT a.signature FROM ${asked.sql}
      WHERE EXISTS (SELECT 1 FROM groups g WHERE g.signature = a.signature AND g.count > 0 ORDER BY g.no DESC LIMIT 1)`,
    ...asked.values,
  );
  return new Set(rows.map(({ signature }) => signature));
}
