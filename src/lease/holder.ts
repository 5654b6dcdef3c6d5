/**
 * Identifies this process as a lease holder, and detects dead holders: immediately on this machine, elsewhere
 * by the TTL.
 */
import { hostname } from "node:os";
import type { Engine, Holder, NewHolder } from "../engine.ts";
import { isStoreError, RedriveError } from "../errors.ts";
import type { Clock } from "../std/clock.ts";
import { processStart, thisHost } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";

/** A holder without a heartbeat for this long loses its leases. Four heartbeats are sent in this time. */
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

/** Extracts the machine from the id of a holder or slot; returns the id itself if it has another form. */
export function machineOf(holderId: string): string {
  return /^(.+):\d+:[^:]+$/.exec(holderId)?.[1] ?? holderId;
}

/** Whether the holder is dead: its heartbeats stopped, or its process on this machine has ended. */
export function isGone(holder: Holder): boolean {
  return holder.expired || isDeadHere(holder);
}

/** Whether the holder was a process on this machine that has ended. */
export function isDeadHere(holder: Holder): boolean {
  return holder.host === thisHost() && !isAlive(holder);
}

export function isOwn(holder: Holder): boolean {
  return holder.host === thisHost() && holder.pid === process.pid;
}

function isAlive(holder: Holder): boolean {
  const start = processStart(holder.pid);
  return start !== null && (holder.processStart === "" || start === holder.processStart);
}

/**
 * Runs work for a job, or throws `job_running` if another process is running it. Registers a holder, so that the job counts
 * as running even while nothing is leased, such as in the setup and reduce phases of a workflow.
 */
export async function runExclusively<T>(
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  jobId: string,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  let holder = await engine.registerHolder(describeSelf(jobId));
  const heartbeat = async () => {
    const isKnown = await engine.heartbeat(holder.id);
    if (!isKnown) holder = await engine.registerHolder(describeSelf(jobId)); // revoked while the machine slept
  };
  const beating = beatUntil(over.signal, { clock, everyMs: holder.ttlMs / 4, heartbeat });
  try {
    await refuseSecond(engine, jobId, holder.id);
    return await work();
  } finally {
    over.abort();
    await beating;
    await engine.unregisterHolder(holder.id).catch(() => false); // the holder expires anyway
  }
}

/** Throws unless this process registered first. Holders are listed in registration order, so exactly one process wins. */
async function refuseSecond(engine: Engine, jobId: string, ownId: string): Promise<void> {
  const present = (await engine.listHolders({ queue: jobId })).filter((one) => !isGone(one));
  const [first] = present;
  if (first === undefined || first.id === ownId) return;
  throw new RedriveError("job_running", `Process ${first.pid} is running the job ${jobId}.`, {
    hint: `To follow it: redrive status ${jobId} --watch`,
  });
}

interface Beating {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly heartbeat: () => Promise<void>;
}

async function beatUntil(over: AbortSignal, { clock, everyMs, heartbeat }: Beating): Promise<void> {
  for (;;) {
    await clock.sleep(everyMs, over);
    if (over.aborted) return;
    await heartbeat().catch((error: unknown) => {
      if (!isStoreError(error)) throw error; // the next heartbeat tries again
    });
  }
}
