/** Identifies this process as a holder, and detects holders that are gone: on this machine at once, else by the TTL. */
import { hostname } from "node:os";
import type { Engine, Holder, NewHolder } from "../engine.ts";
import { isStoreError, WorkError } from "../errors.ts";
import type { Clock } from "../std/clock.ts";
import { processStart, thisHost } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";

/** A holder without a heartbeat for this long loses its leases. Heartbeats are four times as frequent. */
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

/** The machine in the id of a holder or a slot; the id itself when it has another form. */
export function machineOf(holderId: string): string {
  return /^(.+):\d+:[^:]+$/.exec(holderId)?.[1] ?? holderId;
}

/** True when the holder cannot come back: its heartbeats stopped, or its process on this machine is gone. */
export function isGone(holder: Holder): boolean {
  return holder.expired || isDeadHere(holder);
}

/** True when the holder was a process of this machine that has ended. */
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
 * Throws `job_running` if another process has the job. Registers a holder, so that others see the job run even while
 * nothing is leased, as in the setup and reduce of a workflow.
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
    if (!isKnown) holder = await engine.registerHolder(describeSelf(jobId)); // the machine slept, and others took the holder for dead
  };
  const beating = beatUntil(over.signal, { clock, everyMs: holder.ttlMs / 4, heartbeat });
  try {
    await refuseSecond(engine, jobId, holder.id);
    return await work();
  } finally {
    over.abort();
    await beating;
    await engine.unregisterHolder(holder.id).catch(() => false); // the holder expires by itself
  }
}

/** Holders are listed in the order of their registration, so that of two concurrent processes one is first. */
async function refuseSecond(engine: Engine, jobId: string, ownId: string): Promise<void> {
  const present = (await engine.listHolders()).filter((one) => one.queue === jobId && !isGone(one));
  const [first] = present;
  if (first === undefined || first.id === ownId) return;
  throw new WorkError("job_running", `Process ${first.pid} is running the job ${jobId}.`, {
    hint: `\`redrive status ${jobId} --watch\` follows it.`,
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
