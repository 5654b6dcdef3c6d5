/** Parses times that people or files give. Strict, because the time decides what runs. */
import { parseDuration } from "../std/duration.ts";

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339 with its zone, or how long from now, e.g. `10m`. Undefined when it is neither. */
export function parseTimeOption(text: string, now: number): number | undefined {
  const word = text.trim();
  const date = RFC_3339.exec(word)?.[1];
  if (date === undefined) return afterNow(word, now);
  const ms = Date.parse(word.replace(" ", "T").toUpperCase());
  return Number.isNaN(ms) || !isDay(date) ? undefined : ms;
}

/** The accepted forms, for messages. */
export const TIME_OPTION_FORMS =
  "an RFC 3339 time such as 2030-01-31T09:00:00Z, or a duration from now such as 10m";

/** A bare number could be anything: seconds, a year, milliseconds since the epoch. */
function afterNow(word: string, now: number): number | undefined {
  return /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(word) ? now + parseDuration(word, "the time") : undefined;
}

/** The 30th of February is taken for a day in March by the standard library. */
function isDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}
