/** The forms of single values in a YAML file, with the words for what is wrong with one. */
import * as z from "zod";

/** A text that says something. */
export function required(what: string) {
  return z.string().regex(/\S/, `expected ${what}, but it is empty`);
}

/** A whole number, at least this. */
export function count(min: number) {
  return z.int({ error: "expected a whole number" }).min(min, `expected a whole number of at least ${min}`);
}

/** From 0 to this. */
export function ratio(max: number) {
  const message = `expected a number from 0 to ${max}`;
  return z.number({ error: message }).min(0, message).max(max, message);
}

const NOT_A_DURATION =
  "expected a duration: a number and a unit, such as 250ms, 30s, 5m or 2h; a plain number is seconds";

/** As `parseDuration` reads it. */
export const duration = z.union(
  [
    z.number().min(0, NOT_A_DURATION),
    z.string().regex(/^\s*\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)?\s*$/, NOT_A_DURATION),
  ],
  { error: NOT_A_DURATION },
);

/** What can be the value of an environment variable. */
export const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: "expected a text, a number or true or false",
});

/** The exit code of a process, as a key. */
export const exitCode = z
  .string()
  .regex(/^(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$/, "expected an exit code from 0 to 255");
