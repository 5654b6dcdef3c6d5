/** A store that is created at once has the same schema and rows as one that all migrations have built. */
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, it } from "vitest";
import { newStoreSql } from "../../../scripts/new-store.mjs";
import { MIGRATIONS } from "../../../src/engines/sqlite/schema.ts";

/** The schema that the statements build, and the rows of each table. */
function built(steps: readonly string[]) {
  const db = new DatabaseSync(":memory:");
  db.enableDefensive(false);
  db.exec("BEGIN");
  for (const sql of steps) db.exec(sql);
  db.exec("COMMIT");
  const entries = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all();
  // A renamed virtual table has other quotes around the names of its own tables.
  const schema = entries.map((entry) => ({ ...entry, sql: String(entry.sql).replaceAll(/["']/g, "") })) as {
    readonly type: string;
    readonly name: string;
  }[];
  const rows = schema
    .filter(({ type }) => type === "table")
    .map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
  return { schema, rows };
}

it("has the schema and the rows that the migrations produce", async () => {
  const { schema, rows } = built([await newStoreSql()]);
  const migrated = built(MIGRATIONS);
  expect(schema.length).toBeGreaterThan(60);
  expect(schema).toEqual(migrated.schema);
  expect(rows).toEqual(migrated.rows);
});
