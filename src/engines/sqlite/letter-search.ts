/**
 * Builds the SQL that finds the letters of a filter in one source (see `sql/letter-search.ts`): the
 * conditions, and the join order of the tables.
 */
import type { LetterFilter, LetterSearch } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import { type ConditionSql, conditionSql } from "../sql/letter-condition.ts";
import {
  DEAD,
  HELD,
  LEASED,
  type LettersFound,
  READY,
  type Search,
  type Source,
  sourcesApart,
  sourcesOf,
  TIME_OF,
  WAITING,
} from "../sql/letter-search.ts";
import { DIALECT } from "./dialect.ts";
import { SQLITE_JSON } from "./json-values.ts";
import type { TimeSpan } from "./letters-by-age.ts";
import type { Session } from "./session.ts";
import { findText, messageHas, type TextFinds } from "./text-search.ts";

/** Returns the sources for the filter's states. If no letter is in retry, all waiting letters are dead. */
export function sourcesIn(session: Session, filter: LetterFilter): Source[] {
  const sources = sourcesOf(filter);
  return sources.includes(DEAD) && isNothingInRetry(session, filter.queue)
    ? sources.map((source) => (source === DEAD ? WAITING : source))
    : sources;
}

/** Like `sourcesIn`, with a separate source for each state, for indexes that cover only dead items. */
export function sourcesApartIn(session: Session, filter: LetterFilter): Source[] {
  const inRetry = isNothingInRetry(session, filter.queue) ? [READY, LEASED] : [];
  return sourcesApart(filter).filter((source) => !inRetry.includes(source));
}

/** The condition and index for letters in retry. */
export type InRetryCondition = Required<Pick<Source, "condition" | "index">>;

export function inRetryConditions(): readonly InRetryCondition[] {
  return [READY, LEASED, HELD].map(({ condition: where, index = "" }) => ({ condition: where, index }));
}

export function isNothingInRetry(session: Session, queue: string | undefined): boolean {
  const sql = "SELECT coalesce(sum(letters - dead), 0) AS n FROM queues WHERE ? IS NULL OR name = ?";
  return session.get<{ n: number }>(sql, queue ?? null, queue ?? null)?.n === 0;
}

/** The FROM and WHERE clauses of matching letters `l` in a source, with their items `i` and groups `g` as far as used. */
export function matching(
  session: Session,
  source: Source,
  filter: LetterSearch,
  { path = pathOf(session, source, filter), columns = "i. g." }: Matching = {},
): LettersFound {
  const decision: ConditionSql | undefined = filter.condition && conditionSql(SQLITE_JSON, filter.condition);
  const where = allOf([
    path.where,
    groupConditions(DIALECT, filter),
    condition(source.condition),
    dependsOnAge(filter) && aged(session, filter),
    filter.attemptsMin !== undefined && condition("i.attempts >= ?", filter.attemptsMin),
    filter.attemptsMax !== undefined && condition("i.attempts <= ?", filter.attemptsMax),
    filter.text !== undefined && !path.hasText && messageHas(filter.text.toLowerCase(), "l.ref"),
  ]);
  const { from } = path;
  const joins = path.isOfLetters ? joinsFor(where.sql, decision?.sql ?? "", columns) : "";
  return {
    sql: `FROM ${from.sql} ${joins} ${decision?.joins ?? ""} WHERE ${where.sql}`,
    values: [...from.values, ...where.values],
    ...(decision && { condition: decision }),
  };
}

interface Matching {
  readonly path?: Path | undefined;
  /** The columns that the caller selects. */
  readonly columns?: string;
}

/** Joins the group and the item of letters `l` if the SQL uses them. */
function joinsFor(...used: readonly string[]): string {
  const isUsed = (table: RegExp) => used.some((sql) => table.test(sql));
  const group = isUsed(/\bg\./) ? "CROSS JOIN groups g ON g.no = l.grp" : "";
  return `${group} ${isUsed(/\bi\./) ? "CROSS JOIN items i ON i.ref = l.ref" : ""}`;
}

/** The join order of the tables, which CROSS JOIN keeps. */
export interface Path {
  readonly from: Fragment;
  /** Whether `from` is only the letters, so that the joins for their items and groups are missing. */
  readonly isOfLetters?: boolean;
  readonly where?: Fragment;
  /** Whether all letters on this path contain the filter's text. */
  readonly hasText?: boolean;
}

/**
 * Chooses where the search starts: the given ids, the few items in retry, the letters found by text (which
 * are not in burial order), one range of numbers, or the selected groups.
 */
export function pathOf(session: Session, source: Source, filter: LetterFilter, search?: Search): Path {
  const { table, index } = source;
  const isInOrder = search?.order === "newest" || search?.order === "oldest";
  const ofItem = `CROSS JOIN ${table} l ON l.ref = i.ref CROSS JOIN groups g ON g.no = l.grp`;
  if (filter.itemIds !== undefined) {
    const items =
      "json_each(?) ids CROSS JOIN queues q CROSS JOIN items i ON i.queue = q.no AND i.item_id = ids.value";
    return { from: condition(`${items} ${ofItem}`, JSON.stringify([...new Set(filter.itemIds)])) };
  }
  if (index !== undefined) return { from: condition(`items i INDEXED BY ${index} ${ofItem}`) };
  const finds = isInOrder ? null : textFinds(session, source, filter);
  if (finds !== null) return byText(finds);
  const everyGroup = groupConditions(DIALECT, filter).values.length === 0;
  if (everyGroup) {
    return {
      from: condition(`${table} l`),
      isOfLetters: true,
      where: condition("l.no BETWEEN ? AND ?", ...boundsOf(EVERY_NUMBER, search)),
    };
  }
  const stretch = stretchOf(session, source, filter);
  const ofLetter = "CROSS JOIN items i ON i.ref = l.ref";
  if (stretch === undefined)
    return { from: condition(`groups g CROSS JOIN ${table} l ON l.grp = g.no ${ofLetter}`) };
  return {
    from: condition(`${table} l CROSS JOIN groups g ON g.no = l.grp ${ofLetter}`),
    where: condition("l.no BETWEEN ? AND ?", ...boundsOf(stretch, search)),
  };
}

const EVERY_NUMBER = { first: 0, last: Number.MAX_SAFE_INTEGER };

/**
 * Combines the range with the cursor, because SQLite seeks with only one bound at each end and would scan up
 * to a second one.
 */
function boundsOf(
  { first, last }: { readonly first: number; readonly last: number },
  search: Search | undefined,
): [first: number, last: number] {
  if (search?.after === undefined) return [first, last];
  const { no } = search.after;
  if (search.order === "newest") return [first, Math.min(last, no - 1)];
  return search.order === "oldest" ? [Math.max(first, no + 1), last] : [first, last];
}

/**
 * Searches the text index. Returns null if the filter has no text, or if the source has letters that are not
 * dead.
 */
export function textFinds(
  session: Session,
  source: Source,
  filter: LetterFilter,
  isCounted = true,
): TextFinds | null {
  const isOfDead = source === DEAD || (source === WAITING && isNothingInRetry(session, filter.queue));
  return filter.text !== undefined && isOfDead ? findText(session, filter, isCounted) : null;
}

function byText({ sure, others }: TextFinds): Path {
  const ofSure = "SELECT s.no FROM json_each(?) w CROSS JOIN indexed_messages s ON s.template = w.value";
  const from = `(${ofSure} UNION ALL SELECT no FROM (${others.sql})) f CROSS JOIN letters l ON l.no = f.no
                CROSS JOIN groups g ON g.no = l.grp CROSS JOIN items i ON i.ref = l.ref`;
  return { from: condition(from, JSON.stringify(sure), ...others.values), hasText: true };
}

/** A range is scanned if at least one in this many numbers belongs to a letter of the selected groups. */
const SPARSE = 4;

/**
 * Returns the number range of the selected groups if their letters are dense, like those of one job. Reading
 * in number order is then several times faster than reading group by group.
 */
function stretchOf(
  session: Session,
  { table, counted }: Source,
  filter: LetterFilter,
): { readonly first: number; readonly last: number } | undefined {
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = session.get<{ n: number; first: number | null; last: number | null }>(
    `SELECT sum(${counted}) AS n, min((SELECT min(l.no) FROM ${table} l WHERE l.grp = g.no)) AS first,
            max((SELECT max(l.no) FROM ${table} l WHERE l.grp = g.no)) AS last
       FROM groups g WHERE ${sql} AND ${counted} > 0`,
    ...values,
  );
  if (row === undefined || row.first === null || row.last === null) return undefined;
  return row.last - row.first < SPARSE * row.n ? { first: row.first, last: row.last } : undefined;
}

/** Reads items by id: those of one queue by its unique index, or all dead items by theirs. */
export function byItemId({ table }: Source, queue: string | undefined): Path {
  const index = queue === undefined ? "items_dead_by_id" : "sqlite_autoindex_items_1";
  const from = condition(
    `items i INDEXED BY ${index} CROSS JOIN ${table} l ON l.ref = i.ref CROSS JOIN groups g ON g.no = l.grp`,
  );
  if (queue === undefined) return { from };
  return { from, where: condition("i.queue = (SELECT no FROM queues WHERE name = ?)", queue) };
}

/** Returns the time span for the filter's ages. Ranges do not contain arrival times. */
export function spanOf(session: Session, filter: LetterFilter): TimeSpan {
  const { after = -Number.MAX_SAFE_INTEGER, until = Number.MAX_SAFE_INTEGER } = ageBounds(
    filter,
    session.now,
  );
  return { of: filter.ageOf === "last" ? "last" : "first", after, until };
}

/** The condition that the age of letters `l` fits the filter. */
export function aged(session: Session, filter: LetterFilter): Fragment {
  const { after, until } = spanOf(session, filter);
  const time = TIME_OF[filter.ageOf ?? "first"];
  return condition(`${time} > ? AND ${time} <= ?`, after, until);
}
