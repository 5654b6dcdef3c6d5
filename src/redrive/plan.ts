/**
 * The options of a redrive, including its rate limit. They are stored with the operation, so that another
 * process can resume it.
 */

import type { Engine } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import type { Operation, OperationStatus } from "../item/operation.ts";
import type { Clock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import { compact, type JsonObject } from "../std/json.ts";

/** The options of a redrive. */
export interface RedrivePlan {
  /** The maximum rate of redriven letters. Default: no limit. */
  readonly rate?: Rate;
  /** How long to wait before the first letter. Default 0. */
  readonly delayMs?: number;
  /** How often each item is retried after its first attempt. Default: the job's policy. */
  readonly maxRetries?: number;
  /** How many items run concurrently. Default: the job's concurrency. */
  readonly slots?: number;
  /** The new priority of the items. Default: their current one. */
  readonly priority?: Priority;
  /**
   * Redrives in stages and stops if the same failure occurs again. A number means: that many letters first,
   * then the rest.
   */
  readonly canary?: boolean | number;
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

export function planOf({ plan }: Pick<Operation, "plan">): RedrivePlan {
  return compact({
    rate: typeof plan.rate === "string" ? parseRate(plan.rate, "the plan's rate") : undefined,
    delayMs: numberIn(plan, "delay_ms"),
    maxRetries: numberIn(plan, "max_retries"),
    slots: numberIn(plan, "parallel"),
    priority: PRIORITIES.find((one) => one === plan.priority),
    canary: plan.canary === true || numberIn(plan, "canary"),
  });
}

/** Whether the operation sends its letters in stages. */
export function isCanary(operation: Pick<Operation, "plan">): boolean {
  return Boolean(planOf(operation).canary);
}

function numberIn(plan: JsonObject, key: string): number | undefined {
  const value = plan[key];
  return typeof value === "number" ? value : undefined;
}

/** A summary for people; empty if all options have their defaults. */
export function planText(operation: Operation): string {
  const { rate, delayMs, maxRetries, slots, priority, canary } = planOf(operation);
  const words: string[] = [];
  if (typeof canary === "number") words.push(`${canary} first, then the rest`);
  else if (canary) words.push("one of each group first, then 1 %, 10 %, all");
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

export type Rate = { readonly letters: number; readonly perMs: number };

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** Parses `5/s`, `100/m` or `1000/h`. The error message contains the name of the option. */
export function parseRate(text: string, what: string): Rate {
  const match = /^(\d{1,9})\s*\/\s*(s|m|h)$/.exec(text.trim());
  const perMs = UNIT_MS[match?.[2] ?? ""];
  const letters = Number(match?.[1]);
  if (perMs !== undefined && letters >= 1) return { letters, perMs };
  throw new RedriveError("usage", `${what}: "${text}" is not a rate.`, {
    hint: "Give a number per second, minute or hour: 5/s, 100/m, 1000/h.",
  });
}

export function rateToText({ letters, perMs }: Rate): string {
  const unit = Object.entries(UNIT_MS).find(([, ms]) => ms === perMs)?.[0];
  return `${letters}/${unit ?? `${perMs}ms`}`;
}

/** Shorter timers are imprecise, so a high rate redrives several letters per interval. */
const INTERVAL_MS = 100;

export function batchSize({ letters, perMs }: Rate): number {
  return Math.max(1, Math.floor((letters * INTERVAL_MS) / perMs));
}

/** Limits the rate of a redrive. Unused capacity does not accumulate, so that no burst follows a pause. */
export class Pacer {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  get waitMs(): number {
    const leftMs = this.#nextAt - this.#clock.now();
    // A wait longer than any planned one means that the clock was set back.
    return leftMs > Math.max(INTERVAL_MS, this.#intervalMs) ? 0 : Math.max(0, leftMs);
  }

  /** Returns how many of the wanted letters may be redriven now; 0 until `waitMs` has passed. */
  take(wanted: number): number {
    if (this.waitMs > 0) return 0;
    const taken = Math.min(wanted, batchSize(this.#rate));
    this.#nextAt = this.#clock.now() + taken * this.#intervalMs;
    return taken;
  }

  get #intervalMs(): number {
    return this.#rate.perMs / this.#rate.letters;
  }
}

export interface WatchOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNotice?: (notice: string) => void;
}

const POLL_MS = 500;

/** Reports when the operation is paused, resumed or cancelled. The runner handles store errors. */
export async function watchPause(operation: Operation, options: WatchOptions): Promise<void> {
  const { engine, clock, signal, onNotice } = options;
  let status: OperationStatus = "open";
  while (!signal.aborted) {
    const now = await readStatus(engine, operation);
    if (now !== status && now !== null) {
      const notice = NOTICES[now]?.(operation.id);
      if (notice !== undefined) onNotice?.(notice);
      status = now;
    }
    await clock.sleep(POLL_MS, signal);
  }
}

const NOTICES: Readonly<Partial<Record<OperationStatus, (id: string) => string>>> = {
  paused: (id) =>
    `${id} is paused and starts no more items. To resume it: redrive ops resume ${id}; Ctrl-C leaves it paused.`,
  open: (id) => `${id} was resumed.`,
  cancelled: (id) => `${id} was cancelled. Letters that were not redriven yet stay dead.`,
};

async function readStatus(engine: Engine, { id }: Operation): Promise<OperationStatus | null> {
  try {
    return (await engine.findOperation(id))?.status ?? null;
  } catch (error) {
    if (!isStoreTrouble(error)) throw error;
    return null;
  }
}
