/** Measures how the runner scales: its own memory, a million items, and a job with a million finished items. */
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { ended, interleave, LIBRARY, runChild, say, startCli, timed, until, withFolder } from "./kit.mjs";
import { holderOf, makeJob } from "./letter-store.mjs";
import { atLeast, atMost, count, ms, perSecond } from "./report.mjs";

const { DEFAULT_GRACE_MS, DEFAULT_POLICY, openStore } = await import(LIBRARY);

const BALLAST_MB = 1024;
const SLOTS = 64;
const ROUNDS = 3;

export function measure({ quick }) {
  const items = quick ? 20_000 : 1_000_000;
  return withFolder(async (folder) => {
    const input = join(folder, "items.txt");
    await writeLines(input, items);
    const rows = [
      ...(await memoryRows(folder, quick ? 500 : 2000)),
      ...(await runnerRows(folder, input, items)),
      ...(await intakeRows(folder, input, items)),
      ...(await resumeRows(folder, input, items)),
    ];
    return [{ title: "Size (§1)", rows, notes: NOTES }];
  });
}

const NOTES = [
  "The runs over all items are done once: what is looked at is their peak of memory, which repeats.",
  "The intake is that of `redrive map` while its one slot is busy with a command that sleeps.",
];

async function writeLines(path, items) {
  const file = createWriteStream(path);
  for (let from = 0; from < items; from += 10_000) {
    const size = Math.min(10_000, items - from);
    const lines = Array.from({ length: size }, (_, index) => `src/module/file-${from + index + 1}.txt\n`);
    if (!file.write(lines.join(""))) await new Promise((resolve) => file.once("drain", resolve));
  }
  await finished(file.end());
}

/** Throughput with little and with much memory: forking a large process is slow. */
async function memoryRows(folder, items) {
  say(`  ${count(items)} commands with ${BALLAST_MB} MB more in the runner, ${ROUNDS} rounds`);
  const input = join(folder, "few.txt");
  await writeLines(input, items);
  const run = (ballastMb, env) => () => {
    const home = mkdtempSync(join(folder, "home-"));
    const figures = runChild("ballast-map", { folder: home, input, ballastMb }, env);
    rmSync(home, { recursive: true, force: true });
    return figures;
  };
  const figures = await interleave({ small: run(0, {}), large: run(BALLAST_MB, {}) }, ROUNDS);
  const ratio = figures.large.rate / figures.small.rate;
  return [
    {
      what: `map in a runner with ${count(BALLAST_MB)} MB more`,
      figure: `${perSecond(figures.large.rate)} (${count(figures.large.rssMb)} MB)`,
      beside: `without: ${perSecond(figures.small.rate)} (${count(figures.small.rssMb)} MB)`,
      ratio,
      ...atLeast(ratio, 0.9),
    },
  ];
}

async function runnerRows(folder, input, items) {
  say(`  the runner over ${count(items)} items`);
  const url = `sqlite:${join(folder, "run.db")}`;
  const { done, wallMs, cpuMs, peakMb } = runChild("run-queue", { url, input, slots: SLOTS });
  for (const end of ["", "-wal", "-shm"]) rmSync(join(folder, `run.db${end}`), { force: true });
  return [
    {
      what: `peak memory of the runner, ${count(done)} items`,
      figure: `${count(peakMb)} MB`,
      ...atMost(peakMb, 150, "MB"),
    },
    {
      what: `the same: taken in, leased and settled, ${SLOTS} at a time`,
      figure: `${perSecond((done / wallMs) * 1000, "items")} (CPU ${count((cpuMs * 1000) / done)} µs each)`,
    },
  ];
}

async function intakeRows(folder, input, items) {
  say(`  intake of ${count(items)} lines`);
  const home = join(folder, "intake");
  const env = { REDRIVE_HOME: home };
  const start = performance.now();
  const runner = startCli(
    ["map", "--input", input, "--name", "bench", "--jobs", "1", "--", "sleep", "86400"],
    env,
  );
  const taking = untilTakenIn(home, runner, start);
  const { wallMs, peakMb } = await taking.finally(() => runner.kill("SIGTERM"));
  await ended(runner);
  rmSync(home, { recursive: true, force: true });
  return [
    {
      what: `intake of ${count(items)} lines by the command line`,
      figure: perSecond((items / wallMs) * 1000, "items"),
    },
    peakMb === null
      ? { what: "peak memory of it", figure: "not measured: no /proc here" }
      : { what: "peak memory of it", figure: `${count(peakMb)} MB`, ...atMost(peakMb, 150, "MB") },
  ];
}

async function untilTakenIn(home, runner, start) {
  const engine = await until(() => openStore(`sqlite:${join(home, "redrive.db")}`).catch(() => null), 30_000);
  await until(async () => (await engine.findJob("bench"))?.intakeComplete, 600_000);
  const wallMs = performance.now() - start;
  await engine.close();
  return { wallMs, peakMb: peakOf(runner.pid) };
}

function peakOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return null;
  }
}

/** A job with all items done and one new item; the command itself records when it runs. */
async function resumeRows(folder, input, items) {
  say(`  a job with ${count(items)} done items`);
  const home = join(folder, "resume");
  const ledger = join(folder, "ledger");
  mkdirSync(ledger, { recursive: true });
  await finishAll(home, { input, items, ledger });
  const resume = async (round) => {
    await addOne(home, `src/new-${round}.txt`);
    return timeToLedger(ledger, home, ["resume", "bench"]);
  };
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await resume(round));
  const firstMs = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  const again = await mapAgain(home, { folder, input, items, ledger });
  rmSync(home, { recursive: true, force: true });
  return [
    {
      what: `resume with ${count(items)} done items: process start to the first new attempt`,
      figure: ms(firstMs),
      ...atMost(firstMs, 2000, "ms"),
    },
    {
      what: `map --name again over the same ${count(items)} lines and one new: to the attempt of the new one`,
      figure: `${ms(again)} (once)`,
    },
  ];
}

async function finishAll(home, { input, items, ledger }) {
  const engine = await openStore(`sqlite:${join(home, "redrive.db")}`);
  const queue = "bench";
  await makeJob(engine, queue);
  const { readItems } = await import(LIBRARY);
  for await (const { items: batch } of readItems({ path: input }, { batchMax: 2000 })) {
    await engine.add(queue, batch);
    const lease = { queue, max: batch.length };
    const { leased } = await engine.settleAndLease(holderOf(queue), { settle: [], lease });
    const done = { outcome: "succeeded", verdict: { kind: "done" } };
    const settle = leased.map(({ ref, attempt }) => ({ lease: { ref, attempt }, ...done }));
    await engine.settleAndLease(null, { settle });
  }
  await engine.unregisterHolder(holderOf(queue));
  await engine.changeJob(queue, {
    status: "interrupted",
    intakeComplete: true,
    spec: specOf(input, ledger, home),
  });
  const { done } = await engine.count(queue);
  if (done !== items) throw new Error(`${done} of ${items} items are done`);
  await engine.close();
}

function specOf(input, ledger, home) {
  return {
    command: commandOf(ledger),
    cwd: home,
    input: { path: input },
    jobs: 8,
    graceMs: DEFAULT_GRACE_MS,
    policy: DEFAULT_POLICY,
  };
}

function commandOf(ledger) {
  return ["touch", `${ledger}/line`];
}

async function addOne(home, line) {
  const engine = await openStore(`sqlite:${join(home, "redrive.db")}`);
  await engine.add("bench", [{ itemId: line, data: line }]);
  await engine.close();
}

/** Milliseconds from the start of the process until its command creates the file. */
async function timeToLedger(ledger, home, args) {
  rmSync(join(ledger, "line"), { force: true });
  const seen = new Promise((resolve) => {
    const watcher = watch(ledger, { persistent: false }, () => {
      watcher.close();
      resolve();
    });
  });
  const { wallMs, result: runner } = await timed(async () => {
    const started = startCli(args, { REDRIVE_HOME: home });
    await Promise.race([seen, ended(started)]);
    return started;
  });
  await ended(runner);
  if (!existsSync(join(ledger, "line"))) throw new Error(`redrive ${args[0]} ran no command`);
  return wallMs;
}

async function mapAgain(home, { folder, input, ledger }) {
  const longer = join(folder, "longer.txt");
  const file = createWriteStream(longer);
  file.write(readFileSync(input));
  await finished(file.end("src/last-and-new.txt\n"));
  const args = ["map", "--input", longer, "--name", "bench", "--accept-changes", "--jobs", "8"];
  return timeToLedger(ledger, home, [...args, "--", ...commandOf(ledger)]);
}
