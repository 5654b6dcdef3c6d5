/** A minimal hand-written loop with SKIP LOCKED: a table, batches of 100 in two loops, no history, no events. */
import pg from "pg";
import { chunks, PAYLOAD } from "./peers.mjs";

const TABLE = "bench_hand.jobs";

export async function openHandWritten(url) {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  await pool.query("DROP SCHEMA IF EXISTS bench_hand CASCADE; CREATE SCHEMA bench_hand");
  await pool.query(
    `CREATE TABLE ${TABLE} (id bigserial PRIMARY KEY, state text NOT NULL DEFAULT 'ready', data jsonb NOT NULL);
     CREATE INDEX ON ${TABLE} (id) WHERE state = 'ready'`,
  );
  const loop = async (left) => {
    const client = await pool.connect();
    while (left.count > 0) {
      await client.query("BEGIN");
      const { rows } = await client.query({
        name: "take",
        text: `SELECT id, data FROM ${TABLE} WHERE state = 'ready' ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`,
      });
      const ids = rows.map(({ id }) => id);
      await client.query({
        name: "done",
        text: `UPDATE ${TABLE} SET state = 'done' WHERE id = ANY($1)`,
        values: [ids],
      });
      await client.query("COMMIT");
      if (rows.length === 0) break;
      left.count -= rows.length;
    }
    client.release();
  };
  return {
    name: "hand-written SKIP LOCKED",
    async enqueue(count) {
      const data = Array.from({ length: count }, (_, n) => JSON.stringify(PAYLOAD(n)));
      for (const chunk of chunks(data, 1000)) {
        await pool.query({
          name: "add",
          text: `INSERT INTO ${TABLE} (data) SELECT unnest($1::jsonb[])`,
          values: [chunk],
        });
      }
    },
    async processFast(count) {
      const left = { count };
      await Promise.all([loop(left), loop(left)]);
    },
    /** The durable minimum: one statement adds and notifies, one takes. */
    async pickUp(times) {
      const taken = [];
      let began = 0;
      let next = () => undefined;
      const listener = new pg.Client(url);
      await listener.connect();
      await listener.query("LISTEN bench_hand");
      listener.on("notification", async () => {
        await pool.query({
          name: "take-one",
          text: `UPDATE ${TABLE} SET state = 'leased' WHERE id =
                   (SELECT id FROM ${TABLE} WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING data`,
        });
        taken.push(performance.now() - began);
        next();
      });
      for (let n = 0; n < times; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
        const picked = new Promise((resolve) => {
          next = resolve;
        });
        began = performance.now();
        await pool.query({
          name: "add-one",
          text: `WITH added AS (INSERT INTO ${TABLE} (data) VALUES ($1) RETURNING id) SELECT pg_notify('bench_hand', '') FROM added`,
          values: [JSON.stringify(PAYLOAD(n))],
        });
        await picked;
      }
      await listener.end();
      return taken;
    },
    async clear() {
      await pool.query(`TRUNCATE ${TABLE}`);
    },
    async close() {
      await pool.query("DROP SCHEMA bench_hand CASCADE");
      await pool.end();
    },
  };
}
