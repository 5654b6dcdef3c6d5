/** What a running job does by itself with its letters when nothing else is left to do: the fixes that are said to be automatic. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { type AppliedFix, applyFixes } from "../redrive/fix.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import { sendLetters } from "../redrive/send.ts";
import type { Feed } from "../runner/runner.ts";

/** The part of a run's surroundings that fixes need. */
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

/** Changes the letters that match, and gives the feed that sends them back to work; null when there are none. */
export async function autoFix(deps: AutoFixDeps, options: AutoFixOptions): Promise<Feed | null> {
  const applied = await fixesFor(deps, options);
  const redrives = applied.flatMap(({ redrive }) => redrive ?? []);
  return redrives.length === 0 ? null : feedOf(redrives, deps, options);
}

/** The work is done, and stays done: a rule that cannot be used is something to tell. */
async function fixesFor(deps: AutoFixDeps, options: AutoFixOptions): Promise<readonly AppliedFix[]> {
  const { engine, author = "redrive", stop } = deps;
  const { job, rules, onNotice } = options;
  try {
    const applied = await applyFixes(engine, { queue: job.id, rules, author, signal: stop });
    for (const { rule, edit } of applied) {
      if (edit.done > 0) onNotice?.(`The fix ${rule} was used on ${lettersText(edit.done)}; they run again.`);
    }
    return applied;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    onNotice?.(`The fixes could not be used: ${reason} \`redrive dlq fix ${job.id}\` tries again.`);
    return [];
  }
}

function lettersText(count: number): string {
  return count === 1 ? "1 letter" : `${count} letters`;
}

function feedOf(redrives: readonly Operation[], deps: AutoFixDeps, { onNotice }: AutoFixOptions): Feed {
  const { engine, clock = systemClock } = deps;
  return async function* (patience, signal) {
    for (const operation of redrives) {
      yield* sendLetters(operation, {
        engine,
        patience,
        clock,
        signal,
        whenPaused: "leave",
        ...(onNotice && { onNotice }),
      });
    }
  };
}
