/** Benchmarks reading and redriving letters, with few letters in the store and with a million. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { LIBRARY, percentile, runChild, say, timed, withFolder } from "./kit.mjs";
import { holderOf, newItems, openLetterStore } from "./letter-store.mjs";
import { insertRows, openRaw, rawReader } from "./raw-sqlite.mjs";
import { atLeast, atMost, count, ms, perSecond } from "./report.mjs";

const { countSelected, selectLetters } = await import(LIBRARY);

const JOBS = 10;
const GROUPS = 200;
const PAGE = 50;
const CALLS = 900;
const ROUNDS = 3;
const SLOW_CALLS = 30;
const SLOW_MS = 20;
const CHUNK = 2000;
const REDRIVES = 3;
const SEARCH_CALLS = 3;

export function measure({ quick }) {
  const [few, many] = quick ? [2000, 20_000] : [10_000, 1_000_000];
  return withFolder(async (folder) => {
    let listings = {};
    const small = await look(folder, few, async (store) => {
      listings = readWhole(store.engine.url);
    });
    rmSync(join(folder, `${few}.db`), { force: true });
    const large = await look(folder, many, (store) => redriveJobs(store, many / JOBS));
    const raw = await rawFigures(folder, many);
    return [
      {
        title: `Letters: looking (§2)`,
        rows: lookRows(small, large, raw),
        notes: lookNotes(few, many, large.indexUs),
      },
      { title: "Letters: searching (§2)", rows: searchRows(small, large), notes: [SEARCH_NOTE] },
      { title: "Letters: reading all of them (§2)", rows: listingRows(listings, few), notes: [LISTING_NOTE] },
      { title: "Letters: bulk redrive (§2)", rows: redriveRows(large.redrives, many), notes: [REDRIVE_NOTE] },
    ];
  });
}

/** Creates the store, runs every query many times, then calls `afterwards`. */
async function look(folder, letters, afterwards = async () => undefined) {
  say(`  ${count(letters)} letters are made`);
  const path = join(folder, `${letters}.db`);
  const building = await timed(() =>
    openLetterStore(`sqlite:${path}`, { jobs: JOBS, letters, groups: GROUPS }),
  );
  const store = building.result;
  const indexing = await timed(() => catchUp(store.engine));
  say(
    `  ${count(letters)} letters: questions (made in ${count(building.wallMs / 1000)} s, messages read in ${count(indexing.wallMs)} ms)`,
  );
  const questions = await questionsOf(store, letters);
  const figures = {};
  for (const [name, ask] of Object.entries(questions)) figures[name] = await askOften(ask);
  say(`  ${count(letters)} letters: searches`);
  const searches = {};
  for (const [name, ask] of Object.entries(searchesOf(store))) searches[name] = await askSeldom(ask);
  const indexUs = (indexing.cpuMs * 1000) / letters;
  const result = { letters, figures, searches, indexUs, redrives: await afterwards(store) };
  await store.engine.close();
  return result;
}

/** Runs the background work of `dlq maintain` and of the services of a run. */
async function catchUp(engine) {
  while (await engine.catchUp({ forMs: 10_000 }));
}

/** The queries: every filter alone, some combinations, and pages after the first one. */
async function questionsOf({ engine, jobs }, letters) {
  const list = (query) => () => engine.listLetters({ limit: PAGE, ...query });
  const groups = await engine.listGroups({ queue: jobs[0] });
  const rare = groups.at(-1).signature;
  const refs = (await engine.findItems("item-", { queue: jobs.at(-1), limit: 1000 })).map((item) => item.ref);
  const any = (values) => values[Math.floor(Math.random() * values.length)];
  const cursor = middleCursor(letters);
  const ages = await halfAgeMs(engine, cursor);
  const idOf = () => `item-${Math.floor((Math.random() * letters) / JOBS)}`;
  return {
    "list, first page": list({}),
    "list, page in the middle": list({ cursor }),
    "list --job": () => engine.listLetters({ limit: PAGE, queue: any(jobs) }),
    "list --type, common": list({ types: ["CommandFailed"] }),
    "list --type, two": list({ types: ["Timeout", "PermissionError"] }),
    "list --type, none there": list({ types: ["MergeConflict"] }),
    "list --class": list({ classes: ["permanent"] }),
    "list --group, large": list({ signatures: [groups[0].signature] }),
    "list --group, small": list({ signatures: [rare] }),
    "list, oldest first": list({ order: "oldest" }),
    "list, by type": list({ order: "type" }),
    "list --job, dead": () => engine.listLetters({ limit: PAGE, queue: any(jobs), states: ["dead"] }),
    "list --eligible": list({ eligible: true }),
    "list, not eligible": list({ eligible: false }),
    "list --job --type --eligible": () =>
      engine.listLetters({ limit: PAGE, queue: any(jobs), types: ["Timeout"], eligible: true }),
    "list --job, middle": list({ queue: jobs[Math.floor((JOBS - 1) / 2)], cursor }),
    "list by id": () => engine.listLetters({ limit: PAGE, itemIds: [idOf()] }),
    "list --older-than, half of them": list({ olderThanMs: ages }),
    "list --older-than --type": list({ olderThanMs: ages, types: ["Timeout"] }),
    "list --older-than, none": list({ olderThanMs: 86_400_000 }),
    "list, by item": list({ order: "item" }),
    "list --type, by item": list({ order: "item", types: ["Timeout"] }),
    "list, by attempts": list({ order: "attempts" }),
    "list --job, by attempts": () => engine.listLetters({ limit: PAGE, queue: any(jobs), order: "attempts" }),
    "list --attempts, all of them": list({ attemptsMax: 1 }),
    "list --attempts, none": list({ attemptsMin: 2 }),
    "list --search, a common word": list({ text: "socket" }),
    "list --search --job": () => engine.listLetters({ limit: PAGE, queue: any(jobs), text: "schema of" }),
    "list --search, the id of an item": () => engine.listLetters({ limit: PAGE, text: `: ${idOf()}` }),
    "list --search, none there": list({ text: "nowhere to be found" }),
    inspect: () => engine.readLetter(any(refs)),
    "find by prefix": () => engine.findItems(idOf(), { limit: 10 }),
    "groups, all jobs": () => engine.listGroups({}),
    "groups, one job": () => engine.listGroups({ queue: any(jobs) }),
    counts: () => engine.count(any(jobs)),
    "arrivals by the hour": () => engine.listArrivals({ bucketMs: 3_600_000 }),
    "events, last 100 of a job": () => engine.listEvents({ queue: any(jobs), after: letters, limit: 100 }),
  };
}

/** Queries that must read each letter, nearly all with the exact total of matches. */
function searchesOf({ engine, jobs }) {
  const search =
    (where, filter = {}) =>
    () =>
      countSelected(engine, { filter, where });
  return {
    "CEL, the first 50": () => firstOf(engine, "item.number % 7 == 3"),
    "CEL with a job": search(`letter.queue == "${jobs[0]}" && item.number % 7 == 3`),
    "CEL over item data": search("item.number % 7 == 3"),
    "CEL over the record": search('letter.reason.contains("1 of 1") && letter.redrive_count == 0'),
    "CEL over counts and times": search('letter.failure_count > 1 || letter.first_attempt < "2000-01-01"'),
    "CEL over the last failure": search('failure.error_message.contains("socket")'),
    "CEL over the history": search('letter.failure_history.exists(f, f.error_message.contains("socket"))'),
    "CEL over the whole letter": search('[letter].exists(l, l.reason != "")'),
    "CEL and --search": search("item.number % 7 == 3", { text: "socket" }),
    "CEL and --attempts": search("item.number % 7 == 3", { attemptsMin: 1 }),
  };
}

/** Measures the CPU time of reading complete letters, as `DlqManager.listItems` does. */
function readWhole(url) {
  const listings = {
    "all letters": undefined,
    "CEL over item data, all match": "item.number >= 0",
    "CEL over item data, two fifths match": "item.number % 5 < 2",
    "CEL over item data, one in a hundred matches": "item.number % 100 == 3",
    "CEL over the last failure": 'failure.error_message != ""',
  };
  const figures = {};
  for (const [what, where] of Object.entries(listings)) {
    const runs = Array.from({ length: LISTING_RUNS }, () => readInChild(url, where));
    const firsts = runs.map(({ first }) => first);
    const laters = runs.map(({ later }) => later);
    figures[what] = {
      first: percentile(firsts, 50),
      firstMax: Math.max(...firsts),
      later: percentile(laters, 50),
    };
  }
  return figures;
}

const LISTING_RUNS = 7;
const LISTING_CALLS = 8;
const WARM_FROM = 3;

function readInChild(url, where) {
  const { cpuMs } = runChild("read-letters", { url, calls: LISTING_CALLS, ...(where && { where }) });
  return { first: cpuMs[0], later: percentile(cpuMs.slice(WARM_FROM), 50) };
}

const LISTING_NOTE =
  "CPU time of the process in a call, in seven new processes: the median and the maximum of their first calls, in which V8 has compiled nothing yet and the heap grows, beside the median of their calls 4 to 8. The goal is held against the median of the first calls. Every letter comes with its data, all its failures, its notes and amendments; data and failures that no filter reads become strings and are parsed when they are used.";

function listingRows(listings, letters) {
  return Object.entries(listings).map(([what, { first, firstMax, later }]) => ({
    what: `${what}, ${count(letters)} letters`,
    figure: `first call: CPU ${ms(first)}, at most ${ms(firstMax)}`,
    beside: `later calls: CPU ${ms(later)}`,
    ...atMost(first, SEARCH_MS_MAX, "ms"),
  }));
}

async function firstOf(engine, where) {
  let found = 0;
  for await (const _letter of selectLetters(engine, { filter: {}, where })) {
    found += 1;
    if (found === PAGE) break;
  }
  return found;
}

/** The SQLite cursor after the letter in the middle, without reading half of the pages first. */
function middleCursor(letters) {
  const letterSequence = Math.floor(letters / 2);
  return Buffer.from(JSON.stringify(["newest", 0, letterSequence])).toString("base64url");
}

/** How long ago the letter in the middle was buried. */
async function halfAgeMs(engine, cursor) {
  const { letters } = await engine.listLetters({ limit: 1, cursor });
  return (await engine.now()) - letters[0].firstAttempt;
}

/** Runs slow queries less often, because they will not get faster. p99 is the median of the rounds' own p99. */
async function askOften(ask) {
  const first = await timed(ask);
  const calls = (first.wallMs > SLOW_MS ? SLOW_CALLS : CALLS) / ROUNDS;
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times = [];
    for (let call = 0; call < calls; call += 1) {
      const { wallMs, cpuMs } = await timed(ask); // keeping the results would measure garbage collection
      times.push({ wallMs, cpuMs });
    }
    rounds.push(times);
  }
  const middle = (field, percent) =>
    percentile(
      rounds.map((times) =>
        percentile(
          times.map((time) => time[field]),
          percent,
        ),
      ),
      50,
    );
  const rows = first.result?.letters?.length ?? 0;
  return { p50: middle("wallMs", 50), p99: middle("wallMs", 99), cpuP99: middle("cpuMs", 99), rows };
}

/** The median of a few runs: reading every letter varies little. */
async function askSeldom(ask) {
  await ask();
  const times = [];
  for (let call = 0; call < SEARCH_CALLS; call += 1) times.push((await timed(ask)).wallMs);
  return percentile(times, 50);
}

async function rawFigures(folder, rows) {
  say(`  ${count(rows)} raw rows`);
  const path = join(folder, "raw.db");
  const db = openRaw(path);
  const step = 50_000;
  for (let from = 0; from < rows; from += step) {
    const texts = newItems(from, Math.min(step, rows - from)).map((item) => JSON.stringify(item.data));
    insertRows(db, texts, 1000);
  }
  const reader = rawReader(db);
  const figures = {
    page: await askOften(() => reader.page(Math.ceil(Math.random() * rows))),
    lookUp: await askOften(() => reader.lookUp(Math.ceil(Math.random() * rows))),
  };
  db.close();
  rmSync(path, { force: true });
  return figures;
}

const P99_MS_MAX = 5;
const GROWTH_MAX = 2;
/** Below this, a ratio of two p50 says more about the machine than about the store. */
const GROWTH_MS_MIN = 0.5;

function lookRows(small, large, raw) {
  const rawOf = { "list, first page": raw.page, "list, page in the middle": raw.page, inspect: raw.lookUp };
  return Object.entries(large.figures).map(([what, figure]) => {
    const before = small.figures[what];
    const ratio = figure.p50 / before.p50;
    const peer = rawOf[what] ? `; raw SQLite: ${ms(rawOf[what].p50)}` : "";
    const alike = figure.p50 >= GROWTH_MS_MIN && figure.rows === before.rows;
    const met = figure.p99 < P99_MS_MAX && (!alike || ratio <= GROWTH_MAX);
    return {
      what,
      figure: `p50 ${ms(figure.p50)}, p99 ${ms(figure.p99)} (CPU ${ms(figure.cpuP99)})`,
      beside: `at ${count(small.letters)}: p50 ${ms(before.p50)}, p99 ${ms(before.p99)}${peer}`,
      ratio,
      goal: `p99 < ${P99_MS_MAX} ms, ≤ ${GROWTH_MAX} ×`,
      met,
    };
  });
}

function lookNotes(few, many, indexUs) {
  return [
    `In the library, ${count(many)} letters beside ${count(few)}; ${JOBS} jobs, ${GROUPS} groups, pages of ${PAGE} with data, failures and the exact total; ${CALLS} calls each (${SLOW_CALLS} when one takes more than ${SLOW_MS} ms), after one that is not counted, in three rounds: p99 is the middle one of theirs. The ratio is that of the two p50; it is not held against an answer below ${GROWTH_MS_MIN} ms, nor against one that has fewer letters to show in the small store.`,
    `Messages are read into the index of texts before the questions, off the hot path: ${count(indexUs)} µs of CPU for each letter.`,
    "The page and the look-up of raw SQLite read one row of 1 KB for each letter and parse it; a letter has its attempts and its group besides.",
  ];
}

const SEARCH_MS_MAX = 100;
const SEARCH_NOTE =
  "No index can answer these: every letter that the rest of the question leaves is looked at, with no more of each than the question looks at, a bounded number of letters in memory at a time. The source asks for less than 100 ms at 10,000 letters; a million is told for the record. Medians of three.";

function searchRows(small, large) {
  return Object.entries(small.searches).map(([what, medianMs]) => ({
    what: `${what}, ${count(small.letters)} letters`,
    figure: ms(medianMs),
    beside: `at ${count(large.letters)}: ${ms(large.searches[what])}`,
    ...atMost(medianMs, SEARCH_MS_MAX, "ms"),
  }));
}

const REDRIVE_NOTE =
  "The letters of one job among all in the store, in steps of 2,000, as `dlq retry` does it; letters that are not eligible are sent too. Medians of three jobs.";

/** Selects letters, redrives them in steps, and leases one of the operation's items as soon as one is ready. */
async function redriveJobs({ engine, jobs }, lettersEach) {
  const runs = [];
  for (const queue of jobs.slice(0, REDRIVES)) {
    say(`  redrive of ${count(lettersEach)} letters`);
    runs.push(await redriveJob(engine, queue));
  }
  const of = (field) =>
    percentile(
      runs.map((run) => run[field]),
      50,
    );
  return {
    beginMs: of("beginMs"),
    firstMs: of("firstMs"),
    totalMs: of("totalMs"),
    cpuMs: of("cpuMs"),
    sent: of("sent"),
  };
}

async function redriveJob(engine, queue) {
  const id = `op-${queue}`;
  let beginMs = 0;
  let firstMs = 0;
  let sent = 0;
  const start = performance.now();
  const { wallMs, cpuMs } = await timed(async () => {
    let operation = await engine.beginOperation({
      id,
      kind: "redrive",
      queue,
      filter: { queue },
      force: true,
      author: "bench",
      plan: {},
    });
    beginMs = performance.now() - start;
    while (operation.done + operation.refused < operation.selected) {
      operation = await engine.advance(id, { max: CHUNK });
      if (firstMs > 0) continue;
      await engine.settleAndLease(holderOf(queue), { settle: [], lease: { queue, max: 1, operationId: id } });
      firstMs = performance.now() - start;
    }
    sent = operation.done;
  });
  return { beginMs, firstMs, totalMs: wallMs, cpuMs, sent };
}

function redriveRows({ beginMs, firstMs, totalMs, cpuMs, sent }, letters) {
  const rate = (sent / totalMs) * 1000;
  return [
    {
      what: `${count(sent)} of ${count(letters)} letters: to the first item leased`,
      figure: `${ms(firstMs)} (selection ${ms(beginMs)})`,
      ...atMost(firstMs, 1000, "ms"),
    },
    {
      what: "bookkeeping, selection included",
      figure: `${perSecond(rate, "letters")} (CPU ${count((cpuMs * 1000) / sent)} µs each)`,
      ...atLeast(rate, 20_000, "/s"),
    },
  ];
}
