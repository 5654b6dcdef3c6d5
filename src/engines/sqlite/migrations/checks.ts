/** CHECKs that a column has one of a few values, in two forms, and how a later version gives an older table another one. */

/** As the tables of the first versions have it. SQLite makes a table of its own for the list, and looks there for each row. */
export const oneOf = (column: string, values: readonly string[]) =>
  `CHECK (${column} IN (${values.map((value) => `'${value}'`).join(", ")}))`;

/** The same as plain comparisons, which cost a third: for tables that are written all the time. */
export const anyOf = (column: string, values: readonly string[]) =>
  `CHECK (${values.map((value) => `${column} = '${value}'`).join(" OR ")})`;

/**
 * Puts other CHECKs into tables without copying a row, as SQLite's documentation of ALTER TABLE has it. The new ones must
 * hold for every row of the old ones. A connection does this only when it is not defensive.
 */
export function restate(changes: readonly (readonly [table: string, from: string, to: string])[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const updates = changes.map(
    ([table, from, to]) => `UPDATE sqlite_schema SET sql = replace(sql, ${quoted(from)}, ${quoted(to)})
   WHERE type = 'table' AND name = '${table}';`,
  );
  return `PRAGMA writable_schema = ON;
  ${updates.join("\n  ")}
  PRAGMA writable_schema = RESET;`;
}
