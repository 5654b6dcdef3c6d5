/** Lists the processes of this machine with the fields needed to find a process tree. Omits zombies, which have ended. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tryTo } from "../std/try-to.ts";
import { LAUNCH_ID_VARIABLE } from "./launch.ts";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Identifies the process, because process ids are reused. */
  readonly key: string;
  readonly hasLaunchId: (launchId: string) => boolean;
  /** Returns the launch ids in the environment of the process: one or none. */
  readonly launchIds: () => string[];
}

export const listProcesses: () => ProcessEntry[] = process.platform === "linux" ? listProc : listPs;

function listProc(): ProcessEntry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readProc)
    .filter((entry) => entry !== undefined);
}

function readProc(pid: string): ProcessEntry | undefined {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the process name before `)` may contain anything
  if (stat === "" || fields[0] === "Z" || fields[0] === "X") return undefined;
  return {
    pid: Number(pid),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    key: `${pid}@${fields[19]}`, // start time
    hasLaunchId: (launchId) => namesLaunch(`\0${readOrEmpty(`/proc/${pid}/environ`)}`, "\0", launchId),
    launchIds: () => launchIdsIn(`\0${readOrEmpty(`/proc/${pid}/environ`)}`, "\0"),
  };
}

/** Empty when the process has ended or belongs to another user. */
function readOrEmpty(path: string): string {
  return tryTo(() => readFileSync(path, "latin1")) ?? "";
}

function listPs(): ProcessEntry[] {
  const args = ["-axwwE", "-o", "pid=,ppid=,pgid=,stat=,command="];
  return parsePs(execFileSync("ps", args, { encoding: "latin1", maxBuffer: 256 * 1024 * 1024 }));
}

/** Parses the output of `ps -axwwE -o pid=,ppid=,pgid=,stat=,command=`, where the environment follows the command. */
export function parsePs(text: string): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s?(.*)$/.exec(line);
    if (!match || match[4]?.startsWith("Z")) continue;
    const [, pid, parent, group, , command = ""] = match;
    entries.push({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      key: String(pid),
      hasLaunchId: (launchId) => namesLaunch(` ${command} `, " ", launchId),
      launchIds: () => launchIdsIn(` ${command} `, " "),
    });
  }
  return entries;
}

/** A launch id that ends with a dot matches every launch of one launcher. */
function namesLaunch(environment: string, separator: string, launchId: string): boolean {
  const end = launchId.endsWith(".") ? "" : separator;
  return environment.includes(`${separator}${LAUNCH_ID_VARIABLE}=${launchId}${end}`);
}

function launchIdsIn(environment: string, separator: string): string[] {
  return environment
    .split(`${separator}${LAUNCH_ID_VARIABLE}=`)
    .slice(1)
    .map((rest) => rest.split(separator, 1)[0] ?? "");
}
