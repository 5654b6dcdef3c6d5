/**
 * Takes the leases of holders that have vanished back. Each lost attempt is settled like any other, by the same
 * decision and the same fence, so two reapers do no harm and a holder that comes back finds its token stale.
 */

import { settlementOf } from "../dead-letter/bury.ts";
import type { Engine, Holder } from "../engine.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Random } from "../kit/random.ts";
import { CLASS_OF_TYPE } from "../retry/class-of-type.ts";
import { decide } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import { isGone } from "./holder.ts";

export interface ReapOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly random: Random;
  /** From how many redrives an item may come back before it is toxic. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures. */
  readonly groupRules?: readonly GroupRule[];
  /** The holder that reaps; it is never reaped by itself. */
  readonly selfId: string;
}

/** How many items were taken back. */
export async function reap(options: ReapOptions): Promise<number> {
  const { engine, queue, selfId } = options;
  const gone = (await engine.listHolders()).filter(
    (holder) => holder.queue === queue && holder.id !== selfId && isGone(holder),
  );
  let reaped = 0;
  for (const holder of gone) reaped += await reapHolder(holder, options);
  return reaped;
}

/**
 * Revokes the holder first, so that one that was only late keeps its leases or loses them for certain: after a heartbeat that
 * succeeded, nobody else has begun its items. A lease that commits at the same moment is found in the next round.
 */
async function reapHolder(holder: Holder, options: ReapOptions): Promise<number> {
  const { engine } = options;
  let reaped = 0;
  if (!(await engine.revoke(holder.id, { isProcessDead: !holder.expired }))) return reaped;
  do {
    const leases = await engine.listLeases(holder.id);
    const settle = leases.map((item) => settleLost(item, holder, options));
    const { stale } = await engine.exchange(null, { settle });
    reaped += leases.length - stale.length;
  } while (!(await engine.leave(holder.id)));
  return reaped;
}

function settleLost(item: LeasedItem, holder: Holder, options: ReapOptions): Settlement {
  const { policy, random, toxicAfter, groupRules } = options;
  const now = Math.max(item.startedAt, holder.expiresAt - holder.ttlMs);
  const failure: Failure = {
    attemptNumber: item.attempt,
    timestamp: now,
    errorType: { name: "WorkerLost" },
    errorClass: CLASS_OF_TYPE.WorkerLost,
    errorMessage: "The worker vanished before the attempt ended.",
    errorContext: [`held by ${holder.id}`, `process ${holder.pid} of ${holder.host.split("/")[0]}`],
    agentId: holder.id,
    stepFailed: "worker",
    durationMs: now - item.startedAt,
  };
  const outcome = { kind: "lost", failure } as const;
  const verdict = decide(item, outcome, policy, { random });
  return settlementOf(item, {
    outcome,
    verdict,
    ...(toxicAfter !== undefined && { toxicAfter }),
    ...(groupRules && { groupRules }),
  });
}
