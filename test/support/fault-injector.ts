/** Makes single queries of a PostgreSQL engine fail: in the server, or in this process after the server has run them. */
import type pg from "pg";
import { connectionsTo } from "../../src/engines/postgres/connections.ts";

const RAISE = "DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = 'HV000'; END $$";

type Query = (...args: unknown[]) => unknown;

export class FaultInjector {
  /** The pool to pass to `openPostgresEngine`. */
  readonly connections: pg.Pool;
  /** How many queries were made to fail. */
  failures = 0;
  /** How many queries were sent. */
  queries = 0;
  #left = 0;
  #isMet: (text: string) => boolean = () => true;
  #fail: (query: Query, args: unknown[]) => unknown = raise;

  constructor(url: string) {
    this.connections = connectionsTo(url);
    this.connections.on("connect", (client) => this.#intercept(client));
  }

  /** Replaces the given query with a failing statement; 1 is the next query, 0 turns this off. */
  failAt(query: number): void {
    this.#arm(query, () => true, raise);
  }

  /** Makes only the next BEGIN fail. */
  failAtBeginning(): void {
    this.#arm(1, (text) => text.startsWith("BEGIN"), raise);
  }

  /** Lets the server run the next COMMIT, then throws the error in this process. */
  failAfterCommit(error: Error): void {
    this.#arm(
      1,
      (text) => text === "COMMIT",
      async (query, args) => {
        await query(...args);
        throw error;
      },
    );
  }

  #arm(
    left: number,
    isMet: (text: string) => boolean,
    fail: (query: Query, args: unknown[]) => unknown,
  ): void {
    this.#left = left;
    this.#isMet = isMet;
    this.#fail = fail;
  }

  #intercept(client: pg.PoolClient): void {
    const query = client.query.bind(client) as Query;
    const intercepted: Query = (...args) => {
      this.queries += 1;
      if (this.#left === 0 || !this.#isMet(textOf(args[0]))) return query(...args);
      this.#left -= 1;
      if (this.#left > 0) return query(...args);
      this.failures += 1;
      return this.#fail(query, args);
    };
    Reflect.set(client, "query", intercepted);
  }
}

function raise(query: Query): unknown {
  return query({ text: RAISE });
}

function textOf(query: unknown): string {
  const text: unknown = typeof query === "object" && query ? Reflect.get(query, "text") : query;
  return typeof text === "string" ? text : "";
}
