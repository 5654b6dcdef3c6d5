/**
 * Many processes on one store: some add failing items, some read, others retry, edit, discard, restore, purge and clear.
 * None may print an error. At the end every added item exists, every operation accounts for all letters it selected, and
 * `store check` finds no problem.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const CLI =
  process.env.REDRIVE_TEST_CLI ??
  join(dirname(fileURLToPath(import.meta.url)), "..", "..", "dist", "cli", "main.cjs");

/** The commands that each kind of process repeats. `pick` draws one of the started jobs. */
const TRADES = {
  add: (world) => [
    "map",
    "--name",
    world.nextJob(),
    "--retries",
    "0",
    "--jobs",
    "2",
    "--quiet",
    "--",
    ...WORK,
  ],
  list: (world) => ["dlq", "list", ...world.pick(), "--state", "all", "--limit", "50"],
  analyze: (world) => ["dlq", "analyze", ...world.pick()],
  retry: (world) => ["dlq", "retry", ...world.pick(), "--force", "--yes", "--parallel", "2", "--quiet"],
  retryFew: (world) => [
    "dlq",
    "retry",
    ...world.pick(),
    "--filter",
    "item.n % 3.0 == 0.0",
    "--force",
    "--yes",
    "--quiet",
  ],
  edit: (world) => ["dlq", "edit", "--job", ...world.pick(), "--set", "fixed=true", "--yes"],
  discard: (world) => [
    "dlq",
    "discard",
    "--job",
    ...world.pick(),
    "--filter",
    "item.n % 5.0 == 0.0",
    "--reason",
    "not needed",
    "--yes",
  ],
  restore: (world) => ["dlq", "restore", "--job", ...world.pick(), "--yes"],
  purge: (world) => ["dlq", "purge", ...world.pick(), "--older-than", "2s", "--yes"],
  clear: (world) => ["dlq", "clear", ...world.pick(), "--yes"],
};

/** Succeeds if the item was corrected, else fails with one of two messages. */
const WORK = [
  "sh",
  "-c",
  'case "$1" in *\'"fixed":true\'*) exit 0;; *7*) echo "error: odd one out" >&2; exit 3;; *) echo "error: not fixed yet" >&2; exit 1;; esac',
  "work",
  "{}",
];

/** Runs all kinds of processes in parallel, `rounds` times each, and checks the store. */
export async function crowd({ rounds = 4, itemsPerJob = 60, random = Math.random, note = () => undefined }) {
  const home = mkdtempSync(join(tmpdir(), "redrive-crowd-"));
  const world = newWorld(home, random);
  const violations = [];
  const first = await world.run(TRADES.add(world), inputOf(itemsPerJob));
  violations.push(...troubleOf("add", first));
  await Promise.all(
    Object.entries(TRADES).map(async ([trade, argumentsOf]) => {
      for (let round = 0; round < rounds; round += 1) {
        const result = await world.run(
          [...argumentsOf(world), "--json"],
          trade === "add" ? inputOf(itemsPerJob) : "",
        );
        violations.push(...troubleOf(trade, result));
        note(`${trade} ${round + 1}/${rounds}`);
      }
    }),
  );
  violations.push(...(await judge(world, itemsPerJob)));
  if (violations.length === 0) rmSync(home, { recursive: true, force: true });
  return { violations, home, figures: { processes: world.started, jobs: world.jobs.length } };
}

function inputOf(items) {
  return Array.from({ length: items }, (_, n) => JSON.stringify({ n })).join("\n");
}

function newWorld(home, random) {
  const world = {
    jobs: [],
    started: 0,
    nextJob() {
      const name = `job-${world.jobs.length + 1}`;
      world.jobs.push(name);
      return name;
    },
    /** The first job, or a later one that may only just have started. */
    pick: () => [world.jobs[random() < 0.7 ? 0 : Math.floor(random() * Math.max(1, world.jobs.length - 1))]],
    run(words, input = "") {
      world.started += 1;
      return runCli(home, words, input);
    },
  };
  return world;
}

function runCli(home, words, input) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, ...words], {
      env: { ...process.env, REDRIVE_HOME: home, REDRIVE_STORE: "", REDRIVE_CONFIG: "", NO_COLOR: "1" },
      stdio: "pipe",
    });
    const told = { stdout: "", stderr: "" };
    child.stdout.on("data", (data) => (told.stdout += data));
    child.stderr.on("data", (data) => (told.stderr += data));
    child.stdin.on("error", () => undefined); // a command that reads nothing may have ended
    child.stdin.end(input);
    child.once("error", reject);
    child.once("close", (code) => resolve({ words, code, ...told }));
  });
}

/** Exit codes 0 and 3 are fine; so is 4 for a job that another process is just creating. */
function troubleOf(trade, { words, code, stdout, stderr }) {
  const isEarly = code === 4 && /job_not_found/.test(stdout);
  if ((code === 0 || code === 3 || isEarly) && !/\bstore_/.test(stdout)) return [];
  return [`${trade} (${words.join(" ")}) ended with ${code}: ${(stderr || stdout).trim().slice(-500)}`];
}

async function judge(world, itemsPerJob) {
  const ask = async (...words) => JSON.parse((await world.run([...words, "--json"])).stdout);
  const violations = [];
  const check = await world.run(["store", "check", "--json"]);
  if (check.code !== 0) violations.push(`store check: ${check.stdout}${check.stderr}`);
  for (const job of (await ask("jobs", "--limit", "1000")).jobs) {
    const sum = job.succeeded + job.dead + job.skipped + job.remaining + (job.discarded ?? 0);
    if (job.total !== itemsPerJob) violations.push(`${job.name} has ${job.total} of ${itemsPerJob} items`);
    if (sum !== job.total)
      violations.push(`${job.name}: ${sum} items are somewhere, ${job.total} were added`);
  }
  for (const operation of (await ask("ops", "list")).operations) {
    const { operation_id: id, kind, selected, succeeded, failed, refused, remaining } = operation;
    if (selected !== succeeded + failed + refused + remaining)
      violations.push(
        `${kind} ${id} selected ${selected}, and accounts for ${succeeded}+${failed}+${refused}+${remaining}`,
      );
    if (remaining !== 0) violations.push(`${kind} ${id} left ${remaining}`);
  }
  return violations;
}
