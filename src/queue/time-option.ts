/** Parses times from options and files. Ambiguous input is rejected, because the time decides when items run. */
import { parseDuration } from "../std/duration.ts";

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Parses an RFC 3339 time with a time zone, or a duration from now such as `10m`. Returns undefined for anything else. */
export function parseTimeOption(text: string, now: number): number | undefined {
  const word = text.trim();
  const date = RFC_3339.exec(word)?.[1];
  if (date === undefined) return afterNow(word, now);
  const ms = Date.parse(word.replace(" ", "T").toUpperCase());
  return Number.isNaN(ms) || !isDay(date) ? undefined : ms;
}

export const TIME_OPTION_FORMS =
  "an RFC 3339 time such as 2030-01-31T09:00:00Z, or a duration from now such as 10m";

/** Requires a unit, because a bare number could mean seconds, a year or milliseconds since the epoch. */
function afterNow(word: string, now: number): number | undefined {
  return /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(word) ? now + parseDuration(word, "the time") : undefined;
}

/** Rejects dates such as February 30, which `Date.parse` accepts as a day in March. */
function isDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}
