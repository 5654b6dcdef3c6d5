/**
 * The servers in a store URL. All connections go to one of them until it cannot be reached or does not accept
 * writes.
 */
import { Socket } from "node:net";
import pg from "pg";
import type { Address } from "./address.ts";
import { within } from "./pipelining.ts";
import { isConnectionLoss, isReadOnlyServer, readOnlyServer, unreadableAnswer } from "./trouble.ts";

const VERIFY_MS_MAX = 10_000;
const IS_READ_ONLY = `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS "isReadOnly"`;

/**
 * The first byte of a server's answer: TLS (S, N), login (R), error (E) or version (v). Any other byte, for
 * example from an HTTP server, would be read as the length of a huge message.
 */
const FIRST_BYTES = Buffer.from("SNREv");

/**
 * `pg` throws on invalid bytes where no caller can catch the error. This socket treats such a connection as
 * lost.
 */
class ReadableOrLost extends Socket {
  #isFirst = true;

  override on(name: string, listener: (...args: never[]) => void): this {
    const original = listener as (...args: unknown[]) => void;
    return super.on(name, name === "data" ? (...args: unknown[]) => this.#read(original, args) : original);
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
  /** New connections go to the current server. */
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

  /** Tries to connect to one server after another, starting with the current one. */
  async each<T>(connect: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const tried = this.#used;
      try {
        return await connect();
      } catch (error) {
        if (!isConnectionLoss(error) && !isReadOnlyServer(error)) throw error;
        // Two callers that fail at the same time advance only once.
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

  /** For a pool: the same check for each new connection. */
  readonly verify = (client: pg.PoolClient, done: (error?: Error) => void): void => {
    this.requireWritable(client).then(() => done(), done);
  };

  get #current(): string {
    return this.#connectionStrings[this.#used] ?? "";
  }
}
