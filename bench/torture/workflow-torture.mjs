/**
 * Tortures the runners of one workflow in a real repository: killed in every phase and resumed. At the end all work is in
 * the user's branch once, and only what letters name remains.
 */
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../dist/engine.js";
import { Arena } from "./arena.mjs";
import { chanceOf } from "./chance.mjs";
import { end } from "./faults.mjs";
import { judge } from "./judge.mjs";
import { readLedger } from "./ledger.mjs";
import { LAUNCHER_FAULTS, strikeSteadily } from "./process-faults.mjs";
import { markedProcesses, signal } from "./processes.mjs";
import { git, makeItems, makeProject } from "./workflow-items.mjs";
import { judgeCheckout, judgeWorkflow } from "./workflow-judge.mjs";

/** `options`: `seed`, `items`, `kills`, `minutes` (instead of `kills`), `note`. Returns the same as `torture`. */
export async function tortureWorkflow(options) {
  const ring = new Ring();
  const violations = [];
  try {
    const chance = chanceOf(options.seed);
    const items = makeItems(chance, options.items);
    makeProject(ring.project, items);
    ring.start = git(ring.project, "rev-parse", "HEAD");
    await beat(ring, chance, options, violations);
    await finish(ring, violations);
    const figures = await verify(ring, items, violations);
    await heal(ring, violations);
    violations.push(...ring.arena.troubles);
    return {
      violations,
      figures: { strikes: ring.arena.strikes, ...figures },
      faults: ring.arena.hits,
      home: ring.arena.home,
    };
  } catch (error) {
    violations.push(...ring.arena.troubles, `the torture itself broke: ${error.stack}`);
    return { violations, figures: {}, faults: ring.arena.hits, home: ring.arena.home };
  } finally {
    ring.arena.tidy({ keep: violations.length > 0 });
  }
}

/** The environment of a run: a home, a repository in it, and the one job. */
class Ring {
  arena = new Arena();
  project = join(realpathSync(this.arena.home), "project");
  start = "";
  #job = null;

  constructor() {
    this.arena.cwd = this.project;
  }

  async withStore(action) {
    const engine = await openStore(`sqlite:${this.arena.storePath}`);
    try {
      return await action(engine);
    } finally {
      await engine.close();
    }
  }

  /** Null until a runner has created the job. */
  async job() {
    if (this.#job === null && this.arena.hasStore) {
      const jobs = await this.withStore((engine) => engine.listJobs({ limit: 1 }));
      this.#job = jobs[0]?.id ?? null;
    }
    return this.#job;
  }

  async phase() {
    const id = await this.job();
    if (id === null) return "none";
    const job = await this.withStore((engine) => engine.findJob(id));
    return job?.progress?.phase ?? "setup";
  }

  /** The command that creates the job, or one that resumes it. */
  async command(chance) {
    const job = await this.job();
    if (job === null) return ["run", "workflow.yml", "--quiet"];
    return chance.pick([
      [6, ["resume", job, "--quiet"]],
      [1, ["resume", job, "--no-dlq", "--quiet"]],
      [3, ["dlq", "retry", job, "--yes", "--force", "--quiet"]],
    ]);
  }
}

async function beat(ring, chance, { kills, minutes, isSteady = false, note }, violations) {
  const until = minutes === undefined ? Infinity : Date.now() + minutes * 60_000;
  for (let round = 1; (minutes !== undefined || round <= kills) && Date.now() < until; round += 1) {
    const args = await ring.command(chance);
    const runner = ring.arena.start(args);
    if (isSteady) await strikeAtLauncher(ring, chance, runner);
    const moment = await chooseMoment(ring, chance, runner);
    await strike(ring, chance, runner);
    const isQuiet = chance.between(1, 2) === 1; // otherwise the next runner meets git processes of this one
    const problems = isQuiet ? [...(await survivors(ring)), ...judgeCheckout(checkoutOf(ring))] : [];
    for (const problem of [...problems, ...(await checkStore(ring))])
      violations.push(`after round ${round} (\`${args.slice(0, 2).join(" ")}\`, ${moment}): ${problem}`);
    note?.(`round ${round}: ${args[0]} ${moment}`);
  }
}

const LAUNCHER_MS_MAX = 15_000;

/** Strikes several times at the launcher of commands and git, before the runner itself is struck. */
async function strikeAtLauncher(ring, chance, runner) {
  const until = Date.now() + LAUNCHER_MS_MAX;
  let left = chance.between(2, 12);
  await strikeSteadily({
    ...{ chance, faults: LAUNCHER_FAULTS, isBusyOnly: true },
    isOver: () => left === 0 || runner.isOver || Date.now() > until,
    targets: () => [runner].filter(({ isOver }) => !isOver),
    onHit: (name) => {
      left -= 1;
      ring.arena.hit(name);
    },
  });
}

/** Waits for a random time, or for the start of a phase. */
async function chooseMoment(ring, chance, runner) {
  const phase = chance.pick([
    [5, null],
    [1, "map"],
    [2, "reduce"],
    [2, "merge"],
    [2, "ended"],
  ]);
  const before = await ring.phase();
  if (phase !== null && phase !== before) {
    const isThere = await untilPhase(ring, phase, runner);
    await Promise.race([sleep(chance.between(0, 300)), runner.ended]);
    return isThere ? `as ${phase} began` : `after its end`;
  }
  const ms = chance.pick([
    [1, chance.between(50, 700)],
    [3, chance.between(300, 3000)],
  ]);
  await Promise.race([sleep(ms), runner.ended]);
  return `${ms} ms after the start, which was in ${before}`;
}

const PHASE_MS_MAX = 6000;

async function untilPhase(ring, phase, runner) {
  const deadline = Date.now() + PHASE_MS_MAX;
  while (Date.now() < deadline && !runner.isOver) {
    if ((await ring.phase()) === phase) return true;
    await sleep(10);
  }
  return false;
}

async function strike(ring, chance, runner) {
  const name = chance.pick([
    [6, "SIGKILL"],
    [1, "SIGTERM"],
  ]);
  if (!runner.isOver && signal(runner.pid, name)) ring.arena.hit(name);
  await end(ring.arena, runner);
}

async function checkStore(ring) {
  if (!ring.arena.hasStore) return [];
  const findings = await ring.withStore((engine) => engine.check());
  return findings.map(({ rule, detail }) => `store check: ${rule}: ${detail}`);
}

const FINISH_MS = 120_000;

/** After the last strike. Runs twice, so that letters of vanished workers are retried. */
async function finish(ring, violations) {
  const job = await ring.job();
  const resume = job === null ? ["run", "workflow.yml", "--quiet"] : ["resume", job, "--quiet"];
  for (let time = 1; time <= 2; time += 1) {
    const args = time === 1 ? resume : ["resume", await ring.job(), "--quiet"];
    const { code, said } = await end(ring.arena, ring.arena.start(args), FINISH_MS);
    if (code !== 3) violations.push(`the last \`${args[0]}\` ended with ${code}: ${said.slice(-2000)}`);
  }
}

async function verify(ring, items, violations) {
  const survived = await survivors(ring);
  const stored = await readItems(ring);
  const merges = mergesOf(ring, await ring.job());
  violations.push(
    ...survived,
    ...judge({ inputIds: items.map(({ id }) => id), items: stored, ledger: witnessed(ring, stored, merges) }),
    ...undone(stored, (kind) => kind === "bad"),
    ...judgeWorkflow(await testimonyOf(ring, stored, merges)),
    ...(await checkStore(ring)),
  );
  return figuresOf(stored, merges);
}

/** Once the cause is fixed, a redrive completes the last items, and nothing remains. */
async function heal(ring, violations) {
  writeFileSync(ring.arena.healed, "");
  const args = ["dlq", "retry", await ring.job(), "--yes", "--force", "--quiet"];
  const { code, said } = await end(ring.arena, ring.arena.start(args), FINISH_MS);
  if (code !== 0) violations.push(`the last redrive ended with ${code}: ${said.slice(-2000)}`);
  const stored = await readItems(ring);
  const problems = [
    ...(await survivors(ring)),
    ...undone(stored, () => false),
    ...judgeWorkflow(await testimonyOf(ring, stored, mergesOf(ring, await ring.job()))),
    ...(await checkStore(ring)),
  ];
  violations.push(...problems.map((problem) => `after the cause was mended: ${problem}`));
}

function readItems(ring) {
  return ring.withStore(async (engine) => {
    const items = [];
    for (const item of await engine.findItems("", { queue: await ring.job(), limit: 100_000 })) {
      items.push({ ...item, attempts: await engine.listAttempts(item.ref) });
    }
    return items;
  });
}

function undone(items, isBad) {
  return items
    .filter(({ state, data }) => (state === "done") === isBad(data.kind))
    .map(({ itemId, state, data }) => `${itemId} (${data.kind}) is ${state} in the end`);
}

/** A success may rely on the work of an earlier attempt: then git proves that it was done. */
function witnessed(ring, items, merges) {
  const ledger = readLedger(ring.arena.ledger);
  const ids = new Set(merges);
  const byGit = items
    .filter(({ itemId }) => ids.has(itemId))
    .flatMap(({ itemId, attempts }) =>
      attempts
        .filter(({ outcome }) => outcome === "succeeded")
        .map(({ number }) => ({ what: "done", item: itemId, attempt: number, pid: 0, at: 0 })),
    );
  return [...ledger, ...byGit];
}

async function testimonyOf(ring, items, merges) {
  const job = await ring.job();
  const { letters } = await ring.withStore((engine) => engine.listLetters({ queue: job, limit: 10_000 }));
  return {
    items,
    merges,
    files: filesOf(ring, items),
    letters: letters.map(({ itemId, worktreeArtifacts }) => ({ itemId, ...worktreeArtifacts })),
    worktrees: lines(git(ring.project, "worktree", "list", "--porcelain"))
      .flatMap((line) => /^worktree (.*)$/.exec(line)?.[1] ?? [])
      .filter((path) => path !== ring.project),
    branches: lines(git(ring.project, "branch", "--format=%(refname:short)")).filter(
      (name) => name !== "main",
    ),
    folders: foldersOf(ring),
    jobBranch: `redrive/${job}`,
    checkout: checkoutOf(ring),
    locks: lines(git(ring.project, "rev-parse", "--absolute-git-dir")).flatMap(locksIn),
  };
}

/** The trailers of all merges, in any branch. */
function mergesOf(ring, job) {
  const format =
    "--format=%(trailers:key=Redrive-Job,valueonly,separator=%x1f)%x1e%(trailers:key=Redrive-Item,valueonly,separator=%x1f)";
  return lines(git(ring.project, "log", "--merges", "--branches", format))
    .map((line) => line.split("\x1e"))
    .filter(([of]) => of === JSON.stringify(job))
    .map(([, item]) => JSON.parse(item));
}

function filesOf(ring, items) {
  const files = items.map(({ itemId }) => [itemId, join(ring.project, "work", `${itemId}.txt`)]);
  return new Map(
    files.filter(([, path]) => existsSync(path)).map(([id, path]) => [id, readFileSync(path, "utf8")]),
  );
}

/** The worktrees below the home and any other entries, without the records of worktrees. */
function foldersOf(ring) {
  const root = join(realpathSync(ring.arena.home), "worktrees", "project");
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((job) => {
      const entries = readdirSync(join(root, job.name)).filter((name) => name !== "job.json");
      const isRecord = (name) => name.endsWith(".json") && entries.includes(name.slice(0, -".json".length));
      return entries.filter((name) => !isRecord(name)).map((name) => join(root, job.name, name));
    });
}

function checkoutOf(ring) {
  return {
    status: git(ring.project, "status", "--porcelain"),
    branch: git(ring.project, "branch", "--show-current"),
    moves: lines(git(ring.project, "log", "--first-parent", "--format=%s", `${ring.start}..HEAD`)),
  };
}

function locksIn(gitDir) {
  return readdirSync(gitDir, { recursive: true })
    .filter((path) => path.endsWith(".lock"))
    .map((path) => join(gitDir, path));
}

const SURVIVAL_MS = 15_000;

async function survivors(ring) {
  const deadline = Date.now() + SURVIVAL_MS;
  while (Date.now() < deadline && markedProcesses(ring.arena.mark).length > 0) await sleep(20);
  return markedProcesses(ring.arena.mark).map(({ pid, command }) => `process ${pid} survived: ${command}`);
}

function figuresOf(items, merges) {
  const outcomes = {};
  for (const { outcome } of items.flatMap(({ attempts }) => attempts))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const attempts = items.reduce((sum, item) => sum + item.attempts.length, 0);
  return { items: items.length, merges: merges.length, attempts, ...outcomes };
}

function lines(text) {
  return text.split("\n").filter(Boolean);
}
