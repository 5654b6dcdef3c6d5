/** How a session speaks to a connection: beginnings with their settings, and writings that go out together. */
import { Writable } from "node:stream";
import pg from "pg";
import type { Tx } from "./tx.ts";

/** The columns of a statement that sets them all, until the end of the transaction. */
export function settingsIn(settings: Readonly<Record<string, string>>): string {
  const set = ([name, value]: [string, string]) => `set_config('${name}', ${pg.escapeLiteral(value)}, true)`;
  return Object.entries(settings).map(set).join(", ");
}

/** Steps that begin when the beginning is answered. */
export function afterBeginning<T>(steps: (tx: Tx) => Promise<T>): (tx: Tx) => Promise<T> {
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
