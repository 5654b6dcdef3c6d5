/**
 * Slows the steps of bulk commands down by a trigger in the store: however slow or busy the machine is, a test has
 * seconds to see that a command is in the middle of its work.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import type { Workshop } from "./workshop.ts";

/**
 * Each step of an operation that has processed this many letters takes about a second longer. The store must exist;
 * the returned function removes the trigger.
 */
export function slowStepsAfter(shop: Workshop, done: number): Promise<() => Promise<void>> {
  return shop.isOnPostgres ? slowOnServer(shop.storeUrl, done) : slowInFile(shop.storePath, done);
}

/** SQLite cannot sleep, but it can count. */
const COUNTED = 3_000_000;

async function slowInFile(path: string, done: number): Promise<() => Promise<void>> {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA busy_timeout = 10000;
    CREATE TRIGGER slow AFTER UPDATE OF done ON operations WHEN old.done >= ${done} BEGIN
      SELECT max(n) FROM (
        WITH RECURSIVE counted(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < ${COUNTED})
        SELECT n FROM counted
      );
    END`);
  return async () => {
    db.exec("DROP TRIGGER slow");
    db.close();
  };
}

async function slowOnServer(url: string, done: number): Promise<() => Promise<void>> {
  const schema = pg.escapeIdentifier(new URL(url).searchParams.get("schema") ?? "redrive");
  const server = new URL(url);
  server.search = "";
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  await client.query(`
    CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE UPDATE OF done ON ${schema}.operations
      FOR EACH ROW WHEN (old.done >= ${done}) EXECUTE FUNCTION ${schema}.slow()`);
  return async () => {
    await client.query(`DROP FUNCTION ${schema}.slow() CASCADE`);
    await client.end();
  };
}
