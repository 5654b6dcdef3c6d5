/** How PostgreSQL writes what the two databases write differently. */
import type { Dialect } from "../sql/db.ts";
import { ERRORS } from "./migrations/version-2.ts";

export const DIALECT: Dialect = {
  among: (column, parameter, type = "bigint") => `${column} = ANY (${parameter}::${type}[])`,
  typed: (parameter, type) => `${parameter}::${type}`,
  larger: (a, b) => `greatest(${a}, ${b})`,
  smaller: (a, b) => `least(${a}, ${b})`,
  inBytes: (column) => `${column} COLLATE "C"`,
  relation: (name, columns, rows) => ({
    sql: `unnest(${Object.values(columns)
      .map((type) => `?::${type}[]`)
      .join(", ")}) AS ${name} (${Object.keys(columns).join(", ")})`,
    values: Object.keys(columns).map((_, at) => rows.map((row) => row[at] ?? null)),
  }),
  amongSelected: (column, select) => `${column} = ANY (ARRAY (${select}))`,
  jsonArray: (values) => `json_agg(${values})::text`,
  jsonText: (column, key) => `(${column}::json ->> '${key}') COLLATE "C"`,
  indexedBy: () => "",
  joinInOrder: "JOIN",
  errors: ERRORS,
  forUpdate: "FOR UPDATE",
  forShare: "FOR SHARE",
  serial: "no",
  queueTotals: "queue_totals",
  selected: "selected",
  letterHeader: {
    ...{ reason: "text", artifacts: "text", poison: "bigint", message: "text" },
    ...{ first_at: "bigint", arrived_at: "bigint", source_signature: "text" },
  },
  lastMessage: "l.message",
};
