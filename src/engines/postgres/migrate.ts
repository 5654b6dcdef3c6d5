/**
 * Creates or migrates the tables of a PostgreSQL store. If many processes start at once, one of them does it. Every statement
 * that writes checks the schema version.
 */
import pg from "pg";
import { RedriveError } from "../../errors.ts";
import { storeChanged } from "../store-version.ts";
import { MIGRATIONS } from "./schema.ts";
import type { Session, Tx } from "./session.ts";

/** Returns the version that was found; 0 if the store was created. */
export async function migrate(
  session: Session,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<number> {
  const found = await session.prepare(versionOf);
  if (found === SCHEMA_VERSION) return found;
  refuseNewer(session, found);
  if (found === 0 && mustExist) {
    await session.prepare(refuseRenamed);
    throw notThere(session);
  }
  return session.prepare(async (tx) => {
    await tx.all("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", `redrive schema ${tx.schema}`);
    const from = await versionOf(tx); // read again: another process may have migrated while this one waited
    refuseNewer(session, from);
    if (from < SCHEMA_VERSION) await bringUp(tx, from);
    return from;
  });
}

/** Throws if the opened store no longer exists or has another version. */
export async function requireVersion(session: Session): Promise<void> {
  const found = await session.prepare(versionOf);
  if (found === SCHEMA_VERSION) return;
  if (found === 0) throw notThere(session);
  throw storeChanged(session.address.shown, SCHEMA_VERSION, found);
}

/**
 * Returns 0 if there is no store. Reads the catalogue, which shows what other transactions have just
 * committed.
 */
async function versionOf(tx: Tx): Promise<number> {
  const found = await tx.get(
    `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relname = 'store' AND c.relkind = 'r'`,
    tx.schema,
  );
  if (found === undefined) return 0;
  // Qualified with the schema, so that a user without rights gets that error instead of "no such table".
  const store = `${pg.escapeIdentifier(tx.schema)}.store`;
  return (await tx.get<{ version: number }>(`SELECT version FROM ${store}`))?.version ?? 0;
}

async function bringUp(tx: Tx, from: number): Promise<void> {
  if (from === 0) await makeSchema(tx);
  else await tx.script("LOCK TABLE store IN ACCESS EXCLUSIVE MODE"); // waits for every write that has seen the old version
  for (const sql of MIGRATIONS.slice(from)) await tx.script(sql);
  await tx.run("UPDATE store SET version = ?", SCHEMA_VERSION);
}

/**
 * Creates the schema only if it is missing, so that a user without that right can use an existing one.
 * Refuses a schema that contains tables of another program.
 */
async function makeSchema(tx: Tx): Promise<void> {
  const schema = pg.escapeIdentifier(tx.schema);
  const there = await tx.get<{ tables: number }>(
    `SELECT count(c.oid) AS tables FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid
      WHERE n.nspname = ? GROUP BY n.oid`,
    tx.schema,
  );
  if (there !== undefined && there.tables > 0) {
    throw new RedriveError(
      "store_corrupt",
      `The schema ${tx.schema} belongs to another program: it contains other tables.`,
      {
        hint: "Choose another schema with ?schema=NAME in the store URL.",
      },
    );
  }
  if (there === undefined) {
    await refuseRenamed(tx);
    await tx.script(`CREATE SCHEMA ${schema}`);
  }
  await tx.script("CREATE TABLE store (version bigint NOT NULL); INSERT INTO store (version) VALUES (0)");
  await tx.script(`COMMENT ON TABLE store IS ${pg.escapeLiteral(originOf(tx.schema))}`);
}

/** A table comment survives the renaming of a schema, so it identifies the store by its original schema. */
function originOf(schema: string): string {
  return `Redrive store, made in the schema ${schema}`;
}

/** Refuses a second store if the schema was renamed: running work waits and must not find an empty store. */
async function refuseRenamed(tx: Tx): Promise<void> {
  const renamed = await tx.get<{ name: string }>(
    `SELECT n.nspname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = 'store' AND obj_description(c.oid, 'pg_class') = ? LIMIT 1`,
    originOf(tx.schema),
  );
  if (renamed === undefined) return;
  throw new RedriveError(
    "store_unavailable",
    `The schema ${tx.schema} was renamed to ${renamed.name}. No second store was created.`,
    {
      hint: `Name it with ?schema=${renamed.name}, rename it back, or CREATE SCHEMA ${tx.schema} for a new store.`,
    },
  );
}

function notThere({ address: { shown, schema } }: Session): RedriveError {
  return new RedriveError("input_invalid", `There is no store in the schema ${schema} of ${shown}.`, {
    hint: "Check the database and the ?schema= parameter of the URL.",
  });
}

function refuseNewer(session: Session, version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new RedriveError(
    "store_newer",
    `The store ${session.address.shown} has schema version ${version}, but this version of Redrive supports ${SCHEMA_VERSION}.`,
    { hint: "Install a newer version of Redrive." },
  );
}

export const SCHEMA_VERSION = MIGRATIONS.length;

const FOUND = "redrive store version ";

/**
 * Returns an expression that is true while the store has this version, and otherwise fails with an error that
 * `foundVersion` parses. It locks the table until the transaction ends, so that migrations wait.
 */
export function versionHoldsIn(table: string): string {
  return `(SELECT CASE WHEN version = ${SCHEMA_VERSION} THEN true ELSE ('${FOUND}' || version)::boolean END FROM ${table})`;
}

/** The version that the failed expression found. */
export function foundVersion(error: unknown): number | undefined {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "22P02") return undefined;
  const [, version] = new RegExp(`"${FOUND}(\\d+)"`).exec(error.message) ?? [];
  return version === undefined ? undefined : Number(version);
}
