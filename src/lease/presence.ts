/**
 * Tells the store that this process is at a job even while it leases nothing, as in a workflow's setup and reduce: others
 * see that the job runs, and a second process that wants it for itself is turned away.
 */
import type { Engine } from "../engine.ts";
import { isStoreError, WorkError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";
import { describeSelf, isGone } from "./holder.ts";

/** Does the work with the job to itself, or is refused. */
export async function aloneAt<T>(
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  jobId: string,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  let holder = await engine.enter(describeSelf(jobId));
  const beat = async () => {
    const isKnown = await engine.beat(holder.id);
    if (!isKnown) holder = await engine.enter(describeSelf(jobId)); // the machine slept, and others took it for gone
  };
  const beating = beatUntil(over.signal, { clock, everyMs: holder.ttlMs / 4, beat });
  try {
    await refuseSecond(engine, jobId, holder.id);
    return await work();
  } finally {
    over.abort();
    await beating;
    await engine.leave(holder.id).catch(() => false); // a process that is gone is seen to be gone
  }
}

/** Holders are listed in the order in which they entered: of two at the same moment, one is the first. */
async function refuseSecond(engine: Engine, jobId: string, ownId: string): Promise<void> {
  const present = (await engine.listHolders()).filter((one) => one.queue === jobId && !isGone(one));
  const [first] = present;
  if (first === undefined || first.id === ownId) return;
  throw new WorkError("job_running", `Process ${first.pid} is at the job ${jobId}.`, {
    hint: `\`redrive status ${jobId} --watch\` follows it.`,
  });
}

interface Beating {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly beat: () => Promise<void>;
}

async function beatUntil(over: AbortSignal, { clock, everyMs, beat }: Beating): Promise<void> {
  for (;;) {
    await clock.sleep(everyMs, over);
    if (over.aborted) return;
    await beat().catch((error: unknown) => {
      if (!isStoreError(error)) throw error; // a store in trouble is tried again with the next beat
    });
  }
}
