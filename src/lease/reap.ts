/**
 * Takes back the leases of vanished holders. Each lost attempt is settled with the usual decision and fence, so that two
 * reapers do no harm and a holder that returns finds its token stale.
 */
import { settlementOf } from "../dead-letter/bury.ts";
import type { Engine, Holder } from "../engine.ts";
import { classOfType } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import { decide } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { Random } from "../std/random.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { isDeadHere, isGone } from "./holder.ts";

export interface ReapOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly random: Random;
  /** From how many redrives an item may come back before it is poison. */
  readonly poisonAfter?: number;
  readonly groupRules?: readonly GroupRule[];
  /** The holder that reaps; it does not reap itself. */
  readonly selfId: string;
  /** Ends what commands of dead processes on this machine left running. Default: nothing. */
  readonly endOrphans?: () => Promise<void>;
}

/** Returns how many items were taken back. */
export async function reap(options: ReapOptions): Promise<number> {
  const { engine, queue, selfId } = options;
  const find = async () =>
    (await engine.listHolders()).filter(
      (holder) => holder.queue === queue && holder.id !== selfId && isGone(holder),
    );
  let gone = await find();
  if (gone.some(({ expired }) => expired)) {
    await engine.heartbeat(selfId); // follows the clock first: after a step of it, those that are alive seem expired
    gone = await find();
  }
  // Leftovers of a dead process must not run beside the next attempt of the item.
  if (gone.some(isDeadHere)) await options.endOrphans?.();
  let reaped = 0;
  for (const holder of gone) reaped += await reapHolder(holder, options);
  return reaped;
}

/**
 * Revokes the holder first, so that a holder that was only late either keeps all leases or loses all: after a successful
 * heartbeat nobody else has started its items. A lease that commits meanwhile is found in the next round.
 */
async function reapHolder(holder: Holder, options: ReapOptions): Promise<number> {
  const { engine } = options;
  let reaped = 0;
  if (!(await engine.revoke(holder.id, { isProcessDead: !holder.expired }))) return reaped;
  do {
    const leases = await engine.listLeases(holder.id);
    const settle = leases.map((item) => settleLost(item, holder, options));
    const { stale } = await engine.settleAndLease(null, { settle });
    reaped += leases.length - stale.length;
  } while (!(await engine.unregisterHolder(holder.id)));
  return reaped;
}

function settleLost(item: LeasedItem, holder: Holder, options: ReapOptions): Settlement {
  const { policy, random, poisonAfter, groupRules } = options;
  const now = Math.max(item.startedAt, holder.expiresAt - holder.ttlMs);
  const failure: Failure = {
    attemptNumber: item.attempt,
    timestamp: now,
    errorType: { name: "WorkerLost" },
    errorClass: classOfType("WorkerLost"),
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
    ...(poisonAfter !== undefined && { poisonAfter }),
    ...(groupRules && { groupRules }),
  });
}
