/** Lists groups of letters. */
import type { LetterGroup } from "../../engine.ts";
import type { ErrorClass, ErrorTypeName } from "../../item/error-type.ts";
import type { GroupState } from "../../item/group.ts";
import { allOf, condition, groupConditions } from "./conditions.ts";
import type { Db, Step } from "./db.ts";

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

/** Merges groups of one queue and signature that differ only in classification; the first one names the result. */
export function* listGroups(
  db: Db,
  filter: { readonly queue?: string; readonly states?: readonly GroupState[] },
): Step<LetterGroup[]> {
  const { sql, values } = allOf([
    groupConditions(db.sql, filter),
    filter.states && condition(db.sql.among("m.state", "?", "text"), filter.states),
  ]);
  const rows = yield* db.all<GroupRow>(
    `SELECT q.name AS queue, g.signature, g.pattern, g.error_type, g.error_class, g.count, g.first_at, g.last_at,
            g.algorithm, m.state, m.is_regression
       FROM groups g ${db.sql.joinInOrder} queues q ON q.no = g.queue ${db.sql.joinInOrder} group_records m ON m.signature = g.signature
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
