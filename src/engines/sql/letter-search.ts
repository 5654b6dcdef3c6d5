/**
 * Finds the letters that match a filter. Waiting letters are in one table, closed ones in another, and letters in retry are
 * found through their items. A search queries each of these sources that the filter needs.
 */
import type { LetterFilter } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { groupConditions } from "./conditions.ts";
import type { Db, Fragment, Step } from "./db.ts";
import { KEY, type PageCursor, type PageRequest, pageOf } from "./letter-order.ts";
import type { LetterTable } from "./letters.ts";

/** A table and condition that select the letters of some states. */
export interface Source {
  readonly table: LetterTable;
  /** The condition on the rows `l` and `i`. */
  readonly condition: string;
  /** The number of a group's letters in this source, if the group `g` counts them. */
  readonly counted?: string;
  /** The index of items in retry, if there are few enough to check one by one. */
  readonly index?: string;
}

/** All letters that wait, in any state. */
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
export function isOfGroups(filter: LetterFilter): boolean {
  return (
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
  readonly filter: LetterFilter;
}

/** Reads a page from one source, for the given FROM and WHERE clauses. */
export function* searchEach(
  db: Db,
  { table }: Source,
  search: Search,
  { sql, values }: Fragment,
): Step<Found[]> {
  const page = pageOf(search, `(SELECT l.no AS no, ${KEY[search.order]} AS key ${sql}) found`);
  const rows = yield* db.all<Omit<Found, "table">>(page.sql, ...values, ...page.values);
  return rows.map((row) => ({ ...row, table }));
}

/** The letters of a page from one source, and the number of all matches. */
export interface Part {
  readonly found: readonly Found[];
  readonly total: number;
}

/** Reads a page and counts all matches in one pass. */
export function* searchAndCount(
  db: Db,
  { table }: Source,
  search: Search,
  { sql, values }: Fragment,
): Step<Part> {
  const page = pageOf(search, "found");
  const rows = yield* db.all<{ total: number; no: number | null; key: string | number }>(
    `WITH found AS MATERIALIZED (SELECT l.no AS no, ${KEY[search.order]} AS key ${sql})
     SELECT every.total, page.no, page.key FROM (SELECT count(*) AS total FROM found) every
            LEFT JOIN (${page.sql}) page ON true`,
    ...values,
    ...page.values,
  );
  return {
    found: rows.flatMap(({ no, key }) => (no === null ? [] : { table, no, key })),
    total: rows[0]?.total ?? 0,
  };
}

/** A page of letters that is ordered by error type. */
export interface TypeWalk {
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
