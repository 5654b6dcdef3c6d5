/**
 * Maintains the letters of a named queue or a target: recalls letters of cancelled redrives, enforces limits
 * and applies automatic fixes. Only one worker of a queue, on any machine, does this at a time; another takes
 * over within 30 seconds.
 */

import type { Job } from "../item/job.ts";
import type { FixRule } from "../redrive/fix.ts";
import type { LetterLimits } from "../redrive/limits.ts";
import { recallCancelled } from "../redrive/operation.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { INDEXING, LimitGuard } from "./letter-retention.ts";
import { inRounds, type ServiceContext, type StartService } from "./service.ts";

export interface MaintenanceOptions {
  readonly limits?: LetterLimits;
  /** Fixes for new letters. Fixed letters are redriven. Default: none. */
  readonly fixes?: readonly FixRule[];
  readonly author?: string;
}

const CHECK_MS = 3000;
const STORE_WAIT_MS = 30_000;

export function queueMaintainer(options: MaintenanceOptions = {}): StartService {
  const { limits, fixes = [], author = "redrive" } = options;
  return inRounds((job, context) => {
    const { engine, onNotice } = context;
    const stop = new AbortController();
    const guard = limits ? new LimitGuard({ ...context, queue: job.id, limits, author }) : null;
    const fixNew = fixer(job, context, { rules: fixes, author, stop: stop.signal });
    const report = (why: string, count = 0) => {
      const where = `Run \`redrive ops list --queue ${job.id}\` to list them, and \`redrive ops undo\` to restore them.`;
      if (count > 0) onNotice(`Archived letters of ${job.id} that were ${why}: ${count}. ${where}`);
    };
    return {
      startMs: CHECK_MS,
      leader: `maintenance/${job.id}`,
      // Runs once more at the end, because even a worker that ran only briefly may have buried letters.
      run: async ({ isLast }) => {
        await recallCancelled(engine, job.id);
        if (!isLast) await engine.catchUp(INDEXING);
        const removed = await guard?.enforce({ isEnd: isLast });
        report("too old", removed?.purged);
        report("too many", removed?.evicted);
        if (!isLast && fixes.length > 0) await fixNew();
        return CHECK_MS;
      },
      wakeMs: () => CHECK_MS,
      errorText: (reason) =>
        `The letters of ${job.id} could not be maintained: ${reason} Nothing is lost. Run \`redrive dlq maintain ${job.id}\` to enforce the limits.`,
      stopping: () => stop.abort(),
    };
  });
}

/** Applies fixes only after new letters were buried: older letters that match no rule need not be read again. */
function fixer(
  job: Job,
  { engine, clock, onNotice }: ServiceContext,
  { rules, author, stop }: { rules: readonly FixRule[]; author: string; stop: AbortSignal },
): () => Promise<void> {
  let fixedTo: number | null = null;
  const hasNewLetters = async (after: number) =>
    (await engine.listEvents({ queue: job.id, types: ["dlq_item_added"], after, limit: 1 })).length > 0;
  return async () => {
    const newest = await engine.newestEvent();
    if (fixedTo === null || (await hasNewLetters(fixedTo))) {
      const { autoFix } = await import("../redrive/fix.ts");
      const feed = await autoFix({ engine, clock, author, stop }, { job, rules, onNotice });
      const storeRetry = new StoreRetry(STORE_WAIT_MS, clock);
      for await (const _ of feed?.(storeRetry, stop) ?? []) if (stop.aborted) break;
    }
    fixedTo = newest;
  };
}
