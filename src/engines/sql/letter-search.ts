/**
 * Finds the letters that match a filter, in pages. Waiting letters are in one table and resolved ones in
 * another; letters in retry are found through their items. A cursor is a position, so it stays valid when
 * letters are removed.
 */
import type {
  LetterFilter,
  LetterOrder,
  LetterPage,
  LetterQuery,
  LetterSearch,
  Undecided,
} from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { ItemState } from "../../item/state.ts";
import { readCursor, writeCursor } from "../../std/cursor.ts";
import { groupConditions } from "./conditions.ts";
import type { Db, Fragment, Step } from "./db.ts";
import type { LetterTable } from "./letters.ts";

/** A table and condition that select the letters of some states. */
export interface Source {
  readonly table: LetterTable;
  /** The condition on the rows `l` and `i`. */
  readonly condition: string;
  /** The number of a group's letters in this source, if the group `g` has a counter for them. */
  readonly counted?: string;
  /** The index of items in retry, if there are few enough to check one by one. */
  readonly index?: string;
}

/** All waiting letters, in any state. */
export const WAITING: Source = { table: "letters", condition: "true", counted: "g.count" };
export const DEAD: Source = {
  table: "letters",
  condition: "i.state = 'dead'",
  counted: "g.count - g.in_retry",
};
export const READY: Source = {
  table: "letters",
  condition: "i.state = 'ready' AND i.operation IS NOT NULL",
  index: "items_ready_again",
};
export const LEASED: Source = { table: "letters", condition: "i.state = 'leased'", index: "items_leased" };
export const HELD: Source = { table: "letters", condition: "i.state = 'held'", index: "items_held" };
const RESOLVED: Source = {
  table: "resolved_letters",
  condition: "l.kind <> 'discard'",
  counted: "g.resolved",
};
const DISCARDED: Source = {
  table: "resolved_letters",
  condition: "l.kind = 'discard'",
  counted: "g.discarded",
};

const WAITING_STATES: readonly ItemState[] = ["dead", "ready", "leased", "held"];
const SOURCE_OF: Partial<Record<ItemState, Source>> = {
  dead: DEAD,
  ready: READY,
  leased: LEASED,
  held: HELD,
  done: RESOLVED,
  discarded: DISCARDED,
};

/** The sources of the filter's states. */
export function sourcesOf({ states = WAITING_STATES }: LetterFilter): Source[] {
  const isAll = WAITING_STATES.every((state) => states.includes(state));
  if (!isAll) return sourcesApart({ states });
  const rest = states.filter((state) => !WAITING_STATES.includes(state));
  return [WAITING, ...sourcesApart({ states: rest })];
}

/** Like `sourcesOf`, with a separate source for each state of waiting letters. */
export function sourcesApart({ states = WAITING_STATES }: LetterFilter): Source[] {
  return [...new Set(states)].flatMap((state) => SOURCE_OF[state] ?? []);
}

/** Whether the filter uses only groups, states and times, for which counters exist. */
export function isOfGroups(filter: LetterSearch): boolean {
  return (
    filter.condition === undefined &&
    filter.itemIds === undefined &&
    filter.attemptsMin === undefined &&
    filter.attemptsMax === undefined &&
    filter.text === undefined
  );
}

export const TIME_OF = {
  first: "l.first_at",
  last: "l.buried_at",
  arrival: "coalesce(l.arrived_at, l.buried_at)",
} as const;

/** A letter that was found, with its sort key. */
export interface Found extends PageCursor {
  readonly table: LetterTable;
}

export interface Search extends PageRequest {
  readonly filter: LetterSearch;
}

/** Reads a page from one source, for the given letters. */
export function* searchEach(db: Db, { table }: Source, search: Search, letters: LettersFound): Step<Found[]> {
  if (letters.condition !== undefined && (search.order === "newest" || search.order === "oldest"))
    return yield* decideInOrder(db, table, { search, letters, condition: letters.condition });
  const found = foundIn(search, letters);
  const page = pageOf(search, `(${found.sql}) found`);
  const rows = yield* db.all<PageCursor>(page.sql, ...found.values, ...page.values);
  return rows.map((row) => ({ ...row, table }));
}

/**
 * Evaluates the condition once for each letter, in the order of the page, until the page is full: the database would evaluate it
 * a second time to select it, and would sort all letters if the order was that of the outer SELECT.
 */
function* decideInOrder(
  db: Db,
  table: LetterTable,
  asked: { readonly search: Search; readonly letters: LettersFound; readonly condition: Fragment },
): Step<Found[]> {
  const { search, letters, condition } = asked;
  const { order, after, limit } = search;
  const rest = after === undefined ? { sql: "true", values: [] } : conditionAfter(order, after);
  // One text costs less than many rows; the numbers of undecided letters are negative.
  const row = yield* db.get<{ numbers: string | null }>(
    `SELECT ${db.sql.jsonArray("CASE WHEN decision IS NULL THEN -no ELSE no END")} AS numbers
       FROM (SELECT no, decision
               FROM (SELECT l.no AS no, ${condition.sql} AS decision ${letters.sql} AND ${rest.sql.replace("no", "l.no")}
                      ORDER BY l.no ${order === "newest" ? "DESC" : ""} ${db.sql.separately}) decided
              WHERE decision IS NOT FALSE LIMIT ?) page`,
    ...[...condition.values, ...letters.values, ...rest.values, limit],
  );
  const numbers = JSON.parse(row?.numbers ?? "[]") as number[];
  return numbers.map((no) => ({ table, no: Math.abs(no), key: 0, undecided: no < 0 ? 1 : 0 }));
}

/** The FROM and WHERE clauses of letters `l` with their items `i` and groups `g`. */
export interface LettersFound extends Fragment {
  /** The condition of the search, which is evaluated for each of them. */
  readonly condition?: Fragment;
}

/** Selects number, sort key and, with a condition, whether it is undecided. */
function foundIn({ order }: Search, { sql, values, condition }: LettersFound): Fragment {
  const key = `SELECT l.no AS no, ${KEY[order]} AS key`;
  if (condition === undefined) return { sql: `${key}, 0 AS undecided ${sql}`, values };
  return {
    sql: `SELECT no, key, CASE WHEN decision IS NULL THEN 1 ELSE 0 END AS undecided
            FROM (${key}, ${condition.sql} AS decision ${sql}) decided WHERE decision IS NOT FALSE`,
    values: [...condition.values, ...values],
  };
}

/** The letters of a page from one source, and the number of all matches. */
export interface Part {
  readonly found: readonly Found[];
  readonly total: number;
  /** The number of matches for which the condition is unknown. */
  readonly undecided?: number;
}

/** Reads a page and counts all matches in one pass. */
export function* searchAndCount(
  db: Db,
  { table }: Source,
  search: Search,
  letters: LettersFound,
): Step<Part> {
  const found = foundIn(search, letters);
  const sums = "count(*) AS total, coalesce(sum(undecided), 0) AS unsure";
  if (search.limit === 0) {
    const only = yield* db.get<Sums>(`SELECT ${sums} FROM (${found.sql}) found`, ...found.values);
    return { found: [], total: only?.total ?? 0, undecided: only?.unsure ?? 0 };
  }
  const page = pageOf(search, "found");
  const rows = yield* db.all<Sums & { no: number | null; key: string | number; undecided: number }>(
    `WITH found AS MATERIALIZED (${found.sql})
     SELECT every.total, every.unsure, page.no, page.key, page.undecided
       FROM (SELECT ${sums} FROM found) every LEFT JOIN (${page.sql}) page ON true`,
    ...found.values,
    ...page.values,
  );
  return {
    found: rows.flatMap(({ no, key, undecided }) => (no === null ? [] : { table, no, key, undecided })),
    total: rows[0]?.total ?? 0,
    undecided: rows[0]?.unsure ?? 0,
  };
}

interface Sums {
  readonly total: number;
  readonly unsure: number;
}

/** A page of letters ordered by error type. */
interface TypeWalk {
  readonly source: Source;
  readonly filter: LetterFilter;
  readonly limit: number;
  /** The last letter of the previous page. */
  readonly after: PageCursor | undefined;
}

/** Reads type by type, starting with the type of `after`; `walk` finds the newest letters of one type. */
export function* walkTypes<Walk extends TypeWalk>(
  db: Db,
  asked: Walk,
  walk: (one: Omit<Walk, "after"> & { readonly after: number | undefined }) => Step<readonly Found[]>,
): Step<Found[]> {
  const { source, limit, after } = asked;
  const { sql, values } = groupConditions(db.sql, asked.filter);
  const types = yield* db.all<{ type: NonNullable<LetterFilter["types"]>[number] }>(
    `SELECT DISTINCT error_type AS type FROM groups g
      WHERE ${sql} AND ${source.counted ?? "1"} > 0 AND error_type >= ? ORDER BY 1`,
    ...values,
    after?.key ?? "",
  );
  const found: Found[] = [];
  for (const { type } of types) {
    if (found.length >= limit) break;
    const page = yield* walk({
      ...asked,
      filter: { ...asked.filter, types: [type] },
      limit: limit - found.length,
      after: type === after?.key ? after.no : undefined,
    });
    found.push(...page.map((one) => ({ ...one, key: type })));
  }
  return found;
}

/** A letter's number and its sort key. */
export interface PageCursor {
  readonly no: number;
  readonly key: string | number;
  /** 1 if the condition of the search is unknown for the letter. */
  readonly undecided?: number;
}

const newestFirst = (a: PageCursor, b: PageCursor) => b.no - a.no;
const byKey = (a: PageCursor, b: PageCursor) => compare(a.key, b.key) || newestFirst(a, b);

const IN_ORDER: Readonly<Record<LetterOrder, (a: PageCursor, b: PageCursor) => number>> = {
  newest: newestFirst,
  oldest: (a, b) => a.no - b.no,
  attempts: (a, b) => compare(b.key, a.key) || newestFirst(a, b),
  item: byKey,
  type: byKey,
};

/** Compares like the store: numbers by value, texts by UTF-8 bytes. */
function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

function positionOf(order: LetterOrder, cursor: string): PageCursor {
  const [of, key, no] = readCursor(cursor);
  const isKey = typeof key === (order === "item" || order === "type" ? "string" : "number");
  if (of === order && isKey && Number.isSafeInteger(no))
    return { key: key as PageCursor["key"], no: no as number };
  throw new RedriveError("usage", `"${cursor}" is not a valid cursor for the order ${order}.`, {
    hint: "Use the `next` value of the previous page, with the same order.",
  });
}

/** The sort key of each order; letters with the same key are ordered by number. */
export const KEY: Readonly<Record<LetterOrder, string>> = {
  newest: "0",
  oldest: "0",
  attempts: "i.attempts",
  item: "i.item_id",
  type: "g.error_type",
};

/** The comparison with which a page by number continues. */
export function beyond(order: "newest" | "oldest"): string {
  return order === "newest" ? "<" : ">";
}

/** The direction of a page by number. */
export function direction(order: "newest" | "oldest"): string {
  return order === "newest" ? "DESC" : "ASC";
}

/** The ORDER BY clause of each order. */
export const ROWS: Readonly<Record<LetterOrder, string>> = {
  newest: "no DESC",
  oldest: "no",
  attempts: "key DESC, no DESC",
  item: "key, no DESC",
  type: "key, no DESC",
};

/** A page that begins after a position. */
interface PageRequest {
  readonly order: LetterOrder;
  readonly after: PageCursor | undefined;
  readonly limit: number;
}

interface PageSql {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Selects a page from a relation with the columns `no`, `key` and `undecided`. */
export function pageOf({ order, after, limit }: PageRequest, from: string): PageSql {
  const rest = after === undefined ? { sql: "true", values: [] } : conditionAfter(order, after);
  const sql = `SELECT no, key, undecided FROM ${from} WHERE ${rest.sql} ORDER BY ${ROWS[order]} LIMIT ?`;
  return { sql, values: [...rest.values, limit] };
}

/** The first comparison uses the index; the second handles letters with the same key. */
function conditionAfter(order: LetterOrder, { no, key }: PageCursor): PageSql {
  if (order === "newest") return { sql: "no < ?", values: [no] };
  if (order === "oldest") return { sql: "no > ?", values: [no] };
  const beyond = order === "attempts" ? "<" : ">";
  return { sql: `key ${beyond}= ? AND (key ${beyond} ? OR no < ?)`, values: [key, key, no] };
}

/** Returns the search for a query. It finds one more letter than the page holds if there is a next page. */
export function searchOf(query: LetterQuery): Search & { readonly filter: LetterQuery } {
  const order = query.order ?? "newest";
  const after = query.cursor === undefined ? undefined : positionOf(order, query.cursor);
  return { filter: query, order, after, limit: query.limit === 0 ? 0 : query.limit + 1 };
}

/** Merges what the search found in each source. */
export function mergeParts<Letter extends PageCursor>(
  { filter, order }: ReturnType<typeof searchOf>,
  parts: readonly (Omit<Part, "found"> & { readonly found: readonly Letter[] })[],
): Omit<LetterPage, "letters"> & { readonly page: readonly Letter[] } {
  const { limit } = filter;
  const found = parts.flatMap((part) => part.found).sort(IN_ORDER[order]);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    page,
    total: parts.reduce((sum, { total }) => sum + total, 0),
    next: found.length > limit && last !== undefined ? writeCursor([order, last.key, last.no]) : null,
    ...(filter.condition !== undefined && { undecided: undecidedOf(page, parts) }),
  };
}

function undecidedOf(page: readonly PageCursor[], parts: readonly Pick<Part, "undecided">[]): Undecided {
  const letterSequences = new Set<number>();
  for (const { no, undecided } of page) if (undecided === 1) letterSequences.add(no);
  return {
    letterSequences,
    total: parts.reduce((sum, { undecided = 0 }) => sum + undecided, 0),
  };
}

/**
 * Finds letters in a store whose groups were lost: counts come from groups, so every filter would find nothing. The inner LIMIT
 * keeps SQLite from reading all letters.
 */
export const LETTERS_WITHOUT_GROUPS =
  "SELECT 1 AS found FROM (SELECT no FROM letters LIMIT 1) AS l WHERE NOT EXISTS (SELECT 1 FROM groups)";

export function groupsMissing(store: string): RedriveError {
  return new RedriveError("store_corrupt", `The store ${store} is damaged: its letters have no groups.`, {
    hint: "Run `redrive store check` to see the damage and what can be saved.",
  });
}
