/**
 * Adds items inside random transactions of callers on a PostgreSQL server, while writers are killed and their connections are
 * ended. Each transaction also writes a row of its own table that names its items, so that the committed rows show which
 * items must exist. At the end exactly those items exist, and a reader that followed the events has seen each of them once.
 *
 * `node bench/torture/transactions.mjs [--transactions N] [--seed S]` is the long form. The short one runs with the tests.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { chanceOf } from "./chance.mjs";
import { openStore } from "./library.mjs";
import { PostgresServer } from "./postgres-server.mjs";

const WRITER = fileURLToPath(new URL("transaction-writer.mjs", import.meta.url));
const QUEUE = "orders";
const SCHEMA = "redrive";

/** Runs `transactions` with `writers` processes. Returns `{ violations, figures }`. */
export async function tortureTransactions({ seed, transactions = 1000, writers = 3, note = () => {} }) {
  const server = await PostgresServer.make();
  try {
    return await new Run(server, { seed, transactions, writers, note }).go();
  } finally {
    await server.remove();
  }
}

class Run {
  #server;
  #wish;
  #chance;
  #figures = { transactions: 0, commits: 0, rollbacks: 0, kills: 0, "ended connections": 0, items: 0 };
  /** The transactions whose COMMIT or ROLLBACK was answered. */
  #committed = new Set();
  #rolledBack = new Set();
  #violations = [];
  #isOver = false;
  #starts = 0;

  constructor(server, wish) {
    this.#server = server;
    this.#wish = wish;
    this.#chance = chanceOf(wish.seed);
  }

  async go() {
    const engine = await openStore(`${this.#server.url}?schema=${SCHEMA}`);
    const client = new pg.Pool({ connectionString: this.#server.url });
    client.on("error", () => {}); // reported by the queries
    await client.query("CREATE TABLE orders (name text PRIMARY KEY, item_ids text[] NOT NULL)");
    await engine.createJob({ id: QUEUE, name: QUEUE, kind: "queue", spec: {} });
    const seen = [];
    const following = this.#follow(engine, seen);
    await Promise.all(Array.from({ length: this.#wish.writers }, () => this.#writeUntilEnough(client)));
    await this.#untilSessionsEnd(client);
    this.#isOver = true;
    await following;
    await this.#judge(engine, client, seen);
    await client.end();
    await engine.close();
    return { violations: this.#violations, figures: this.#figures };
  }

  /** Starts writers one after the other; most are killed, or lose their connections, in the middle of a transaction. */
  async #writeUntilEnough(client) {
    while (this.#figures.transactions < this.#wish.transactions) {
      this.#starts += 1;
      const child = spawn(
        process.execPath,
        [WRITER, this.#server.url, SCHEMA, QUEUE, String(this.#wish.seed * 10_000 + this.#starts)],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      const ended = new Promise((resolve) => child.once("exit", resolve));
      const faults = this.#strike(child, client, ended);
      for await (const line of createInterface({ input: child.stdout })) {
        this.#record(line);
        if (this.#figures.transactions >= this.#wish.transactions) child.kill("SIGKILL");
      }
      await ended;
      await faults;
      if (child.exitCode !== null) {
        this.#violations.push(`a writer ended by itself with exit code ${child.exitCode}`);
        return; // the next one would probably end the same way
      }
      this.#wish.note(`${this.#figures.transactions} transactions, ${this.#figures.kills} kills`);
    }
  }

  /**
   * The server notices late that a killed writer is gone: its sessions may wait for each other's locks. Until then their open
   * transactions hold back the events that followed.
   */
  async #untilSessionsEnd(client) {
    const sql = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'writer %' LIMIT 1";
    while ((await client.query(sql)).rowCount > 0) await sleep(20);
  }

  #record(line) {
    const [what, name] = line.split(" ");
    if (what === "began") this.#figures.transactions += 1;
    if (what === "committed") this.#committed.add(name);
    if (what === "rolled-back") this.#rolledBack.add(name);
    if (what === "wrong") this.#violations.push(line);
  }

  /** Ends connections of the writer now and then, and kills it at the end. */
  async #strike(child, client, ended) {
    const isRunning = () => child.exitCode === null && child.signalCode === null;
    for (let blows = this.#chance.between(0, 6); blows > 0; blows -= 1) {
      await Promise.race([sleep(this.#chance.between(1, 400)), ended]);
      if (!isRunning()) return;
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = $1 AND state <> 'idle' LIMIT 1`,
        [`writer ${child.pid}`],
      );
      this.#figures["ended connections"] += rowCount;
    }
    await Promise.race([sleep(this.#chance.between(1, 800)), ended]);
    if (isRunning() && child.kill("SIGKILL")) this.#figures.kills += 1;
  }

  /** Reads events with a cursor while transactions are open. */
  async #follow(engine, seen) {
    let after = 0;
    for (;;) {
      const isLast = this.#isOver;
      const events = await engine.listEvents({ after, types: ["item_queued"], limit: 1000 });
      seen.push(...events.map(({ itemId }) => itemId));
      after = events.at(-1)?.id ?? after;
      if (isLast && events.length === 0) return;
      if (events.length === 0) await sleep(5);
    }
  }

  async #judge(engine, client, seen) {
    const { rows } = await client.query("SELECT name, item_ids FROM orders");
    const orders = new Set(rows.map(({ name }) => name));
    const wanted = rows.flatMap(({ item_ids }) => item_ids).sort();
    const items = await engine.findItems("", { queue: QUEUE, limit: 10_000_000 });
    const found = items.map(({ itemId }) => itemId).sort();
    this.#figures.items = found.length;
    this.#figures.commits = orders.size;
    this.#figures.rollbacks = this.#rolledBack.size;
    for (const name of this.#committed)
      this.#expect(orders.has(name), `${name} was committed and is not there`);
    for (const name of this.#rolledBack)
      this.#expect(!orders.has(name), `${name} was rolled back and is there`);
    this.#compare("the items", found, wanted);
    this.#compare("the events that a reader saw", [...seen].sort(), wanted);
    const { ready, total } = await engine.count(QUEUE);
    this.#expect(
      ready === wanted.length && total === wanted.length,
      `the queue counts ${total} items, ${ready} ready`,
    );
    for (const { rule, detail } of await engine.check())
      this.#violations.push(`store check: ${rule}: ${detail}`);
  }

  #compare(what, found, wanted) {
    const [have, want] = [new Set(found), new Set(wanted)];
    this.#expect(found.length === have.size, `${what}: ${found.length - have.size} are there twice`);
    const missing = wanted.filter((id) => !have.has(id));
    const extra = found.filter((id) => !want.has(id));
    this.#expect(
      missing.length === 0,
      `${what}: missing are ${missing.slice(0, 5).join(", ")} (${missing.length})`,
    );
    this.#expect(
      extra.length === 0,
      `${what}: nobody committed ${extra.slice(0, 5).join(", ")} (${extra.length})`,
    );
  }

  #expect(isTrue, violation) {
    if (!isTrue) this.#violations.push(violation);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { transactions: { type: "string" }, seed: { type: "string" } } });
  const seed = Number(values.seed ?? randomInt(100_000));
  const { violations, figures } = await tortureTransactions({
    seed,
    transactions: Number(values.transactions ?? 1000),
    note: (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
  });
  const told = Object.entries(figures).map(([name, figure]) => `${figure} ${name}`);
  console.log(`transactions: seed ${seed}: ${told.join(", ")}; ${violations.length} violations`);
  for (const violation of violations) console.error(`  - ${violation}`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
