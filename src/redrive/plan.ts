/** The options of a redrive, stored with the operation for a process that resumes it. */

import { PRIORITIES, type Priority } from "../item/item.ts";
import type { Operation } from "../item/operation.ts";
import { formatDuration } from "../std/duration.ts";
import type { JsonObject } from "../std/json.ts";
import { compact } from "../std/json.ts";
import { parseRate, type Rate, rateToText } from "./pace.ts";

/** The options of a redrive. */
export interface RedrivePlan {
  /** The maximum rate of redriven letters. Default: no limit. */
  readonly rate?: Rate;
  /** How long to wait before the first letter. Default 0. */
  readonly delayMs?: number;
  /** How often each item is retried after its first attempt. Default: the job's policy. */
  readonly maxRetries?: number;
  /** How many items run at once. Default: the job's concurrency. */
  readonly slots?: number;
  /** The new priority of the items. Default: their current one. */
  readonly priority?: Priority;
  /** Redrives in stages and stops if the same failure occurs again. */
  readonly canary?: boolean;
}

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

/** A summary for people; empty if all options have their defaults. */
export function planText(operation: Operation): string {
  const { rate, delayMs, maxRetries, slots, priority, canary } = planOf(operation);
  const words: string[] = [];
  if (canary) words.push("one of each group first, then 1 %, 10 %, all");
  if (rate) words.push(`at most ${rateToText(rate)}`);
  if (delayMs) words.push(`starts after ${formatDuration(delayMs)}`);
  if (slots !== undefined) words.push(`${slots} at a time`);
  if (priority !== undefined) words.push(`priority ${priority}`);
  if (maxRetries !== undefined)
    words.push(
      maxRetries === 1 ? "1 retry each" : maxRetries === 0 ? "no retries" : `${maxRetries} retries each`,
    );
  if (operation.force) words.push("including letters that are not eligible");
  return words.join("; ");
}
