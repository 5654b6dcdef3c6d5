/**
 * The statements that create a SQLite store with its current schema at once, which takes a tenth of the time of all migrations.
 * The build and the tests put them into the code as REDRIVE_NEW_STORE, so that no copy of the schema has to be kept.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { importSource } from "./import-source.mjs";

/** Runs all migrations in memory and reads the schema and the rows that they have built. */
export async function newStoreSql() {
  const { MIGRATIONS } = await importSource("src/engines/sqlite/schema.ts");
  const db = new DatabaseSync(":memory:");
  db.enableDefensive(false); // some migrations rewrite the text of CHECKs
  db.exec(["BEGIN", ...MIGRATIONS, "COMMIT"].join(";\n"));
  const schema = schemaOf(db);
  const statements = [...schema.map(({ sql }) => sql), ...rowsOf(db, schema)];
  db.close();
  return statements.map((sql) => `${sql};\n`).join("");
}

/** In the order in which it was created, tables first, without what SQLite creates by itself. */
function schemaOf(db) {
  const entries = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type <> 'table', rowid",
    )
    .all();
  const virtual = entries.filter(isVirtual);
  return entries.filter(
    ({ name }) => !name.startsWith("sqlite_") && !virtual.some((one) => name.startsWith(`${one.name}_`)),
  );
}

function rowsOf(db, schema) {
  return schema
    .filter((entry) => entry.type === "table" && !isVirtual(entry))
    .flatMap(({ name }) =>
      db
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .map((row) => {
          const values = Object.values(row).map((value) => JSON.stringify(value));
          return `INSERT INTO ${name} (${Object.keys(row).join(", ")}) VALUES (${values.join(", ")})`;
        }),
    );
}

function isVirtual({ sql }) {
  return /^CREATE VIRTUAL TABLE/.test(sql);
}
