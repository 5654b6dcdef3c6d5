/**
 * Faults that hit one process of the command line at work: itself, the two processes of its launcher, or a command that it
 * runs. Each returns whether it hit a running process; only those are counted. Linux only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf, nameOf, signal } from "./processes.mjs";

/** Faults by weight. Those that end the process require a restart, so the others are drawn more often. */
export const PROCESS_FAULTS = [
  [26, killServer],
  [20, killGuard],
  [12, killLauncher],
  [16, killItemCommand],
  [12, freeze],
  [7, killProcess],
  [3, killProcessAndServer],
  [3, killProcessAndLauncher],
  [1, terminate],
];

/** Faults that the process survives. */
export const LAUNCHER_FAULTS = [
  [3, killServer],
  [3, killGuard],
  [2, killLauncher],
  [2, freeze],
];

/** Kills the launcher process that starts commands. */
function killServer(target) {
  const { server, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(server, "SIGKILL");
}

/** Kills the launcher process that watches the other one. */
function killGuard(target) {
  const { guard, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(guard, "SIGKILL");
}

/** Kills both launcher processes, so that neither can react. */
function killLauncher(target) {
  const { guard, server, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(guard, "SIGSTOP") && killAll([server, guard]);
}

/** Kills one running command, like the kernel when memory runs out. */
function killItemCommand(target, chance) {
  const { commands } = launcherOf(target.pid);
  const pid = commands[chance.between(0, Math.max(0, commands.length - 1))];
  if (pid === undefined || !signal(pid, "SIGKILL")) return false;
  target.killedCommands?.add(pid);
  return true;
}

/** Stops the process for less than the lease time, so that everything continues afterwards. */
function freeze(target, chance) {
  if (target.isOver || !signal(target.pid, "SIGSTOP")) return false;
  sleep(chance.between(20, 600)).then(() => signal(target.pid, "SIGCONT"));
  return true;
}

function killProcess(target) {
  return end(target, [target.pid]);
}

function killProcessAndServer(target) {
  const { server } = launcherOf(target.pid);
  return server !== undefined && end(target, [server, target.pid]);
}

/** Kills the process and its launcher; the next runner has to end the commands. */
function killProcessAndLauncher(target) {
  const { guard, server } = launcherOf(target.pid);
  if (server === undefined || !signal(guard, "SIGSTOP")) return false;
  return end(target, [target.pid, server, guard]);
}

/** Sends SIGTERM. */
function terminate(target) {
  if (target.isOver) return false;
  target.isStruck = true;
  return signal(target.pid, "SIGTERM");
}

function end(target, pids) {
  if (target.isOver) return false;
  target.isStruck = true;
  return killAll(pids);
}

function killAll(pids) {
  return pids.map((pid) => signal(pid, "SIGKILL")).some(Boolean);
}

/** The launcher processes and the running commands; undefined and none if there is no launcher. */
function launcherOf(pid) {
  const guard = childrenOf(pid).find((child) => nameOf(child) === "redrive-launche"); // the kernel truncates names
  const server =
    guard === undefined ? undefined : childrenOf(guard).find((child) => nameOf(child) === "redrive-launche");
  return { guard, server, commands: server === undefined ? [] : childrenOf(server) };
}

/**
 * Strikes at one of the targets several times a second until the end. `targets()` returns the running ones; `onHit(name,
 * target)` is called for each strike; `isBusyOnly`: only targets with running commands are struck.
 */
export async function strikeSteadily({
  chance,
  isOver,
  targets,
  faults = PROCESS_FAULTS,
  everyMs,
  isBusyOnly = false,
  onHit,
}) {
  const [least, most] = everyMs ?? [50, 200];
  while (!isOver()) {
    await sleep(chance.between(least, most));
    const running = targets();
    if (running.length === 0) continue;
    // Starting targets are struck only sometimes: most strikes should hit running commands.
    const busy = running.filter(({ pid }) => launcherOf(pid).commands.length > 0);
    if (busy.length === 0 && (isBusyOnly || chance.between(1, 10) > 2)) continue;
    const among = busy.length > 0 && chance.between(1, 10) > 1 ? busy : running;
    const target = among[chance.between(0, among.length - 1)];
    const fault = chance.pick(faults);
    if (await fault(target, chance)) await onHit(fault.name, target);
  }
}
