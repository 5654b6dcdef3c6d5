/** Faults of runners: each starts one or two, lets them work for a moment, and strikes. */
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf, signal } from "./processes.mjs";

/** Faults by weight; `freeze` lasts as long as a lease, so only a long run includes it. */
export const FAULTS = [
  [40, kill],
  [12, terminate],
  [8, interruptTwice],
  [16, twins],
  [12, orphan],
];
export const LONG_FAULTS = [...FAULTS, [3, freeze]];

/** Returns only the fault with this name, to study it. */
export function onlyFault(name) {
  return LONG_FAULTS.filter(([, fault]) => fault.name === name);
}

const COMMANDS = [
  [5, "map"],
  [4, "resume"],
  [1, "resumeWithoutLetters"],
  [3, "retry"],
];

/** Kills the runner. */
async function kill(arena, chance) {
  const runner = startAny(arena, chance);
  await pause(chance, [runner]);
  await strike(arena, runner, "SIGKILL");
}

/** SIGTERM: running items are ended and released. */
async function terminate(arena, chance) {
  const runner = startAny(arena, chance);
  await pause(chance, [runner]);
  await strike(arena, runner, "SIGTERM");
}

/** Like an impatient user: the second Ctrl-C forces the end. */
async function interruptTwice(arena, chance) {
  const runner = startAny(arena, chance);
  await pause(chance, [runner]);
  signal(runner.pid, "SIGINT");
  await Promise.race([runner.ended, sleep(chance.between(0, 200))]);
  await strike(arena, runner, "SIGINT");
}

/** Two runners at once; one is killed, the other continues its work. */
async function twins(arena, chance) {
  const [first, second] = [startAny(arena, chance), startAny(arena, chance)];
  await pause(chance, [first, second]);
  await strike(arena, first, "SIGKILL");
  await pause(chance, [second]);
  await strike(
    arena,
    second,
    chance.pick([
      [1, "SIGKILL"],
      [1, "SIGTERM"],
    ]),
  );
}

/** The runner loses its launcher, continues with a new one, and is killed later. */
async function orphan(arena, chance) {
  const runner = startAny(arena, chance);
  await pause(chance, [runner]);
  for (const pid of childrenOf(runner.pid)) signal(pid, "SIGKILL");
  await pause(chance, [runner]);
  await strike(arena, runner, "SIGKILL");
}

/** Longer than a lease lasts without a heartbeat. */
const ASLEEP_MS = 9000;

/** A runner sleeps while another takes over its work; it must notice that when it wakes. */
async function freeze(arena, chance) {
  const sleeper = arena.start(arena.commands.map());
  await pause(chance, [sleeper]);
  signal(sleeper.pid, "SIGSTOP");
  const other = arena.start(arena.commands.resume());
  await Promise.race([other.ended, sleep(ASLEEP_MS)]);
  signal(sleeper.pid, "SIGCONT");
  await pause(chance, [sleeper, other]);
  await strike(arena, other, "SIGKILL");
  await pause(chance, [sleeper]);
  await strike(arena, sleeper, "SIGTERM");
}

function startAny(arena, chance) {
  return arena.start(arena.commands[chance.pick(COMMANDS)]());
}

/** Often short, so that startup, intake and the first leases are hit as well. */
async function pause(chance, runners) {
  const ms = chance.pick([
    [1, chance.between(20, 300)],
    [2, chance.between(200, 1500)],
  ]);
  await Promise.race([sleep(ms), Promise.all(runners.map(({ ended }) => ended))]);
}

async function strike(arena, runner, name) {
  if (!runner.isOver && signal(runner.pid, name)) arena.hit(name);
  await end(arena, runner);
}

/** A runner that does not end within this time is a violation. */
const PATIENCE_MS = 30_000;

/** Waits for the end of a runner and records an unexpected one. */
export async function end(arena, runner, patienceMs = PATIENCE_MS) {
  const timer = new AbortController();
  const late = sleep(patienceMs, "late", { signal: timer.signal }).catch(() => undefined);
  const how = await Promise.race([runner.ended, late]);
  timer.abort();
  if (how === "late") {
    arena.troubles.push(`\`${runner.args.join(" ")}\` did not end within ${patienceMs / 1000} s`);
    signal(runner.pid, "SIGKILL");
    return runner.ended;
  }
  if (!isExpected(how)) {
    arena.troubles.push(
      `\`${runner.args.join(" ")}\` ended with ${how.code ?? how.signal}: ${how.said.slice(-2000)}`,
    );
  }
  return how;
}

/** Expected: struck, done, letters left, interrupted; 4 without a job, 5 if a redrive leaves the merge to `resume`. */
function isExpected({ code, signal: name, said }) {
  if (code === 5 && /is interrupted\. Finish it: redrive resume/.test(said)) return true;
  return name !== null ? ["SIGKILL", "SIGTERM", "SIGINT"].includes(name) : [0, 3, 4, 130, 143].includes(code);
}
