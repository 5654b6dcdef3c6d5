/** The SQL dialect of SQLite. */
import type { Dialect } from "../sql/db.ts";
import { ERRORS } from "./migrations/version-3.ts";

export const DIALECT: Dialect = {
  among: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  typed: (parameter) => parameter,
  larger: (a, b) => `max(${a}, ${b})`,
  smaller: (a, b) => `min(${a}, ${b})`,
  isRowByRow: true,
  inBytes: (column) => column,
  relation: (name, columns, rows) => ({
    sql: `(SELECT ${Object.keys(columns)
      .map((column, at) => `value ->> ${at} AS ${column}`)
      .join(", ")} FROM json_each(?)) AS ${name}`,
    values: [JSON.stringify(rows)],
  }),
  amongSelected: (column, select) => `${column} IN (${select})`,
  jsonArray: (values) => `json_group_array(${values})`,
  jsonRows: (select, columns) =>
    `(SELECT json_group_array(json_object(${columns.map((name) => `'${name}', ${name}`).join(", ")})) FROM (${select}))`,
  jsonText: (column, key) => `${column} ->> '${key}'`,
  lookUp: (table, key, value) => `CROSS JOIN ${table} ON ${aliasOf(table)}.${key} = ${value}`,
  lookUpAny: (table, key, value) => `LEFT JOIN ${table} ON ${aliasOf(table)}.${key} = ${value}`,
  element: (list, index) => `json_extract(${list}, '$[' || ${index} || ']')`,
  heldBy: (holder) => `SELECT i.ref FROM items i WHERE i.holder = ${holder} AND i.state = 'leased'`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  joinInOrder: "CROSS JOIN",
  separately: "LIMIT -1",
  errors: ERRORS,
  forUpdate: "", // write transactions are exclusive
  forShare: "",
  serial: "rowid",
  queueTotals: "queues",
  selected: "selections",
  letterHeader: {
    ...{ reason: "text", artifacts: "text", poison: "bigint" },
    ...{ first_at: "bigint", arrived_at: "bigint", source_signature: "text" },
  },
  // Only corrections need the message, so it is not read without them.
  lastMessage: `CASE WHEN EXISTS (SELECT 1 FROM corrections) THEN
    (SELECT json_extract(a.failure, '$.error_message') FROM attempts a
      WHERE a.ref = l.ref AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1) END`,
};

function aliasOf(table: string): string {
  return table.slice(table.lastIndexOf(" ") + 1);
}
