/** The servers that a store's URL names: one is used, until it cannot be reached or does not accept writes. */
import { Socket } from "node:net";
import pg from "pg";
import type { Address } from "./address.ts";
import { within } from "./pipelining.ts";
import { isConnectionLoss, isReadOnlyServer, readOnlyServer, unreadableAnswer } from "./trouble.ts";

const VERIFY_MS_MAX = 10_000;
const IS_READ_ONLY = `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS "isReadOnly"`;

/**
 * A server answers first about TLS (S, N), a login (R), an error (E) or its version (v). What begins otherwise, such as
 * HTTP, would be read as a message of gigabytes that never comes to its end.
 */
const FIRST_BYTES = Buffer.from("SNREv");

/**
 * `pg` throws where the bytes arrive when it cannot read them, and nobody could catch that. Here such a connection is lost,
 * like any other whose server is of no use.
 */
class ReadableOrLost extends Socket {
  #isFirst = true;

  override on(name: string, listener: (...args: never[]) => void): this {
    const heard = listener as (...args: unknown[]) => void;
    return super.on(name, name === "data" ? (...args: unknown[]) => this.#read(heard, args) : heard);
  }

  #read(listener: (...args: unknown[]) => void, args: unknown[]): void {
    const [bytes] = args;
    if (this.#isFirst && Buffer.isBuffer(bytes) && !FIRST_BYTES.includes(bytes[0] ?? 0)) {
      this.destroy(unreadableAnswer(new Error("another service listens there")));
      return;
    }
    this.#isFirst = false;
    try {
      listener(...args);
    } catch (error) {
      this.destroy(unreadableAnswer(error));
    }
  }
}

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
        super({
          ...(typeof config === "object" && config),
          connectionString: current(),
          stream: () => new ReadableOrLost(),
        });
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
