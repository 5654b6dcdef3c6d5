/** Benchmarks worktrees: how soon an agent has one, the duration of a job in a large repository, the cost of a letter. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ended, interleave, LIBRARY, percentile, say, startCli, timed, withFolder } from "./kit.mjs";
import { burialOf, FEW_CAUSES, lease, makeJob, newItems } from "./letter-store.mjs";
import { atLeast, atMost, count, ms } from "./report.mjs";
import { fileName, git, loadSource, makeRepository } from "./repository.mjs";

const { openStore } = await import(LIBRARY);

const LARGE = 5000;
const SMALL = 50;
const AT_A_TIME = 8;

export function measure({ quick }) {
  const items = quick ? 40 : 500;
  const rounds = quick ? 3 : 5;
  return withFolder(async (folder) => {
    const source = await loadSource(folder, "workspace/job-worktrees.ts");
    const { openRepository } = await loadSource(folder, "workspace/repository.ts");
    const kit = { folder, openJob: opener(source.JobWorktrees, openRepository) };
    return [
      { title: "Worktrees (§5)", rows: await readyRows(kit, rounds), notes: READY_NOTES },
      {
        title: `Workflows in worktrees: ${count(items)} items (§5)`,
        rows: await jobRows(kit, items),
        notes: JOB_NOTES,
      },
      { title: "Letters of agents (§5)", rows: await letterRows(kit, quick ? 10 : 40), notes: LETTER_NOTES },
    ];
  });
}

function opener(JobWorktrees, openRepository) {
  return async (top, home, jobId) => JobWorktrees.open(await openRepository(top), jobId, { home });
}

// How soon an agent has a worktree --------------------------------------------------------------------------------

const READY_NOTES = [
  "Each worktree is used before it is measured again: one file changed and committed, one left untracked.",
  "A worktree is ready when every file is that of the branch's tip, nothing of the item before is there, and it is on a branch of its own.",
];

async function readyRows(kit, rounds) {
  const rows = [];
  for (const files of [SMALL, LARGE]) {
    say(`  a worktree ready, ${count(files)} files, ${rounds} rounds`);
    const top = join(kit.folder, `ready-${files}`);
    makeRepository(top, files);
    const job = await kit.openJob(top, join(kit.folder, `home-${files}`), "bench");
    for (let warm = 0; warm < 3; warm += 1) await job.release(await job.acquire("first", warm)); // git rereads files that are as new as its index
    let number = 0;
    const figures = await interleave(
      {
        reuse: () => reuse(job, ++number),
        fresh: () => fresh(top, join(kit.folder, `fresh-${files}`), ++number),
      },
      rounds,
    );
    await job.close();
    rows.push(readyRow(files, figures));
  }
  return rows;
}

async function reuse(job, number) {
  const { wallMs, result: worktree } = await timed(() => job.acquire(`item-${number}`, 1));
  spoil(worktree.path, number);
  const { wallMs: releaseMs } = await timed(async () => {
    await job.merge(worktree, `item ${number}`);
    await job.release(worktree);
  });
  return { readyMs: wallMs, releaseMs };
}

function fresh(top, path, number) {
  const start = performance.now();
  git(top, "worktree", "add", "-q", "-b", `fresh-${number}`, path, "main");
  const addMs = performance.now() - start;
  spoil(path, number);
  const removing = performance.now();
  git(top, "worktree", "remove", "--force", path);
  return { readyMs: addMs + performance.now() - removing, addMs };
}

function spoil(path, number) {
  writeFileSync(join(path, "src/part-0/file-0.txt"), `changed by ${number}\n`);
  git(path, "commit", "-q", "-a", "-m", `change ${number}`);
  writeFileSync(join(path, "untracked"), "rubbish");
}

function readyRow(files, { reuse: own, fresh: plain }) {
  const ratio = plain.readyMs / own.readyMs;
  return {
    what: `a worktree ready, ${count(files)} files: from the pool`,
    figure: `${ms(own.readyMs)} (merge and release ${ms(own.releaseMs)})`,
    beside: `git worktree add + remove: ${ms(plain.readyMs)} (add ${ms(plain.addMs)})`,
    ratio,
    ...(files === LARGE ? atLeast(ratio, 10) : {}),
  };
}

// A whole job -------------------------------------------------------------------------------------------------------

const JOB_NOTES = [
  `${AT_A_TIME} agents at a time, through the command line, from its start to its end: the merges, the final merge and tidying up included. Each agent appends a line to a file of its own and commits it. Done once.`,
  "The peer is a shell that does the same with a fresh worktree for each item, one after the other: add, append, commit, merge, remove.",
  "Processes of git are counted in a run of their own, by git's own trace; those of the agents are not among them.",
];

async function jobRows(kit, items) {
  const own = await runJob(kit, { files: LARGE, items });
  const plain = plainItems(kit, Math.max(3, Math.round(items / 50)));
  const few = await runJob(kit, { files: SMALL, items: SMALL });
  const traced = await runJob(kit, { files: SMALL, items: SMALL, isTraced: true });
  return [
    {
      what: `${count(items)} items on ${count(LARGE)} files`,
      figure: itemsPerSecond(own.rate),
      beside: `a fresh worktree each: ${itemsPerSecond(plain.rate)}`,
      ratio: own.rate / plain.rate,
    },
    {
      what: "peak memory of the runner",
      figure: `${count(own.peakMb)} MB`,
      ...atMost(own.peakMb, 150, "MB"),
    },
    { what: `${count(SMALL)} items on ${count(SMALL)} files`, figure: itemsPerSecond(few.rate) },
    { what: "git processes of the runner, for each item", figure: count(traced.gits, 1) },
  ];
}

function itemsPerSecond(rate) {
  return `${count(rate, 1)} items/s`;
}

const AGENT = "echo done >> ${item.file} && git commit -q -m ${item.id} ${item.file}";
const WORKFLOW = JSON.stringify({
  name: "bench",
  map: { input: "items.json", id_field: "id", max_parallel: AT_A_TIME, agent_template: [{ shell: AGENT }] },
});

async function runJob({ folder }, { files, items, isTraced = false }) {
  say(`  a job with ${count(items)} items on ${count(files)} files`);
  const root = mkdtempSync(join(folder, "job-"));
  const top = join(root, "project");
  const list = Array.from({ length: items }, (_, index) => ({ id: `item-${index}`, file: fileName(index) }));
  makeRepository(top, files, { "items.json": JSON.stringify(list), "workflow.yml": WORKFLOW });
  const traces = join(root, "traces");
  mkdirSync(traces);
  const env = { REDRIVE_HOME: join(root, "home"), ...(isTraced && { GIT_TRACE2_EVENT: traces }) };
  const { wallMs, peakMb } = await runWatched(["run", "workflow.yml", "--quiet"], top, env);
  const merges = Number(git(top, "rev-list", "--count", "--merges", "HEAD")) - 1; // the last merge is that of the job
  if (merges !== items) throw new Error(`${merges} of ${items} items were merged`);
  const gits = countGits(traces) / items;
  rmSync(root, { recursive: true, force: true });
  return { rate: (items / wallMs) * 1000, peakMb, gits };
}

async function runWatched(args, cwd, env) {
  const start = performance.now();
  const runner = startCli(args, env, cwd);
  let peakMb = 0;
  const looking = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(runner.pid));
  }, 50);
  await ended(runner);
  clearInterval(looking);
  if (runner.exitCode !== 0) throw new Error(`redrive ${args[0]} ended with ${runner.exitCode}`);
  return { wallMs: performance.now() - start, peakMb };
}

function peakOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0; // the process has ended, or /proc does not exist
  }
}

/** Counts git processes by trace file; the runner's own calls are recognized by their settings. */
function countGits(traces) {
  const starts = readdirSync(traces).map((name) => firstStart(join(traces, name)));
  const own = starts.filter((argv) => argv.includes("core.fsmonitor=false") || argv.includes("merge"));
  if (process.env.BENCH_GITS !== undefined) say(tallyText(own));
  return own.length;
}

function firstStart(path) {
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const event = line === "" ? {} : JSON.parse(line);
    if (event.event === "start") return event.argv;
  }
  return [];
}

function tallyText(starts) {
  const tally = new Map();
  for (const argv of starts) {
    const command = argv
      .filter((arg, at) => at > 0 && arg !== "-c" && argv[at - 1] !== "-c")
      .slice(0, 2)
      .join(" ");
    const name = command.replace(/ .*[0-9a-f]{20}.*| refs.*/, "");
    tally.set(name, (tally.get(name) ?? 0) + 1);
  }
  return [...tally]
    .sort((a, b) => b[1] - a[1])
    .map(([name, times]) => `    ${times} ${name}`)
    .join("\n");
}

/** The baseline: a hand-written script. */
function plainItems({ folder }, items) {
  say(`  ${count(items)} items with a fresh worktree each`);
  const top = join(folder, "plain");
  makeRepository(top, LARGE);
  const path = join(folder, "plain-worktree");
  const start = performance.now();
  for (let index = 0; index < items; index += 1) {
    const branch = `plain-${index}`;
    git(top, "worktree", "add", "-q", "-b", branch, path, "main");
    appendFileSync(join(path, fileName(index)), "done\n");
    git(path, "commit", "-q", "-m", branch, fileName(index));
    git(top, "merge", "-q", "--no-ff", "--no-edit", branch);
    git(top, "worktree", "remove", path);
    git(top, "branch", "-q", "-d", branch);
  }
  return { rate: (items / (performance.now() - start)) * 1000 };
}

// What a letter costs ------------------------------------------------------------------------------------------------

const LETTER_NOTES = [
  "The source asks for less than 5 ms for each failed agent: the record that keeps the worktree, and the letter in the store, durable.",
  "The agent has left one changed file and one new file. Two processes of git find that, in the time of the agent's slot; the runner's loop goes on meanwhile.",
];

async function letterRows(kit, letters) {
  const rows = [];
  for (const files of [SMALL, LARGE]) {
    say(`  ${count(letters)} letters, ${count(files)} files`);
    const top = join(kit.folder, `ready-${files}`);
    const job = await kit.openJob(top, join(kit.folder, `home-letters-${files}`), "letters");
    const engine = await openStore(`sqlite:${join(kit.folder, `letters-${files}.db`)}`);
    await makeJob(engine, "letters");
    const samples = [];
    for (let number = 0; number < letters; number += 1) samples.push(await oneLetter(job, engine, number));
    await engine.close();
    await job.tidy({ isNeeded: async () => false, hasLetters: () => false });
    rows.push(...letterRowsOf(files, samples));
  }
  return rows;
}

async function oneLetter(job, engine, number) {
  const worktree = await job.acquire(`item-${number}`, 1);
  appendFileSync(join(worktree.path, fileName(number % SMALL)), "half the work\n");
  writeFileSync(join(worktree.path, "untracked"), "rubbish");
  await engine.add("letters", newItems(number, 1));
  const [item] = await lease(engine, "letters", 1);
  const { wallMs: gitMs, result: worktreeArtifacts } = await timed(() => job.artifacts(worktree));
  const { wallMs: keepMs } = await timed(async () => job.keep(worktree, "it failed"));
  const settlement = burialOf(item, FEW_CAUSES);
  const settle = [{ ...settlement, death: { ...settlement.death, worktreeArtifacts } }];
  const { wallMs: storeMs } = await timed(() => engine.settleAndLease(null, { settle }));
  await job.release(worktree, { discard: true });
  return { gitMs, keepMs, storeMs };
}

function letterRowsOf(files, samples) {
  const median = (value) => percentile(samples.map(value), 50);
  const written = median(({ keepMs, storeMs }) => keepMs + storeMs);
  const [gitMs, keepMs, storeMs] = ["gitMs", "keepMs", "storeMs"].map((field) => median((one) => one[field]));
  return [
    {
      what: `a letter written, ${count(files)} files`,
      figure: `${ms(written)} (worktree kept ${ms(keepMs)}, stored ${ms(storeMs)})`,
      ...atMost(written, 5, "ms"),
    },
    { what: "before it: what git finds in the worktree", figure: ms(gitMs) },
  ];
}
