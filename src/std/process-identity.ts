/** Identifies a process, also after its pid was reused, and checks whether it still runs. */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let host: string | undefined;

/** Identifies the machine, its boot and its pid namespace: a pid is valid only within all three. */
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

/** Returns the start time of the process in the system's format; null if the process does not exist or is a zombie. */
export function processStart(pid: number): string | null {
  if (process.platform === "linux") {
    const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
    if (stat === null) return null;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name may contain spaces and parentheses
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
    return null; // missing, or not available on this system
  }
}

export type Owner = { readonly host: string; readonly pid: number; readonly processStart: string };

/** `here`: running on this machine. `gone`: ended. `unknown`: on another machine. */
export type OwnerState = "here" | "gone" | "unknown";

export function thisOwner(): Owner {
  return { host: thisHost(), pid: process.pid, processStart: processStart(process.pid) ?? "" };
}

export function ownerState(owner: Owner): OwnerState {
  if (owner.host === thisHost()) {
    const start = processStart(owner.pid);
    return start !== null && (owner.processStart === "" || start === owner.processStart) ? "here" : "gone";
  }
  return hasRestarted(owner.host) ? "gone" : "unknown";
}

/** Whether this machine has rebooted since `host` was recorded. If so, all processes of that time have ended. */
export function hasRestarted(host: string): boolean {
  const [name, boot] = host.split("/");
  const [nameHere, bootHere] = thisHost().split("/");
  return name === nameHere && boot !== undefined && bootHere !== undefined && boot !== bootHere;
}
