/** Redrive, with every attempt and its events stored: 8 at a time, and two workers with a concurrency of 500 each. */
import pg from "pg";
import { ENTRY } from "../kit.mjs";
import { CALL, chunks, countdown, PAYLOAD } from "./peers.mjs";

const CAUSES = [
  ..."no route to host|name not resolved|access denied|disk full|bad gateway".split("|"),
  ..."missing column|unknown customer|invalid signature|quota used up|certificate expired".split("|"),
];

export async function openRedrive(url) {
  const { open } = await import(ENTRY);
  await dropSchema(url);
  const redrive = await open(url);
  const store = redrive.engine;
  let queue;
  let made = 0;
  const retried = new Set();
  let group;
  const fresh = async () => {
    made += 1;
    queue = redrive.queue(`bench-${made}`, { retries: 0 });
    await queue.ready();
  };
  await fresh();
  const work = async (count, concurrency, workers = 1) => {
    const { tick, done } = countdown(count);
    const start = () => queue.work(async () => tick(), { concurrency });
    const started = await Promise.all(Array.from({ length: workers }, start));
    await done;
    await Promise.all(started.map((worker) => worker.drain()));
  };
  return {
    name: `Redrive on ${url.split(":")[0]}`,
    async enqueue(count) {
      const items = Array.from({ length: count }, (_, n) => ({ data: PAYLOAD(n) }));
      for (const chunk of chunks(items, CALL)) await queue.addMany(chunk);
    },
    processUsual: (count) => work(count, 8),
    processFast: (count) => work(count, 500, 2),
    async failAll(count) {
      const { tick, done } = countdown(count);
      const worker = await queue.work(
        async (item) => {
          tick();
          throw new Error(CAUSES[item.data.n % CAUSES.length]);
        },
        { concurrency: 500 },
      );
      await done;
      await worker.drain();
    },
    async page() {
      const { letters } = await store.listLetters({ queue: queue.name, limit: 50 });
      if (letters.length !== 50) throw new Error("Redrive: no page");
    },
    /** Filters by the signature of one group, like a user who has listed the groups. */
    async filter() {
      group ??= (await store.listGroups({ queue: queue.name }))[0];
      const { letters } = await store.listLetters({
        queue: queue.name,
        signatures: [group.signature],
        limit: 50,
      });
      if (letters.length !== 50) throw new Error("Redrive: no filtered page");
    },
    /** Retries one group after another; each has a tenth of the letters. */
    async retry(count) {
      made += 1;
      const groups = await store.listGroups({ queue: queue.name });
      const { signature } = groups.find((one) => one.count === count && !retried.has(one.signature));
      retried.add(signature);
      const id = `retry-${made}`;
      const filter = { signatures: [signature] };
      await store.beginOperation({
        id,
        kind: "redrive",
        queue: queue.name,
        filter,
        force: true,
        author: "bench",
        plan: {},
      });
      const { done } = await store.advance(id, { max: count });
      if (done !== count) throw new Error(`Redrive: ${done} sent back`);
    },
    clear: fresh,
    async pickUp(times) {
      const taken = [];
      let began = 0;
      let next = () => undefined;
      const worker = await queue.work(
        async () => {
          taken.push(performance.now() - began);
          next();
        },
        { concurrency: 8 },
      );
      for (let n = 0; n < times; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
        const picked = new Promise((resolve) => {
          next = resolve;
        });
        began = performance.now();
        await queue.add(PAYLOAD(n));
        await picked;
      }
      await worker.drain();
      return taken;
    },
    async close() {
      await redrive.close();
      await dropSchema(url);
    },
  };
}

/** Removes the data of earlier runs and of this one. */
async function dropSchema(url) {
  if (!url.startsWith("postgres")) return;
  const schema = new URL(url).searchParams.get("schema");
  const client = new pg.Client({ connectionString: url.split("?")[0] });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`);
  await client.end();
}
