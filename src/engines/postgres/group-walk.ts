/**
 * Reads a page of letters by group in one statement. Totals come from the group counters, without a scan. The
 * page is read by letter number if the filter matches all letters or enough letters near the start, otherwise
 * group by group. The same statement makes this decision from the groups.
 */
import type { LetterFilter } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { MINUTE_MS, minuteOf } from "../sql/deltas.ts";
import { beyond, DEAD, direction, type Found, type Source, WAITING } from "../sql/letter-search.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

export interface Walk {
  /** The source must have `counted`. */
  readonly source: Source;
  readonly filter: LetterFilter;
  readonly order: "newest" | "oldest";
  /** The number of the last letter before the page. */
  readonly after: number | undefined;
  readonly limit: number;
  /** A condition on the age of the letters `l`. Default: all letters. */
  readonly age?: Fragment | undefined;
  /** The latest burial time that `age` allows, so that newer letters are skipped by index. */
  readonly buriedBy?: number | undefined;
}

/** With more groups than this, the first letters in the given order are searched before each group is read. */
const FEW_GROUPS = 64;

/** How many letter numbers count as near the start. */
const NEAR = 4096;

/**
 * Returns the WITH clause of a statement: `sums` has one row with the `total` of letters of any age, `found` has the letter
 * numbers of the page, unordered.
 */
export function walkSql(walk: Walk): Fragment {
  const sums = sumsOf(walk);
  const near = nearOf(walk);
  const whole = inOrder(walk, "(SELECT is_whole FROM sums)");
  const groups = groupByGroup(walk);
  const sql = `
    WITH sums AS MATERIALIZED (${sums.sql}),
         near AS MATERIALIZED (${near.sql}),
         found AS MATERIALIZED ((${whole.sql} LIMIT ?) UNION ALL
           (SELECT no FROM near WHERE (SELECT count(*) FROM near) = ?) UNION ALL (${groups.sql}))`;
  return condition(
    sql,
    ...sums.values,
    ...near.values,
    ...whole.values,
    walk.limit,
    walk.limit,
    ...groups.values,
  );
}

/**
 * Summarizes the groups: `is_whole` if the filter excludes no letter of the table, so that reading by number is enough;
 * `is_apart` if many groups are chosen; `start`, the number after which the page begins.
 */
function sumsOf({ source, filter, order, after, buriedBy: at }: Walk): Fragment {
  const { sql, values } = groupConditions(DIALECT, filter);
  const first = after ?? (order === "newest" ? Number.MAX_SAFE_INTEGER : 0);
  const start =
    order === "newest" && at !== undefined ? firstAfter(first, at) : condition("?::bigint", first);
  const isWhole =
    source === WAITING ? "others = 0" : source === DEAD ? "others = 0 AND in_retry = 0" : "false";
  return condition(
    `SELECT total, in_retry, others, groups, ${isWhole} AS is_whole, NOT (${isWhole}) AND groups > ${FEW_GROUPS} AS is_apart, ${start.sql} AS start
       FROM (SELECT coalesce(sum(n) FILTER (WHERE chosen), 0)::bigint AS total, count(*) FILTER (WHERE chosen) AS groups,
                    coalesce(sum(count) FILTER (WHERE NOT chosen), 0) AS others,
                    coalesce(sum(in_retry) FILTER (WHERE chosen), 0) AS in_retry
               FROM (SELECT ${source.counted} AS n, g.count, g.in_retry, (${sql}) IS TRUE AS chosen
                       FROM groups g WHERE g.count > 0 OR ${source.counted} > 0) g) said`,
    ...start.values,
    ...values,
  );
}

/**
 * Returns the number from which all letters are newer than `at`: the number of the first letter buried later.
 * Letters up to `unordered` are not ordered by time, because the clock was set back or they were imported
 * with older times.
 */
function firstAfter(start: number, at: number): Fragment {
  const younger = "SELECT no FROM letters WHERE buried_at > ? ORDER BY buried_at, no LIMIT 1";
  const sql = `(SELECT least(?::bigint, greatest(younger.no, unordered + 1)) FROM letter_numbers JOIN (${younger}) younger ON true)`;
  return condition(`coalesce(${sql}, ?::bigint)`, start, at, start);
}

/** Selects letters of all groups by number, beginning at `start`. */
function inOrder(walk: Walk, gate: string, columns = "l.no"): Fragment {
  const { source, order } = walk;
  const { sql, values } = aged(walk);
  return condition(
    `SELECT ${columns} FROM ${source.table} l WHERE ${gate} AND l.no ${beyond(order)} (SELECT start FROM sums)
        AND ${conditionOf(source)} AND ${sql} ORDER BY l.no ${direction(order)}`,
    ...values,
  );
}

/** Selects letters of the chosen groups near the start, up to a page. */
function nearOf(walk: Walk): Fragment {
  const { source, order, filter, limit } = walk;
  const edge = (end: string) => `(SELECT ${end}(no) FROM ${source.table})`;
  const near =
    order === "newest"
      ? `l.no >= (SELECT least(start, ${edge("max")}) - ${NEAR} FROM sums)`
      : `l.no <= (SELECT greatest(start, ${edge("min")}) + ${NEAR} FROM sums)`;
  const letters = inOrder(walk, `(SELECT is_apart FROM sums) AND ${near}`, "l.no, l.grp");
  const { sql, values } = groupConditions(DIALECT, filter);
  return condition(
    `SELECT l.no FROM (${letters.sql}) l CROSS JOIN LATERAL (SELECT FROM groups g WHERE g.no = l.grp AND ${sql} OFFSET 0) g
      ORDER BY l.no ${direction(order)} LIMIT ?`,
    ...[...letters.values, ...values, limit],
  );
}

/**
 * A page of n letters has letters from at most n groups: those whose first letters come first. Reads at most
 * one page from each.
 */
function groupByGroup(walk: Walk): Fragment {
  const { source, filter, order, limit } = walk;
  const { sql, values } = groupConditions(DIALECT, filter);
  const gate = "(SELECT NOT is_whole AND (NOT is_apart OR (SELECT count(*) FROM near) < ?) FROM sums)";
  const first = firstOf(walk, "g.no", 1);
  const page = firstOf(walk, "heads.grp", limit);
  return condition(
    `SELECT page.no
       FROM (SELECT g.no AS grp FROM groups g CROSS JOIN LATERAL (${first.sql}) head
              WHERE ${gate} AND ${source.counted} > 0 AND ${sql} ORDER BY head.no ${direction(order)} LIMIT ?) heads
            CROSS JOIN LATERAL (${page.sql}) page
      ORDER BY page.no ${direction(order)} LIMIT ?`,
    ...[...first.values, limit, ...values, limit, ...page.values, limit],
  );
}

/** Uses the index (grp, no) of the table, or the partial one of `resolved_letters`. */
function firstOf(walk: Walk, grp: string, limit: number): Fragment {
  const { source, order } = walk;
  const { sql, values } = aged(walk);
  return condition(
    `SELECT l.no FROM ${source.table} l WHERE l.grp = ${grp} AND l.no ${beyond(order)} (SELECT start FROM sums)
        AND ${conditionOf(source)} AND ${sql} ORDER BY l.no ${direction(order)} LIMIT ?`,
    ...values,
    limit,
  );
}

/** If no chosen letter is in retry, all are dead, and no item is read. */
function conditionOf(source: Source): string {
  if (source !== DEAD) return source.condition;
  return "((SELECT in_retry FROM sums) = 0 OR (SELECT it.state FROM items it WHERE it.ref = l.ref) = 'dead')";
}

function aged({ age }: Walk): Fragment {
  return age ?? condition("true");
}

/** How many letters match a filter, according to the group counters. */
export interface Survey {
  /** The source to read; `WAITING` instead of `DEAD` if no letter is in retry, because then all waiting letters are dead. */
  readonly source: Source;
  readonly total: number;
}

/** Returns null if the source has no counters or the age cannot be counted quickly. */
export async function survey(tx: Tx, source: Source, filter: LetterFilter): Promise<Survey | null> {
  const { counted } = source;
  if (counted === undefined) return null;
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = await tx.get<{ total: number; in_retry: number }>(
    `SELECT coalesce(sum(${counted}), 0)::bigint AS total, coalesce(sum(g.in_retry), 0)::bigint AS in_retry FROM groups g WHERE ${sql}`,
    ...values,
  );
  const { total = 0, in_retry: inRetry = 0 } = row ?? {};
  const from = source === DEAD && inRetry === 0 ? WAITING : source;
  if (!dependsOnAge(filter)) return { source: from, total };
  if (from !== WAITING || filter.ageOf === "arrival") return null;
  const count = filter.ageOf === "last" ? countByLastFailure : countByFirstFailure;
  return { source: from, total: await count(tx, filter) };
}

/** Letters buried by the end of the time span, minus those buried by its beginning. */
async function countByLastFailure(tx: Tx, filter: LetterFilter): Promise<number> {
  const { after, until = Number.MAX_SAFE_INTEGER } = ageBounds(filter, tx.now);
  if (after !== undefined && after >= until) return 0;
  const before = after === undefined ? 0 : await countBuriedBy(tx, filter, after);
  return (await countBuriedBy(tx, filter, until)) - before;
}

/** Counts in each group with the index (grp, first_at, no). */
async function countByFirstFailure(tx: Tx, filter: LetterFilter): Promise<number> {
  const { after = -Number.MAX_SAFE_INTEGER, until = Number.MAX_SAFE_INTEGER } = ageBounds(filter, tx.now);
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = await tx.get<{ n: number }>(
    `SELECT coalesce(sum(c.n), 0)::bigint AS n FROM groups g CROSS JOIN LATERAL
            (SELECT count(*) AS n FROM letters l WHERE l.grp = g.no AND l.first_at > ? AND l.first_at <= ?) c
      WHERE g.count > 0 AND ${sql}`,
    after,
    until,
    ...values,
  );
  return row?.n ?? 0;
}

/** Returns the earliest first failure of the queue's waiting letters; null if no letter is waiting. */
export async function earliestFailure(tx: Tx, queue: string): Promise<number | null> {
  const row = await tx.get<{ at: number | null }>(
    `SELECT min((SELECT min(l.first_at) FROM letters l WHERE l.grp = g.no)) AS at
       FROM groups g JOIN queues q ON q.no = g.queue WHERE q.name = ? AND g.count > 0`,
    queue,
  );
  return row?.at ?? null;
}

/** Returns the letter numbers of a page, unordered. */
export async function walkGroups(tx: Tx, walk: Walk): Promise<Found[]> {
  const { sql, values } = walkSql(walk);
  const rows = await tx.all<{ no: number }>(`${sql} SELECT no FROM found`, ...values);
  return rows.map(({ no }) => ({ table: walk.source.table, no, key: 0 }));
}

/**
 * Counts waiting letters of the filter's groups that were buried by `at`: whole minutes from counters, the
 * last minute row by row.
 */
async function countBuriedBy(tx: Tx, filter: LetterFilter, at: number): Promise<number> {
  const { sql, values } = groupConditions(DIALECT, filter);
  const [minutes, letters] = ["a", "l"].map((table) =>
    values.length === 0 ? "" : `JOIN groups g ON g.no = ${table}.grp`,
  );
  const minute = minuteOf(at);
  const row = await tx.get<{ n: number }>(
    `SELECT (SELECT coalesce(sum(a.waiting), 0) FROM arrivals a ${minutes}
              WHERE a.minute < ? AND a.waiting > 0 AND ${sql})::bigint
          + (SELECT count(*) FROM letters l ${letters} WHERE l.buried_at BETWEEN ? AND ? AND ${sql}) AS n`,
    minute,
    ...values,
    minute * MINUTE_MS,
    at,
    ...values,
  );
  return row?.n ?? 0;
}
