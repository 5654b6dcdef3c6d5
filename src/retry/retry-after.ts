/** Parses the delay that a receiver requests before a retry, from a header or a field of the response. */
import { clampDelayMs } from "./backoff.ts";

/** Limits the delay that a response may request, so that a wrong header cannot delay a receipt for years. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Parses a retry delay: a number of seconds or a date. Returns undefined for anything else. */
export function retryAfterMsOf(value: unknown, now: number): number | undefined {
  if (typeof value === "number") return value >= 0 ? bounded(value * 1000) : undefined;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) return bounded(Number(text) * 1000);
  const at = IS_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : bounded(at - now);
}

/** Matches HTTP dates (`Sun, 06 Nov 1994 08:49:37 GMT`) and RFC 3339. `Date.parse` alone accepts nearly anything. */
const IS_DATE = /^(?:[A-Z][a-z]{2,8}, .+ GMT|\d{4}-\d\d-\d\d[Tt ].+(?:[Zz]|[+-]\d\d:\d\d))$/;

/** Limits a delay to one hour. A negative delay (a date in the past) becomes 0. */
export function bounded(ms: number): number {
  return Math.ceil(clampDelayMs(ms, RETRY_AFTER_MS_MAX));
}
