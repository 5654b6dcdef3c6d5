/** Faults of workers, of their connections and of the server. Each strike reports to the arena what it did, and when. */
import { setTimeout as sleep } from "node:timers/promises";
import { patiently } from "./chaos-arena.mjs";
import { signal } from "./processes.mjs";

/** Faults by weight. A frozen worker sleeps longer than its lease, so only a long run includes that. */
export const CHAOS_FAULTS = [
  [30, killWorker],
  [8, stopWorker],
  [12, cutWorker],
  [10, cutSome],
  [6, cutAll],
  [8, killCommand],
  [6, restart],
  [5, crash],
  [4, crashBackend],
];
/** Faults that need no server. */
export const COMMAND_FAULTS = [[1, killCommand]];
/** Faults of a campaign, in addition to those of single processes, several times a second. */
export const STEADY_CHAOS_FAULTS = [
  [30, cutWorker],
  [24, cutSome],
  [8, cutAll],
  [6, killCommand],
  [2, restart],
  [2, crash],
  [2, crashBackend],
  [1, killPostmaster],
];
export const LONG_CHAOS_FAULTS = [...CHAOS_FAULTS, [4, freezeWorker], [2, killPostmaster]];

/** Returns only the fault with this name, to study it. */
export function onlyChaosFault(name) {
  return LONG_CHAOS_FAULTS.filter(([, strike]) => strike.name === name);
}

async function killWorker(arena, chance) {
  const worker = pickWorker(arena, chance);
  if (arena.strike(worker, "SIGKILL")) arena.hit("killWorker", { pid: worker.pid });
}

/** SIGTERM: running items are finished. */
async function stopWorker(arena, chance) {
  const worker = pickWorker(arena, chance);
  if (arena.strike(worker, "SIGTERM")) arena.hit("stopWorker");
}

/** Longer than a lease lasts without a heartbeat. Other strikes continue meanwhile. */
const ASLEEP_MS = 10_000;

async function freezeWorker(arena, chance) {
  const worker = pickWorker(arena, chance);
  if (!signal(worker.pid, "SIGSTOP")) return;
  arena.hit("freezeWorker", { pid: worker.pid });
  sleep(ASLEEP_MS, undefined, { ref: false }).then(() => signal(worker.pid, "SIGCONT"));
}

/** Cuts all connections of one worker. */
async function cutWorker(arena, chance) {
  await cut(arena, "cutWorker", "application_name = $1", pickWorker(arena, chance).name);
}

/** Cuts some connections of all workers. */
async function cutSome(arena, chance) {
  await cut(arena, "cutSome", "application_name <> 'torturer' AND random() < $1", chance.between(1, 5) / 10);
}

async function cutAll(arena) {
  await cut(arena, "cutAll", "backend_type = 'client backend'");
}

async function cut(arena, what, which, ...values) {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND ${which}`;
  const connections = await patiently(() => arena.ask(sql, ...values));
  if (connections.length > 0) arena.hit(what, { connections: connections.length });
}

/** Kills a redrive or an import. */
async function killCommand(arena, chance) {
  const running = [...arena.commands];
  const command = running[chance.between(0, Math.max(0, running.length - 1))];
  if (command !== undefined && signal(command.pid, "SIGKILL")) arena.hit("killCommand");
}

/** A fast restart, as by an administrator. */
async function restart(arena, chance) {
  await stopServer(arena, chance, { what: "restart", name: "SIGINT" });
}

async function crash(arena, chance) {
  await stopServer(arena, chance, { what: "crash", name: "SIGQUIT" });
}

/** The other processes of the server notice it by themselves; it cannot start before the last one has ended. */
async function killPostmaster(arena, chance) {
  await stopServer(arena, chance, { what: "killPostmaster", name: "SIGKILL" });
}

/** Kills the primary for good; its standby is promoted and gets a new standby. */
export async function failOver(arena, chance) {
  const signalName = chance.pick([
    [2, "SIGKILL"],
    [1, "SIGQUIT"],
  ]);
  arena.hit("failOver");
  await arena.outage(() => arena.server.failOver(signalName));
}

async function stopServer(arena, chance, { what, name }) {
  const downMs = chance.pick([
    [3, 0],
    [1, chance.between(500, 3000)],
  ]);
  arena.hit(what);
  await arena.outage(async () => {
    await arena.server.stop(name);
    await sleep(downMs);
    await patiently(() => arena.server.start());
  });
}

/** Crashes one server process; the server then closes all connections and recovers. */
async function crashBackend(arena) {
  const [backend] = await patiently(() =>
    arena.ask(
      "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'worker%' ORDER BY random() LIMIT 1",
    ),
  );
  if (backend === undefined) return;
  arena.hit("crashBackend");
  await arena.outage(async () => {
    signal(backend.pid, "SIGKILL");
    await sleep(200); // it answers until it notices the crash
  });
}

function pickWorker({ crew }, chance) {
  return crew[chance.between(0, crew.length - 1)];
}
