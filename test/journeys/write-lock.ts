/**
 * The write lock of a journey's store, as another program would hold it: meanwhile nobody can write and everybody
 * can read. It ensures that a command is in the middle of its work.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import type { Workshop } from "./workshop.ts";

export interface WriteLock {
  take(): Promise<void>;
  /** Releases the lock to the next one that waits for it. */
  giveBack(): Promise<void>;
  close(): Promise<void>;
}

/** The store must exist. */
export function openWriteLock(shop: Workshop): Promise<WriteLock> {
  return shop.isOnPostgres ? lockOnServer(shop.storeUrl) : Promise.resolve(lockOfFile(shop.storePath));
}

function lockOfFile(path: string): WriteLock {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA busy_timeout = 0");
  return {
    take: async () => takeAtOnce(db),
    giveBack: async () => {
      db.exec("ROLLBACK");
      await new Promise((resolve) => setImmediate(resolve)); // enough for one step of another, hardly for two
    },
    close: async () => db.close(),
  };
}

/** Tries without a pause: otherwise the whole command could run between two tries. */
function takeAtOnce(db: InstanceType<typeof DatabaseSync>): void {
  const deadline = performance.now() + LOCK_MS_MAX;
  for (;;) {
    try {
      db.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

const LOCK_MS_MAX = 10_000;

/**
 * The lock for the store at this URL, which must exist. Every change writes an event, and a copy writes the events
 * last. The server grants a table lock in the order of the requests.
 */
export async function lockOnServer(url: string): Promise<WriteLock> {
  const schema = new URL(url).searchParams.get("schema") ?? "redrive";
  const server = new URL(url);
  server.search = "";
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  const events = `${pg.escapeIdentifier(schema)}.events`;
  return {
    take: async () => {
      await client.query(`BEGIN; LOCK TABLE ${events} IN SHARE ROW EXCLUSIVE MODE`);
    },
    giveBack: async () => {
      await client.query("ROLLBACK");
    },
    close: () => client.end(),
  };
}
