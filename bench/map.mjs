/** Compares the throughput of `redrive map` with common tools, over commands that do nothing, 8 at a time. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI, childPath, has, interleave, runTimed, say, withFolder } from "./kit.mjs";
import { atLeast, count, perSecond } from "./report.mjs";

const AT_A_TIME = "8";
const ROUNDS = 3;

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
      ...(peers && {
        printing: () => redrive(bench, ["echo", "hello", "{}"]),
        xargsPrinting: () => xargs(bench, ["echo", "hello"]),
        spawning: () => redrive(bench, ["true", "{}"], { REDRIVE_LAUNCHER: "spawn" }),
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
  return { title, rows: rowsOf(figures), notes: notesOf({ peers, withParallel }) };
}

/** Uses a new store each time. The inner rate uses the job's own times, without the start of the process. */
function redrive({ folder, input, items }, command, env = {}) {
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
    "--",
    ...command,
  ];
  const run = runTimed(argv, { folder, env: { REDRIVE_HOME: home, ...env } });
  rmSync(home, { recursive: true, force: true });
  return { ...withRate({ items }, run), inside: (items / JSON.parse(run.stdout).duration_ms) * 1000 };
}

function xargs(bench, command) {
  const argv = ["xargs", "-P", AT_A_TIME, "-d", "\n", "-n", "1", ...command];
  return withRate(bench, runTimed(argv, { folder: bench.folder, stdin: bench.input }));
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

function rowsOf(figures) {
  const { redrive: own, xargs: plain, parallel: gnu, parallelLogged, spawnLoop: looping, spawning } = figures;
  const figure = ({ rate, cpuUs }) => `${perSecond(rate)} (CPU ${count(cpuUs)} µs each)`;
  const beside = (what, mine, name, peer, goal) => {
    if (mine === undefined || peer === undefined) return [];
    const ratio = mine.rate / peer.rate;
    const met = goal === undefined ? {} : atLeast(ratio, goal);
    return [{ what, figure: figure(mine), beside: `${name}: ${figure(peer)}`, ratio, ...met }];
  };
  return [
    ...beside("redrive map, durable, process start included", own, "xargs -P 8", plain, 1.1),
    {
      what: "the same without the process start",
      figure: perSecond(own.inside),
      beside: `xargs -P 8: ${perSecond(plain.rate)}`,
      ratio: own.inside / plain.rate,
    },
    ...beside("redrive map", own, "GNU parallel", gnu, 3),
    ...beside("redrive map", own, "GNU parallel --joblog", parallelLogged, 3),
    ...beside("redrive map", own, "Node spawn loop, no output kept", looping),
    ...beside("redrive map, echo hello", figures.printing, "xargs -P 8", figures.xargsPrinting),
    ...beside("redrive map, echo hello", figures.printing, "GNU parallel", figures.parallelPrinting),
    ...beside("redrive map, REDRIVE_LAUNCHER=spawn", spawning, "xargs -P 8", plain),
    ...beside("redrive map, REDRIVE_LAUNCHER=spawn", spawning, "Node spawn loop, no output kept", looping),
  ];
}

function notesOf({ peers, withParallel }) {
  const first =
    "CPU is that of the whole tree of processes, the commands included. The first goal was 0.5 × xargs.";
  if (!peers)
    return [first, "GNU parallel, output and the spawn launcher are measured at the smaller size only."];
  return withParallel ? [first] : [first, "GNU parallel is not installed here: its rows are missing."];
}
