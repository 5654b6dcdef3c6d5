/** Finds the processes of one torture run by a marker in their environment, never by name. Linux only, as it reads /proc. */
import { readdirSync, readFileSync } from "node:fs";

export const MARK_VARIABLE = "TORTURE_MARK";

/** Returns `{ pid, command }` of all running processes with the marker. */
export function markedProcesses(mark) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && carries(name, mark))
    .map((pid) => ({ pid: Number(pid), command: read(pid, "cmdline").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== ""); // a zombie has no command line
}

/** The children of a process. */
export function childrenOf(pid) {
  return read(pid, `task/${pid}/children`).split(" ").filter(Boolean).map(Number);
}

/** The program name as the kernel has it: at most 15 characters. */
export function nameOf(pid) {
  return read(pid, "comm").trim();
}

export function signal(pid, name) {
  if (!(pid > 1)) return false;
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false; // the process has ended
  }
}

function carries(pid, mark) {
  return `\0${read(pid, "environ")}`.includes(`\0${MARK_VARIABLE}=${mark}\0`);
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return ""; // the process has ended, or belongs to another user
  }
}
