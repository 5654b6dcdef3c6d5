/** The SQL fragments in which PostgreSQL differs from SQLite. */
import type { Dialect } from "../sql/db.ts";
import { ERRORS } from "./migrations/version-2.ts";

/** Leased items `i`, found through the rows of their holders in `leases`; an item may appear twice. */
export const HELD = `leases l CROSS JOIN LATERAL unnest(l.refs) AS r (ref)
  JOIN items i ON i.ref = r.ref AND i.holder = l.holder AND i.state = 'leased'`;

export const DIALECT: Dialect = {
  among: (column, parameter, type = "bigint") => `${column} = ANY (${parameter}::${type}[])`,
  typed: (parameter, type) => `${parameter}::${type}`,
  larger: (a, b) => `greatest(${a}, ${b})`,
  smaller: (a, b) => `least(${a}, ${b})`,
  isRowByRow: false,
  inBytes: (column) => `${column} COLLATE "C"`,
  relation: (name, columns, rows) => ({
    sql: `unnest(${Object.values(columns)
      .map((type) => `?::${type}[]`)
      .join(", ")}) AS ${name} (${Object.keys(columns).join(", ")})`,
    values: Object.keys(columns).map((_, at) => rows.map((row) => row[at] ?? null)),
  }),
  amongSelected: (column, select) => `${column} = ANY (ARRAY (${select}))`,
  jsonArray: (values) => `json_agg(${values})::text`,
  jsonRows: (select, columns) =>
    `(SELECT json_agg(r)::text FROM (SELECT ${columns.join(", ")} FROM (${select}) s) r)`,
  jsonText: (column, key) => `(${column}::json ->> '${key}') COLLATE "C"`,
  lookUp: (table, key, value) => `CROSS JOIN ${seek(table, key, value)}`,
  lookUpAny: (table, key, value) => `LEFT JOIN ${seek(table, key, value)} ON true`,
  element: (list, index) => `(${list}::bigint[])[${index} + 1]`,
  heldBy: (holder) => `SELECT DISTINCT i.ref FROM ${HELD} WHERE l.holder = ${holder}`,
  indexedBy: () => "",
  joinInOrder: "JOIN",
  separately: "OFFSET 0",
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

/** OFFSET 0 forces one index lookup per row: the planner could turn a plain join into a scan of the table. */
function seek(table: string, key: string, value: string): string {
  const [name, alias] = table.split(" ");
  return `LATERAL (SELECT * FROM ${name} WHERE ${key} = ${value} OFFSET 0) ${alias}`;
}
