/** The groups of letters in SQLite: how a filter chooses among them, and how they are shown. */
import type { LetterFilter, LetterGroup } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import type { GroupState } from "../../item/group.ts";
import type { Session, Value } from "./session.ts";

/** Part of a WHERE clause, with what is bound to its question marks. */
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
    filter.types && condition(anyOf("g.error_type"), JSON.stringify(filter.types)),
    filter.classes && condition(anyOf("g.error_class"), JSON.stringify(filter.classes)),
    filter.signatures && condition(anyOf("g.signature"), JSON.stringify(filter.signatures)),
    filter.eligible !== undefined && condition("g.eligible = ?", filter.eligible ? 1 : 0),
  ]);
}

/** That all hold which are given. */
export function allOf(conditions: readonly (Conditions | false | undefined)[]): Conditions {
  const given = conditions.filter((one) => one !== undefined && one !== false);
  return {
    sql: given.length === 0 ? "1" : given.map(({ sql }) => sql).join(" AND "),
    values: given.flatMap(({ values }) => values),
  };
}

export function condition(sql: string, ...values: readonly Value[]): Conditions {
  return { sql, values };
}

/** That the column has a value of the list, which is given as a JSON array. */
export function anyOf(column: string): string {
  return `${column} IN (SELECT value FROM json_each(?))`;
}

interface GroupRow {
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly error_type: ErrorTypeName;
  readonly error_class: ErrorClass;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
  readonly algorithm: string;
  readonly state: GroupState;
  readonly is_regression: number;
}

/** Groups of one queue that differ only in judgement are one group to a reader; the first burial names it. */
export function listGroups(
  session: Session,
  filter: { readonly queue?: string; readonly states?: readonly GroupState[] },
): LetterGroup[] {
  const { sql, values } = allOf([
    groupConditions(filter),
    filter.states && condition(anyOf("m.state"), JSON.stringify(filter.states)),
  ]);
  const rows = session.all<GroupRow>(
    `SELECT q.name AS queue, g.signature, g.pattern, g.error_type, g.error_class, g.count, g.first_at, g.last_at,
            g.algorithm, m.state, m.is_regression
       FROM groups g CROSS JOIN queues q ON q.no = g.queue CROSS JOIN group_records m ON m.signature = g.signature
      WHERE ${sql} ORDER BY g.no`,
    ...values,
  );
  const merged = new Map<string, LetterGroup>();
  for (const row of rows) {
    const key = `${row.queue}\n${row.signature}`;
    const first = merged.get(key) ?? newGroup(row);
    merged.set(key, {
      ...first,
      count: first.count + row.count,
      firstAt: Math.min(first.firstAt, row.first_at),
      lastAt: Math.max(first.lastAt, row.last_at),
    });
  }
  return [...merged.values()].filter((group) => group.count > 0).sort(byWeight);
}

function newGroup(row: GroupRow): LetterGroup {
  return {
    queue: row.queue,
    signature: row.signature,
    pattern: row.pattern,
    errorType: row.error_type,
    errorClass: row.error_class,
    count: 0,
    firstAt: row.first_at,
    lastAt: row.last_at,
    state: row.state,
    isRegression: row.is_regression === 1,
    algorithm: row.algorithm,
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
