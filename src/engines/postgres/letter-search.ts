/**
 * Translates letter filters to SQL. Waiting and resolved letters are in different tables, so a search queries every source
 * that the states of the filter need.
 */
import type { LetterFilter, LetterSearch } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { foldMessage } from "../sql/bury.ts";
import { allOf, condition, groupConditions } from "../sql/conditions.ts";
import type { Db, Fragment, MatchingLetters, Step } from "../sql/db.ts";
import { conditionSql } from "../sql/letter-condition.ts";
import {
  DEAD,
  type Found,
  type LettersFound,
  pageOf,
  ROWS,
  type Search,
  type Source,
  sourcesOf,
  TIME_OF,
  WAITING,
} from "../sql/letter-search.ts";
import { DIALECT } from "./dialect.ts";
import { POSTGRES_JSON } from "./json-values.ts";
import type { Tx } from "./session.ts";

/** FROM and WHERE for letters `l` of a source. Joins items `i` and groups `g` only if the filter or `columns` use them. */
export function matching(
  { now }: { readonly now: number },
  source: Source,
  filter: LetterSearch,
  columns: string,
): LettersFound {
  const decision = filter.condition && conditionSql(POSTGRES_JSON, filter.condition);
  const { sql, values } = allOf([
    groupConditions(DIALECT, filter),
    condition(source.condition),
    source.index !== undefined && condition("g.in_retry > 0"),
    filter.itemIds && ofItems(filter, filter.itemIds),
    dependsOnAge(filter) && aged(filter, now),
    filter.attemptsMin !== undefined && condition("i.attempts >= ?", filter.attemptsMin),
    filter.attemptsMax !== undefined && condition("i.attempts <= ?", filter.attemptsMax),
    filter.text !== undefined && condition("strpos(l.message, ?) > 0", foldMessage(filter.text)),
  ]);
  const joins = `${joinsFor(columns, sql, decision?.sql ?? "")} ${decision?.joins ?? ""}`;
  return {
    sql: `FROM ${source.table} l ${joins} WHERE ${sql}`,
    values,
    ...(decision && { condition: decision }),
  };
}

/** If no letter of the chosen groups is in retry, all are dead, and no item is read. */
export function* lettersMatching(db: Db, filter: LetterFilter): Step<readonly MatchingLetters[]> {
  const found: MatchingLetters[] = [];
  for (const source of sourcesOf(filter)) {
    const isAllDead = source === DEAD && (yield* countInRetry(db, filter)) === 0;
    const state = isAllDead ? "'dead'" : "i.state";
    found.push({ ...matching(db, isAllDead ? WAITING : source, filter, state), state });
  }
  return found;
}

function* countInRetry(db: Db, filter: LetterFilter): Step<number> {
  const { sql, values } = groupConditions(DIALECT, filter);
  const row = yield* db.get<{ in_retry: number }>(
    `SELECT coalesce(sum(g.in_retry), 0)::bigint AS in_retry FROM groups g WHERE ${sql}`,
    ...values,
  );
  return row?.in_retry ?? 0;
}

/** Joins only the tables that the given SQL uses. */
export function joinsFor(...asked: readonly string[]): string {
  const isAsked = (table: RegExp) => asked.some((sql) => table.test(sql));
  const group = isAsked(/\bg\./) ? "JOIN groups g ON g.no = l.grp" : "";
  const item = isAsked(/\bi\./) ? "JOIN items i ON i.ref = l.ref" : "";
  return `${group} ${item}`;
}

/** The index on item ids starts with the queue, so the condition names all queues. */
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

/** A condition on the age of the letters `l`. */
export function aged(filter: LetterFilter, now: number): Fragment {
  const time = TIME_OF[filter.ageOf ?? "first"];
  const { after, until } = ageBounds(filter, now);
  return allOf([
    after !== undefined && condition(`${time} > ?`, after),
    until !== undefined && condition(`${time} <= ?`, until),
    // A letter arrives after its burial, so this condition is always true and allows the index on
    // `buried_at`.
    until !== undefined && filter.ageOf === "arrival" && condition("l.buried_at <= ?", until),
  ]);
}

/** A page in the order of item ids. Reads each queue in index order and merges the results. */
export async function searchByItem(tx: Tx, source: Source, search: Search): Promise<Found[]> {
  const { queue, ...filter } = search.filter;
  const { sql, values } = matching(tx, source, filter, "i.item_id");
  const each = pageOf(
    search,
    `(SELECT l.no AS no, i.item_id AS key, 0 AS undecided ${sql} AND i.queue = q.no) found`,
  );
  const chosen = queue === undefined ? condition("true") : condition("q.name = ?", queue);
  const rows = await tx.all<Omit<Found, "table">>(
    `SELECT page.no, page.key FROM queues q CROSS JOIN LATERAL (${each.sql}) page WHERE ${chosen.sql}
      ORDER BY ${ROWS[search.order]} LIMIT ?`,
    ...values,
    ...each.values,
    ...chosen.values,
    search.limit,
  );
  return rows.map((row) => ({ ...row, table: source.table }));
}
