/** How a redrive sends its letters: kept with the operation, so that whoever goes on with it does it in the same way. */
import { compact } from "../item/failure.ts";
import type { Operation } from "../item/operation.ts";
import { PRIORITIES, type Priority } from "../item/priority.ts";
import { formatDuration } from "../kit/duration.ts";
import type { JsonObject } from "../kit/json.ts";
import { parseRate, type Rate, rateToText } from "./pace.ts";

export interface RedrivePlan {
  /** How many letters are sent at most. Default: no limit. */
  readonly rate?: Rate;
  /** How long to wait before the first of them. Default 0. */
  readonly delayMs?: number;
  /** How often each is tried after the first try. Default: as the job's policy says. */
  readonly maxRetries?: number;
  /** How many run at a time. Default: as the job. */
  readonly slots?: number;
  /** The priority that the items get. Default: the one that they have. */
  readonly priority?: Priority;
  /** A few first, and no more when the same failure returns. */
  readonly canary?: boolean;
}

/** The form in which an operation keeps it. */
export function planToJson({ rate, delayMs, maxRetries, slots, priority, canary }: RedrivePlan): JsonObject {
  return compact({
    rate: rate && rateToText(rate),
    delay_ms: delayMs,
    max_retries: maxRetries,
    parallel: slots,
    priority,
    canary: canary || undefined,
  });
}

export function planOf({ plan }: Operation): RedrivePlan {
  return compact({
    rate: typeof plan.rate === "string" ? parseRate(plan.rate, "the plan's rate") : undefined,
    delayMs: numberIn(plan, "delay_ms"),
    maxRetries: numberIn(plan, "max_retries"),
    slots: numberIn(plan, "parallel"),
    priority: PRIORITIES.find((one) => one === plan.priority),
    canary: plan.canary === true || undefined,
  });
}

function numberIn(plan: JsonObject, key: string): number | undefined {
  const value = plan[key];
  return typeof value === "number" ? value : undefined;
}

/** In words, for a person; empty when there is nothing special about it. */
export function planText(operation: Operation): string {
  const { rate, delayMs, maxRetries, slots, priority, canary } = planOf(operation);
  const words: string[] = [];
  if (canary) words.push("one of each group first, then 1 %, 10 %, all");
  if (rate) words.push(`at most ${rateToText(rate)}`);
  if (delayMs) words.push(`begun after ${formatDuration(delayMs)}`);
  if (slots !== undefined) words.push(`${slots} at a time`);
  if (priority !== undefined) words.push(`priority ${priority}`);
  if (maxRetries !== undefined)
    words.push(
      maxRetries === 1 ? "1 retry each" : maxRetries === 0 ? "one try each" : `${maxRetries} retries each`,
    );
  if (operation.force) words.push("also what is not eligible");
  return words.join("; ");
}
