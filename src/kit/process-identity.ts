/** Which process on which machine: what tells a process apart from a later one with the same id. */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let host: string | undefined;

/** The machine, its boot and its space of process ids: a pid means nothing outside these. */
export function thisHost(): string {
  host ??= [
    hostname(),
    tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    tryRead(() => readlinkSync("/proc/self/ns/pid")),
  ]
    .filter((part) => part !== null)
    .join("/");
  return host;
}

/** When the process started, in the system's own words; null when there is no such process. A zombie is gone too. */
export function processStart(pid: number): string | null {
  if (process.platform === "linux") {
    const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
    if (stat === null) return null;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name may hold spaces and parentheses
    return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? null);
  }
  return tryRead(
    () => execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || null,
  );
}

function tryRead<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null; // not there, or not on this system
  }
}
