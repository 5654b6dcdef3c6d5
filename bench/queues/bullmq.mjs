/** BullMQ on Redis with its append-only file synced every second: 8 and 50 at a time. */
import { CALL, chunks, countdown, loadPeer, PAYLOAD } from "./peers.mjs";

const QUEUE = "redrive-bench";

export async function openBullmq(url) {
  const { Queue, Worker } = await loadPeer("bullmq");
  const { hostname, port } = new URL(url);
  const connection = { host: hostname, port: Number(port || 6379), maxRetriesPerRequest: null };
  const queue = new Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  const { Redis } = await loadPeer("ioredis");
  const client = new Redis(connection);
  const [, wasAppendOnly] = await client.config("GET", "appendonly");
  await client.config("SET", "appendonly", "yes");
  await queue.obliterate({ force: true });
  const work = async (count, concurrency) => {
    const { tick, done } = countdown(count);
    const worker = new Worker(QUEUE, async () => tick(), { connection, concurrency });
    await done;
    await worker.close();
  };
  return {
    name: "BullMQ (Redis)",
    async enqueue(count) {
      const jobs = Array.from({ length: count }, (_, n) => ({ name: "bench", data: PAYLOAD(n) }));
      for (const chunk of chunks(jobs, CALL)) await queue.addBulk(chunk);
    },
    processUsual: (count) => work(count, 8),
    processFast: (count) => work(count, 50),
    async failAll(count) {
      const { tick, done } = countdown(count);
      const fail = async () => {
        throw new Error("no route to host");
      };
      const worker = new Worker(QUEUE, fail, { connection, concurrency: 50 });
      worker.on("failed", tick);
      await done;
      await worker.close();
    },
    async page() {
      if ((await queue.getFailed(0, 49)).length !== 50) throw new Error("BullMQ: no page");
    },
    retry: (count) => queue.retryJobs({ count }),
    clear: () => queue.obliterate({ force: true }),
    async pickUp(times) {
      const taken = [];
      let began = 0;
      let next = () => undefined;
      const worker = new Worker(
        QUEUE,
        async () => {
          taken.push(performance.now() - began);
          next();
        },
        { connection, concurrency: 8 },
      );
      await worker.waitUntilReady();
      for (let n = 0; n < times; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
        const picked = new Promise((resolve) => {
          next = resolve;
        });
        began = performance.now();
        await queue.add("bench", PAYLOAD(n));
        await picked;
      }
      await worker.close();
      return taken;
    },
    async close() {
      await queue.obliterate({ force: true });
      await client.config("SET", "appendonly", wasAppendOnly);
      client.disconnect();
      await queue.close();
    },
  };
}
