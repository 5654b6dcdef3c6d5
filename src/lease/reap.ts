/**
 * Takes back the leases of dead holders. Each lost attempt is settled by the usual decision and fencing token, so that
 * concurrent reapers are harmless and a holder that returns finds its token stale.
 */
import { settlementOf } from "../dead-letter/bury.ts";
import type { Engine, Holder } from "../engine.ts";
import { classOfType } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import { decide } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { thisHost } from "../std/process-identity.ts";
import type { Random } from "../std/random.ts";
import type { GroupRule } from "../triage/grouping.ts";
import { isDeadHere, isGone } from "./holder.ts";
import { type CommandEnd, readStartMarks, removeStartMarks, type StartMark } from "./start-marks.ts";

export interface ReapOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly random: Random;
  /** The number of redrives after which an item that fails again is marked as poison. */
  readonly poisonAfter?: number;
  readonly groupRules?: readonly GroupRule[];
  /** The id of the calling holder, which is never reaped here. */
  readonly selfId: string;
  /** The folder with the start marks of holders. Default: all leased items count as running. */
  readonly startMarksFolder?: string | undefined;
  /** Ends the processes that commands of dead runners on this machine left behind. Default: nothing. */
  readonly endOrphans?: () => Promise<void>;
}

/** Reaps all dead holders of the queue and returns the number of recovered items. */
export async function reap(options: ReapOptions): Promise<number> {
  const { engine, queue, selfId } = options;
  const find = async () =>
    (await engine.listHolders({ queue })).filter((holder) => holder.id !== selfId && isGone(holder));
  let gone = await find();
  if (gone.some(({ expired }) => expired)) {
    await engine.heartbeat(selfId); // updates the store's clock: after a clock step, live holders look expired
    gone = await find();
  }
  // Processes that a dead runner left behind must not run alongside the item's next attempt.
  if (gone.some(isDeadHere)) await options.endOrphans?.();
  let reaped = 0;
  for (const holder of gone) reaped += await reapHolder(holder, options);
  return reaped;
}

/**
 * Revokes the holder first, so that a late holder keeps either all leases or none: after a successful heartbeat, no other
 * process has started its items. The loop also finds leases that commit concurrently.
 */
async function reapHolder(holder: Holder, options: ReapOptions): Promise<number> {
  const { engine } = options;
  let reaped = 0;
  if (!(await engine.revoke(holder.id, { isProcessDead: !holder.expired }))) return reaped;
  const markOf = marksOf(holder, options);
  do {
    const leases = await engine.listLeases(holder.id);
    const settle = leases.map((item) => {
      const mark = markOf(item);
      if (mark === undefined) return settleReleased(item, "the worker vanished before the attempt started");
      return (mark.end && settleEnded(item, mark.end)) ?? settleLost(item, holder, options);
    });
    const { stale } = await engine.settleAndLease(null, { settle });
    reaped += leases.length - stale.length;
  } while (!(await engine.unregisterHolder(holder.id)));
  if (options.startMarksFolder !== undefined) removeStartMarks(options.startMarksFolder, holder.id);
  return reaped;
}

/** The marks of leased items. They are lost when the machine restarts, and those of other machines are elsewhere. */
function marksOf(
  holder: Holder,
  { startMarksFolder }: ReapOptions,
): (item: LeasedItem) => StartMark | undefined {
  const isReadable = startMarksFolder !== undefined && holder.host === thisHost();
  const marks = isReadable ? readStartMarks(startMarksFolder, holder.id) : null;
  return marks ?? (() => ({}));
}

/** Beyond this number of releases, losses of an item count again, because its output may be what kills the worker. */
const RELEASES_MAX = 10;

/**
 * The command had ended, but its worker had not stored the result. A success without output is complete. Any other
 * attempt is repeated and does not count, because its output is lost. Returns undefined if it must count.
 */
function settleEnded(item: LeasedItem, end: CommandEnd): Settlement | undefined {
  if (end.exitCode === 0 && !end.hasOutput)
    return settlementOf(item, { outcome: { kind: "succeeded" }, verdict: { kind: "done" } });
  const { attempt, attemptsCounted, lostCount } = item;
  if (attempt - 1 - attemptsCounted - lostCount >= RELEASES_MAX) return undefined;
  const how = end.exitCode === undefined ? `signal ${end.signal}` : `exit code ${end.exitCode}`;
  return settleReleased(item, `the worker vanished before it stored the result (${how})`);
}

function settleReleased(item: LeasedItem, why: string): Settlement {
  return settlementOf(item, { outcome: { kind: "released", why }, verdict: { kind: "release" } });
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
