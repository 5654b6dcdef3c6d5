/** PostgreSQL stores for tests, each in its own schema. A store can be reopened or opened twice. Schemas are reused. */
import pg from "pg";
import type { Engine } from "../../src/engine.ts";
import { connectionsTo } from "../../src/engines/postgres/connections.ts";
import { openPostgresEngine } from "../../src/engines/postgres/open.ts";
import { assert } from "../../src/std/assert.ts";
import type { Clock } from "../../src/std/clock.ts";
import { randomName } from "../../src/std/random.ts";

interface Place {
  readonly schema: string;
  readonly clock: Clock | undefined;
}

/** The server URL of this run; see postgres.ts. */
export function postgresServerUrl(): string {
  const url = process.env.REDRIVE_TEST_POSTGRES;
  assert(url, "REDRIVE_TEST_POSTGRES is not set");
  return url;
}

/** The URL of a store in that schema, with optional further parameters. */
export function postgresUrl(schema: string, parameters: Readonly<Record<string, string>> = {}): string {
  const url = new URL(postgresServerUrl());
  for (const [name, value] of Object.entries({ schema, ...parameters })) url.searchParams.set(name, value);
  return url.href;
}

/** Runs a statement on the server without the engine. */
export async function askPostgres<Row extends pg.QueryResultRow>(
  sql: string,
  ...values: readonly unknown[]
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgresServerUrl() });
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** The caller must call `remove` at the end. */
export function postgresStores() {
  const places = new WeakMap<Engine, Place>();
  /** How many engines have each schema open; 0 if it can be reused. */
  const users = new Map<string, number>();
  let connections: pg.Pool | undefined;
  const cleaner = new Cleaner();

  const openAt = async (place: Place): Promise<Engine> => {
    const { schema, clock } = place;
    users.set(schema, (users.get(schema) ?? 0) + 1);
    // A new connection has to plan every statement again, so the stores of a test file share theirs.
    connections ??= connectionsTo(postgresUrl(schema, { pool: "8" }));
    const engine = await openPostgresEngine({
      url: postgresUrl(schema),
      connections,
      ...(clock && { clock }),
    });
    const counted = { ...engine, close: once(() => leave(schema, engine)) };
    places.set(counted, place);
    return counted;
  };
  const leave = async (schema: string, engine: Engine) => {
    await engine.close();
    users.set(schema, (users.get(schema) ?? 1) - 1);
  };
  const join = (engine: Engine): Promise<Engine> => {
    const place = places.get(engine);
    assert(place, "the engine was not opened here");
    return openAt(place);
  };

  return {
    /** Uses the database's clock if none is given. */
    open: async (clock?: Clock) => {
      const free = [...users].find(([, count]) => count === 0)?.[0];
      if (free !== undefined) await cleaner.empty(free);
      return openAt({ schema: free ?? `test_${randomName(10)}`, clock });
    },
    join,
    reopen: async (engine: Engine) => {
      const next = await join(engine);
      await engine.close();
      return next;
    },
    /** A client as any program has one: it knows nothing of the store's schema. */
    connect: async (_: Engine) => {
      const connection = new pg.Client({ connectionString: postgresServerUrl() });
      await connection.connect();
      return {
        connection,
        execute: async (sql: string) => {
          await connection.query(sql);
        },
        close: () => connection.end(),
      };
    },
    schemaOf: (engine: Engine) => places.get(engine)?.schema ?? "",
    remove: async () => {
      await connections?.end();
      connections = undefined;
      await cleaner.end();
      for (const schema of users.keys()) await dropSchema(schema);
      users.clear();
    },
  };
}

export async function dropSchema(schema: string): Promise<void> {
  await askPostgres(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}

/** Resets schemas to their initial state over one connection, which is much faster than creating the tables again. */
class Cleaner {
  #client: pg.Client | undefined;
  /** The reset statements by schema. */
  readonly #scripts = new Map<string, string>();

  async empty(schema: string): Promise<void> {
    const client = this.#client ?? new pg.Client({ connectionString: postgresServerUrl() });
    if (this.#client === undefined) await client.connect();
    this.#client = client;
    const script = this.#scripts.get(schema) ?? (await this.#scriptFor(client, schema));
    await client.query(script);
  }

  async end(): Promise<void> {
    await this.#client?.end();
    this.#client = undefined;
  }

  async #scriptFor(client: pg.Client, schema: string): Promise<string> {
    const { rows } = await client.query<{ text: string }>(EMPTYING, [schema]);
    const script = rows.map(({ text }) => text).join("; ");
    this.#scripts.set(schema, script);
    return script;
  }
}

/** Disables foreign keys while tables are emptied in any order. */
const EMPTYING = `
  SELECT format('SET search_path TO %I; SET session_replication_role TO replica', $1::text) AS text
  UNION ALL SELECT 'DELETE FROM ' || quote_ident(tablename) FROM pg_tables
             WHERE schemaname = $1 AND tablename NOT IN ('store')
  UNION ALL SELECT 'INSERT INTO letter_numbers DEFAULT VALUES'
  UNION ALL SELECT format('SELECT setval(%L, 1, false)', sequencename) FROM pg_sequences WHERE schemaname = $1`;
