/**
 * The hand-written loop on SQLite: one table, batches of 100, no history, no events. One durable transaction settles a batch
 * and leases the next one, so that SQLite's only writer is not blocked while handlers run.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { chunks, PAYLOAD } from "./peers.mjs";

export async function openHandWrittenSqlite(path) {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec(
    `CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL DEFAULT 'ready', data TEXT NOT NULL);
     CREATE INDEX ready ON jobs (id) WHERE state = 'ready'`,
  );
  const add = db.prepare("INSERT INTO jobs (data) VALUES (?)");
  const take = db.prepare("SELECT id, data FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 100");
  const lease = db.prepare("UPDATE jobs SET state = 'leased' WHERE id = ?");
  const done = db.prepare("UPDATE jobs SET state = 'done' WHERE id = ?");
  const inTransaction = (action) => {
    db.exec("BEGIN IMMEDIATE");
    const result = action();
    db.exec("COMMIT");
    return result;
  };
  return {
    name: "hand-written SQLite",
    async enqueue(count) {
      const data = Array.from({ length: count }, (_, n) => JSON.stringify(PAYLOAD(n)));
      for (const chunk of chunks(data, 1000)) inTransaction(() => chunk.map((one) => add.run(one)));
    },
    async processFast(count) {
      let jobs = [];
      for (let left = count; left > 0; left -= jobs.length) {
        jobs = inTransaction(() => {
          for (const { id } of jobs) done.run(id);
          const found = take.all();
          for (const { id } of found) lease.run(id);
          return found;
        });
        await new Promise((resolve) => setImmediate(resolve)); // lets other tasks of the worker run
      }
      inTransaction(() => jobs.map(({ id }) => done.run(id)));
    },
    async clear() {
      db.exec("DELETE FROM jobs");
    },
    async close() {
      db.close();
    },
  };
}
