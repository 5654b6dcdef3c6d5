/** Applies the fixes marked `auto` to the letters of a running job once its queue is empty. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import type { Feed } from "../runner/run-options.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { type AppliedFix, applyFixes } from "./fix.ts";
import type { FixRule } from "./fix-rule.ts";
import { sendLetters } from "./send.ts";

export interface AutoFixDeps {
  readonly engine: Engine;
  readonly stop: AbortSignal;
  readonly clock?: Clock;
  readonly author?: string;
}

export interface AutoFixOptions {
  readonly job: Job;
  readonly rules: readonly FixRule[];
  readonly onNotice?: (notice: string) => void;
}

/** Changes the matching letters and returns the feed that redrives them, or null if none match. */
export async function autoFix(deps: AutoFixDeps, options: AutoFixOptions): Promise<Feed | null> {
  const applied = await fixesFor(deps, options);
  const redrives = applied.flatMap(({ redrive }) => redrive ?? []);
  return redrives.length === 0 ? null : feedOf(redrives, deps, options);
}

/** Reports an unusable rule as a notice: it must not fail a job whose work is done. */
async function fixesFor(deps: AutoFixDeps, options: AutoFixOptions): Promise<readonly AppliedFix[]> {
  const { engine, author = "redrive", stop } = deps;
  const { job, rules, onNotice } = options;
  try {
    const applied = await applyFixes(engine, { queue: job.id, rules, author, signal: stop });
    for (const { rule, edit } of applied) {
      if (edit.done > 0) onNotice?.(`Applied fix ${rule} to ${lettersText(edit.done)}; retrying them.`);
    }
    return applied;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    onNotice?.(`Cannot apply the fixes: ${reason} Run \`redrive dlq fix ${job.id}\` to try again.`);
    return [];
  }
}

function lettersText(count: number): string {
  return count === 1 ? "1 letter" : `${count} letters`;
}

function feedOf(redrives: readonly Operation[], deps: AutoFixDeps, { onNotice }: AutoFixOptions): Feed {
  const { engine, clock = systemClock } = deps;
  return async function* (storeRetry, signal) {
    for (const operation of redrives) {
      yield* sendLetters(operation, {
        engine,
        storeRetry,
        clock,
        signal,
        whenPaused: "leave",
        ...(onNotice && { onNotice }),
      });
    }
  };
}
