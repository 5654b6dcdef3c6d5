/** The options that say how letters are run again. */
import { WorkError } from "../errors.ts";
import { isStanding, type Job } from "../item/job.ts";
import type { Priority } from "../item/priority.ts";
import { parseDuration } from "../kit/duration.ts";
import { parseRate } from "../redrive/pace.ts";
import type { RedrivePlan } from "../redrive/plan.ts";
import { countOption } from "./option.ts";

export interface PlanFlags {
  readonly parallel?: string;
  readonly rate?: string;
  readonly delay?: string;
  readonly maxRetries?: string;
  readonly priority?: Priority;
  readonly canary?: boolean;
  readonly detach?: boolean;
}

/** Reads them, or refuses what cannot be read or contradicts. */
export function planFrom(flags: PlanFlags): RedrivePlan {
  if (flags.canary && flags.detach) {
    throw new WorkError("usage", "--canary and --detach do not go together: a canary has to be waited for.");
  }
  const slots = countOption("--parallel", flags.parallel, 1);
  const maxRetries = countOption("--max-retries", flags.maxRetries, 0);
  return {
    ...(flags.rate !== undefined && { rate: parseRate(flags.rate, "--rate") }),
    ...(flags.delay !== undefined && { delayMs: parseDuration(flags.delay, "--delay") }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(slots !== undefined && { slots }),
    ...(flags.priority !== undefined && { priority: flags.priority }),
    ...(flags.canary && { canary: true }),
  };
}

/** What workers decide for themselves cannot be decided by who sends them letters; it would be ignored. */
export function refuseForQueue(job: Job, { parallel, maxRetries }: PlanFlags): void {
  if (!isStanding(job)) return;
  if (parallel !== undefined) {
    throw new WorkError(
      "usage",
      `--parallel: how many of ${job.id} run at a time is its workers' business.`,
      {
        hint: `Start more workers, or begin fewer a second with --rate, e.g. --rate 5/s.`,
      },
    );
  }
  if (maxRetries !== undefined) {
    throw new WorkError("usage", `--max-retries: the workers of ${job.id} try as often as the queue says.`, {
      hint: `\`redrive queue set ${job.id} --max-retries ${maxRetries}\` changes that for all of its items.`,
    });
  }
}
