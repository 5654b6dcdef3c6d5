/**
 * Validates the arguments of library calls before they have any effect. TypeScript callers rarely see these
 * errors; JavaScript callers get them instead of a database error or an item that never runs.
 */
import type * as z from "zod";
import { WorkError } from "../errors.ts";
import { nearest } from "../std/nearest.ts";

/** Throws a `usage` error with every problem: `queue.create: settings.maxRetries: expected a number, …`. */
export function checkInput(schema: z.ZodType, value: unknown, { caller, name }: InputName): void {
  const result = schema.safeParse(value, { error: knownKeys });
  if (result.success) return;
  const problems = result.error.issues.flatMap((issue) => explain(issue, { name, value }));
  throw invalidInput(caller, problems.join("; "));
}

/** The called function and the name of the argument. */
export interface InputName {
  readonly caller: string;
  readonly name: string;
}

/** The error for invalid arguments. */
export function invalidInput(caller: string, problem: string): WorkError {
  return new WorkError("usage", `${caller}: ${problem}.`);
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

/** Zod's issue does not contain the known keys, so they are passed as its message. */
function knownKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys") return undefined;
  const { shape = {} } = (issue.inst?._zod.def ?? {}) as { shape?: object };
  return Object.keys(shape).join(" ");
}

function explain(issue: z.core.$ZodIssue, { name, value }: { name: string; value: unknown }): string[] {
  const path = pathText(name, issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const meant = nearest(key, issue.message.split(" "));
      return `${path}: unknown option "${key}"${meant === undefined ? "" : `, did you mean ${meant}?`}`;
    });
  }
  const given = valueAt(value, issue.path);
  if (given === undefined) return [`${path} is missing: ${expected(issue)}`];
  return [`${path}: ${expected(issue)}, but this is ${describeValue(given)}`];
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

/** For example `settings.breaker.timeoutMs` or `items[3].priority`. */
function pathText(name: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : `${text}.${String(step)}`),
    name,
  );
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[step],
    value,
  );
}
