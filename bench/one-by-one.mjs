/**
 * Adds and works items one by one, beside peers on the same server: each `add` is awaited before the next, and workers have a
 * concurrency of 1 and of 8. The peers take turns, adds after every few items, so that a busy moment of the machine affects all alike.
 * A bare INSERT, awaited like an add, shows how much of an add is the round trip and the flush of the disk, which is the same for all.
 */
import { percentile, say, timed } from "./kit.mjs";
import {
  openBareInserts,
  openBullmqOneByOne,
  openGraphileOneByOne,
  openPgBossOneByOne,
} from "./queues/one-by-one-peers.mjs";
import { openRedriveOneByOne } from "./queues/one-by-one-redrive.mjs";
import { atLeast, count, perSecond } from "./report.mjs";

const POSTGRES = process.env.REDRIVE_BENCH_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";
const REDIS = process.env.REDRIVE_BENCH_REDIS ?? "redis://127.0.0.1:6379";
const NAMES = { pgBoss: "pg-boss", graphile: "graphile-worker", bullmq: "BullMQ", bare: "a bare INSERT" };
const FIELDS = ["add", "addKeyed", "work1", "work8"];

export async function measure({ quick }) {
  const sizes = quick ? { items: 200, rounds: 3 } : { items: 500, rounds: 7 };
  const { peers, missing } = await openAll({
    redrive: () => openRedriveOneByOne(`${POSTGRES}?schema=bench_one_by_one`),
    pgBoss: () => openPgBossOneByOne(POSTGRES),
    graphile: () => openGraphileOneByOne(POSTGRES),
    bullmq: () => openBullmqOneByOne(REDIS),
    bare: () => openBareInserts(POSTGRES),
  });
  const samples = Object.fromEntries(
    Object.keys(peers).map((name) => [name, Object.fromEntries(FIELDS.map((field) => [field, []]))]),
  );
  await round(peers, sizes.items); // warms up connections, statements and code
  for (let number = 1; number <= sizes.rounds; number += 1) {
    say(`  one by one, round ${number}`);
    const figures = await round(peers, sizes.items);
    for (const [name, rates] of Object.entries(figures))
      for (const [field, rate] of Object.entries(rates)) samples[name][field].push(rate);
  }
  for (const peer of Object.values(peers)) await peer.close();
  return [
    {
      title: "One by one on PostgreSQL",
      rows: FIELDS.map((field) => rowOf(field, samples)),
      notes: [
        `${count(sizes.items)} items in each of ${sizes.rounds} rounds. An add is awaited before the next one; a rate is the median of turns of ${TURN} adds, because single flushes of a busy disk take many times as long. The ratio is the median of the rounds' ratios to the better of pg-boss and graphile-worker; BullMQ uses Redis.`,
        ...missing,
      ],
    },
  ];
}

/** How many items a peer adds before it is the turn of another one. */
const TURN = 10;

/** Returns the items per second of each peer. */
async function round(peers, items) {
  const rates = Object.fromEntries(Object.keys(peers).map((name) => [name, {}]));
  for (const peer of Object.values(peers)) await peer.begin?.();
  const measured = async (field, turn, action) => {
    const able = Object.entries(peers).filter(
      ([, peer]) => field.startsWith("add") || peer.work !== undefined,
    );
    const turns = Object.fromEntries(able.map(([name]) => [name, []]));
    for (let done = 0; done < items; done += turn)
      for (const [name, peer] of able.sort(() => Math.random() - 0.5))
        turns[name].push((await timed(() => action(peer, turn))).wallMs);
    for (const [name, ms] of Object.entries(turns)) rates[name][field] = (turn / percentile(ms, 50)) * 1000;
  };
  await measured("add", TURN, (peer, turn) => peer.add(turn));
  await measured("work1", items, (peer, turn) => peer.work(turn, 1));
  await measured("addKeyed", TURN, (peer, turn) => peer.addKeyed(turn));
  await measured("work8", items, (peer, turn) => peer.work(turn, 8));
  return rates;
}

const WHAT = {
  add: "add, one by one",
  addKeyed: "add with a unique key, one by one",
  work1: "work, one at a time",
  work8: "work, 8 at a time",
};
const GOAL = { add: 1.2, addKeyed: 1.2 };

/** Compares within rounds, because rounds differ more than peers. */
function rowOf(field, samples) {
  const ratios = samples.redrive[field].map((own, at) => {
    const peers = ["pgBoss", "graphile"].flatMap((name) => samples[name]?.[field][at] ?? []);
    return own / Math.max(...peers);
  });
  const ratio = percentile(ratios, 50);
  const beside = Object.entries(NAMES).filter(([name]) => samples[name]?.[field].length > 0);
  return {
    what: WHAT[field],
    figure: perSecond(percentile(samples.redrive[field], 50)),
    beside: beside
      .map(([name, shown]) => `${shown} ${perSecond(percentile(samples[name][field], 50))}`)
      .join(", "),
    ratio,
    ...(GOAL[field] !== undefined && atLeast(ratio, GOAL[field])),
  };
}

/** A peer that cannot run here is left out with a note. */
async function openAll(openers) {
  const peers = {};
  const missing = [];
  for (const [name, open] of Object.entries(openers)) {
    try {
      peers[name] = await open();
    } catch (error) {
      if (name === "redrive") throw error;
      say(`  ${name} is left out: ${error.message}`);
      missing.push(`Not measured: ${name} (${error.message.split("\n", 1)[0]}).`);
    }
  }
  return { peers, missing };
}
