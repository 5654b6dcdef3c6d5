/** The servers that a store's URL names: one is used, until it cannot be reached or does not accept writes. */
import pg from "pg";
import type { Address } from "./address.ts";
import { within } from "./sending.ts";
import { isConnectionLoss, isReadOnlyServer, readOnlyServer } from "./trouble.ts";

const VERIFY_MS_MAX = 10_000;
const IS_READ_ONLY = `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS "isReadOnly"`;

export class Servers {
  readonly #connectionStrings: readonly string[];
  /** Its connections lead to the server that is used when they are made. */
  readonly Client: typeof pg.Client;
  #used = 0;

  constructor({ connectionStrings }: Address) {
    this.#connectionStrings = connectionStrings;
    const current = () => this.#current;
    this.Client = class extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super({ ...(typeof config === "object" && config), connectionString: current() });
      }
    };
  }

  /** Tries to connect to one server after the other, beginning with the one that is used. */
  async each<T>(connect: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const tried = this.#used;
      try {
        return await connect();
      } catch (error) {
        if (!isConnectionLoss(error) && !isReadOnlyServer(error)) throw error;
        // Who finds it out at the same moment does not go on twice.
        if (this.#used === tried) this.#used = (tried + 1) % this.#connectionStrings.length;
        if (tries >= this.#connectionStrings.length) throw error;
      }
    }
  }

  /** Rejects when the server does not accept writes. */
  async requireWritable(client: pg.ClientBase): Promise<void> {
    const { rows } = await client.query<{ isReadOnly: boolean }>(within(IS_READ_ONLY, VERIFY_MS_MAX));
    if (rows[0]?.isReadOnly) throw readOnlyServer();
  }

  /** For a pool: the same for each connection that is new. */
  readonly verify = (client: pg.PoolClient, done: (error?: Error) => void): void => {
    this.requireWritable(client).then(() => done(), done);
  };

  get #current(): string {
    return this.#connectionStrings[this.#used] ?? "";
  }
}
