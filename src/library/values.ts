/**
 * Durations, times, rates and backoffs as callers write them, with schemas that validate and convert them.
 */
import * as z from "zod";
import type { Rate as StoredRate } from "../item/rate.ts";
import { backoff as backoffObject } from "../queue/settings-schema.ts";
import { parseTimeOption } from "../queue/time-option.ts";
import { parseBackoff } from "../retry/backoff.ts";
import type { Backoff as StoredBackoff } from "../retry/policy.ts";
import * as t from "../std/check-input.ts";
import { parseDuration } from "../std/duration.ts";

/** Milliseconds, or a text with a unit: `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`. */
export type Duration = number | string;

/** A `Date`, milliseconds since the epoch, or an RFC 3339 text such as `"2030-01-31T09:00:00Z"`. */
export type Time = Date | number | string;

/** A text such as `"10/s"`, `"100/m"` or `"1000/h"`, or a number per second. */
export type Rate = string | StoredRate;

/** A text such as `"exponential:1s:30s"`, `"fixed:5s"` or `"none"`, or an object. */
export type Backoff = string | StoredBackoff;

/** The shape of an options type: one schema per option, so that a new option does not compile without one. */
export type Shape<T> = { readonly [Key in keyof Required<T>]: z.ZodType };

/** A schema that converts a value, or rejects it if `read` returns undefined. */
function converted<Out>(read: (value: unknown) => Out | undefined, what: string): z.ZodType<Out> {
  return z.unknown().transform((value, context): Out => {
    const out = value === undefined ? undefined : read(value);
    if (out !== undefined) return out;
    context.issues.push({ code: "custom", message: `expected ${what}`, input: value });
    return z.NEVER;
  });
}

const DURATION_MS_MAX = 10 * 366 * 86_400_000;

/** A duration of at least `minMs`, in milliseconds. */
export function durationFrom(minMs: number, maxMs = DURATION_MS_MAX) {
  const range = minMs > 1 ? ` of at least ${minMs} ms` : "";
  return converted((value) => {
    const ms = durationMsOf(value);
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
  }, `a duration${range}: milliseconds, or a text such as "250ms", "30s", "5m", "2h", "7d"`);
}

export const duration = durationFrom(0);

function durationMsOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  // A text needs a unit: the number 30 means milliseconds, but "30" means seconds elsewhere.
  if (typeof value !== "string" || !/^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)\s*$/.test(value)) return undefined;
  return parseDuration(value, "duration");
}

/** A time, in milliseconds since the epoch. */
export const time = converted((value) => {
  if (value instanceof Date) return validTime(value.getTime());
  if (typeof value === "number") return validTime(value);
  return typeof value === "string" ? rfc3339(value) : undefined;
}, 'a Date, milliseconds since the epoch, or an RFC 3339 text such as "2030-01-31T09:00:00Z"');

const TIME_MS_MAX = 8.64e15;

function validTime(ms: number): number | undefined {
  return Math.abs(ms) <= TIME_MS_MAX ? Math.round(ms) : undefined;
}

/**
 * Rejects a duration from now, which the command line accepts here, because `delay` is the option for that.
 */
function rfc3339(text: string): number | undefined {
  return /^\d{4}-/.test(text.trim()) ? parseTimeOption(text, 0) : undefined;
}

const PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const RATE_MIN = 1 / 86_400;
const RATE_MAX = 1_000_000;

/** A rate, as a number per second. */
export const rate = converted((value): StoredRate | undefined => {
  const perSecond = typeof value === "string" ? perSecondOf(value) : exactRate(value);
  const isValid = perSecond !== undefined && perSecond >= RATE_MIN && perSecond <= RATE_MAX;
  return isValid ? { perSecond } : undefined;
}, 'a rate such as "10/s", "100/m", "1000/h" or { perSecond: 10 }');

function perSecondOf(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*\/\s*(s|m|h|d)$/.exec(text.trim());
  const seconds = PER_UNIT[match?.[2] ?? ""];
  return match === null || seconds === undefined ? undefined : Number(match[1]) / seconds;
}

function exactRate(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "perSecond")
    return undefined;
  const { perSecond } = value as { readonly perSecond: unknown };
  return typeof perSecond === "number" ? perSecond : undefined;
}

/** A backoff. Checked strictly, because an invalid one would make items wait forever. */
export const backoff = converted((value): StoredBackoff | undefined => {
  if (typeof value !== "string") {
    const { success, data } = backoffObject.safeParse(value);
    return success ? (data as StoredBackoff) : undefined;
  }
  try {
    return parseBackoff(value);
  } catch {
    return undefined;
  }
}, 'a backoff such as "exponential:1s:30s", "linear:1s:1m", "fixed:5s", "list:1s,10s,1m" or "none"');

export const retries = t.wholeNumber(0, 1000);
export const signal = t.anyThat((value) => value instanceof AbortSignal, "an AbortSignal");
export const callback = t.anyThat((value) => typeof value === "function", "a function");

/** One of the words, or a list of them. Converts to a list. */
export function oneOrMany<Word extends string>(all: readonly Word[]) {
  const error = `expected one of ${all.join(", ")}, or a list of them`;
  return z
    .custom<Word | readonly Word[]>(
      (value) => [value].flat().every((one) => (all as readonly unknown[]).includes(one)),
      { error },
    )
    .transform((value) => [value].flat() as Word[]);
}
