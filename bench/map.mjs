/** Compares the throughput of `redrive map` with common tools, over commands that do nothing, 8 at a time. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI, childPath, has, interleave, runTimed, say, withFolder } from "./kit.mjs";
import { atLeast, count, perSecond } from "./report.mjs";

const AT_A_TIME = "8";
const ROUNDS = 7;
/** The goals beside xargs, by wall time and by CPU. The first also applies to fewer items. */
const GOALS = {
  10000: { doing: { wall: 1.05, cpu: 0.95 }, printing: { wall: 0.95 }, failing: { wall: 0.85 } },
  2000: { doing: { wall: 0.85 } },
};
const FAIL = ["sh", "-c", "exit 1", "sh"];

export function measure({ quick }) {
  return withFolder(async (folder) => [
    await table(folder, quick ? 500 : 2000, { peers: true }),
    ...(quick ? [] : [await table(folder, 10_000, { peers: false })]),
  ]);
}

async function table(folder, items, { peers }) {
  const input = join(folder, `${items}.txt`);
  writeFileSync(input, Array.from({ length: items }, (_, index) => `item ${index + 1}\n`).join(""));
  const bench = { folder, input, items };
  const withParallel = peers && has("parallel");
  say(`  ${count(items)} commands, ${ROUNDS} rounds`);
  const figures = await interleave(
    {
      redrive: () => redrive(bench, ["true", "{}"]),
      xargs: () => xargs(bench, ["true"]),
      printing: () => redrive(bench, ["echo", "hello", "{}"]),
      xargsPrinting: () => xargs(bench, ["echo", "hello"]),
      failing: () => redrive(bench, [...FAIL, "{}"], { flags: ["--retries", "0"], status: 3 }),
      xargsFailing: () => xargs(bench, FAIL, 123),
      ...(peers && {
        spawning: () => redrive(bench, ["true", "{}"], { env: { REDRIVE_LAUNCHER: "spawn" } }),
        spawnLoop: () => spawnLoop(bench),
      }),
      ...(withParallel && {
        parallel: () => parallel(bench, ["true"], []),
        parallelLogged: () => parallel(bench, ["true"], ["--joblog", join(folder, "joblog")]),
        parallelPrinting: () => parallel(bench, ["echo", "hello"], []),
      }),
    },
    ROUNDS,
  );
  const title = `Map: ${count(items)} commands, ${AT_A_TIME} at a time (§1)`;
  return { title, rows: rowsOf(figures, GOALS[items] ?? {}), notes: notesOf({ peers, withParallel }) };
}

/**
 * Uses a new store each time, and removes none before the end: for some seconds, ext4 creates a file up to ten times slower
 * where thousands were deleted. The inner rate uses the job's own times, without the start of the process.
 */
function redrive({ folder, input, items }, command, { env = {}, flags = [], status = 0 } = {}) {
  const home = mkdtempSync(join(folder, "home-"));
  const argv = [
    process.execPath,
    CLI,
    "map",
    "--input",
    input,
    "--jobs",
    AT_A_TIME,
    "--json",
    ...flags,
    "--",
    ...command,
  ];
  const run = runTimed(argv, { folder, env: { REDRIVE_HOME: home, ...env }, status });
  return { ...withRate({ items }, run), inside: (items / JSON.parse(run.stdout).duration_ms) * 1000 };
}

function xargs(bench, command, status = 0) {
  const argv = ["xargs", "-P", AT_A_TIME, "-d", "\n", "-n", "1", ...command];
  return withRate(bench, runTimed(argv, { folder: bench.folder, stdin: bench.input, status }));
}

function spawnLoop(bench) {
  const options = JSON.stringify({ items: bench.items, atATime: Number(AT_A_TIME) });
  return withRate(bench, runTimed([process.execPath, childPath("spawn-loop"), options], bench));
}

function parallel(bench, command, options) {
  const home = join(bench.folder, "parallel");
  mkdirSync(home, { recursive: true });
  rmSync(join(bench.folder, "joblog"), { force: true });
  const argv = ["parallel", "--will-cite", `-j${AT_A_TIME}`, ...options, ...command];
  return withRate(
    bench,
    runTimed(argv, { folder: bench.folder, stdin: bench.input, env: { PARALLEL_HOME: home } }),
  );
}

function withRate({ items }, { wallMs, cpuMs }) {
  return { rate: (items / wallMs) * 1000, cpuUs: (cpuMs * 1000) / items };
}

function rowsOf(figures, goals) {
  const { redrive: own, xargs: plain, parallel: gnu, parallelLogged, spawnLoop: looping, spawning } = figures;
  const figure = ({ rate, cpuUs }) => `${perSecond(rate)} (CPU ${count(cpuUs)} µs each)`;
  const cpuBeside = (what, mine, peer, goal) => {
    const ratio = peer.cpuUs / mine.cpuUs;
    const met = goal === undefined ? {} : atLeast(ratio, goal);
    return {
      what,
      figure: `${count(mine.cpuUs)} µs`,
      beside: `xargs -P 8: ${count(peer.cpuUs)} µs`,
      ratio,
      ...met,
    };
  };
  const beside = (what, mine, name, peer, goal) => {
    if (mine === undefined || peer === undefined) return [];
    const ratio = mine.rate / peer.rate;
    const met = goal === undefined ? {} : atLeast(ratio, goal);
    return [{ what, figure: figure(mine), beside: `${name}: ${figure(peer)}`, ratio, ...met }];
  };
  return [
    ...beside("redrive map, durable, process start included", own, "xargs -P 8", plain, goals.doing?.wall),
    cpuBeside("the same by CPU", own, plain, goals.doing?.cpu),
    {
      what: "the same without the process start",
      figure: perSecond(own.inside),
      beside: `xargs -P 8: ${perSecond(plain.rate)}`,
      ratio: own.inside / plain.rate,
    },
    ...beside("redrive map", own, "GNU parallel", gnu, 3.5),
    ...beside("redrive map", own, "GNU parallel --joblog", parallelLogged, 3.5),
    ...beside("redrive map", own, "Node spawn loop, no output kept", looping),
    ...beside(
      "redrive map, echo hello",
      figures.printing,
      "xargs -P 8",
      figures.xargsPrinting,
      goals.printing?.wall,
    ),
    cpuBeside("the same by CPU", figures.printing, figures.xargsPrinting),
    ...beside(
      "redrive map, all fail, with letters",
      figures.failing,
      "xargs -P 8",
      figures.xargsFailing,
      goals.failing?.wall,
    ),
    cpuBeside("the same by CPU", figures.failing, figures.xargsFailing),
    ...beside("redrive map, echo hello", figures.printing, "GNU parallel", figures.parallelPrinting),
    ...beside("redrive map, REDRIVE_LAUNCHER=spawn", spawning, "xargs -P 8", plain),
    ...beside("redrive map, REDRIVE_LAUNCHER=spawn", spawning, "Node spawn loop, no output kept", looping),
  ];
}

function notesOf({ peers, withParallel }) {
  const first =
    "CPU is that of the whole tree of processes, the commands included. The commands that fail are `sh -c 'exit 1'`, without retries.";
  if (!peers) return [first, "GNU parallel and the spawn launcher are measured at the smaller size only."];
  return withParallel ? [first] : [first, "GNU parallel is not installed here: its rows are missing."];
}
