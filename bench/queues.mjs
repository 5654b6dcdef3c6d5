/** Compares queues with their peers on the same machine: enqueue, process, list failed jobs, retry them, wake up. */
import { percentile, say, timed, withFolder } from "./kit.mjs";
import { openBullmq } from "./queues/bullmq.mjs";
import { openGraphileWorker } from "./queues/graphile-worker.mjs";
import { openHandWritten } from "./queues/hand-written.mjs";
import { openHandWrittenSqlite } from "./queues/hand-written-sqlite.mjs";
import { openPgBoss } from "./queues/pg-boss.mjs";
import { openRedrive } from "./queues/redrive.mjs";
import { atLeast, atMost, count, ms, perSecond } from "./report.mjs";

const POSTGRES = process.env.REDRIVE_BENCH_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";
const REDIS = process.env.REDRIVE_BENCH_REDIS ?? "redis://127.0.0.1:6379";
const ROUNDS = 5;

export async function measure({ quick }) {
  const sizes = quick ? { jobs: 2000, failed: 5000, retry: 500, pickUps: 20 } : FULL;
  return withFolder(async (folder) => {
    const postgres = await inTurn(
      {
        redrive: () => openRedrive(`${POSTGRES}?schema=bench_redrive`),
        pgBoss: () => openPgBoss(POSTGRES),
        graphile: () => openGraphileWorker(POSTGRES),
        bullmq: () => openBullmq(REDIS),
        hand: () => openHandWritten(POSTGRES),
      },
      sizes,
    );
    const sqlite = await inTurn(
      {
        redrive: () => openRedrive(`sqlite:${folder}/bench.db`),
        hand: () => openHandWrittenSqlite(`${folder}/hand.db`),
      },
      { ...sizes, failed: 0, pickUps: 0 },
    );
    return [
      {
        title: "Queues on PostgreSQL (§4)",
        rows: postgresRows(postgres.figures),
        notes: [...notesOf(sizes), ...postgres.missing],
      },
      { title: "Queues on SQLite (§4)", rows: sqliteRows(sqlite.figures), notes: [SQLITE_NOTE] },
    ];
  });
}

const FULL = { jobs: 10_000, failed: 100_000, retry: 10_000, pickUps: 60 };

/** All peers take turns in each step of each round, so that a busy moment of the machine affects all alike. */
async function inTurn(openers, sizes) {
  const { peers, missing } = await openAll(openers);
  const samples = Object.fromEntries(Object.keys(peers).map((name) => [name, {}]));
  const keep = (name, field, value) => {
    samples[name][field] ??= [];
    samples[name][field].push(value);
  };
  const each = async (step) => {
    for (const [name, peer] of Object.entries(peers)) await step(peer, (...figure) => keep(name, ...figure));
  };
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`  enqueue and process, round ${round}`);
    await throughput(each, sizes.jobs);
  }
  if (sizes.failed > 0) await failedFigures(each, sizes);
  for (let turn = 1; turn <= ROUNDS && sizes.pickUps > 0; turn += 1) {
    say(`  idle pick-up, round ${turn}`);
    await each(async (peer, keepOne) => {
      for (const taken of (await peer.pickUp?.(sizes.pickUps / ROUNDS)) ?? []) keepOne("pickUpMs", taken);
    });
  }
  for (const peer of Object.values(peers)) await peer.close();
  const figures = Object.fromEntries(
    Object.entries(samples).map(([name, fields]) => [
      name,
      Object.fromEntries(Object.entries(fields).map(([field, values]) => [field, percentile(values, 50)])),
    ]),
  );
  return { figures, missing };
}

/** A peer that cannot run here is left out with a note; Redrive and the hand-written loop must run. */
async function openAll(openers) {
  const peers = {};
  const missing = [];
  for (const [name, open] of Object.entries(openers)) {
    try {
      peers[name] = await open();
    } catch (error) {
      if (name === "redrive" || name === "hand") throw error;
      say(`  ${name} is left out: ${error.message}`);
      missing.push(`Not measured: ${name} (${error.message.split("\n", 1)[0]}).`);
    }
  }
  return { peers, missing };
}

async function throughput(each, jobs) {
  const timedEach = (field, action) =>
    each(async (peer, keep) => {
      if (action(peer)) keep(field, (jobs / (await timed(action(peer))).wallMs) * 1000);
    });
  await timedEach("enqueue", (peer) => () => peer.enqueue(jobs));
  await timedEach("usual", (peer) => peer.processUsual && (() => peer.processUsual(jobs)));
  await each((peer) => peer.clear());
  await timedEach("enqueue", (peer) => () => peer.enqueue(jobs));
  await timedEach("fast", (peer) => () => peer.processFast(jobs));
  await each((peer) => peer.clear());
}

const PAGES = 30;

async function failedFigures(each, { failed, retry }) {
  say(`  ${count(failed)} failed of each`);
  await each(async (peer) => {
    if (!peer.page) return;
    await peer.enqueue(failed);
    await peer.failAll(failed);
  });
  const time = async (field, actionOf, times) => {
    say(`  ${field}`);
    for (let n = 0; n <= times; n += 1) {
      await each(async (peer, keep) => {
        const action = actionOf(peer);
        if (!action) return;
        const { wallMs } = await timed(action);
        if (n > 0) keep(field, wallMs); // warms up prepared statements and the page cache
      });
    }
  };
  await time("pageMs", (peer) => peer.page && (() => peer.page()), PAGES);
  await time("filterMs", (peer) => peer.filter && (() => peer.filter()), PAGES);
  await time("retryMs", (peer) => peer.retry && (() => peer.retry(retry)), ROUNDS);
  await each((peer) => peer.page && peer.clear());
}

const NAMES = { pgBoss: "pg-boss", graphile: "graphile-worker", bullmq: "BullMQ" };

/** The results of the measured peers, by name. */
function besideOf(peers, field, text) {
  const known = Object.entries(NAMES).filter(([key]) => peers[key]?.[field] !== undefined);
  return known.map(([key, name]) => `${name} ${text(peers[key][field])}`).join(", ");
}

/** The results of the peers on PostgreSQL. */
function figuresOf(peers, field) {
  return [peers.pgBoss, peers.graphile].flatMap((peer) => peer?.[field] ?? []);
}

function postgresRows(peers) {
  const { redrive, hand } = peers;
  const best = (field) => Math.max(...figuresOf(peers, field));
  const beside = (field, text) => besideOf(peers, field, text);
  const rate = (what, field, peer, goal, more = "") => ({
    what,
    figure: perSecond(redrive[field]),
    beside: `${beside(field, perSecond)}${more}`,
    ...reach(redrive[field] / peer, goal),
  });
  return [
    rate("enqueue in bulk", "enqueue", best("enqueue"), 1.5, `, by hand ${perSecond(hand.enqueue)}`),
    rate("process, as the fastest users do", "fast", best("fast"), 1.2),
    {
      what: "process, beside peers as most users run them",
      figure: perSecond(redrive.fast),
      beside: beside("usual", perSecond),
      ...reach(redrive.fast / best("usual"), 5),
    },
    {
      what: "process, 8 at a time",
      figure: perSecond(redrive.usual),
      beside: beside("usual", perSecond),
      ratio: redrive.usual / best("usual"),
    },
    {
      what: "process, beside a hand-written SKIP LOCKED loop in batches",
      figure: perSecond(redrive.fast),
      beside: perSecond(hand.fast),
      ...reach(redrive.fast / hand.fast, 0.6),
    },
    lower("page of failed", "pageMs", peers, 10),
    {
      what: "filter of failed, by group",
      figure: ms(redrive.filterMs),
      beside: beside("pageMs", ms),
      ...reach(Math.min(...figuresOf(peers, "pageMs")) / redrive.filterMs, 10),
    },
    lower("bulk retry", "retryMs", peers, 1),
    {
      what: "idle pick-up, p50",
      figure: ms(redrive.pickUpMs),
      beside: `${beside("pickUpMs", ms)}, by hand ${ms(hand.pickUpMs)}`,
      ...atMost(redrive.pickUpMs, 2, "ms"),
    },
  ];
}

/** A ratio and its goal. */
function reach(ratio, goal) {
  return { ratio, ...atLeast(ratio, goal) };
}

/** A row where less is better: the ratio is how many times faster than the better of the two peers on PostgreSQL. */
function lower(what, field, peers, goal) {
  const { redrive } = peers;
  return {
    what,
    figure: ms(redrive[field]),
    beside: besideOf(peers, field, ms),
    ...reach(Math.min(...figuresOf(peers, field)) / redrive[field], goal),
  };
}

function sqliteRows({ redrive, hand }) {
  const row = (what, field, goal) => ({
    what,
    figure: perSecond(redrive[field]),
    beside: `by hand ${perSecond(hand[field])}`,
    ...(goal === undefined
      ? { ratio: redrive[field] / hand[field] }
      : reach(redrive[field] / hand[field], goal)),
  });
  return [row("enqueue in bulk", "enqueue"), row("process, in batches", "fast", 0.5)];
}

function notesOf({ jobs, failed, retry }) {
  return [
    `${count(jobs)} no-op jobs with a small payload; PostgreSQL with its default settings (fsync on), Redis with its append-only file synced every second. Ours writes every attempt and its events. All are given the jobs in one call, which is not slower for any of them. As most users run them: 8 at a time. As the fastest users do: pg-boss fetches 1,000, graphile-worker has a local queue of 500, BullMQ runs 50 at a time, ours has two workers with 500 slots each; the loop by hand runs twice, too.`,
    `Page and filter: 50 of ${count(failed)} failed, newest first. Retry: ${count(retry)} of them sent back to work. Idle pick-up: from the call that adds a job to the start of its handler; by hand it is one statement that adds and one that takes, each durable. The ratio is to the better of pg-boss and graphile-worker.`,
  ];
}

const SQLITE_NOTE =
  "By hand: one table, WAL and synchronous FULL, no history and no events; one transaction settles a batch of 100 and leases the next.";
