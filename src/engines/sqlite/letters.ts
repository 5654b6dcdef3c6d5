/**
 * Looking at letters, their groups and their attempts in SQLite. Nearly every filter is a choice of groups, and groups
 * are few: a page is the merge of the newest of each chosen group, however the others lie between them. No OFFSET.
 */
import type { LetterFilter, LetterGroup, LetterPage, LetterQuery } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import { compact, failureFromJson } from "../../item/failure.ts";
import type { Attempt, AttemptOutcome } from "../../item/item.ts";
import { artifactsFromJson, type Letter } from "../../item/letter.ts";
import type { ItemState } from "../../item/state.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import type { Session } from "./session.ts";
import { countBuriedBy, newestBuriedBy } from "./strata.ts";

export function listLetters(session: Session, query: LetterQuery): LetterPage {
  const groups = matchingGroups(session, query);
  const before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(query.cursor);
  const numbers = newestLetters(session, { query, groups, before, limit: query.limit + 1 });
  const page = numbers.slice(0, query.limit);
  const letters = page.map((no) => letterByNo(session, no));
  const last = page.at(-1);
  const next = numbers.length > query.limit && last !== undefined ? last.toString(36) : null;
  return { letters, total: countLetters(session, query, groups), next };
}

function readCursor(cursor: string): number {
  if (/^[0-9a-z]{1,10}$/.test(cursor)) return Number.parseInt(cursor, 36);
  throw new WorkError("usage", `"${cursor}" is not the cursor of a page.`, {
    hint: "Take `next` of the page before.",
  });
}

export interface GroupRow {
  readonly no: number;
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly eligible: number;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
}

/** The groups with letters whose key fits the filter. */
export function matchingGroups(session: Session, filter: LetterFilter): GroupRow[] {
  return allGroups(session, filter).filter((group) => group.count > 0);
}

/** Those that have no letters any more too. */
function allGroups(session: Session, filter: LetterFilter): GroupRow[] {
  return session
    .all<GroupRow>(
      `SELECT g.no, q.name AS queue, g.signature, g.pattern, g.error_type, g.error_class, g.eligible, g.count,
              g.first_at, g.last_at
         FROM groups g JOIN queues q ON q.no = g.queue
        WHERE ${filter.queue === undefined ? "? IS NULL" : "g.queue = (SELECT no FROM queues WHERE name = ?)"}
        ORDER BY g.no`,
      filter.queue ?? null,
    )
    .filter(
      (group) =>
        (filter.types === undefined || filter.types.includes(group.error_type)) &&
        (filter.classes === undefined || filter.classes.includes(group.error_class)) &&
        (filter.signature === undefined || filter.signature === group.signature) &&
        (filter.eligible === undefined || filter.eligible === (group.eligible === 1)),
    );
}

interface Search {
  readonly query: LetterQuery;
  readonly groups: readonly GroupRow[];
  readonly before: number;
  readonly limit: number;
}

function newestLetters(session: Session, search: Search): number[] {
  const { query, groups, before, limit } = search;
  if (query.itemIds !== undefined) return lettersById(session, search);
  const all = session.get<{ n: number }>("SELECT coalesce(sum(letters), 0) AS n FROM queues")?.n ?? 0;
  if (query.olderThanMs !== undefined || sizeOf(groups) < all) return mergeGroups(session, search);
  const sql = "SELECT no FROM letters WHERE no < ? ORDER BY no DESC LIMIT ?";
  return session.all<{ no: number }>(sql, before, limit).map((row) => row.no);
}

function countLetters(session: Session, query: LetterQuery, groups: readonly GroupRow[]): number {
  if (query.itemIds !== undefined) {
    return lettersById(session, { query, groups, before: Number.MAX_SAFE_INTEGER, limit: -1 }).length;
  }
  if (query.olderThanMs === undefined) return sizeOf(groups);
  const numbers = groups.map((group) => group.no);
  return countBuriedBy(session, numbers, buriedBy(session, query));
}

function sizeOf(groups: readonly GroupRow[]): number {
  return groups.reduce((sum, group) => sum + group.count, 0);
}

function buriedBy(session: Session, { olderThanMs }: LetterQuery): number {
  return olderThanMs === undefined ? Number.MAX_SAFE_INTEGER : session.clock.now() - olderThanMs;
}

/** Each group is read from its index, and only as far as the page needs. */
function mergeGroups(session: Session, { query, groups, before, limit }: Search): number[] {
  const at = buriedBy(session, query);
  const newestOf = (group: number, below: number) =>
    query.olderThanMs === undefined
      ? newestOfGroup(session, group, below)
      : newestBuriedBy(session, group, below, at);
  const heads = groups.map((group) => ({ group: group.no, no: newestOf(group.no, before) }));
  const numbers: number[] = [];
  while (numbers.length < limit) {
    const newest = heads.reduce((best, head) => (head.no > best.no ? head : best), { group: 0, no: 0 });
    if (newest.no === 0) break;
    numbers.push(newest.no);
    newest.no = newestOf(newest.group, newest.no);
  }
  return numbers;
}

/** Served by the index (grp, no); 0 when there is none. */
function newestOfGroup(session: Session, group: number, below: number): number {
  const sql = "SELECT max(no) AS no FROM letters WHERE grp = ? AND no < ?";
  return session.get<{ no: number | null }>(sql, group, below)?.no ?? 0;
}

/** The letters of the items with the given ids (a JSON array), by the unique index of each queue. */
export const LETTERS_BY_ID = `json_each(?) ids CROSS JOIN queues q
  CROSS JOIN items i ON i.queue = q.no AND i.item_id = ids.value CROSS JOIN letters l ON l.ref = i.ref`;

function lettersById(session: Session, { query, groups, before, limit }: Search): number[] {
  const rows = session.all<{ no: number }>(
    `SELECT l.no FROM ${LETTERS_BY_ID}
      WHERE +l.grp IN (SELECT value FROM json_each(?)) AND l.buried_at <= ? AND l.no < ? ORDER BY l.no DESC LIMIT ?`,
    JSON.stringify(query.itemIds ?? []),
    JSON.stringify(groups.map((group) => group.no)),
    buriedBy(session, query),
    before,
    limit,
  );
  return rows.map((row) => row.no);
}

interface LetterRow {
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string;
  readonly state: ItemState;
  readonly revision: number;
  readonly redrives: number;
  readonly reason: string;
  readonly artifacts: string | null;
  readonly signature: string;
  readonly pattern: string;
  readonly eligible: number;
  readonly review: number;
}

const LETTER_SQL = `
  SELECT i.ref, q.name AS queue, i.item_id, p.data, i.state, i.revision, i.redrives, l.reason, l.artifacts,
         g.signature, g.pattern, g.eligible, g.review
    FROM letters l JOIN items i ON i.ref = l.ref JOIN payloads p ON p.ref = l.ref
         JOIN groups g ON g.no = l.grp JOIN queues q ON q.no = i.queue`;

export function readLetter(session: Session, ref: number): Letter | null {
  const row = session.get<LetterRow>(`${LETTER_SQL} WHERE l.ref = ?`, ref);
  return row === undefined ? null : letterOf(session, row);
}

function letterByNo(session: Session, no: number): Letter {
  const row = session.get<LetterRow>(`${LETTER_SQL} WHERE l.no = ?`, no);
  if (row === undefined) throw new Error(`letter ${no} vanished inside one read`);
  return letterOf(session, row);
}

function letterOf(session: Session, row: LetterRow): Letter {
  const attempts = listAttempts(session, row.ref);
  const failed = attempts.filter((attempt) => attempt.failure !== undefined);
  const evidence = session.all<{ at: number; attemptNumber: number; outcome: string; note: string }>(
    "SELECT at, attempt AS attemptNumber, outcome, note FROM evidence WHERE ref = ? ORDER BY rowid",
    row.ref,
  );
  return compact({
    itemId: row.item_id,
    itemData: JSON.parse(row.data) as Json,
    firstAttempt: attempts[0]?.startedAt ?? 0,
    lastAttempt: failed.at(-1)?.endedAt ?? 0,
    failureCount: failed.length,
    failureHistory: failed.flatMap((attempt) => attempt.failure ?? []),
    errorSignature: row.signature,
    errorPattern: row.pattern,
    reprocessEligible: row.eligible === 1,
    manualReviewRequired: row.review === 1,
    worktreeArtifacts:
      row.artifacts === null ? undefined : artifactsFromJson(JSON.parse(row.artifacts) as JsonObject),
    jobId: row.queue,
    queue: row.queue,
    state: row.state,
    reason: row.reason,
    revision: row.revision,
    redriveCount: row.redrives,
    evidence: evidence.length === 0 ? undefined : evidence,
  });
}

interface AttemptRow {
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly failure: string | null;
  readonly log: string | null;
  readonly result: string | null;
}

export function listAttempts(session: Session, ref: number): Attempt[] {
  const rows = session.all<AttemptRow>(
    `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM attempts a JOIN holders h ON h.no = a.holder WHERE a.ref = ? ORDER BY a.number`,
    ref,
  );
  return rows.map((row) =>
    compact({
      number: row.number,
      outcome: row.outcome,
      holder: row.holder,
      startedAt: row.started_at,
      endedAt: row.ended_at ?? undefined,
      failure: row.failure === null ? undefined : failureFromJson(JSON.parse(row.failure) as JsonObject),
      log: row.log ?? undefined,
      result: row.result === null ? undefined : (JSON.parse(row.result) as Json),
    }),
  );
}

/** Groups of one queue that differ only in judgement are one group to a reader; the first burial names it. */
export function listGroups(session: Session, filter: { readonly queue?: string }): LetterGroup[] {
  const merged = new Map<string, LetterGroup>();
  for (const row of allGroups(session, filter)) {
    const key = `${row.queue}\n${row.signature}`;
    const first = merged.get(key) ?? newGroup(row);
    merged.set(key, {
      ...first,
      count: first.count + row.count,
      firstAt: Math.min(first.firstAt, row.first_at),
      lastAt: Math.max(first.lastAt, row.last_at),
    });
  }
  return [...merged.values()].filter((group) => group.count > 0).sort(byWeight);
}

function newGroup(row: GroupRow): LetterGroup {
  return {
    queue: row.queue,
    signature: row.signature,
    pattern: row.pattern,
    errorType: row.error_type,
    errorClass: row.error_class,
    count: 0,
    firstAt: row.first_at,
    lastAt: row.last_at,
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
