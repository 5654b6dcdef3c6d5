/**
 * Pages of letters by their groups, in one statement. Groups count their letters, so that totals need no scan; the page is
 * read in the order of the burials where the chosen groups have their letters close together, and group by group where they
 * are far apart. Which of it holds is told by the same statement's look at the groups.
 */
import type { LetterFilter } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { DEAD, type Found, type Source, WAITING } from "../sql/letter-search.ts";
import { countBuriedBy } from "./arrivals.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

export interface Walk {
  /** One whose letters are counted by their groups. */
  readonly source: Source;
  readonly filter: LetterFilter;
  readonly order: "newest" | "oldest";
  /** The letter before the page. */
  readonly after: number | undefined;
  readonly limit: number;
  /** Which letters `l` are old and young enough. Default: all. */
  readonly age?: Fragment | undefined;
  /** Only letters that failed last by then: those that are younger are passed by at once. */
  readonly buriedBy?: number | undefined;
}

/** With more groups than this, the letters near by are looked at before each group is. */
const FEW_GROUPS = 64;

/** How many letters near by are looked at. */
const NEAR = 4096;

/**
 * The beginning of a statement: `sums` has one row with the `total` of letters of any age, and `found` the numbers of the
 * page in no order.
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
 * What groups say of the letters that the filter means: `is_whole` when it leaves out no letter of the table, so that the
 * order of the numbers is enough; `is_apart` when the chosen groups are many; and the number beyond which the page lies.
 */
function sumsOf({ source, filter, order, after, buriedBy: at }: Walk): Fragment {
  const { sql, values } = groupConditions(DIALECT, filter);
  const first = after ?? (order === "newest" ? Number.MAX_SAFE_INTEGER : 0);
  const start =
    order === "newest" && at !== undefined ? firstAfter(first, at) : condition("?::bigint", first);
  const isWhole = source === WAITING ? "others = 0" : source === DEAD ? "others = 0 AND away = 0" : "false";
  return condition(
    `SELECT total, away, others, groups, ${isWhole} AS is_whole, NOT (${isWhole}) AND groups > ${FEW_GROUPS} AS is_apart, ${start.sql} AS start
       FROM (SELECT coalesce(sum(n) FILTER (WHERE chosen), 0)::bigint AS total, count(*) FILTER (WHERE chosen) AS groups,
                    coalesce(sum(count) FILTER (WHERE NOT chosen), 0) AS others,
                    coalesce(sum(away) FILTER (WHERE chosen), 0) AS away
               FROM (SELECT ${source.counted} AS n, g.count, g.away, (${sql}) IS TRUE AS chosen
                       FROM groups g WHERE g.count > 0 OR ${source.counted} > 0) g) said`,
    ...start.values,
    ...values,
  );
}

/**
 * A number from which on all letters are younger: that of the first letter that was buried later. Those up to
 * `unordered` are out of order, because the clock was put back or letters with times of their own were imported.
 */
function firstAfter(start: number, at: number): Fragment {
  const younger = "SELECT no FROM letters WHERE buried_at > ? ORDER BY buried_at, no LIMIT 1";
  const sql = `(SELECT least(?::bigint, greatest(younger.no, unordered + 1)) FROM letter_numbers JOIN (${younger}) younger ON true)`;
  return condition(`coalesce(${sql}, ?::bigint)`, start, at, start);
}

/** The nearest letters in the order of the walk, whichever group they are of. */
function inOrder(walk: Walk, gate: string, columns = "l.no"): Fragment {
  const { source, order } = walk;
  const { sql, values } = aged(walk);
  return condition(
    `SELECT ${columns} FROM ${source.table} l WHERE ${gate} AND l.no ${beyond(order)} (SELECT start FROM sums)
        AND ${conditionOf(source)} AND ${sql} ORDER BY l.no ${direction(order)}`,
    ...values,
  );
}

/** Those near by that are of chosen groups: letter by letter, until there are enough. */
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
 * Only as many groups as the page has letters can be in it: those whose first letters come first. Of each of them no
 * more than a page is read.
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

/** Served by the index (grp, no) of the table, or by the partial one of the closed letters' kind. */
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

/** Where no letter is on its way all are dead, and no item is looked at. */
function conditionOf(source: Source): string {
  if (source !== DEAD) return source.condition;
  return "((SELECT away FROM sums) = 0 OR (SELECT it.state FROM items it WHERE it.ref = l.ref) = 'dead')";
}

function aged({ age }: Walk): Fragment {
  return age ?? condition("true");
}

function beyond(order: Walk["order"]): string {
  return order === "newest" ? "<" : ">";
}

function direction(order: Walk["order"]): string {
  return order === "newest" ? "DESC" : "ASC";
}

/** What groups say of the letters that a filter means. */
export interface Survey {
  /** Where they lie: with none on its way, the dead are all that wait. */
  readonly source: Source;
  readonly total: number;
}

/** Null when a question of age is put to letters whose ages cannot be counted quickly. */
export async function survey(tx: Tx, source: Source, filter: LetterFilter): Promise<Survey | null> {
  const { counted } = source;
  if (counted === undefined) return null;
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = await tx.get<{ total: number; away: number }>(
    `SELECT coalesce(sum(${counted}), 0)::bigint AS total, coalesce(sum(g.away), 0)::bigint AS away FROM groups g WHERE ${sql}`,
    ...values,
  );
  const { total = 0, away = 0 } = row ?? {};
  const place = source === DEAD && away === 0 ? WAITING : source;
  if (!dependsOnAge(filter)) return { source: place, total };
  if (place !== WAITING || filter.ageOf === "arrival") return null;
  const count = filter.ageOf === "last" ? countByLastFailure : countByFirstFailure;
  return { source: place, total: await count(tx, filter) };
}

/** What failed last by the end of the span, less what did so by its beginning. */
async function countByLastFailure(tx: Tx, filter: LetterFilter): Promise<number> {
  const { after, until = Number.MAX_SAFE_INTEGER } = ageBounds(filter, tx.now);
  if (after !== undefined && after >= until) return 0;
  const before = after === undefined ? 0 : await countBuriedBy(tx, filter, after);
  return (await countBuriedBy(tx, filter, until)) - before;
}

/** Group by group, from the index that has the first failures of each. */
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

/** Null when no letter of the queue waits. */
export async function earliestFailure(tx: Tx, queue: string): Promise<number | null> {
  const row = await tx.get<{ at: number | null }>(
    `SELECT min((SELECT min(l.first_at) FROM letters l WHERE l.grp = g.no)) AS at
       FROM groups g JOIN queues q ON q.no = g.queue WHERE q.name = ? AND g.count > 0`,
    queue,
  );
  return row?.at ?? null;
}

/** The numbers of a page. */
export async function walkGroups(tx: Tx, walk: Walk): Promise<Found[]> {
  const { sql, values } = walkSql(walk);
  const rows = await tx.all<{ no: number }>(`${sql} SELECT no FROM found`, ...values);
  return rows.map(({ no }) => ({ table: walk.source.table, no, key: 0 }));
}
