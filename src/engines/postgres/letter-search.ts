/**
 * Which letters a filter means, in SQL. The letters of each state lie in a place of their own: those that wait in one
 * table, the closed ones in another. A search asks each place that the filter names, and what it asks is written once, here.
 */
import type { LetterFilter } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import type { ItemState } from "../../item/state.ts";
import { KEY, type PagePlace, type Place, pageOf, ROWS } from "../letter-order.ts";
import { foldMessage } from "../sql/bury.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Db, Fragment, MatchingLetters, Step } from "../sql/db.ts";
import { DIALECT } from "./dialect.ts";
import type { LetterTable } from "./letters.ts";
import type { Tx } from "./session.ts";

/** A place where letters of some states lie. */
export interface Source {
  readonly table: LetterTable;
  /** What the rows `l`, `i` and `g` must be. */
  readonly condition: string;
  /** How many of a group's letters lie there, when the group `g` counts them. */
  readonly counted?: string;
}

/** All that wait, whichever state they are in. */
export const WAITING: Source = { table: "letters", condition: "true", counted: "g.count" };
export const DEAD: Source = { table: "letters", condition: "i.state = 'dead'", counted: "g.count - g.away" };
const READY: Source = { table: "letters", condition: "i.state = 'ready' AND g.away > 0" };
const LEASED: Source = { table: "letters", condition: "i.state = 'leased' AND g.away > 0" };
const HELD: Source = { table: "letters", condition: "i.state = 'held' AND g.away > 0" };
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

/** Where the letters of the filter's states lie. */
export function sourcesOf({ states = WAITING_STATES }: LetterFilter): Source[] {
  const wanted = new Set(states);
  const isAll = WAITING_STATES.every((state) => wanted.has(state));
  if (isAll) for (const state of WAITING_STATES) wanted.delete(state);
  const rest = [...wanted].flatMap((state) => SOURCE_OF[state] ?? []);
  return isAll ? [WAITING, ...rest] : rest;
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

/** FROM and WHERE of the letters `l` in a place that fit the filter; with their items `i`, groups `g` where the columns are of those. */
export function matching(
  { now }: { readonly now: number },
  source: Source,
  filter: LetterFilter,
  columns: string,
): Fragment {
  const { sql, values } = allOf([
    groupConditions(DIALECT, filter),
    condition(source.condition),
    filter.itemIds && ofItems(filter, filter.itemIds),
    dependsOnAge(filter) && aged(filter, now),
    filter.attemptsMin !== undefined && condition("i.attempts >= ?", filter.attemptsMin),
    filter.attemptsMax !== undefined && condition("i.attempts <= ?", filter.attemptsMax),
    filter.text !== undefined && condition("strpos(l.message, ?) > 0", foldMessage(filter.text)),
  ]);
  return { sql: `FROM ${source.table} l ${joinsFor(columns, sql)} WHERE ${sql}`, values };
}

/** Where no letter of the chosen groups is in retry all are dead, and no item is looked at. */
export function* lettersMatching(db: Db, filter: LetterFilter): Step<readonly MatchingLetters[]> {
  const found: MatchingLetters[] = [];
  for (const source of sourcesOf(filter)) {
    const isAllDead = source === DEAD && (yield* countAway(db, filter)) === 0;
    const state = isAllDead ? "'dead'" : "i.state";
    found.push({ ...matching(db, isAllDead ? WAITING : source, filter, state), state });
  }
  return found;
}

function* countAway(db: Db, filter: LetterFilter): Step<number> {
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = yield* db.get<{ away: number }>(
    `SELECT coalesce(sum(g.away), 0)::bigint AS away FROM groups g WHERE ${sql}`,
    ...values,
  );
  return row?.away ?? 0;
}

/** Only the tables that are asked about. */
export function joinsFor(...asked: readonly string[]): string {
  const isAsked = (table: RegExp) => asked.some((sql) => table.test(sql));
  const group = isAsked(/\bg\./) ? "JOIN groups g ON g.no = l.grp" : "";
  const item = isAsked(/\bi\./) ? "JOIN items i ON i.ref = l.ref" : "";
  return `${group} ${item}`;
}

/** The index of item ids is one for each queue, so each is asked. */
function ofItems({ queue }: LetterFilter, itemIds: readonly string[]): Fragment {
  const queues =
    queue === undefined
      ? condition("SELECT no FROM queues")
      : condition("SELECT no FROM queues WHERE name = ?", queue);
  return allOf([
    { sql: `i.queue = ANY (ARRAY (${queues.sql}))`, values: queues.values },
    condition(DIALECT.among("i.item_id", "?", "text"), itemIds),
  ]);
}

const TIME_OF = {
  first: "l.first_at",
  last: "l.buried_at",
  arrival: "coalesce(l.arrived_at, l.buried_at)",
} as const;

/** The letters `l` whose age the filter allows. */
export function aged(filter: LetterFilter, now: number): Fragment {
  const time = TIME_OF[filter.ageOf ?? "first"];
  const { after, until } = ageBounds(filter, now);
  return allOf([
    after !== undefined && condition(`${time} > ?`, after),
    until !== undefined && condition(`${time} <= ?`, until),
    // An index has the last failures: a letter arrives after its last failure.
    until !== undefined && filter.ageOf === "arrival" && condition("l.buried_at <= ?", until),
  ]);
}

/** A letter that was found, with what it is ordered by besides its number. */
export interface Found extends Place {
  readonly table: LetterTable;
}

export interface Search extends PagePlace {
  readonly filter: LetterFilter;
}

/** A page of the letters in one place. */
export async function searchEach(tx: Tx, source: Source, search: Search): Promise<Found[]> {
  const key = KEY[search.order];
  const { sql, values } = matching(tx, source, search.filter, key);
  const page = pageOf(search, `(SELECT l.no AS no, ${key} AS key ${sql}) found`);
  return foundIn(source, await tx.all(page.sql, ...values, ...page.values));
}

/** A page in the order of the items' ids, queue by queue: each has them in the order of its index. */
export async function searchByItem(tx: Tx, source: Source, search: Search): Promise<Found[]> {
  const { queue, ...filter } = search.filter;
  const { sql, values } = matching(tx, source, filter, "i.item_id");
  const each = pageOf(search, `(SELECT l.no AS no, i.item_id AS key ${sql} AND i.queue = q.no) found`);
  const chosen = queue === undefined ? condition("true") : condition("q.name = ?", queue);
  const rows = await tx.all<Omit<Found, "table">>(
    `SELECT page.no, page.key FROM queues q CROSS JOIN LATERAL (${each.sql}) page WHERE ${chosen.sql}
      ORDER BY ${ROWS[search.order]} LIMIT ?`,
    ...values,
    ...each.values,
    ...chosen.values,
    search.limit,
  );
  return foundIn(source, rows);
}

function foundIn({ table }: Source, rows: readonly Omit<Found, "table">[]): Found[] {
  return rows.map((row) => ({ ...row, table }));
}

/** The page and the number of all that fit, in one look at each letter that the filter may mean. */
export async function searchAndCount(
  tx: Tx,
  source: Source,
  search: Search,
): Promise<{ readonly found: readonly Found[]; readonly total: number }> {
  const key = KEY[search.order];
  const { sql, values } = matching(tx, source, search.filter, key);
  const page = pageOf(search, "found");
  const rows = await tx.all<{ total: number; no: number | null; key: string | number }>(
    `WITH found AS MATERIALIZED (SELECT l.no AS no, ${key} AS key ${sql})
     SELECT every.total, page.no, page.key FROM (SELECT count(*) AS total FROM found) every
            LEFT JOIN (${page.sql}) page ON true`,
    ...values,
    ...page.values,
  );
  return {
    found: rows.flatMap(({ no, key }) => (no === null ? [] : { table: source.table, no, key })),
    total: rows[0]?.total ?? 0,
  };
}
