/**
 * Who this process is to the store, and whether another holder of this machine is still alive. A dead local process is
 * known at once; one of another machine only when its heartbeats have stopped for its time to live.
 */
import { hostname } from "node:os";
import type { Holder, NewHolder } from "../engine.ts";
import { processStart, thisHost } from "../kit/process-identity.ts";
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

/** The machine that a holder's id, or that of one of its slots, names; the id itself when it has another form. */
export function machineOf(holderId: string): string {
  return /^(.+):\d+:[^:]+$/.exec(holderId)?.[1] ?? holderId;
}

/** True when the holder cannot come back: its heartbeats stopped, or its process on this machine is gone. */
export function isGone(holder: Holder): boolean {
  return holder.expired || (holder.host === thisHost() && !isAlive(holder));
}

/** Whether the holder is in this very process. */
export function isOwn(holder: Holder): boolean {
  return holder.host === thisHost() && holder.pid === process.pid;
}

function isAlive(holder: Holder): boolean {
  const start = processStart(holder.pid);
  return start !== null && (holder.processStart === "" || start === holder.processStart);
}
