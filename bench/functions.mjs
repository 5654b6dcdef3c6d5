/**
 * Runs functions that do nothing over the items of a SQLite store: 64 at a time with `redrive.map` and `queue.work`, and one
 * by one beside plainjob with the same durability. Each round uses new stores.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ENTRY, interleave, percentile, say, timed, withFolder } from "./kit.mjs";
import { chunks, countdown, loadPeer, PAYLOAD, versionOf } from "./queues/peers.mjs";
import { atLeast, count, perSecond } from "./report.mjs";

const { open } = await import(ENTRY);

const CONCURRENCY = 64;
const ROUNDS = 7;
const ADDED_AT_ONCE = 1000;

export function measure({ quick }) {
  const sizes = quick ? { many: 4000, few: 300 } : { many: 40_000, few: 2000 };
  return withFolder(async (folder) => [await atATime(folder, sizes.many), await oneByOne(folder, sizes.few)]);
}

async function atATime(folder, items) {
  say(`  ${count(items)} functions, ${CONCURRENCY} at a time, ${ROUNDS} rounds`);
  const figures = await interleave(
    {
      map: () => inStore(folder, (redrive) => map(redrive, items)),
      work: () => inStore(folder, (redrive) => work(redrive, items)),
    },
    ROUNDS,
  );
  const row = (what, { rate, cpuUs }) => ({
    what,
    figure: `${perSecond(rate, "items")} (CPU ${count(cpuUs)} µs each)`,
    ...atLeast(rate, 20_000, "/s"),
  });
  return {
    title: `Functions on SQLite: ${CONCURRENCY} at a time`,
    rows: [
      row("redrive.map, from the call to its end", figures.map),
      row("queue.work, items added before", figures.work),
    ],
    notes: [
      `${count(items)} items with a small payload and functions that return nothing. Every attempt and its events are durable before it is reported. A map also adds its items.`,
    ],
  };
}

async function inStore(folder, run) {
  const home = mkdtempSync(join(folder, "functions-"));
  const redrive = await open(`sqlite:${join(home, "redrive.db")}`);
  try {
    return await run(redrive);
  } finally {
    await redrive.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function map(redrive, items) {
  const list = Array.from({ length: items }, (_, n) => PAYLOAD(n));
  const time = await timed(() =>
    redrive.map("bench", list, async () => undefined, { concurrency: CONCURRENCY }),
  );
  return perItem(time, items);
}

async function work(redrive, items) {
  const queue = redrive.queue("bench", { retries: 0 });
  const list = Array.from({ length: items }, (_, n) => ({ data: PAYLOAD(n) }));
  for (const chunk of chunks(list, ADDED_AT_ONCE)) await queue.addMany(chunk);
  return perItem(await workOff(queue, items, CONCURRENCY), items);
}

function workOff(queue, items, concurrency) {
  const { tick, done } = countdown(items);
  return timed(async () => {
    const worker = queue.work(async () => tick(), { concurrency });
    await done;
    await worker.drain();
  });
}

function perItem({ wallMs, cpuMs }, items) {
  return { rate: (items / wallMs) * 1000, cpuUs: (cpuMs * 1000) / items };
}

async function oneByOne(folder, items) {
  const title = "Functions on SQLite: one by one";
  const peer = await openPlainjob().catch((error) => error);
  if (peer instanceof Error)
    return { title, rows: [], notes: [`Not measured: plainjob (${peer.message.split("\n", 1)[0]}).`] };
  const samples = { redrive: [], plainjob: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`  one by one on SQLite, round ${round}`);
    samples.redrive.push(await inStore(folder, (redrive) => redriveOneByOne(redrive, items)));
    samples.plainjob.push(await peer.run(folder, items));
  }
  const medianOf = (list) => percentile(list, 50);
  const row = (what, field) => {
    const ratio = medianOf(
      samples.redrive.map((own, at) => own[field].rate / samples.plainjob[at][field].rate),
    );
    const figure = (list) => {
      const rate = medianOf(list.map((one) => one[field].rate));
      return `${perSecond(rate)} (CPU ${count(medianOf(list.map((one) => one[field].cpuUs)))} µs each)`;
    };
    const beside = `plainjob ${figure(samples.plainjob)}`;
    return { what, figure: figure(samples.redrive), beside, ratio, ...atLeast(ratio, 0.9) };
  };
  return {
    title,
    rows: [row("add, each awaited before the next", "add"), row("work, one at a time", "work")],
    notes: [
      `${count(items)} items in each of ${ROUNDS} rounds; the ratio is the median of the rounds' ratios. plainjob ${peer.version} with \`synchronous = FULL\` as Redrive has it, which it sets to NORMAL itself; it keeps no attempts and no events, and its adds and ends are synchronous calls.`,
    ],
  };
}

async function redriveOneByOne(redrive, items) {
  const queue = redrive.queue("bench", { retries: 0 });
  await queue.ready();
  const adding = await timed(async () => {
    for (let n = 0; n < items; n += 1) await queue.add(PAYLOAD(n));
  });
  return { add: perItem(adding, items), work: perItem(await workOff(queue, items, 1), items) };
}

async function openPlainjob() {
  const { better, defineQueue, defineWorker } = await loadPeer("plainjob");
  const { default: Database } = await loadPeer("better-sqlite3");
  const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  return {
    version: versionOf("plainjob"),
    async run(folder, items) {
      const home = mkdtempSync(join(folder, "plainjob-"));
      const db = new Database(join(home, "jobs.db"));
      const queue = defineQueue({ connection: better(db), logger: quiet });
      db.pragma("synchronous = FULL");
      const adding = await timed(() => {
        for (let n = 0; n < items; n += 1) queue.add("one", PAYLOAD(n));
      });
      const { tick, done } = countdown(items);
      const working = await timed(async () => {
        const worker = defineWorker("one", async () => tick(), { queue, logger: quiet });
        const ended = worker.start();
        await done;
        await worker.stop();
        await ended; // it marks the last job as done
      });
      queue.close();
      rmSync(home, { recursive: true, force: true });
      return { add: perItem(adding, items), work: perItem(working, items) };
    },
  };
}
