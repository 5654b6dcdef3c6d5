/** When the other side wants us back: `Retry-After` as seconds or as a date, and what bodies say of it. Pure. */
import { clampDelayMs } from "../retry/backoff.ts";

/** A receipt waits no longer than an hour, whatever the answer asks for: one wrong header must not hold it for years. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** The wait that a header or a field names: a number of seconds, or the date to come back at. Undefined when it is neither. */
export function retryAfterMsOf(value: unknown, now: number): number | undefined {
  if (typeof value === "number") return value >= 0 ? bounded(value * 1000) : undefined;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) return bounded(Number(text) * 1000);
  const at = IS_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : bounded(at - now);
}

/** The date of HTTP (`Sun, 06 Nov 1994 08:49:37 GMT`) or of RFC 3339; `Date.parse` alone would take nearly anything. */
const IS_DATE = /^(?:[A-Z][a-z]{2,8}, .+ GMT|\d{4}-\d\d-\d\d[Tt ].+(?:[Zz]|[+-]\d\d:\d\d))$/;

/** A date in the past means now. */
export function bounded(ms: number): number {
  return Math.ceil(clampDelayMs(ms, RETRY_AFTER_MS_MAX));
}
