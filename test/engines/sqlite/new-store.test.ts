/** A store that is created at once has the same schema and rows as one that all migrations have built. */
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, it } from "vitest";
import { NEW_STORE, NEW_STORE_VERSION } from "../../../src/engines/sqlite/new-store.ts";
import { MIGRATIONS } from "../../../src/engines/sqlite/schema.ts";

type Database = InstanceType<typeof DatabaseSync>;

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly sql: string | null;
}

/** Runs the statements as a store does when it changes its schema. */
function built(steps: readonly string[]): Database {
  const db = new DatabaseSync(":memory:");
  db.enableDefensive(false);
  db.exec("BEGIN");
  for (const sql of steps) db.exec(sql);
  db.exec("COMMIT");
  return db;
}

/** The schema in the order in which it was created, without what SQLite creates by itself. */
function schemaOf(db: Database): readonly Entry[] {
  const entries = db
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
    .all() as unknown as Entry[];
  const virtual = entries.filter(({ sql }) => /^CREATE VIRTUAL TABLE/.test(sql ?? ""));
  return entries.filter(
    ({ name }) => !name.startsWith("sqlite_") && !virtual.some((one) => name.startsWith(`${one.name}_`)),
  );
}

/** The rows that a new store has, as statements. */
function rowsOf(db: Database, schema: readonly Entry[]): readonly string[] {
  return schema
    .filter(({ type, sql }) => type === "table" && !/^CREATE VIRTUAL TABLE/.test(sql ?? ""))
    .flatMap(({ name }) =>
      (db.prepare(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[]).map((row) => {
        const values = Object.values(row).map((value) => JSON.stringify(value));
        return `INSERT INTO ${name} (${Object.keys(row).join(", ")}) VALUES (${values.join(", ")})`;
      }),
    );
}

const byName = (schema: readonly Entry[]) => [...schema].sort((a, b) => (a.name < b.name ? -1 : 1));

if (process.env.REDRIVE_UPDATE_SCHEMA) {
  const migrated = built(MIGRATIONS);
  const schema = schemaOf(migrated);
  const tables = schema.filter(({ type }) => type === "table");
  const others = schema.filter(({ type }) => type !== "table");
  write("tables", "The tables of a new store, and the rows that it has.", [
    ...tables.map(({ sql }) => sql ?? ""),
    ...rowsOf(migrated, schema),
  ]);
  write(
    "indexes",
    "The indexes and triggers of a new store.",
    others.map(({ sql }) => sql ?? ""),
  );
}

function write(what: string, title: string, statements: readonly string[]): void {
  const path = new URL(`../../../src/engines/sqlite/new-store-${what}.ts`, import.meta.url);
  const texts = statements.map((sql) => `  \`${sql.replaceAll(/[`\\$]/g, "\\$&")}\`,\n`);
  const header = `/** ${title} Generated from the migrations by \`npm run schema\`. */`;
  writeFileSync(path, `${header}\nexport const NEW_STORE_${what.toUpperCase()} = [\n${texts.join("")}];\n`);
}

it("has the schema and the rows that the migrations have built", () => {
  const atOnce = built([NEW_STORE]);
  const migrated = built(MIGRATIONS.slice(0, NEW_STORE_VERSION));
  expect(byName(schemaOf(atOnce))).toEqual(byName(schemaOf(migrated)));
  expect(rowsOf(atOnce, schemaOf(atOnce))).toEqual(rowsOf(migrated, schemaOf(migrated)));
});

it("is current: after a new migration, set NEW_STORE_VERSION and run `npm run schema`", () => {
  expect(NEW_STORE_VERSION).toBe(MIGRATIONS.length);
});
