/** The groups of letters in PostgreSQL: how a filter chooses among them, and how they are shown. */
import type { LetterFilter, LetterGroup } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import type { GroupState } from "../../item/group.ts";
import type { Tx, Value } from "./session.ts";

/** Part of a statement, with what is bound to its question marks. */
export interface Conditions {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** What a filter asks of a group `g`. */
export function groupConditions(
  filter: Pick<LetterFilter, "queue" | "types" | "classes" | "signatures" | "eligible">,
): Conditions {
  return allOf([
    filter.queue !== undefined && condition("g.queue = (SELECT no FROM queues WHERE name = ?)", filter.queue),
    filter.types && condition(anyOf("g.error_type"), filter.types),
    filter.classes && condition(anyOf("g.error_class"), filter.classes),
    filter.signatures && condition(anyOf("g.signature"), filter.signatures),
    filter.eligible !== undefined && condition("g.eligible = ?", filter.eligible ? 1 : 0),
  ]);
}

/** That all hold which are given. */
export function allOf(conditions: readonly (Conditions | false | undefined)[]): Conditions {
  const given = conditions.filter((one) => one !== undefined && one !== false);
  return {
    sql: given.length === 0 ? "true" : given.map(({ sql }) => sql).join(" AND "),
    values: given.flatMap(({ values }) => values),
  };
}

export function condition(sql: string, ...values: readonly Value[]): Conditions {
  return { sql, values };
}

/** That the column has a value of the list, which is bound as an array of text. */
export function anyOf(column: string): string {
  return `${column} = ANY(?::text[])`;
}

/** How many letters of the chosen groups are on their way, and not dead. */
export async function countAway(tx: Tx, filter: Parameters<typeof groupConditions>[0]): Promise<number> {
  const { sql, values } = groupConditions(filter);
  const row = await tx.get<{ away: number }>(
    `SELECT coalesce(sum(g.away), 0)::bigint AS away FROM groups g WHERE ${sql}`,
    ...values,
  );
  return row?.away ?? 0;
}

/** As a list, for there may be thousands. */
type GroupRow = readonly [
  queue: string,
  signature: string,
  pattern: string,
  errorType: ErrorTypeName,
  errorClass: ErrorClass,
  count: number,
  firstAt: number,
  lastAt: number,
  algorithm: string,
  state: GroupState,
  isRegression: number,
];

/** Groups of one queue that differ only in judgement are one group to a reader; the first burial names it. */
export async function listGroups(
  tx: Tx,
  filter: { readonly queue?: string; readonly states?: readonly GroupState[] },
): Promise<LetterGroup[]> {
  const { sql, values } = allOf([
    groupConditions(filter),
    filter.states && condition(anyOf("m.state"), filter.states),
  ]);
  const rows = await tx.tuples<GroupRow>(
    `SELECT q.name, g.signature, g.pattern, g.error_type, g.error_class, g.count, g.first_at, g.last_at, g.algorithm,
            m.state, m.is_regression
       FROM groups g JOIN queues q ON q.no = g.queue JOIN group_records m ON m.signature = g.signature
      WHERE ${sql} ORDER BY g.no`,
    ...values,
  );
  const merged = new Map<string, LetterGroup>();
  for (const row of rows) {
    const key = `${row[0]}\n${row[1]}`;
    const known = merged.get(key);
    merged.set(key, known === undefined ? groupOf(row) : together(known, groupOf(row)));
  }
  return [...merged.values()].filter((group) => group.count > 0).sort(byWeight);
}

function groupOf(row: GroupRow): LetterGroup {
  const [
    queue,
    signature,
    pattern,
    errorType,
    errorClass,
    count,
    firstAt,
    lastAt,
    algorithm,
    state,
    isRegression,
  ] = row;
  const said = { queue, signature, pattern, errorType, errorClass, count, firstAt, lastAt, algorithm };
  return { ...said, state, isRegression: isRegression === 1 };
}

function together(first: LetterGroup, other: LetterGroup): LetterGroup {
  return {
    ...first,
    count: first.count + other.count,
    firstAt: Math.min(first.firstAt, other.firstAt),
    lastAt: Math.max(first.lastAt, other.lastAt),
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
