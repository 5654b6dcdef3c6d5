/** Builds conditions of WHERE clauses from filters. */
import type { LetterFilter } from "../../engine.ts";
import type { Dialect, Fragment, SqlValue } from "./db.ts";

/** The conditions of a filter on a group `g`. */
export function groupConditions(
  sql: Dialect,
  filter: Pick<LetterFilter, "queue" | "types" | "classes" | "signatures" | "eligible">,
): Fragment {
  return allOf([
    filter.queue !== undefined && condition("g.queue = (SELECT no FROM queues WHERE name = ?)", filter.queue),
    filter.types && condition(sql.among("g.error_type", "?", "text"), filter.types),
    filter.classes && condition(sql.among("g.error_class", "?", "text"), filter.classes),
    filter.signatures && condition(sql.among("g.signature", "?", "text"), filter.signatures),
    filter.eligible !== undefined && condition("g.eligible = ?", filter.eligible ? 1 : 0),
  ]);
}

/** Joins conditions with AND; skips those that are false or undefined. */
export function allOf(conditions: readonly (Fragment | false | undefined)[]): Fragment {
  const given = conditions.filter((one) => one !== undefined && one !== false);
  return {
    sql: given.length === 0 ? "true" : given.map(({ sql }) => sql).join(" AND "),
    values: given.flatMap(({ values }) => values),
  };
}

export function condition(sql: string, ...values: readonly SqlValue[]): Fragment {
  return { sql, values };
}
