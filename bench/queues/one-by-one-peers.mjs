/** The peers of `one-by-one.mjs`, each as its documentation shows it, with the fastest usual settings of its workers. */
import pg from "pg";
import { countdown, loadPeer, PAYLOAD } from "./peers.mjs";

/** The durable minimum: a prepared INSERT of one row into a table with one index, or two for unique keys. It has no workers. */
export async function openBareInserts(url) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("DROP SCHEMA IF EXISTS bench_bare CASCADE; CREATE SCHEMA bench_bare");
  await client.query(
    "CREATE TABLE bench_bare.jobs (id bigserial PRIMARY KEY, key text UNIQUE, data jsonb NOT NULL)",
  );
  const text = "INSERT INTO bench_bare.jobs (key, data) VALUES ($1, $2) ON CONFLICT DO NOTHING";
  const insert = (key, n) => client.query({ name: "add", text, values: [key, JSON.stringify(PAYLOAD(n))] });
  let made = 0;
  return {
    async add(items) {
      for (let n = 0; n < items; n += 1) await insert(null, n);
    },
    async addKeyed(items) {
      made += 1;
      for (let n = 0; n < items; n += 1) await insert(`key-${made}-${n}`, n);
    },
    async close() {
      await client.query("DROP SCHEMA bench_bare CASCADE");
      await client.end();
    },
  };
}

export async function openPgBossOneByOne(url) {
  const { PgBoss } = await loadPeer("pg-boss");
  const schema = "bench_one_pgboss";
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false, max: 10 });
  boss.on("error", () => undefined); // reported by the calls themselves
  await boss.start();
  await boss.createQueue("one", { retryLimit: 0 });
  await boss.createQueue("keyed", { retryLimit: 0, policy: "exclusive" });
  let made = 0;
  return {
    async add(items) {
      for (let n = 0; n < items; n += 1) await boss.send("one", PAYLOAD(n));
    },
    async addKeyed(items) {
      made += 1;
      for (let n = 0; n < items; n += 1)
        await boss.send("keyed", PAYLOAD(n), { singletonKey: `key-${made}-${n}` });
    },
    // Its workers fetch one job per interval; loops without a pause are faster.
    async work(items, concurrency) {
      let left = items;
      const queue = concurrency === 1 ? "one" : "keyed"; // as the rounds add them
      const loop = async () => {
        while (left > 0) {
          const [job] = await boss.fetch(queue);
          if (job === undefined) return;
          await boss.complete(queue, job.id);
          left -= 1;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, loop));
    },
    async close() {
      await boss.getDb().executeSql(`DROP SCHEMA ${schema} CASCADE`);
      await boss.stop({ graceful: false });
    },
  };
}

export async function openGraphileOneByOne(url) {
  const { makeWorkerUtils, run, Logger } = await loadPeer("graphile-worker");
  const schema = "bench_one_graphile";
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, schema, logger });
  await utils.migrate();
  let made = 0;
  return {
    async add(items) {
      for (let n = 0; n < items; n += 1) await utils.addJob("one", PAYLOAD(n), { maxAttempts: 1 });
    },
    async addKeyed(items) {
      made += 1;
      for (let n = 0; n < items; n += 1)
        await utils.addJob("one", PAYLOAD(n), { maxAttempts: 1, jobKey: `key-${made}-${n}` });
    },
    async work(items, concurrency) {
      const { tick, done } = countdown(items);
      const runner = await run({
        ...{ connectionString: url, schema, logger, noHandleSignals: true },
        taskList: { one: async () => tick() },
        concurrency,
        pollInterval: 500,
      });
      await done;
      await runner.stop();
      await runner.promise;
    },
    async close() {
      await utils.withPgClient((client) => client.query(`DROP SCHEMA ${schema} CASCADE`));
      await utils.release();
    },
  };
}

export async function openBullmqOneByOne(url) {
  const { Queue, Worker } = await loadPeer("bullmq");
  const { hostname, port } = new URL(url);
  const connection = { host: hostname, port: Number(port || 6379), maxRetriesPerRequest: null };
  const queue = new Queue("one", {
    connection: { ...connection, connectTimeout: 1000, retryStrategy: () => null },
  });
  queue.on("error", () => undefined); // reported by the calls themselves
  await queue.obliterate({ force: true });
  let made = 0;
  return {
    async add(items) {
      for (let n = 0; n < items; n += 1) await queue.add("one", PAYLOAD(n), { attempts: 1 });
    },
    async addKeyed(items) {
      made += 1;
      for (let n = 0; n < items; n += 1)
        await queue.add("one", PAYLOAD(n), { attempts: 1, jobId: `key-${made}-${n}` });
    },
    async work(items, concurrency) {
      const { tick, done } = countdown(items);
      const worker = new Worker("one", async () => tick(), { connection, concurrency });
      worker.on("error", () => undefined);
      await done;
      await worker.close();
    },
    async close() {
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
}
