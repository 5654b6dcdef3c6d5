/**
 * A PostgreSQL primary and a hot standby that follows it synchronously: what is acknowledged is on both. At a fail-over the primary
 * is killed, the standby is promoted, and a new standby is made for it. Clients know both by one URL with two hosts.
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

  /** Of both; a client finds the one that can be written to. */
  get url() {
    return this.#url;
  }

  /** Of the primary alone. */
  get adminUrl() {
    return this.#primary.url;
  }

  /** `signal` ends the primary as a crash does. Resolves when the pair is complete again. */
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

  /** Commits wait for the standby from then on. */
  async #follow(port) {
    this.#standby = await this.#primary.makeStandby({ port });
    await askUntil(this.#primary.url, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
    await askUntil(this.#primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await askUntil(this.#primary.url, "SELECT pg_reload_conf()");
    const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    await askUntil(this.#primary.url, isSynchronous);
  }
}

/** Asks again until the answer has a first row that will do. A statement without rows need only succeed. */
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
    await client.end().catch(() => undefined); // the server may be gone by now
  }
}
