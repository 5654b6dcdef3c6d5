/** pg-boss, as its users run it (one job at a time, 8 times) and as its fastest users do (fetch 1,000, complete 1,000). */
import { CALL, chunks, loadPeer, PAYLOAD } from "./peers.mjs";

const QUEUE = "bench";
/** A queue with notifications, which pg-boss uses only on request. */
const WOKEN_QUEUE = "bench-woken";

export async function openPgBoss(url) {
  const { PgBoss } = await loadPeer("pg-boss");
  const schema = "bench_pgboss";
  const boss = new PgBoss({
    connectionString: url,
    schema,
    supervise: false,
    schedule: false,
    max: 10,
    useListenNotify: true,
  });
  boss.on("error", () => undefined); // reported by the calls themselves
  await boss.start();
  await boss.createQueue(QUEUE, { retryLimit: 0 });
  await boss.createQueue(WOKEN_QUEUE, { retryLimit: 0, notify: true });
  const sql = (text, values) => boss.getDb().executeSql(text, values);
  return {
    name: "pg-boss",
    async enqueue(count) {
      const jobs = Array.from({ length: count }, (_, n) => ({ data: PAYLOAD(n) }));
      for (const chunk of chunks(jobs, CALL)) await boss.insert(QUEUE, chunk);
    },
    // Its workers fetch one job per interval; loops without a pause are the fastest way with 8 at a time.
    async processUsual(count) {
      let left = count;
      const loop = async () => {
        while (left > 0) {
          const [job] = await boss.fetch(QUEUE);
          if (job === undefined) return;
          await boss.complete(QUEUE, job.id);
          left -= 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, loop));
    },
    async processFast(count) {
      let left = count;
      while (left > 0) {
        const jobs = await boss.fetch(QUEUE, { batchSize: 1000 });
        await boss.complete(
          QUEUE,
          jobs.map(({ id }) => id),
        );
        left -= jobs.length;
      }
    },
    async failAll() {
      await sql(
        `UPDATE ${schema}.job SET state = 'failed', output = jsonb_build_object('message', 'no route to host ' || (random() * 100)::int), completed_on = now() WHERE name = '${QUEUE}'`,
      );
    },
    async page() {
      const { rows } = await sql(
        `SELECT * FROM ${schema}.job WHERE name = '${QUEUE}' AND state = 'failed' ORDER BY completed_on DESC, id LIMIT 50`,
      );
      if (rows.length !== 50) throw new Error("pg-boss: no page");
    },
    async retry(count) {
      const { rows } = await sql(
        `SELECT id FROM ${schema}.job WHERE name = '${QUEUE}' AND state = 'failed' LIMIT ${count}`,
      );
      await boss.retry(
        QUEUE,
        rows.map(({ id }) => id),
      );
    },
    async clear() {
      await sql(`DELETE FROM ${schema}.job`);
    },
    async pickUp(times) {
      const taken = [];
      let began = 0;
      let next = () => undefined;
      await boss.work(WOKEN_QUEUE, { batchSize: 1, pollingIntervalSeconds: 0.5 }, async () => {
        taken.push(performance.now() - began);
        next();
      });
      for (let n = 0; n < times; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 500));
        const picked = new Promise((resolve) => {
          next = resolve;
        });
        began = performance.now();
        await boss.send(WOKEN_QUEUE, PAYLOAD(n));
        await picked;
      }
      await boss.offWork(WOKEN_QUEUE, { wait: true });
      return taken;
    },
    async close() {
      await sql(`DROP SCHEMA ${schema} CASCADE`);
      await boss.stop({ graceful: false });
    },
  };
}
