/** Sends receipts: stores all of them, then waits until each is delivered or dead, or until the wait ends. */
import type { ReadReceipt } from "../delivery/receipt.ts";
import { outageNotice } from "../delivery/recovery.ts";
import { type KeptReceipt, Target } from "../delivery/target.ts";
import type { Engine } from "../engine.ts";
import { isError } from "../errors.ts";
import { requireTarget } from "../queue/find-job.ts";
import type { RunDeps } from "../run/run-job.ts";
import { startServices } from "../service/service.ts";
import { systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import type { Context } from "./context.ts";
import { clean } from "./render/text.ts";

/** `kept`: stored without waiting. `waiting`: not delivered when the wait ended. `conflict`: refused and not stored. */
export type SentOutcome = "delivered" | "dead" | "kept" | "waiting" | "conflict";

export interface SentReceipt {
  readonly key: string;
  readonly outcome: SentOutcome;
  /** False if the receipt had already been sent. */
  readonly isNew: boolean;
  /** Why a receipt is dead or was refused. */
  readonly error?: string;
}

export interface SendPlan {
  readonly name: string;
  readonly receipts: AsyncIterable<readonly ReadReceipt[]>;
  readonly order?: string;
  /** How long to wait for delivery; null: do not wait. */
  readonly waitMs: number | null;
  readonly concurrency?: number;
  /** Stops the wait when aborted. */
  readonly signal: AbortSignal;
  /** Background services, and rules for letters. */
  readonly maintenance: Pick<RunDeps, "services" | "poisonAfter" | "groupRules">;
}

const STORE_WAIT_MS = 30_000;

/** Returns the outcomes in the order of the receipts. Calls `onEnd` for each receipt as it ends. */
export async function sendReceipts(
  context: Context,
  engine: Engine,
  plan: SendPlan,
  onEnd: (receipt: SentReceipt) => void,
): Promise<readonly SentReceipt[]> {
  const { name, order, waitMs, concurrency, signal } = plan;
  const { services = [], poisonAfter, groupRules } = plan.maintenance;
  const onNotice = (text: string) => context.note(text);
  const { home } = context;
  const job = await requireTarget(engine, name);
  const running = startServices(services, job, { engine, home, clock: systemClock, onNotice });
  const outage = outageNotice(name, (notice) => onNotice(clean(notice)));
  const giveUp = new AbortController();
  /** The error message of each dead receipt by key. */
  const failures = new Map<string, string>();
  const target = new Target(engine, name, {
    isDelivering: waitMs !== null,
    storeWaitMs: STORE_WAIT_MS,
    onSettled: (item, settlement) => {
      running.settled(item, settlement);
      const { failure, death } = settlement;
      if (death && failure) failures.set(item.itemId, failure.errorMessage);
      outage(settlement);
    },
    onPaused: async (isPaused) => {
      if (!isPaused) return;
      const reason = (await engine.findJob(name).catch(() => null))?.pause?.reason;
      const why = reason ? `: ${clean(reason)}` : "";
      onNotice(`${name} is paused${why}. To resume: redrive receipts resume ${name}`);
      giveUp.abort(); // a paused target delivers nothing, so waiting is pointless
    },
    ...compact({ concurrency, poisonAfter, groupRules }),
  });
  if (signal.aborted) giveUp.abort();
  signal.addEventListener("abort", () => giveUp.abort(), { once: true });

  const store = async ({ receipt, key }: ReadReceipt): Promise<KeptReceipt | SentReceipt> => {
    try {
      return await target.send(receipt, { wait: false, ...compact({ key, order }) });
    } catch (error) {
      if (!isError(error, "receipt_conflict")) throw error;
      return { key: key ?? "", outcome: "conflict", isNew: false, error: error.message };
    }
  };
  const outcomeOf = async (kept: KeptReceipt): Promise<SentReceipt> => {
    const { key, isNew } = kept;
    if (waitMs === null) return { key, isNew, outcome: "kept" };
    try {
      if (await kept.delivered(giveUp.signal)) return { key, isNew, outcome: "delivered" };
      return { key, isNew, outcome: "dead", ...compact({ error: failures.get(key) }) };
    } catch (error) {
      if (!isError(error, "interrupted")) throw error;
      return { key, isNew, outcome: "waiting" };
    }
  };
  const end = async (kept: KeptReceipt | SentReceipt) => {
    const ended = "outcome" in kept ? kept : await outcomeOf(kept);
    onEnd(ended);
    return ended;
  };

  let cancelWait: (() => void) | undefined;
  try {
    await target.opened;
    const ends: Promise<SentReceipt>[] = [];
    let stored = 0;
    for await (const run of untilAborted(plan))
      for (const kept of await Promise.all(run.map(store))) {
        if (kept.isNew) stored += 1;
        ends.push(end(kept));
      }
    if (stored > 0)
      await engine.recordChange({ action: "receipts_sent", queue: name, details: { count: stored } });
    if (waitMs !== null && Number.isFinite(waitMs))
      cancelWait = systemClock.after(waitMs, () => giveUp.abort());
    return await Promise.all(ends);
  } finally {
    cancelWait?.();
    await target.close();
    await running.stop();
  }
}

/** Stops reading after a signal; receipts that were read before are still sent. */
async function* untilAborted({ receipts, signal }: SendPlan): AsyncGenerator<readonly ReadReceipt[]> {
  try {
    yield* receipts;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
