/** Sends statements in batches over a connection, with timeouts. */
import { Writable } from "node:stream";
import type pg from "pg";
import type { Tx } from "./tx.ts";

/** Wraps steps so that they start after BEGIN is answered. */
export function afterStart<T>(steps: (tx: Tx) => Promise<T>): (tx: Tx) => Promise<T> {
  return async (tx) => {
    await tx.begun();
    return steps(tx);
  };
}

/** Writes statements of the same tick to the socket together, because each write wakes the server. */
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

/** Collects statements and sends them together. */
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

  /** Sends the collected statements and resolves when all are answered. An error rejects only the promise of its statement. */
  async send(): Promise<void> {
    await Promise.all(this.#held.map((sending) => sending()));
  }
}

const HANG_UP_MS_MAX = 1_000;

/** Ends a connection outside of the pool without waiting for a dead one. */
export async function hangUp(client: pg.Client & { unref?(): void }): Promise<void> {
  client.unref?.(); // the process does not wait for it
  await Promise.race([
    client.end().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, HANG_UP_MS_MAX)),
  ]);
}

/** A statement without values, with a timeout. */
export function within(text: string, timeoutMs: number): pg.QueryConfig & { readonly query_timeout: number } {
  return { text, query_timeout: timeoutMs };
}
