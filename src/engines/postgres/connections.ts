/** The connections to one server: lent to one transaction at a time, and never used again after trouble. */
import pg from "pg";
import { WorkError } from "../../errors.ts";
import { type Address, readAddress } from "./address.ts";
import { getTypeParser } from "./column-types.ts";
import { CommitInDoubt } from "./fate.ts";
import { isConnectionLoss, isSilence } from "./trouble.ts";

export interface ConnectionsOptions {
  readonly url: string;
  /** How long a write waits for others. */
  readonly busyMsMax?: number;
  /** Those that several of a process share (`connectionsTo`); who made them ends them. Default: its own. */
  readonly connections?: pg.Pool;
}

const CONNECT_MS_MIN = 2_000;
const CONNECT_MS_MAX = 10_000;

/** For `ConnectionsOptions.connections`. Who waits for little waits no longer for a server that says nothing. */
export function connectionsTo(url: string, busyMsMax = CONNECT_MS_MAX): pg.Pool {
  const address = readAddress(url);
  const connectionTimeoutMillis = Math.min(CONNECT_MS_MAX, Math.max(CONNECT_MS_MIN, busyMsMax));
  const config = { ...configOf(address), connectionTimeoutMillis };
  const pool = new pg.Pool({ ...config, max: address.poolMax, allowExitOnIdle: true });
  pool.on("error", () => {}); // an idle connection was lost; the pool has dropped it
  pool.on("connect", (client) => client.on("error", () => {})); // told by the query that meets it
  return pool;
}

function configOf({ connectionString }: Address): pg.ClientConfig {
  return {
    connectionString,
    fallback_application_name: "redrive",
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    types: { getTypeParser },
  };
}

export class Connections {
  readonly #url: string;
  readonly #address: Address;
  readonly #ownsPool: boolean;
  #pool: pg.Pool;
  #closed = false;

  constructor({ url, busyMsMax, connections }: ConnectionsOptions) {
    this.#url = url;
    this.#address = readAddress(url);
    this.#ownsPool = connections === undefined;
    this.#pool = connections ?? connectionsTo(url, busyMsMax);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** For a connection beside them. */
  config(): pg.ClientConfig {
    return configOf(this.#address);
  }

  /** One that met trouble is not used again. */
  async lend<T>(action: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#closed) throw new WorkError("store_unavailable", `The store ${this.#address.shown} is closed.`);
    const pool = this.#pool;
    const client = await pool.connect();
    try {
      const answer = await action(client);
      client.release();
      return answer;
    } catch (error) {
      const trouble = error instanceof CommitInDoubt ? error.cause : error;
      client.release(!isUsable(client) || isConnectionLoss(trouble));
      if (isSilence(trouble)) this.#distrust(pool);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#ownsPool) await this.#pool.end();
  }

  /**
   * Where one connection is dead without a word, the idle ones are too, and each would be found out only by another wait: from
   * here on all are made anew. Those in use come to their own end.
   */
  #distrust(pool: pg.Pool): void {
    if (!this.#ownsPool || this.#pool !== pool || this.#closed) return;
    this.#pool = connectionsTo(this.#url);
    pool.end().catch(() => {}); // nobody waits for what is dead
  }
}

/** Outside of any transaction, and not in the middle of an answer. */
function isUsable(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() === "I";
}

/** By which the server knows it; a pooler makes one up. */
export function connectionNumber(client: pg.PoolClient): number {
  const number: unknown = Reflect.get(client, "processID");
  return typeof number === "number" ? number : 0;
}
