/** Helpers for all benchmarks: medians of interleaved rounds, timed child processes, temporary folders. */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The built command line. */
export const CLI = fileURLToPath(new URL("../dist/cli/main.cjs", import.meta.url));
/** The built library, and its low-level functions. */
export const ENTRY = new URL("../dist/index.js", import.meta.url).href;
export const LIBRARY = new URL("../dist/engine.js", import.meta.url).href;
/** The built grouping of failures. */
export const TRIAGE = new URL("../dist/triage.js", import.meta.url).href;

/** Runs every case once per round, so that a busy moment of the machine affects all alike. Returns the medians. */
export async function interleave(cases, rounds) {
  const samples = new Map(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(cases)) samples.get(name).push(await run());
  }
  return Object.fromEntries([...samples].map(([name, list]) => [name, medians(list)]));
}

/** The median of each numeric field. */
function medians(list) {
  const fields = Object.keys(list[0] ?? {}).filter((field) => typeof list[0][field] === "number");
  return Object.fromEntries(
    fields.map((field) => [
      field,
      percentile(
        list.map((one) => one[field]),
        50,
      ),
    ]),
  );
}

/** The value that `percent` of the values do not exceed. */
export function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * (percent / 100);
  const low = sorted[Math.floor(at)] ?? 0;
  const high = sorted[Math.ceil(at)] ?? low;
  return percent === 50 ? (low + high) / 2 : high;
}

/** Wall and CPU time of an action in this process, in milliseconds. */
export async function timed(action) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await action();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { result, wallMs, cpuMs: (user + system) / 1000 };
}

// The shell's `time` measures the CPU time of a whole process tree; Node measures only its own.
const TIMER = 'TIMEFORMAT="%U %S"; { time "$@" 2>"$BENCH_STDERR"; } 2>&3';

/** Runs a command to its end; `status` is the expected exit code. Returns wall time, CPU time including its children, and its output. */
export function runTimed(argv, { folder, env = {}, stdin = "/dev/null", status = 0 }) {
  const timesPath = join(folder, "times");
  const outputPath = join(folder, "stdout");
  const errorsPath = join(folder, "stderr");
  const input = openSync(stdin, "r");
  const times = openSync(timesPath, "w");
  const output = openSync(outputPath, "w");
  const start = performance.now();
  const child = spawnSync("bash", ["--norc", "-c", TIMER, "bench", ...argv], {
    stdio: [input, output, "inherit", times],
    env: { ...process.env, ...env, BENCH_STDERR: errorsPath },
  });
  const wallMs = performance.now() - start;
  for (const file of [input, times, output]) closeSync(file);
  if (child.status !== status) {
    throw new Error(
      `${argv.slice(0, 4).join(" ")} ended with ${child.status}: ${readFileSync(errorsPath, "utf8").slice(0, 500)}`,
    );
  }
  const [user = 0, system = 0] = readFileSync(timesPath, "utf8").trim().split(/\s+/).map(Number);
  return { wallMs, cpuMs: (user + system) * 1000, stdout: readFileSync(outputPath, "utf8") };
}

/** The path of a script in `child/`. */
export function childPath(script) {
  return fileURLToPath(new URL(`child/${script}.mjs`, import.meta.url));
}

/** Runs a script of `child/` in its own process and parses the JSON that it prints. */
export function runChild(script, options, env = {}) {
  const child = spawnSync(process.execPath, [childPath(script), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (child.status !== 0) throw new Error(`${script} ended with ${child.status ?? child.signal}`);
  return JSON.parse(child.stdout);
}

/** Starts the command line in the background; the caller ends it. */
export function startCli(args, env, cwd = process.cwd()) {
  return spawn(process.execPath, [CLI, ...args], { stdio: "ignore", cwd, env: { ...process.env, ...env } });
}

/** Resolves when the child has ended. */
export function ended(child) {
  return child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once("exit", resolve));
}

/** Polls until the condition returns a value or the timeout expires. */
export async function until(condition, timeoutMs) {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const answer = await condition();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`nothing happened within ${timeoutMs} ms`);
}

/** Calls the action with a new folder and removes it afterwards. */
export async function withFolder(action) {
  const folder = mkdtempSync(join(tmpdir(), "redrive-bench-"));
  try {
    return await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a program can be started. */
export function has(program) {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
}

/** Prints to stderr what is being measured. */
export function say(text) {
  process.stderr.write(`${text}\n`);
}
