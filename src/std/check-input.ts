/**
 * Checks arguments and settings from library callers before they have any effect, and reports every problem with its path.
 * Loads zod.
 */
import * as z from "zod";
import { RedriveError } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** Throws a `usage` error with every problem: `queue.create: settings.maxRetries: expected a number, …`. */
export function checkInput(schema: z.ZodType, value: unknown, name: InputName): void {
  parseInput(schema, value, name);
}

/** Like `checkInput`, but returns the value as the schema converts it. */
export function parseInput<Out>(schema: z.ZodType<Out>, value: unknown, { caller, name }: InputName): Out {
  const result = schema.safeParse(value, { error: knownKeys });
  if (result.success) return result.data;
  const problems = result.error.issues.flatMap((issue) => explain(issue, { name, value }));
  throw invalidInput(caller, problems);
}

export type InputName = { readonly caller: string; readonly name: string };

/** One problem of an argument, with its path and a suggestion. */
export type InputProblem = { readonly text: string; readonly field?: string; readonly hint?: string };

/** The error for invalid arguments. The field is that of the first problem. */
export function invalidInput(caller: string, problems: readonly InputProblem[]): RedriveError {
  const hint = problems.flatMap((problem) => problem.hint ?? []).join(" ");
  const [{ field } = { field: undefined }] = problems;
  return new RedriveError("usage", `${caller}: ${problems.map(({ text }) => text).join("; ")}.`, {
    ...(hint !== "" && { hint }),
    ...(field !== undefined && { field }),
  });
}

/** Describes a value for a message. Shows the content only of numbers and short strings. */
export function describeValue(value: unknown): string {
  if (typeof value === "string")
    return value.length > SHOWN_CHARS_MAX ? "a long text" : JSON.stringify(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a Date";
  if (value instanceof Promise) return "a promise (an await is missing)";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const SHOWN_CHARS_MAX = 60;

/** Passes the known keys as the message, because Zod's issue does not contain them. */
export function knownKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys") return undefined;
  const { shape = {} } = (issue.inst?._zod.def ?? {}) as { shape?: object };
  return Object.keys(shape).join(" ");
}

function explain(issue: z.core.$ZodIssue, { name, value }: { name: string; value: unknown }) {
  const path = pathText(name, issue.path);
  const field = pathText("", issue.path) || name;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const hint = suggestion(key, issue.message.split(" "));
      const unknown = pathText("", [...issue.path, key]);
      return { text: `${path}: unknown option "${key}"`, field: unknown, ...(hint && { hint }) };
    });
  }
  const given = valueAt(value, issue.path);
  if (given === undefined) return [{ text: `${path} is missing: ${expected(issue)}`, field }];
  return [{ text: `${path}: ${expected(issue)}, but this is ${describeValue(given)}`, field }];
}

/** Names that other libraries and the stored settings use for the same options. */
const ALIASES: readonly (readonly [alias: string, option: string])[] = [
  ["maxRetries", "retries"],
  ["retryLimit", "retries"],
  ["attempts", "retries"],
  ["maxAttempts", "retries"],
  ["retryBackoff", "backoff"],
  ["retryDelay", "backoff"],
  ["timeoutMs", "timeout"],
  ["leaseMs", "lease"],
  ["delayMs", "delay"],
  ["dueAt", "at"],
  ["runAt", "at"],
  ["startAfter", "at"],
  ["jobId", "key"],
  ["jobKey", "key"],
  ["singletonKey", "key"],
  ["lane", "orderingKey"],
  ["groupId", "orderingKey"],
  ["slots", "concurrency"],
  ["parallel", "concurrency"],
  ["onItemFailure", "onFailure"],
  ["lossesMax", "maxLosses"],
  ["outageMsMax", "maxOutage"],
  ["limiter", "rate"],
];

/** Suggests the option that was probably meant, or lists all of them. */
export function suggestion(word: string, known: readonly string[]): string | undefined {
  const aliases = ALIASES.filter(([alias, option]) => known.includes(option) && !known.includes(alias));
  const meant = nearest(word, [...known, ...aliases.map(([alias]) => alias)]);
  if (meant === undefined) return known.length === 0 ? undefined : `Known options: ${known.join(", ")}.`;
  return `Did you mean ${aliases.find(([alias]) => alias === meant)?.[1] ?? meant}?`;
}

function expected(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith("expected")) return issue.message;
  if (issue.code === "invalid_value") return `expected one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type") return `expected ${KINDS[issue.expected] ?? issue.expected}`;
  return issue.message;
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Formats a path, for example `settings.breaker.timeoutMs` or `items[3].priority`. */
function pathText(name: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? String(step) : `${text}.${String(step)}`;
  }, name);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[step],
    value,
  );
}

/** One schema per key, so that a new key of the type does not compile until it has a schema. */
type Shape<T> = { readonly [Key in keyof Required<T>]: z.ZodType };

export function objectOf<T extends object>(shape: Shape<T>): z.ZodType<T> {
  return z.strictObject(shape) as unknown as z.ZodType<T>;
}

/** Several optional keys with the same schema, for `objectOf`. */
export function optional<Key extends string>(schema: z.ZodType, ...keys: readonly Key[]) {
  return allKeys(schema.optional(), keys);
}

/** Like `optional`, but a value may also be null, which removes a setting. */
export function nullable<Key extends string>(schema: z.ZodType, ...keys: readonly Key[]) {
  return allKeys(schema.nullish(), keys);
}

function allKeys<Key extends string>(schema: z.ZodType, keys: readonly Key[]): Record<Key, z.ZodType> {
  return Object.fromEntries(keys.map((key) => [key, schema])) as Record<Key, z.ZodType>;
}

export function anyThat(test: (value: unknown) => boolean, what: string) {
  return z.custom<unknown>(test, { error: `expected ${what}` });
}

export const text = z.string({ error: "expected a text" });
/** A name or an id. Empty ones are refused, because they could match nothing or everything. */
export const name = text.min(1, { error: "expected a text that is not empty" });
export const texts = z.array(text, { error: "expected a list of texts" });
export const flag = z.boolean({ error: "expected true or false" });
/** A duration in milliseconds; may be Infinity. */
export const durationMs = numberThat((value) => value >= 0, "a number of milliseconds");
export const delayMs = numberThat((value) => value >= 0 && value < Infinity, "a number of milliseconds");
export const above0 = numberThat((value) => value > 0 && value < Infinity, "a number above 0");
export const count = wholeNumber(0, Number.MAX_SAFE_INTEGER);
/** A positive integer, for example a concurrency or a page size. */
export const positive = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** A time in milliseconds since the epoch. `Date` is refused, because all times of the library are numbers. */
export const time = numberThat(
  (value) => Number.isSafeInteger(Math.round(value)),
  "milliseconds since the epoch, such as Date.now() or date.getTime()",
);

export function numberThat(test: (value: number) => boolean, what: string) {
  return anyThat((value) => typeof value === "number" && test(value), what);
}

export function numberFrom(min: number, max: number) {
  const error = `expected a number from ${min} to ${max}`;
  return z.number({ error: "expected a number" }).min(min, { error }).max(max, { error });
}

export function wholeNumber(min: number, max: number) {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const error = `expected a whole number ${bounds}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function oneOf<Word extends string>(words: readonly Word[]) {
  return z.enum(words as readonly [Word, ...Word[]]);
}

export function listOf(schema: z.ZodType) {
  return z.array(schema, { error: "expected a list" });
}
