/**
 * Faults that strike at one process of the command line while it works: at itself, at the two processes of its launcher, or
 * at a command that it runs. Each returns whether it hit something in flight; only those are counted. Linux only.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf, nameOf, signal } from "./processes.mjs";

/** By weight. Those that end the process cost the start of another one, so the others are drawn more often. */
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

/** Those after which the process goes on. */
export const LAUNCHER_FAULTS = [
  [3, killServer],
  [3, killGuard],
  [2, killLauncher],
  [2, freeze],
];

/** The process of the launcher that starts commands. */
function killServer(target) {
  const { server, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(server, "SIGKILL");
}

/** The process of the launcher that watches over the other. */
function killGuard(target) {
  const { guard, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(guard, "SIGKILL");
}

/** Both of them, so that neither can act. */
function killLauncher(target) {
  const { guard, server, commands } = launcherOf(target.pid);
  return commands.length > 0 && signal(guard, "SIGSTOP") && killAll([server, guard]);
}

/** One running command, as the kernel does when memory runs out. */
function killItemCommand(target, chance) {
  const { commands } = launcherOf(target.pid);
  const pid = commands[chance.between(0, Math.max(0, commands.length - 1))];
  if (pid === undefined || !signal(pid, "SIGKILL")) return false;
  target.killedCommands?.add(pid);
  return true;
}

/** Shorter than a lease lives: everything goes on afterwards. */
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

/** Nobody is left that could end the commands; the next runner does. */
function killProcessAndLauncher(target) {
  const { guard, server } = launcherOf(target.pid);
  if (server === undefined || !signal(guard, "SIGSTOP")) return false;
  return end(target, [target.pid, server, guard]);
}

/** A polite end. */
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

/** The processes of its launcher and the commands that run; undefined and none when there is no launcher. */
function launcherOf(pid) {
  const guard = childrenOf(pid).find((child) => nameOf(child) === "redrive-launche"); // cut off by the kernel
  const server =
    guard === undefined ? undefined : childrenOf(guard).find((child) => nameOf(child) === "redrive-launche");
  return { guard, server, commands: server === undefined ? [] : childrenOf(server) };
}

/**
 * Strikes at one of the targets several times a second until it is over. `targets()` are those that run now;
 * `onHit(name, target)` is called for each strike; `isBusyOnly`: nothing is struck that runs no command.
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
    // One that only just starts is struck now and then; most strikes are to meet commands that run.
    const busy = running.filter(({ pid }) => launcherOf(pid).commands.length > 0);
    if (busy.length === 0 && (isBusyOnly || chance.between(1, 10) > 2)) continue;
    const among = busy.length > 0 && chance.between(1, 10) > 1 ? busy : running;
    const target = among[chance.between(0, among.length - 1)];
    const fault = chance.pick(faults);
    if (await fault(target, chance)) await onHit(fault.name, target);
  }
}
