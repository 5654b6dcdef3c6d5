/** Validates the content of a file against a schema and explains every problem. Also defines schemas of single values. */
import * as z from "zod";
import { knownKeys } from "../std/check-input.ts";
import { nearest } from "../std/nearest.ts";
import type { Finding } from "./read-yaml.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

export function jsonSchemaOf(form: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(form, { io: "input", target: "draft-2020-12" });
}

export function schemaTextOf(form: z.ZodType): string {
  return `${JSON.stringify(jsonSchemaOf(form), null, 2)}\n`;
}

export function checkForm<T>(
  form: z.ZodType<T>,
  raw: unknown,
): { readonly value?: T; readonly findings: readonly Finding[] } {
  const result = form.safeParse(raw, { error: knownKeys });
  if (result.success) return { value: result.data, findings: [] };
  return { findings: result.error.issues.flatMap((issue) => explain(issue, [], raw)) };
}

function explain(issue: Issue, base: Path, raw: unknown): Finding[] {
  const path = [...base, ...issue.path];
  const value = valueAt(raw, path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(path, key, issue.message.split(" ")));
    case "invalid_union":
      return explainUnion(issue, path, raw);
    case "invalid_key":
      return [{ path, atKey: true, message: issue.issues[0]?.message ?? "this key cannot be used" }];
    case "invalid_value":
      return [{ path, ...explainChoice(issue.values, value, issue.message) }];
    case "invalid_type":
      return [explainType(issue, path, value)];
    default:
      return [{ path, message: issue.message }];
  }
}

function unknownKey(path: Path, key: string, known: readonly string[]): Finding {
  return {
    path: [...path, key],
    atKey: true,
    isUnknownKey: true,
    message: `unknown key "${key}"`,
    suggestion: nearest(key, known),
  };
}

/** Explains the alternative that accepts this kind of value, because it was probably meant. */
function explainUnion(issue: Extract<Issue, { code: "invalid_union" }>, path: Path, raw: unknown): Finding[] {
  if (issue.message !== "Invalid input") return [{ path, message: issue.message }];
  const value = valueAt(raw, path);
  const meant = issue.errors
    .filter((issues) => !issues.some((inner) => isOfOtherKind(inner, value)))
    .sort((a, b) => a.length - b.length)[0];
  if (meant) return meant.flatMap((inner) => explain(inner, path, raw));
  if (value === undefined) return [lacking(path)];
  const kinds = new Set(issue.errors.flatMap((issues) => issues.map((inner) => kindExpected(inner))));
  return [{ path, message: `expected ${[...kinds].join(" or ")}, but this is ${kindOf(value)}` }];
}

function isOfOtherKind(issue: Issue, value: unknown): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === "invalid_union")
    return issue.errors.every((one) => one.some((inner) => isOfOtherKind(inner, value)));
  return issue.code === "invalid_type" || (issue.code === "invalid_value" && typeof value !== "string");
}

function explainType(issue: Extract<Issue, { code: "invalid_type" }>, path: Path, value: unknown): Finding {
  if (value === undefined) return lacking(path);
  if (!issue.message.startsWith("Invalid input")) return { path, message: issue.message };
  return { path, message: `expected ${kindExpected(issue)}, but this is ${kindOf(value)}` };
}

function lacking(path: Path): Finding {
  const key = String(path.at(-1) ?? "");
  return { path: path.slice(0, -1), message: `the key "${key}" is missing`, lacks: [key] };
}

function explainChoice(values: readonly unknown[], value: unknown, message: string) {
  const choices = values.map(String);
  const own = message.startsWith("Invalid") ? `expected one of ${choices.join(", ")}` : message;
  return { message: own, suggestion: typeof value === "string" ? nearest(value, choices) : undefined };
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping",
  record: "a mapping",
};

function kindExpected(issue: Issue): string {
  if (issue.code === "invalid_value") return `one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_union") return issue.errors.flat().map(kindExpected).join(" or ");
  return issue.code === "invalid_type" ? (KINDS[issue.expected] ?? issue.expected) : issue.message;
}

function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return KINDS[typeof value] ?? typeof value;
}

function valueAt(raw: unknown, path: Path): unknown {
  let value = raw;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}

export function required(what: string) {
  return z.string().regex(/\S/, `expected ${what}, but it is empty`);
}

export function count(min: number) {
  return z.int({ error: "expected a whole number" }).min(min, `expected a whole number of at least ${min}`);
}

export function ratio(max: number) {
  const message = `expected a number from 0 to ${max}`;
  return z.number({ error: message }).min(0, message).max(max, message);
}

const NOT_A_DURATION =
  "expected a duration: a number and a unit, such as 250ms, 30s, 5m or 2h; a plain number is seconds";

/** A duration in the syntax of `parseDuration`. */
export const duration = z.union(
  [
    z.number().min(0, NOT_A_DURATION),
    z.string().regex(/^\s*\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)?\s*$/, NOT_A_DURATION),
  ],
  { error: NOT_A_DURATION },
);

export const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: "expected a text, a number, or true or false",
});

export const exitCode = z
  .string()
  .regex(/^(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$/, "expected an exit code from 0 to 255");
