/**
 * Tortures runners of one job with real signals until all work is done, then checks the store against the ledger that the
 * commands wrote. The command is `bench/torture.mjs`; the short form is in `test/torture/`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../dist/engine.js";
import { Arena, JOB } from "./arena.mjs";
import { chanceOf } from "./chance.mjs";
import { end } from "./faults.mjs";
import { appendItems } from "./items.mjs";
import { judge } from "./judge.mjs";
import { readLedger } from "./ledger.mjs";
import { strikeSteadily } from "./process-faults.mjs";
import { markedProcesses, signal } from "./processes.mjs";

/**
 * `options`: `seed`, `items` in total, `kills` (rounds of faults), `minutes` (instead of `kills`), `faults` (weighted, see
 * `faults.mjs`), `note` (called for each round). Returns `{ violations, figures, home }`; the home is kept only if there are
 * violations.
 */
export async function torture(options) {
  const arena = new Arena();
  const violations = [];
  try {
    const inputIds = await (options.isSteady ? beatSteadily : beat)(arena, options, violations);
    await finish(arena, violations);
    const { figures, problems } = await verify(arena, inputIds);
    violations.push(...arena.troubles, ...problems);
    return { violations, figures, faults: arena.hits, home: arena.home };
  } catch (error) {
    violations.push(...arena.troubles, `the torture itself broke: ${error.stack}`);
    return { violations, figures: {}, faults: arena.hits, home: arena.home };
  } finally {
    arena.tidy({ keep: violations.length > 0 });
  }
}

/** Every round adds new items, so that there is always work to hit. */
async function beat(arena, { seed, items, kills, minutes, faults, note }, violations) {
  const chance = chanceOf(seed);
  const until = minutes === undefined ? Infinity : Date.now() + minutes * 60_000;
  const rounds = minutes === undefined ? kills : Infinity;
  const perRound = Math.max(
    1,
    Math.round((items - items / 4) / (minutes === undefined ? kills : minutes * 40)),
  );
  const ids = appendItems(arena.input, chance, { from: 0, count: Math.ceil(items / 4) });
  for (let round = 1; round <= rounds && Date.now() < until; round += 1) {
    const count = Math.min(perRound, items - ids.length);
    ids.push(...appendItems(arena.input, chance, { from: ids.length, count }));
    const fault = chance.pick(faults);
    await fault(arena, chance);
    for (const problem of await check(arena))
      violations.push(`after round ${round} (${fault.name}): ${problem}`);
    note?.(`round ${round}: ${fault.name}`);
  }
  ids.push(...appendItems(arena.input, chance, { from: ids.length, count: items - ids.length }));
  return ids;
}

/** Every round of runners adds this many items. */
const ITEMS_PER_START = 16;
/** No items are added while this many are pending. */
const BACKLOG_MAX = 40;
const STRIKES_PER_CHECK = 40;
const CREW = 6;

const COMMANDS = [
  [6, "map"],
  [4, "resume"],
  [2, "retry"],
];

/** Six runners work all the time and are struck several times a second. */
async function beatSteadily(arena, { seed, minutes, kills = Infinity, faults, note }, violations) {
  const chance = chanceOf(seed);
  const until = Date.now() + (minutes ?? 60) * 60_000;
  const isOver = () => Date.now() >= until || arena.strikes >= kills;
  const ids = [];
  const crew = new Map();
  arena.jobs = 3;
  const backlog = () => ids.length - new Set(readLedger(arena.ledger).flatMap(doneItem)).size;
  const keepRunning = async (slot) => {
    while (!isOver()) {
      const command = ids.length === 0 ? "map" : chance.pick(COMMANDS);
      const count = command === "map" && backlog() < BACKLOG_MAX ? ITEMS_PER_START : 0;
      ids.push(...appendItems(arena.input, chance, { from: ids.length, count, isLong: true }));
      const runner = arena.start(arena.commands[command]());
      crew.set(slot, runner);
      await end(arena, runner, until - Date.now() + FINISH_MS); // a runner that is not struck lives long
    }
  };
  const runs = Array.from({ length: CREW }, (_, slot) => keepRunning(slot));
  await strikeSteadily({
    ...{ chance, isOver, ...(faults && { faults }) },
    targets: () => [...crew.values()].filter((runner) => !runner.isOver),
    onHit: async (name) => {
      arena.hit(name);
      note?.(`strike ${arena.strikes}: ${name}`);
      if (arena.strikes % STRIKES_PER_CHECK !== 0) return;
      for (const problem of await check(arena))
        violations.push(`after strike ${arena.strikes} (${name}): ${problem}`);
    },
  });
  for (const runner of crew.values()) signal(runner.pid, "SIGTERM");
  await Promise.all(runs);
  arena.jobs = 16;
  return ids;
}

function doneItem({ what, item }) {
  return what === "done" ? [item] : [];
}

/** The store must pass its check at every moment, not only at the end. */
async function check(arena) {
  if (!arena.hasStore) return [];
  const engine = await openStore(`sqlite:${arena.storePath}`);
  try {
    return (await engine.check()).map(({ rule, detail }) => `store check: ${rule}: ${detail}`);
  } finally {
    await engine.close();
  }
}

const FINISH_MS = 180_000;

/** After the last strike: the rest of the input, then all pending items, then the letters once more. */
async function finish(arena, violations) {
  for (const command of ["map", "resume", "retry"]) {
    const runner = arena.start(arena.commands[command]());
    const { code, said } = await end(arena, runner, FINISH_MS);
    if (code !== 0 && code !== 3)
      violations.push(`the last ${command} ended with ${code}: ${said.slice(-2000)}`);
  }
}

async function verify(arena, inputIds) {
  const engine = await openStore(`sqlite:${arena.storePath}`);
  try {
    const job = await engine.findJob(JOB);
    if (job === null) return { figures: {}, problems: ["the job is not there"] };
    const items = await readItems(engine, job.id);
    const ledger = readLedger(arena.ledger);
    const problems = [
      ...judge({ inputIds, items, ledger }),
      ...undone(items),
      ...(await booksOf(engine, job.id, items)),
      ...checkSummary(arena, items),
      ...(await survivors(arena)),
      ...(await check(arena)),
    ];
    return { figures: { strikes: arena.strikes, ...figuresOf(items, ledger) }, problems };
  } finally {
    await engine.close();
  }
}

async function readItems(engine, queue) {
  const items = [];
  for (const item of await engine.findItems("", { queue, limit: 1_000_000 })) {
    items.push({ ...item, attempts: await engine.listAttempts(item.ref) });
  }
  return items;
}

/** Strikes must not count against an item: whatever can succeed must have succeeded. */
function undone(items) {
  return items
    .filter(({ state, data }) => (state === "done") === (data.kind === "bad"))
    .map(({ itemId, state, data }) => `${itemId} (${data.kind}) is ${state} in the end`);
}

async function booksOf(engine, queue, items) {
  const problems = [];
  for (const operation of await engine.listOperations({ queue, open: true })) {
    problems.push(`redrive ${operation.id} has not ended: ${JSON.stringify(operation)}`);
  }
  const records = countAttempts(items);
  let started = 0;
  for (let after = 0; ; ) {
    const page = await engine.listEvents({ queue, types: ["attempt_started"], after, limit: 10_000 });
    if (page.length === 0) break;
    started += page.length;
    after = page.at(-1).id;
  }
  if (started !== records)
    problems.push(`${started} events tell of a started attempt, ${records} are on record`);
  return problems;
}

function checkSummary(arena, items) {
  const problems = [];
  const { attempts, total, remaining } = arena.ask("status", JOB);
  const records = countAttempts(items);
  if (attempts !== records)
    problems.push(`the summary counts ${attempts} attempts, ${records} are on record`);
  if (total !== items.length) problems.push(`the summary counts ${total} items, there are ${items.length}`);
  if (remaining !== 0) problems.push(`the summary has ${remaining} items left to do`);
  return problems;
}

const SURVIVAL_MS = 15_000;

async function survivors(arena) {
  const deadline = Date.now() + SURVIVAL_MS;
  while (Date.now() < deadline && markedProcesses(arena.mark).length > 0) await sleep(50);
  return markedProcesses(arena.mark).map(({ pid, command }) => `process ${pid} survived: ${command}`);
}

function countAttempts(items) {
  return items.reduce((sum, { attempts }) => sum + attempts.length, 0);
}

function figuresOf(items, ledger) {
  const outcomes = {};
  for (const { attempts } of items) {
    for (const { outcome } of attempts) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return {
    items: items.length,
    done: items.filter(({ state }) => state === "done").length,
    dead: items.filter(({ state }) => state === "dead").length,
    attempts: countAttempts(items),
    starts: ledger.filter(({ what }) => what === "start").length,
    ...outcomes,
  };
}
