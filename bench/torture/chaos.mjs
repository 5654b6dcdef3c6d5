/**
 * Chaos test: workers of several queues share one store while items are added, letters are redriven, and workers, launchers,
 * connections and the PostgreSQL server are killed. At the end the store is compared with the ledger that the commands
 * wrote. The command is `bench/torture.mjs --engine postgres`; `test/torture/postgres.test.ts` is the short form.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { addItems } from "../../dist/engine.js";
import { chanceOf } from "./chance.mjs";
import { ChaosArena, patiently, QUEUES } from "./chaos-arena.mjs";
import { COMMAND_FAULTS, failOver, STEADY_CHAOS_FAULTS } from "./chaos-faults.mjs";
import { judgeChaos, longestStall, slowestRecovery } from "./chaos-judge.mjs";
import { newItems } from "./items.mjs";
import { judge } from "./judge.mjs";
import { readLedger } from "./ledger.mjs";
import { PROCESS_FAULTS, strikeSteadily } from "./process-faults.mjs";
import { markedProcesses } from "./processes.mjs";

/** The items of a killed worker must run again within this time, and no longer standstill is allowed. */
const RECOVERY_MS_MAX = 10_000;

/**
 * `options`: `seed`, `kills` (strikes) or `minutes`, `faults` (see `chaos-faults.mjs`), `recoveryMsMax`, `note` (called for
 * each strike), `isSteady` (several strikes a second, also at launchers), `failOverShare` (default 0.03), `engine`, `server`
 * (see `chaos-arena.mjs`). Returns `{ violations, figures, home }`; the home is kept only after violations.
 */
export async function chaos({ recoveryMsMax = RECOVERY_MS_MAX, ...options }) {
  const { engine, server } = options;
  const arena = await ChaosArena.open({
    ...(engine && { engine }),
    ...(server && { server }),
    ...(options.isSteady && { crew: 7 }),
  });
  const violations = [];
  try {
    const feed = { isOver: false, added: [], tries: 0, isLong: options.isSteady ?? false };
    const redriveMs = options.isSteady ? 3000 : 500;
    const work = [
      feedQueues(arena, chanceOf(options.seed + 1), feed),
      redriveLetters(arena, feed, redriveMs),
    ];
    await (options.isSteady ? beatSteadily : strikeOften)(arena, options, violations);
    feed.isOver = true;
    await Promise.all(work);
    await finish(arena);
    await arena.dismiss();
    const { figures, problems } = await verify(arena, { feed, recoveryMsMax });
    violations.push(...arena.troubles, ...problems);
    return { violations, figures, faults: faultsOf(arena), home: arena.home };
  } catch (error) {
    violations.push(...arena.troubles, `the chaos itself broke: ${error.stack}`);
    return { violations, figures: {}, faults: faultsOf(arena), home: arena.home };
  } finally {
    await arena.close({ keep: violations.length > 0 });
  }
}

/** The whole store is checked after this many strikes, while workers write. */
const STRIKES_PER_CHECK = 5;

async function strikeOften(arena, { seed, kills, minutes, faults, note }, violations) {
  const chance = chanceOf(seed);
  const until = minutes === undefined ? Infinity : Date.now() + minutes * 60_000;
  const rounds = minutes === undefined ? kills : Infinity;
  await untilWorked(arena);
  for (let round = 1; round <= rounds && Date.now() < until; round += 1) {
    await sleep(chance.between(100, 1200));
    const fault = chance.pick(faults);
    await fault(arena, chance);
    note?.(`strike ${round}: ${fault.name}`);
    if (round % STRIKES_PER_CHECK !== 0) continue;
    for (const problem of await check(arena))
      violations.push(`after strike ${round} (${fault.name}): ${problem}`);
  }
}

const STRIKES_PER_STEADY_CHECK = 60;
const FAIL_OVER_SHARE = 0.03;

/** Most strikes hit one worker, its launcher or its commands; on PostgreSQL every third hits connections or the server. */
async function beatSteadily(arena, options, violations) {
  const { seed, kills = Infinity, minutes = 60, failOverShare = FAIL_OVER_SHARE, note } = options;
  const chance = chanceOf(seed);
  const until = Date.now() + minutes * 60_000;
  arena.replaceMsMax = 100;
  const { around, share } = faultsAround(arena, failOverShare);
  await untilWorked(arena);
  let checked = 0;
  await strikeSteadily({
    chance,
    isOver: () => Date.now() >= until || arena.strikes.length >= kills,
    targets: () => arena.crew.filter((worker) => !worker.isOver && !worker.isStruck),
    faults: [
      ...PROCESS_FAULTS.map(([weight, fault]) => [weight * (1 - share), fault]),
      [sumOfWeights(PROCESS_FAULTS) * share, () => chance.pick(around)(arena, chance)],
    ],
    onHit: async (name, worker) => {
      arena.hit(name, worker.isStruck ? { pid: worker.pid } : {});
      note?.(`strike ${arena.strikes.length}: ${name}`);
      if (arena.strikes.length - checked < STRIKES_PER_STEADY_CHECK) return;
      checked = arena.strikes.length;
      for (const problem of await check(arena))
        violations.push(`after strike ${checked} (${name}): ${problem}`);
    },
  });
}

/** The faults outside of the workers, and their share of all strikes. */
function faultsAround({ server }, failOverShare) {
  if (server === undefined) return { around: COMMAND_FAULTS, share: 0.08 };
  // Cuts no connections: PostgreSQL would show a commit that still waits for the standby, and a failover would lose it.
  if (server.failOver !== undefined) return { around: [[1, failOver]], share: failOverShare };
  return { around: STEADY_CHAOS_FAULTS, share: 0.35 };
}

function sumOfWeights(faults) {
  return faults.reduce((sum, [weight]) => sum + weight, 0);
}

function faultsOf({ strikes }) {
  return sumOf(strikes.map(({ what }) => [what, 1]));
}

/** Waits until all workers are busy, before the first strike. */
async function untilWorked(arena) {
  while (readLedger(arena.ledger).length < 20) await sleep(50);
}

async function check({ store }) {
  return (await patiently(() => store.check())).map(({ rule, detail }) => `store check: ${rule}: ${detail}`);
}

/** Few enough that reclaimed items soon run again, enough that no worker is idle. */
const READY_MIN = 15;

/** Adds items one by one, in bulk and from a file until the end. Repeats additions that were not acknowledged. */
async function feedQueues(arena, chance, feed) {
  const ways = [
    [4, addOneByOne],
    [4, addAtOnce],
    [1, importFile],
  ];
  while (!feed.isOver) {
    for (const queue of QUEUES) {
      const { ready } = await patiently(() => arena.store.count(queue.name));
      if (ready > READY_MIN) continue;
      const items = newItems(chance, {
        ...{ from: feed.added.length, count: chance.between(5, 25), isLong: feed.isLong },
      });
      const brought = items.map((data) => ({
        ...{ key: data.id, data, priority: chance.pick(PRIORITIES) },
        ...(queue.orderingKeys && { orderingKey: `key-${chance.between(1, queue.orderingKeys)}` }),
      }));
      feed.added.push(...brought.map(({ key }) => ({ queue: queue.name, id: key })));
      await chance.pick(ways)(arena, { queue: queue.name, items: brought, feed });
    }
    await sleep(30);
  }
}

const PRIORITIES = [
  [1, "high"],
  [4, "normal"],
  [1, "low"],
];

async function addOneByOne(arena, { queue, items, feed }) {
  for (const item of items) await addAtOnce(arena, { queue, items: [item], feed });
}

async function addAtOnce({ store }, { queue, items, feed }) {
  await patiently(() => {
    feed.tries += 1;
    return addItems(store, queue, items);
  });
}

/** Repeats an import that was killed or lost its server; the keys prevent duplicates. */
async function importFile(arena, { queue, items }) {
  const path = join(arena.home, `import-${items[0].key}.jsonl`);
  writeFileSync(path, items.map(envelopeLine).join(""));
  while ((await arena.start("queue", "import", queue, path, "--envelope").ended) !== 0) await sleep(50);
}

function envelopeLine({ orderingKey, ...item }) {
  return `${JSON.stringify({ ...item, ordering_key: orderingKey })}\n`;
}

/** Redrives letters continuously, one queue after another. */
async function redriveLetters(arena, feed, everyMs) {
  for (let round = 0; !feed.isOver; round += 1) {
    const { name } = QUEUES[round % QUEUES.length];
    await arena.start("dlq", "retry", name, "--force", "--yes", "--quiet").ended;
    await sleep(everyMs);
  }
}

const FINISH_MS = 120_000;
/** Strikes near the end may cause new letters of items that can succeed, so they are redriven several times. */
const ROUNDS_MAX = 4;

/** After the last strike: finishes all started work and redrives the letters. */
async function finish(arena) {
  await drained(arena);
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    for (const { id } of await arena.store.listOperations({ open: true }))
      await arena.start("ops", "resume", id, "--quiet").ended;
    for (const { name } of QUEUES)
      await arena.start("dlq", "retry", name, "--force", "--yes", "--quiet").ended;
    await drained(arena);
    const open = await arena.store.listOperations({ open: true });
    if (open.length === 0 && undone(await findAll(arena.store)).length === 0) return;
  }
}

async function drained({ store }) {
  const deadline = Date.now() + FINISH_MS;
  for (const { name } of QUEUES) {
    for (;;) {
      const { ready, leased } = await patiently(() => store.count(name));
      if (ready === 0 && leased === 0) break;
      if (Date.now() > deadline) return; // the final checks report what is left
      await sleep(100);
    }
  }
}

async function verify(arena, { feed, recoveryMsMax }) {
  const { store, strikes, outages } = arena;
  const survived = await survivors(arena);
  const items = await readItems(store);
  const ledger = readLedger(arena.ledger).toSorted((one, other) => one.at - other.at);
  const counters = (await store.listCounters()).map(({ name, value }) => [name, value]);
  const testimony = {
    ...{ items, ledger, strikes, outages, recoveryMsMax, killedCommands: arena.killedCommands },
    events: await countEvents(store),
    counters: sumOf(counters),
    ...(await readFates(store)),
    operations: await store.listOperations({}),
  };
  const problems = [
    ...judge({ inputIds: feed.added.map(({ id }) => id), items, ledger }),
    ...misplaced(feed.added, items),
    ...undone(items),
    ...judgeChaos(testimony),
    ...(await check(arena)),
    ...survived,
  ];
  return { problems, figures: figuresOf(testimony, feed) };
}

async function readItems(store) {
  const items = [];
  for (const item of await findAll(store))
    items.push({ ...item, attempts: await store.listAttempts(item.ref) });
  return items;
}

async function findAll(store) {
  const limit = 1_000_000;
  return (await Promise.all(QUEUES.map(({ name }) => store.findItems("", { queue: name, limit })))).flat();
}

async function* eventsOf(store, query) {
  for (let after = 0; ; ) {
    const page = await store.listEvents({ ...query, after, limit: 10_000 });
    if (page.length === 0) return;
    yield* page;
    after = page.at(-1).id;
  }
}

async function countEvents(store) {
  const counts = [];
  for await (const { type } of eventsOf(store, {})) counts.push([type, 1]);
  return sumOf(counts);
}

/** Returns attempts after which an item was buried, and attempts with late results, as `item/attempt`. */
async function readFates(store) {
  const [buried, late] = [new Set(), []];
  for await (const event of eventsOf(store, { types: ["dlq_item_added", "late_result"] })) {
    const attempt = `${event.itemId}/${event.attempt}`;
    if (event.type === "late_result") late.push({ attempt, outcome: event.data.outcome });
    else buried.add(attempt);
  }
  return { buried, late };
}

function misplaced(added, items) {
  const queues = new Map(items.map(({ itemId, queue }) => [itemId, queue]));
  return added
    .filter(({ id, queue }) => queues.has(id) && queues.get(id) !== queue)
    .map(({ id, queue }) => `${id} was added to ${queue} and is in ${queues.get(id)}`);
}

/** Items in a wrong final state: strikes must not count against an item, so all but the `bad` ones must succeed. */
function undone(items) {
  return items
    .filter(({ state, data }) => (state === "done") === (data.kind === "bad"))
    .map(({ itemId, state, data }) => `${itemId} (${data.kind}) is ${state} in the end`);
}

const SURVIVAL_MS = 15_000;

async function survivors(arena) {
  const deadline = Date.now() + SURVIVAL_MS;
  while (Date.now() < deadline && markedProcesses(arena.mark).length > 0) await sleep(50);
  return markedProcesses(arena.mark).map(({ pid, command }) => `process ${pid} survived: ${command}`);
}

function sumOf(pairs) {
  const sums = {};
  for (const [name, value] of pairs) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}

function figuresOf(testimony, feed) {
  const { items, ledger, strikes, outages, events, operations } = testimony;
  const { recovered, takenBackMs, firstsMs, againMs } = slowestRecovery(testimony);
  return {
    strikes: strikes.length,
    ...sumOf(strikes.map(({ what }) => [what, 1])),
    items: items.length,
    added: feed.added.length,
    ...sumOf(items.map(({ state }) => [state, 1])),
    attempts: items.reduce((sum, item) => sum + item.attempts.length, 0),
    starts: ledger.filter(({ what }) => what === "start").length,
    ...sumOf(items.flatMap(({ attempts }) => attempts.map(({ outcome }) => [outcome, 1]))),
    "late results": events.late_result ?? 0,
    redrives: operations.length,
    "ms of outages": outages.reduce((sum, { from, to }) => sum + to - from, 0),
    "ms of the longest standstill": Math.round(longestStall(testimony).ms),
    "lost attempts of killed workers": recovered,
    "ms until the last was taken back": takenBackMs,
    "ms until the last urgent one was begun again": firstsMs,
    "ms until the last of all was begun again": againMs,
  };
}
