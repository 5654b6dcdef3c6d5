/**
 * A PostgreSQL primary and a synchronous hot standby: acknowledged commits are on both. A failover kills the primary,
 * promotes the standby, and creates a new standby. Clients use one URL with two hosts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { PostgresServer } from "./postgres-server.mjs";

const PROMOTION_MS_MAX = 120_000;

export class PostgresPair {
  #primary;
  #standby;
  #url;

  static async make() {
    const pair = new PostgresPair();
    pair.#primary = await PostgresServer.make({ isDurable: true });
    await pair.#follow();
    const hosts = [pair.#primary, pair.#standby].map(({ url }) => new URL(url).host);
    pair.#url = `postgres://postgres@${hosts.join()}/postgres`;
    return pair;
  }

  /** The URL of both servers; a client finds the one that accepts writes. */
  get url() {
    return this.#url;
  }

  /** The URL of the primary alone. */
  get adminUrl() {
    return this.#primary.url;
  }

  /** Kills the primary with `signal`, like a crash. Resolves when the pair is complete again. */
  async failOver(signal) {
    const { port } = this.#primary;
    await this.#primary.stop(signal);
    await askUntil(this.#standby.url, "SELECT pg_promote(wait => false)");
    await askUntil(this.#standby.url, "SELECT pg_is_in_recovery() AS waits", ({ waits }) => !waits);
    await this.#primary.remove();
    this.#primary = this.#standby;
    this.#standby = undefined;
    await this.#follow(port);
  }

  async remove() {
    await this.#standby?.remove();
    await this.#primary?.remove();
  }

  /** Adds a standby; from then on commits wait for it. */
  async #follow(port) {
    this.#standby = await this.#primary.makeStandby({ port });
    await askUntil(this.#primary.url, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
    await askUntil(this.#primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await askUntil(this.#primary.url, "SELECT pg_reload_conf()");
    const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    await askUntil(this.#primary.url, isSynchronous);
  }
}

/** Repeats the query until its first row is good. A statement without rows only has to succeed. */
async function askUntil(url, sql, isGood = () => true) {
  const deadline = Date.now() + PROMOTION_MS_MAX;
  for (;;) {
    try {
      const { rows, command } = await ask(url, sql);
      if (command !== "SELECT" || (rows[0] !== undefined && isGood(rows[0]))) return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    if (Date.now() > deadline) throw new Error(`waited in vain: ${sql}`);
    await sleep(50);
  }
}

async function ask(url, sql) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => undefined); // the query reports it
  try {
    await client.connect();
    return await client.query(sql);
  } finally {
    await client.end().catch(() => undefined); // the server may have stopped
  }
}
