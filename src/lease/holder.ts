/**
 * Who this process is to the store, and whether another holder of this machine is still alive. A dead local process is
 * known at once; one of another machine only when its heartbeats have stopped for its time to live.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder, NewHolder } from "../engine.ts";
import { randomName } from "../kit/random.ts";

/** A holder that has not been heard of for this long has lost its leases. It beats four times as often. */
export const HOLDER_TTL_MS = 8000;

export function describeSelf(queue: string, ttlMs: number = HOLDER_TTL_MS): NewHolder {
  const host = thisHost();
  return {
    id: `${hostname()}:${process.pid}:${randomName(6)}`,
    queue,
    host,
    pid: process.pid,
    processStart: processStart(process.pid) ?? "",
    ttlMs,
  };
}

/** True when the holder cannot come back: its heartbeats stopped, or its process on this machine is gone. */
export function isGone(holder: Holder): boolean {
  return holder.expired || (holder.host === thisHost() && !isAlive(holder));
}

function isAlive(holder: Holder): boolean {
  const start = processStart(holder.pid);
  return start !== null && (holder.processStart === "" || start === holder.processStart);
}

let host: string | undefined;

/** The machine, its boot and its space of process ids: a pid means nothing outside these. */
function thisHost(): string {
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
function processStart(pid: number): string | null {
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
