/** Measures the cost of the store: runner time per burial, letters per second, the lease-and-settle loop, the file size. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { interleave, LIBRARY, say, timed, withFolder } from "./kit.mjs";
import { burialOf, FEW_CAUSES, lease, makeJob, newItems } from "./letter-store.mjs";
import { insertRows, makeHandLoop, openRaw } from "./raw-sqlite.mjs";
import { atLeast, atMost, count, perSecond } from "./report.mjs";

const { openStore } = await import(LIBRARY);

const ROUNDS = 3;
const QUEUE = "bench";
const BATCH = 1000;
const LOOP_BATCH = 100;
const DONE = { outcome: "succeeded", verdict: { kind: "done" } };

export function measure({ quick }) {
  const letters = quick ? 2000 : 20_000;
  return withFolder(async (folder) => {
    say(`  burials and batched inserts, ${count(letters)} letters, ${ROUNDS} rounds`);
    const fresh = (run) => () => inFolder(folder, (home) => run(home, letters));
    const figures = await interleave(
      {
        rawInsert: fresh(rawInsert),
        buryAll: fresh((home) => bury(home, letters, BATCH)),
        bury8: fresh((home) => bury(home, letters / 4, 8)),
        bury64: fresh((home) => bury(home, letters / 2, 64)),
        finish8: fresh((home) => bury(home, letters / 4, 8, finishOf)),
        wholeLife: fresh(wholeLife),
        handLoop: fresh(handLoop),
        exchangeLoop: fresh(exchangeLoop),
      },
      ROUNDS,
    );
    return [{ title: "Store: writing (§2)", rows: rowsOf(figures), notes: NOTES }];
  });
}

const NOTES = [
  "Items have 1 KB of data. A burial is timed with its signature, from the failure to the durable commit, as the runner sees it.",
  "The raw insert writes each letter (data and failure) as one row of text, 1,000 rows per durable commit, and nothing else: no state, no attempt, no event, no group.",
  "The hand-written loop has one table and one index; it keeps no attempts and no events. Both loops have 1 KB items, batches of 100.",
];

async function inFolder(folder, run) {
  const home = mkdtempSync(join(folder, "store-"));
  try {
    return await run(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function rawInsert(home, letters) {
  const db = openRaw(join(home, "raw.db"));
  const texts = letterTexts(letters);
  return timed(() => insertRows(db, texts, BATCH)).then((time) => {
    db.close();
    return perItem(time, letters);
  });
}

/** The text of each letter: its item's data and its failure. */
function letterTexts(letters) {
  return newItems(0, letters).map((item, index) => {
    const leased = { ...item, ref: index + 1, attempt: 1, startedAt: Date.now() };
    return JSON.stringify({ data: item.data, failure: burialOf(leased, FEW_CAUSES).failure });
  });
}

async function withItems(home, items, run) {
  const engine = await openStore(`sqlite:${join(home, "redrive.db")}`);
  await makeJob(engine, QUEUE);
  for (let from = 0; from < items; from += BATCH) {
    await engine.add(QUEUE, newItems(from, Math.min(BATCH, items - from)));
  }
  try {
    return await run(engine);
  } finally {
    await engine.close();
  }
}

const buryOf = (item) => burialOf(item, FEW_CAUSES);
const finishOf = ({ ref, attempt }) => ({ lease: { ref, attempt }, ...DONE });

/** Leases the items first, so that only their settlement is timed. */
function bury(home, letters, batch, settlementOf = buryOf) {
  return withItems(home, letters, async (engine) => {
    const leased = await lease(engine, QUEUE, letters);
    const time = await timed(async () => {
      for (let from = 0; from < letters; from += batch) {
        await engine.settleAndLease(null, { settle: leased.slice(from, from + batch).map(settlementOf) });
      }
    });
    return perItem(time, letters);
  });
}

/** Adds, leases and buries letters in batches, then compares the file size with the size of the input. */
async function wholeLife(home, letters) {
  const path = join(home, "redrive.db");
  const engine = await openStore(`sqlite:${path}`);
  await makeJob(engine, QUEUE);
  const time = await timed(async () => {
    for (let from = 0; from < letters; from += BATCH) {
      await engine.add(QUEUE, newItems(from, BATCH));
      const leased = await lease(engine, QUEUE, BATCH);
      await engine.settleAndLease(null, { settle: leased.map(buryOf) });
    }
  });
  await engine.close(); // checkpoints the journal into the file
  const texts = letterTexts(letters);
  const rawBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { ...perItem(time, letters), bytes: statSync(path).size / letters, rawBytes: rawBytes / letters };
}

async function handLoop(home, items) {
  const db = openRaw(join(home, "raw.db"));
  const exchange = makeHandLoop(
    db,
    newItems(0, items).map((item) => JSON.stringify(item.data)),
  );
  const time = await timed(() => {
    let leased = exchange([], LOOP_BATCH);
    while (leased.length > 0) leased = exchange(leased, LOOP_BATCH);
  });
  db.close();
  return perItem(time, items);
}

function exchangeLoop(home, items) {
  return withItems(home, items, async (engine) => {
    const time = await timed(async () => {
      let leased = await lease(engine, QUEUE, LOOP_BATCH);
      while (leased.length > 0) leased = await lease(engine, QUEUE, LOOP_BATCH, leased.map(finishOf));
    });
    return perItem(time, items);
  });
}

function perItem({ wallMs, cpuMs }, items) {
  return { rate: (items / wallMs) * 1000, us: (wallMs * 1000) / items, cpuUs: (cpuMs * 1000) / items };
}

function rowsOf(figures) {
  const { rawInsert: raw, buryAll, wholeLife: whole, handLoop: hand, exchangeLoop: loop } = figures;
  const cost = ({ us, cpuUs }) => `${count(us)} µs (CPU ${count(cpuUs)} µs)`;
  const rate = (one) => `${perSecond(one.rate)} (CPU ${count(one.cpuUs)} µs each)`;
  const beside = (what, mine, name, peer, goal) => {
    const ratio = mine.rate / peer.rate;
    const met = goal === undefined ? {} : atLeast(ratio, goal);
    return { what, figure: rate(mine), beside: `${name}: ${rate(peer)}`, ratio, ...met };
  };
  const done = `a success: ${cost(figures.finish8)}`;
  const size = whole.bytes / whole.rawBytes;
  return [
    {
      what: "one burial, 8 per commit",
      figure: cost(figures.bury8),
      beside: done,
      ...atMost(figures.bury8.us, 500, "µs"),
    },
    {
      what: "one burial, 64 per commit",
      figure: cost(figures.bury64),
      ...atMost(figures.bury64.us, 500, "µs"),
    },
    beside("burials, 1,000 per commit", buryAll, "raw insert", raw, 0.7),
    beside("letters from nothing: added, leased, buried", whole, "raw insert", raw),
    beside("lease and settle, 100 per commit", loop, "hand-written loop", hand, 0.5),
    {
      what: "file size for each letter",
      figure: `${count(whole.bytes)} B`,
      beside: `its data and failure: ${count(whole.rawBytes)} B`,
      ratio: size,
      ...atMost(size, 2.5),
    },
  ];
}
