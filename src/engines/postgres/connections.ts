/** The connection pool of one server. A connection is discarded after an unexpected error. */
import pg from "pg";
import { RedriveError } from "../../errors.ts";
import { type Address, readAddress } from "./address.ts";
import { getTypeParser } from "./arrays.ts";
import { CommitInDoubt } from "./commit-status.ts";
import { hangUp, within } from "./pipelining.ts";
import { Servers } from "./servers.ts";
import { isConnectionLoss, isMissingRight, isReadOnlyServer, isSilence, isUnexpected } from "./trouble.ts";

export interface ConnectionsOptions {
  readonly url: string;
  /** How long a write waits for locks. */
  readonly busyMsMax?: number;
  readonly connectionsMax?: number;
  /**
   * A pool shared by several sessions of a process (`connectionsTo`); its creator ends it. Default: a
   * separate pool.
   */
  readonly connections?: pg.Pool;
}

const CONNECT_MS_MIN = 2_000;
const CONNECT_MS_MAX = 10_000;

/** A pool for `ConnectionsOptions.connections`. With a short `busyMsMax`, connecting times out early too. */
export function connectionsTo(url: string, busyMsMax?: number): pg.Pool {
  const address = readAddress(url);
  return poolOf(address, new Servers(address), busyMsMax);
}

function poolOf(address: Address, servers: Servers, busyMsMax = CONNECT_MS_MAX): pg.Pool {
  const connectionTimeoutMillis = Math.min(CONNECT_MS_MAX, Math.max(CONNECT_MS_MIN, busyMsMax));
  const pool = new pg.Pool({
    ...CONFIG,
    connectionTimeoutMillis,
    max: address.poolMax,
    allowExitOnIdle: true,
    Client: servers.Client,
    ...(address.mustWrite && { verify: servers.verify }),
  });
  pool.on("error", () => {}); // an idle connection was lost; the pool has dropped it
  pool.on("connect", (client) => client.on("error", () => {})); // reported by the query
  return pool;
}

const CONFIG: pg.ClientConfig = {
  fallback_application_name: "redrive",
  pipeline: true,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: CONNECT_MS_MAX,
  types: { getTypeParser },
};

export class Connections {
  readonly #address: Address;
  readonly #servers: Servers;
  readonly #busyMsMax: number | undefined;
  readonly #ownsPool: boolean;
  readonly #spoiled = new WeakSet<pg.PoolClient>();
  /** Connections that were verified to lead to the store of `keepStore`. */
  readonly #verified = new WeakSet<pg.PoolClient>();
  #store: string | undefined;
  #pool: pg.Pool;
  #closed = false;

  constructor({ url, busyMsMax, connections, connectionsMax }: ConnectionsOptions) {
    this.#address = readAddress(url, connectionsMax);
    this.#servers = new Servers(this.#address);
    this.#busyMsMax = busyMsMax;
    this.#ownsPool = connections === undefined;
    this.#pool = connections ?? poolOf(this.#address, this.#servers, busyMsMax);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Opens a connection outside of the pool. The caller ends it. */
  async connect(prepare: (client: pg.Client) => void): Promise<pg.Client> {
    return this.#servers.each(async () => {
      const client = new this.#servers.Client(CONFIG);
      prepare(client);
      try {
        await client.connect();
        if (this.#address.mustWrite) await this.#servers.requireWritable(client);
        return client;
      } catch (error) {
        await hangUp(client);
        throw error;
      }
    });
  }

  /** Discards the connection after an unexpected error. */
  async lend<T>(action: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#closed)
      throw new RedriveError("store_unavailable", `The store ${this.#address.shown} is closed.`);
    const pool = this.#pool;
    const client = await this.#servers.each(() => pool.connect());
    try {
      await this.#requireSameStore(client);
      const answer = await action(client);
      client.release();
      return answer;
    } catch (error) {
      const trouble = error instanceof CommitInDoubt ? error.cause : error;
      const isSpoiled = this.#spoiled.has(client) || !isUsable(client);
      client.release(isSpoiled || isConnectionLoss(trouble) || isUnexpected(trouble));
      if (isSilence(trouble) || isReadOnlyServer(trouble)) this.#distrust(pool);
      throw error;
    }
  }

  /** From now on, refuses connections that lead to another store: an address can move to another server. */
  async keepStore(): Promise<void> {
    this.#store ??= await this.lend((client) => storeBehind(client, this.#address.schema));
  }

  async #requireSameStore(client: pg.PoolClient): Promise<void> {
    if (this.#store === undefined || this.#verified.has(client)) return;
    const found = await storeBehind(client, this.#address.schema);
    if (found === undefined) return; // the schema may be renamed; statements report it
    if (found === this.#store) {
      this.#verified.add(client);
      return;
    }
    throw new RedriveError(
      "store_unavailable",
      `The address of the store ${this.#address.shown} now leads to another database.`,
      {
        hint: "Nothing more was acknowledged. Correct the address, or restart to use the other store.",
        isStoreGone: true,
      },
    );
  }

  /** Ends the connection when it is returned to the pool. */
  spoil(client: pg.PoolClient): void {
    this.#spoiled.add(client);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#ownsPool) await this.#pool.end();
  }

  /**
   * If one connection is dead or leads to a standby, the idle ones probably do too, and each would cost
   * another timeout. So new transactions use new connections, and running ones finish.
   */
  #distrust(pool: pg.Pool): void {
    if (!this.#ownsPool || this.#pool !== pool || this.#closed) return;
    this.#pool = poolOf(this.#address, this.#servers, this.#busyMsMax);
    pool.end().catch(() => {}); // a dead connection is not waited for
  }
}

const STORE_MS_MAX = 10_000;

const CLUSTER = "(SELECT system_identifier FROM pg_control_system())";

/**
 * Returns the cluster, the database and the table of the store; they are the same on a physical standby.
 * Undefined if there is no store.
 */
async function storeBehind(client: pg.PoolClient, schema: string): Promise<string | undefined> {
  const ask = async (cluster: string) => {
    const text = `SELECT concat_ws(' ', ${cluster}, d.oid, c.oid) AS store
      FROM pg_database d, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE d.datname = current_database() AND c.relname = 'store' AND n.nspname = $1`;
    const { rows } = await client.query<{ store: string }>({
      ...within(text, STORE_MS_MAX),
      values: [schema],
    });
    return rows[0]?.store;
  };
  return ask(CLUSTER).catch((error: unknown) => {
    if (isMissingRight(error)) return ask("NULL"); // some hosted servers deny access to it
    throw error;
  });
}

/** Whether no transaction and no statement is open. */
function isUsable(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() === "I";
}

/** The server's process id for the connection. A pooler invents one. */
export function connectionNumber(client: pg.PoolClient): number {
  const number: unknown = Reflect.get(client, "processID");
  return typeof number === "number" ? number : 0;
}
