/** How a session speaks to a connection: what goes out together, and for how long it is waited for. */
import { Writable } from "node:stream";
import type pg from "pg";
import type { Tx } from "./tx.ts";

/** Steps that begin when the beginning is answered. */
export function afterStart<T>(steps: (tx: Tx) => Promise<T>): (tx: Tx) => Promise<T> {
  return async (tx) => {
    await tx.begun();
    return steps(tx);
  };
}

/** What is sent in one go is written in one go: each writing wakes the server up. */
export function send(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const stream = streamOf(client);
  if (stream !== undefined && stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  return client.query(query);
}

function streamOf(client: pg.PoolClient): Writable | undefined {
  const connection: unknown = Reflect.get(client, "connection");
  const stream: unknown = typeof connection === "object" && connection && Reflect.get(connection, "stream");
  return stream instanceof Writable ? stream : undefined;
}

/** Statements that wait until all are known, and go out together. */
export class Outbox {
  readonly #held: (() => Promise<void>)[] = [];

  get count(): number {
    return this.#held.length;
  }

  hold<T>(sending: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#held.push(() => sending().then(resolve, reject));
    });
  }

  /** Resolves when each is answered; who holds its promise is told what. */
  async send(): Promise<void> {
    await Promise.all(this.#held.map((sending) => sending()));
  }
}

const HANG_UP_MS_MAX = 1_000;

/** Ends a connection beside the pool. One that is dead does not say goodbye, and is not waited for. */
export async function hangUp(client: pg.Client & { unref?(): void }): Promise<void> {
  client.unref?.(); // nor does the process wait for it
  await Promise.race([
    client.end().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, HANG_UP_MS_MAX)),
  ]);
}

/** A statement without values that is waited for no longer than that. */
export function within(text: string, timeoutMs: number): pg.QueryConfig & { readonly query_timeout: number } {
  return { text, query_timeout: timeoutMs };
}
