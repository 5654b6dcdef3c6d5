/** graphile-worker, as its users run it (8 at a time) and as its fastest users do (a local queue of 500). */
import { CALL, chunks, countdown, loadPeer, PAYLOAD } from "./peers.mjs";

export async function openGraphileWorker(url) {
  const { makeWorkerUtils, run, Logger } = await loadPeer("graphile-worker");
  const schema = "bench_graphile";
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url, schema, logger });
  await utils.migrate();
  const sql = (text, values) => utils.withPgClient((client) => client.query(text, values));
  const work = async (count, options) => {
    const { tick, done } = countdown(count);
    const runner = await run({
      connectionString: url,
      schema,
      logger,
      noHandleSignals: true,
      taskList: { bench: async () => tick() },
      ...options,
    });
    await done;
    await runner.stop();
    await runner.promise;
  };
  return {
    name: "graphile-worker",
    async enqueue(count) {
      const jobs = Array.from({ length: count }, (_, n) => ({
        identifier: "bench",
        payload: PAYLOAD(n),
        maxAttempts: 1,
      }));
      for (const chunk of chunks(jobs, CALL)) await utils.addJobs(chunk);
    },
    processUsual: (count) => work(count, { concurrency: 8, pollInterval: 500 }),
    processFast: (count) =>
      work(count, {
        preset: {
          worker: {
            concurrentJobs: 24,
            pollInterval: 500,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }),
    async failAll() {
      await sql(
        `UPDATE ${schema}._private_jobs SET attempts = max_attempts, last_error = 'no route to host ' || (random() * 100)::int, locked_at = NULL, locked_by = NULL`,
      );
    },
    async page() {
      const { rows } = await sql(
        `SELECT * FROM ${schema}._private_jobs WHERE attempts >= max_attempts ORDER BY updated_at DESC, id LIMIT 50`,
      );
      if (rows.length !== 50) throw new Error("graphile-worker: no page");
    },
    async retry(count) {
      const { rows } = await sql(
        `SELECT id FROM ${schema}._private_jobs WHERE attempts >= max_attempts LIMIT ${count}`,
      );
      await utils.rescheduleJobs(
        rows.map(({ id }) => id),
        { attempts: 0, runAt: new Date() },
      );
    },
    async clear() {
      await sql(`DELETE FROM ${schema}._private_jobs`);
    },
    async pickUp(times) {
      const taken = [];
      let began = 0;
      let next = () => undefined;
      const taskList = {
        bench: async () => {
          taken.push(performance.now() - began);
          next();
        },
      };
      const runner = await run({
        connectionString: url,
        schema,
        logger,
        noHandleSignals: true,
        taskList,
        concurrency: 8,
      });
      for (let n = 0; n < times; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
        const picked = new Promise((resolve) => {
          next = resolve;
        });
        began = performance.now();
        await utils.addJob("bench", PAYLOAD(n));
        await picked;
      }
      await runner.stop();
      await runner.promise;
      return taken;
    },
    async close() {
      await new Promise((resolve) => setTimeout(resolve, 1000)); // jobs are completed in batches, also after the stop
      await sql(`DROP SCHEMA ${schema} CASCADE`);
      await utils.release();
    },
  };
}
