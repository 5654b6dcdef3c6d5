/**
 * Looking at letters, their groups and their attempts in SQLite. Nearly every filter is a choice of groups, and groups
 * are few: a page is found by walking the letters from the newest, or the newest of each chosen group, whichever
 * looks at fewer rows. No OFFSET, no scan.
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
         FROM groups g JOIN queues q ON q.no = g.queue WHERE ? IS NULL OR q.name = ? ORDER BY g.no`,
      filter.queue ?? null,
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
  if (search.query.itemIds !== undefined || search.query.olderThanMs !== undefined)
    return walkWith(session, search);
  const matching = search.groups.reduce((sum, group) => sum + group.count, 0);
  const all = session.get<{ n: number }>("SELECT coalesce(sum(letters), 0) AS n FROM queues")?.n ?? 0;
  const rowsToWalk = (search.limit * all) / Math.max(1, matching);
  return rowsToWalk <= search.groups.length * search.limit
    ? walkWith(session, search)
    : mergeGroups(session, search);
}

/** From the newest on, over the primary key; the plus keeps the planner from sorting a whole group. */
function walkWith(session: Session, { query, groups, before, limit }: Search): number[] {
  const rows = session.all<{ no: number }>(
    `SELECT l.no FROM ${query.itemIds ? LETTERS_BY_ID : "(SELECT ? IS NULL) CROSS JOIN letters l"}
      WHERE l.no < ? AND +l.grp IN (SELECT value FROM json_each(?)) AND l.buried_at <= ?
      ORDER BY l.no DESC LIMIT ?`,
    query.itemIds ? JSON.stringify(query.itemIds) : null,
    before,
    JSON.stringify(groups.map((group) => group.no)),
    query.olderThanMs === undefined ? Number.MAX_SAFE_INTEGER : session.clock.now() - query.olderThanMs,
    limit,
  );
  return rows.map((row) => row.no);
}

/** The letters of the items with the given ids (a JSON array), by the unique index of each queue. */
export const LETTERS_BY_ID = `json_each(?) ids CROSS JOIN queues q
  CROSS JOIN items i ON i.queue = q.no AND i.item_id = ids.value CROSS JOIN letters l ON l.ref = i.ref`;

/** The newest of each chosen group, from the index (grp, no), merged. */
function mergeGroups(session: Session, { groups, before, limit }: Search): number[] {
  const sql = "SELECT no FROM letters WHERE grp = ? AND no < ? ORDER BY no DESC LIMIT ?";
  const numbers = groups.flatMap((group) => session.all<{ no: number }>(sql, group.no, before, limit));
  return numbers
    .map((row) => row.no)
    .sort((a, b) => b - a)
    .slice(0, limit);
}

function countLetters(session: Session, query: LetterQuery, groups: readonly GroupRow[]): number {
  if (query.itemIds === undefined && query.olderThanMs === undefined) {
    return groups.reduce((sum, group) => sum + group.count, 0);
  }
  const everything = { query, groups, before: Number.MAX_SAFE_INTEGER, limit: -1 };
  return walkWith(session, everything).length;
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
}

export function listAttempts(session: Session, ref: number): Attempt[] {
  const rows = session.all<AttemptRow>(
    `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log
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
