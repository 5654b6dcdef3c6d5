/**
 * Pages of letters by group. A page merges the first letters of each selected group. These are read from the
 * index (grp, no) only as far as needed, regardless of how many letters of other groups are in between.
 */
import type { LetterFilter } from "../../engine.ts";
import { dependsOnAge } from "../../item/letter-query.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { beyond, direction, type Found, type Source, WAITING } from "../sql/letter-search.ts";
import { DIALECT } from "./dialect.ts";
import { aged, spanOf } from "./letter-search.ts";
import { countInSpan, firstInSpan, lastNumberIn } from "./letters-by-age.ts";
import type { Session } from "./session.ts";

export interface Walk {
  readonly session: Session;
  readonly source: Source;
  readonly filter: LetterFilter;
  readonly limit: number;
  readonly order: "newest" | "oldest";
  /** The last letter of the previous page. */
  readonly after: number | undefined;
}

/**
 * If there are more groups than this, or the page is longer, the nearest letters are scanned before each
 * group is read.
 */
const FEW_GROUPS = 64;
const SHORT_PAGE = 100;

/** How many of the nearest letters are scanned. */
const NEAR = 4096;

export function walkGroups(walk: Walk): Found[] {
  const numbers = numbersOf(walk);
  return numbers.map((no) => ({ table: walk.source.table, no, key: 0 }));
}

function numbersOf(walk: Walk): number[] {
  if (isWhole(walk)) return inOrder(walk);
  const near = walk.limit <= SHORT_PAGE && hasFewGroups(walk) ? [] : nearBy(walk);
  return near.length === walk.limit ? near : mergeHeads(walk, headsOf(walk));
}

/** Whether the filter matches all waiting letters, so that the table can be read in order. */
function isWhole({ session, filter, source }: Walk): boolean {
  const { types, classes, signatures, eligible, queue } = filter;
  const isAsked =
    dependsOnAge(filter) || [types, classes, signatures, eligible].some((one) => one !== undefined);
  if (isAsked || source !== WAITING) return false;
  const sql = "SELECT coalesce(sum(letters), 0) AS n FROM queues WHERE name <> ?";
  return queue === undefined || session.get<{ n: number }>(sql, queue)?.n === 0;
}

function inOrder({ session, source: { table }, order, after, limit }: Walk): number[] {
  return numbersIn(
    session,
    condition(
      `SELECT no FROM ${table} WHERE no ${beyond(order)} ? ORDER BY no ${direction(order)} LIMIT ?`,
      after ?? startOf(order),
      limit,
    ),
  );
}

/** The numbers that a SELECT with ORDER BY and LIMIT returns, in its order. */
function numbersIn(session: Session, { sql, values }: Fragment): number[] {
  const row = session.get<{ numbers: string }>(
    `SELECT json_group_array(no) AS numbers FROM (${sql})`,
    ...values,
  );
  return JSON.parse(row?.numbers ?? "[]") as number[];
}

/** The next letters in the order of the walk that meet the conditions, in any group. */
function nearest({ session, source, order, after, limit }: Walk, { sql, values }: Fragment): number[] {
  return numbersIn(
    session,
    condition(
      `SELECT l.no FROM ${source.table} l CROSS JOIN groups g ON g.no = l.grp CROSS JOIN items i ON i.ref = l.ref
        WHERE l.no ${beyond(order)} ? AND ${source.condition} AND ${sql} ORDER BY l.no ${direction(order)} LIMIT ?`,
      ...[after ?? startOf(order), ...values, limit],
    ),
  );
}

function hasFewGroups({ session, filter }: Walk): boolean {
  const { sql, values } = groupConditions(DIALECT, filter);
  const counted = `SELECT count(*) AS n FROM (SELECT 1 FROM groups g WHERE ${sql} LIMIT ${FEW_GROUPS + 1})`;
  return (session.get<{ n: number }>(counted, ...values)?.n ?? 0) <= FEW_GROUPS;
}

/** Returns the matching letters among the nearest ones; fewer than the limit if matches are rare. */
function nearBy(walk: Walk): number[] {
  const edge = edgeOf(walk);
  const [from, to] = walk.order === "newest" ? [edge - NEAR, edge] : [edge, edge + NEAR];
  return nearest(
    walk,
    allOf([
      condition("l.no BETWEEN ? AND ?", from, to),
      dependsOnAge(walk.filter) && aged(walk.session, walk.filter),
      groupConditions(DIALECT, walk.filter),
    ]),
  );
}

/**
 * Returns the first number that can be on the page, because the newest letters may be too young for the
 * filter.
 */
function edgeOf({ session, source: { table }, filter, order, after }: Walk): number {
  const end = order === "newest" ? "max" : "min";
  const first = after ?? session.get<{ no: number | null }>(`SELECT ${end}(no) AS no FROM ${table}`)?.no ?? 0;
  if (order === "oldest" || !dependsOnAge(filter)) return first;
  return Math.min(first, lastNumberIn(session, spanOf(session, filter)));
}

/** The next letter of a group; null after the last one. */
interface Head {
  readonly grp: number;
  no: number | null;
}

/**
 * A page of `limit` letters has letters from at most `limit` groups: those whose first letters come first.
 */
function headsOf(walk: Walk): Head[] {
  const { session, source, filter, order, after, limit } = walk;
  const { sql, values } = groupConditions(DIALECT, filter);
  if (dependsOnAge(filter)) {
    const groups = session.all<{ no: number }>(
      `SELECT g.no FROM groups g WHERE ${sql} AND g.count > 0`,
      ...values,
    );
    return groups.map(({ no: grp }) => ({ grp, no: nextOf(walk, grp, after ?? startOf(order)) }));
  }
  return session.all<Head>(
    `SELECT g.no AS grp, (${nextOfGroup(walk, "g.no")}) AS no FROM groups g WHERE ${sql} AND ${source.counted} > 0
      ORDER BY 2 ${direction(order)} NULLS LAST LIMIT ?`,
    after ?? startOf(order),
    ...values,
    limit,
  );
}

function mergeHeads(walk: Walk, heads: readonly Head[]): number[] {
  const comesFirst = (a: number, b: number) => (walk.order === "newest" ? a > b : a < b);
  const numbers: number[] = [];
  while (numbers.length < walk.limit) {
    let first: (Head & { no: number }) | undefined;
    for (const head of heads) {
      if (hasLetter(head) && (first === undefined || comesFirst(head.no, first.no))) first = head;
    }
    if (first === undefined) break;
    numbers.push(first.no);
    (first as Head).no = nextOf(walk, first.grp, first.no);
  }
  return numbers;
}

function hasLetter(head: Head): head is Head & { no: number } {
  return head.no !== null;
}

function nextOf(walk: Walk, grp: number, after: number): number | null {
  const { session, filter, order } = walk;
  if (dependsOnAge(filter))
    return firstInSpan(session, { grp, order, beyond: after, span: spanOf(session, filter) });
  return session.get<{ no: number }>(nextOfGroup(walk, "?2"), after, grp)?.no ?? null;
}

/** Uses the index (grp, no) of the table, or the partial index of resolved or discarded letters. */
function nextOfGroup({ source, order }: Walk, grp: string): string {
  const { table, condition: where } = source;
  const items = where.includes("i.") ? "CROSS JOIN items i ON i.ref = l.ref" : "";
  return `SELECT l.no FROM ${table} l ${items} WHERE l.no ${beyond(order)} ?1 AND l.grp = ${grp} AND ${where}
           ORDER BY l.no ${direction(order)} LIMIT 1`;
}

function startOf(order: Walk["order"]): number {
  return order === "newest" ? Number.MAX_SAFE_INTEGER : 0;
}

/** Counts letters with the counters of groups and ranges. */
export function countWalk(session: Session, source: Source, filter: LetterFilter): number {
  const { sql, values } = groupConditions(DIALECT, filter);
  if (dependsOnAge(filter)) return countInSpan(session, groupsOf(session, filter), spanOf(session, filter));
  const counted = `SELECT coalesce(sum(${source.counted}), 0) AS n FROM groups g WHERE ${sql}`;
  return session.get<{ n: number }>(counted, ...values)?.n ?? 0;
}

/**
 * Returns the groups that match the filter and have letters, or "all" if the filter has no group conditions.
 */
function groupsOf(session: Session, filter: LetterFilter): readonly number[] | "all" {
  const { sql, values } = groupConditions(DIALECT, filter);
  if (values.length === 0) return "all";
  const rows = session.tuples<[no: number]>(
    `SELECT g.no FROM groups g WHERE ${sql} AND g.count > 0`,
    ...values,
  );
  return rows.map(([no]) => no);
}
