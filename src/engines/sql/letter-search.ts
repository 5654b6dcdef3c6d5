/**
 * Which letters a filter means. The letters of each state are in a place of their own: those that wait in one table, the
 * closed ones in another, and those in retry are found by their items. A search asks each place that the filter names.
 */
import type { LetterFilter } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { groupConditions } from "./conditions.ts";
import type { Db, Fragment, Step } from "./db.ts";
import { KEY, type PagePlace, type Place, pageOf } from "./letter-order.ts";
import type { LetterTable } from "./letters.ts";

/** A place where letters of some states are. */
export interface Source {
  readonly table: LetterTable;
  /** What the rows `l` and `i` must be. */
  readonly condition: string;
  /** How many of a group's letters are there, when the group `g` counts them. */
  readonly counted?: string;
  /** The index of items by which those in retry are few enough to be looked at one by one, where there is one. */
  readonly index?: string;
}

/** All that wait, whichever state they are in. */
export const WAITING: Source = { table: "letters", condition: "true", counted: "g.count" };
export const DEAD: Source = { table: "letters", condition: "i.state = 'dead'", counted: "g.count - g.away" };
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

/** Where the letters of the filter's states are. */
export function sourcesOf({ states = WAITING_STATES }: LetterFilter): Source[] {
  const isAll = WAITING_STATES.every((state) => states.includes(state));
  if (!isAll) return sourcesApart({ states });
  const rest = states.filter((state) => !WAITING_STATES.includes(state));
  return [WAITING, ...sourcesApart({ states: rest })];
}

/** The same with those that wait apart by their state. */
export function sourcesApart({ states = WAITING_STATES }: LetterFilter): Source[] {
  return [...new Set(states)].flatMap((state) => SOURCE_OF[state] ?? []);
}

/** Whether the filter chooses by group and state alone, or by age: what is counted as letters come and go. */
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

/** A letter that was found, with what it is ordered by besides its number. */
export interface Found extends Place {
  readonly table: LetterTable;
}

export interface Search extends PagePlace {
  readonly filter: LetterFilter;
}

/** A page of the letters in one place for which FROM and WHERE are given. */
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

/** What was found in one place, and how many there are. */
export interface Part {
  readonly found: readonly Found[];
  readonly total: number;
}

/** The page and the number of all that fit, in one look at each letter that the filter may mean. */
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

/** A page of letters by their types. */
export interface TypeWalk {
  readonly source: Source;
  readonly filter: LetterFilter;
  readonly limit: number;
  /** The letter before the page. */
  readonly after: Place | undefined;
}

/** Type by type, from that of the letter before the page on: `walk` finds the newest letters after one with a number. */
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
