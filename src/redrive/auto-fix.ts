/** Applies the rules marked `auto` to the letters of a running job once its queue is empty. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Feed } from "../runner/run-options.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { applyFixes } from "./fix.ts";
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

/**
 * Edits the matching letters and returns the feed that redrives them, or null if none match. An unusable rule is reported as
 * a notice: it must not fail a job whose work is done.
 */
export async function autoFix(
  { engine, author = "redrive", stop, clock = systemClock }: AutoFixDeps,
  { job, rules, onNotice }: AutoFixOptions,
): Promise<Feed | null> {
  try {
    const applied = await applyFixes(engine, { queue: job.id, rules, author, signal: stop });
    for (const { rule, edit } of applied) {
      const letters = edit.done === 1 ? "1 letter" : `${edit.done} letters`;
      if (edit.done > 0) onNotice?.(`Applied fix ${rule} to ${letters}; retrying them.`);
    }
    const redrives = applied.flatMap(({ redrive }) => redrive ?? []);
    if (redrives.length === 0) return null;
    const options = { engine, clock, whenPaused: "leave", ...(onNotice && { onNotice }) } as const;
    return async function* (storeRetry, signal) {
      for (const operation of redrives) yield* sendLetters(operation, { ...options, storeRetry, signal });
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    onNotice?.(`Cannot apply the fixes: ${reason} Run \`redrive dlq fix ${job.id}\` to try again.`);
    return null;
  }
}
