/**
 * Compiles CEL expressions of `filter`, `when`, `--filter` and `--set`. They are type-checked before anything runs. An
 * unknown variable, a type error, a missing field or, for conditions, a result that is not a boolean is an error and never a
 * match. `has(item.x)` tests for a field, `item.?x.orValue(0)` gives a default. Numbers are doubles that mix with integers;
 * only integers beyond 2^53 are CEL integers, so that no digit is lost.
 */
import {
  type ASTNode,
  Environment,
  EvaluationError,
  ParseError,
  TypeError as TypingError,
} from "@marcbachmann/cel-js";
import { RedriveError } from "../errors.ts";
import { type Json, parseJson, stringifyJson } from "./json.ts";
import { nearest } from "./nearest.ts";
import { globMatcher, PatternError, rememberedLinear } from "./pattern.ts";

export type ExpressionVariables = Readonly<Record<string, Json>>;

export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

export type Evaluate<T = boolean> = (variables: ExpressionVariables) => Answer<T>;

/** A compiled expression, or the error and the part of the text that caused it. */
export type Compiled<T = boolean> =
  | { readonly ok: true; readonly evaluate: Evaluate<T>; readonly tree: ASTNode }
  | {
      readonly ok: false;
      readonly message: string;
      readonly word?: string | undefined;
      readonly suggestion?: string | undefined;
    };

export function compileExpression(text: string, known: KnownVariables): Compiled {
  return compile(text, known, {
    refuses: (type) =>
      type === "bool" || type === "dyn" ? null : `the result is a ${type}, not true or false`,
    read: (value) =>
      typeof value === "boolean"
        ? { ok: true, value }
        : { ok: false, message: `the result is ${kindOf(value)}, not true or false` },
  });
}

export function compileValue(text: string, known: KnownVariables): Compiled<Json> {
  return compile(text, known, { refuses: () => null, read: toJson });
}

export function requireExpression(text: string, known: KnownVariables, what: string): Evaluate {
  return requireCompiled(text, known, what).evaluate;
}

/** Like `requireExpression`, with the syntax tree. */
export function requireCompiled(
  text: string,
  known: KnownVariables,
  what: string,
): Compiled & { readonly ok: true } {
  return required(compileExpression(text, known), `${what} "${shortened(text)}"`, {
    hint: "It matches nothing. Write CEL, e.g. item.priority > 3 && has(item.name).",
  });
}

export function requireValue(text: string, known: KnownVariables, what: string): Evaluate<Json> {
  return required(compileValue(text, known), `${what} "${shortened(text)}"`, {
    hint: `Nothing was changed. Write CEL, e.g. item.count + 1; quote texts: "new".`,
  }).evaluate;
}

function shortened(text: string): string {
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}…`;
}

const SHOWN_CHARS_MAX = 500;

export const FILTER_VARIABLES: KnownVariables = new Map([["item", "any"]]);

function required<T>(
  compiled: Compiled<T>,
  what: string,
  { hint }: { hint: string },
): Compiled<T> & { ok: true } {
  if (compiled.ok) return compiled;
  const meant = compiled.suggestion === undefined ? "" : `; did you mean ${compiled.suggestion}?`;
  throw new RedriveError("filter_invalid", `${what}: ${compiled.message}${meant || "."}`, { hint });
}

const EXPRESSION_CHARS_MAX = 100_000;

interface Kind<T> {
  /** Returns why a result of this CEL type is refused; null if it is allowed. */
  readonly refuses: (type: string) => string | null;
  readonly read: (value: unknown) => Answer<T>;
}

function compile<T>(text: string, known: KnownVariables, kind: Kind<T>): Compiled<T> {
  if (text.length > EXPRESSION_CHARS_MAX) {
    return { ok: false, message: `it is longer than ${EXPRESSION_CHARS_MAX} characters` };
  }
  try {
    const parsed = environmentFor(known).parse(renameMap(text));
    useLinearMatches(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) return refusedAt(text, checked.error, known);
    const refusal = kind.refuses(checked.type ?? "dyn");
    if (refusal !== null) return { ok: false, message: refusal };
    const unknown = unknownInHas(text, known);
    if (unknown) return unknown;
    return { ok: true, evaluate: (variables) => evaluate(parsed, variables, kind), tree: parsed.ast };
  } catch (error) {
    return refusedAt(text, error, known);
  }
}

/** Refuses `has` with an unknown field: it would always be false, and its negation would match everything. */
function unknownInHas(text: string, known: KnownVariables): Compiled<never> | undefined {
  for (const [, name = "", word = ""] of text.matchAll(/\bhas\(\s*(\w+)\s*\.\s*(\w+)/g)) {
    const fields = known.get(name);
    if (fields === undefined || fields === "any" || fields.includes(word)) continue;
    return noField(word, fields);
  }
  return undefined;
}

function evaluate<T>(
  parsed: (context: object) => unknown,
  variables: ExpressionVariables,
  { read }: Kind<T>,
): Answer<T> {
  try {
    return read(parsed(variables.map === undefined ? variables : withInnerMap(variables)));
  } catch (error) {
    return { ok: false, message: limitMessage(error) ?? explain(requireCelError(error)) };
  }
}

/** Renames the variable `map`. */
function withInnerMap({ map, ...others }: ExpressionVariables): object {
  return { ...others, [MAP_INSIDE]: map };
}

function toJson(value: unknown): Answer<Json> {
  try {
    return { ok: true, value: jsonOf(value) };
  } catch (error) {
    if (!(error instanceof NoJson)) throw error;
    return { ok: false, message: `the result is ${error.message}, which is not JSON` };
  }
}

class NoJson extends Error {}

/** Converts a result to JSON. Bytes and infinite numbers are refused. */
function jsonOf(value: unknown): Json {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "bigint") return parseJson(String(value));
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value instanceof Date) return value.toISOString();
  if (!isPlainObject(value)) throw new NoJson(typeof value === "number" ? String(value) : kindOf(value));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonOf(one)]));
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Uint8Array) return "bytes";
  return `a ${typeof value === "bigint" ? "number" : typeof value}`;
}

type CelError = ParseError | TypingError | EvaluationError;

function isCelError(error: unknown): error is CelError {
  return error instanceof ParseError || error instanceof TypingError || error instanceof EvaluationError;
}

function requireCelError(error: unknown): CelError {
  if (!isCelError(error)) throw error;
  return error;
}

/** Returns the message for errors that are not CEL errors but are caused by the expression; otherwise undefined. */
function limitMessage(error: unknown): string | undefined {
  if (error instanceof RangeError && error.message.includes("call stack")) return "it is nested too deeply";
  if (error instanceof PatternError) return `the regular expression of matches: ${error.message}`;
  return undefined;
}

function refusedAt(text: string, thrown: unknown, known: KnownVariables): Compiled<never> & { ok: false } {
  const limit = limitMessage(thrown);
  if (limit !== undefined) return { ok: false, message: limit };
  const error = requireCelError(thrown);
  const word = error.range && text.slice(error.range.start, error.range.end);
  if (error.code === "unknown_variable" && word !== undefined) {
    const suggestion = nearest(word, [...known.keys()]);
    return { ok: false, message: `unknown variable "${word}"`, word, suggestion };
  }
  if (error.code === "no_such_key" && word !== undefined) {
    const siblings = [...known.values()].filter((fields) => fields !== "any").flat();
    return noField(word, siblings);
  }
  return { ok: false, message: explain(error), word };
}

function noField(word: string, fields: readonly string[]): Compiled<never> & { ok: false } {
  return { ok: false, message: `unknown field "${word}"`, word, suggestion: nearest(word, fields) };
}

function explain(error: CelError): string {
  const summary = error.summary
    .replaceAll(MAP_INSIDE, "map")
    .replaceAll(MATCHES_INSIDE, "matches")
    .replaceAll("dyn<", "<");
  const field = /^No such key: (?!index)(.+)$/.exec(summary)?.[1];
  if (field === undefined) return summary.charAt(0).toLowerCase() + summary.slice(1);
  return `there is no field "${field}". Check with has(…) first, or write .?${field}.orValue(…)`;
}

/** The variables of an expression and their fields; "any" allows every field. */
export type KnownVariables = ReadonlyMap<string, readonly string[] | "any">;

export function environmentFor(known: KnownVariables): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
  });
  for (const [name, fields] of known) {
    if (!isExpressionName(name)) continue;
    if (fields === "any") environment.registerVariable(innerName(name), "dyn");
    else environment.registerVariable({ name: innerName(name), schema: schemaOf(fields) });
  }
  for (const [operator, compute] of MIXED) {
    environment.registerOperator(`double ${operator} int: double`, compute);
    environment.registerOperator(`int ${operator} double: double`, compute);
  }
  environment.registerOperator("double % double: double", (a, b) => Number(a) % Number(b));
  environment.registerOperator("double == int: bool", (a, b) => a <= b && a >= b); // exact, unlike Number(b)
  environment.registerFunction(
    "string.replace(string, string): string",
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  );
  for (const [signature, compute] of TOLERANT) environment.registerFunction(signature, compute);
  environment.registerFunction(`string.${MATCHES_INSIDE}(string): bool`, (text: string, pattern: string) =>
    rememberedLinear(pattern)(text),
  );
  return environment;
}

/** Functions that accept every value, also null, so that a condition on mixed or missing values is never an error. */
const TOLERANT: readonly (readonly [signature: string, compute: (...values: never[]) => unknown])[] = [
  ["asNumber(dyn): double", (value: unknown) => numberOf(value)],
  ["asText(dyn): string", (value: unknown) => textOf(value)],
  ["isTrue(dyn): bool", (value: unknown) => isTrue(value)],
  ["words(dyn): string", (value: unknown) => wordsOf(value).join(" ")],
  [
    "matching(dyn, string): string",
    (value: unknown, glob: string) => wordsOf(value).filter(globMatcher(glob)).join(" "),
  ],
  ["lengthOf(dyn): double", (value: unknown) => lengthOf(value)],
  ["typeName(dyn): string", (value: unknown) => typeName(value)],
  [
    "includes(dyn, string): bool",
    (value: unknown, part: string) =>
      Array.isArray(value) ? value.some((one) => textOf(one) === part) : textOf(value).includes(part),
  ],
];

/** Returns NaN for anything that is not a number, because no comparison matches it. */
function numberOf(value: unknown): number {
  if (typeof value === "string" && value.trim() !== "") return Number(value);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : Number.NaN;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "" : stringifyJson(jsonOf(value));
}

/** The elements of a list as texts. Every other value is one text, and null none. */
function wordsOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf).filter(Boolean);
}

function isTrue(value: unknown): boolean {
  if (typeof value === "string") return !["", "false", "0", "no"].includes(value.trim().toLowerCase());
  return value === true || (typeof value === "number" && value !== 0);
}

function lengthOf(value: unknown): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return isPlainObject(value) ? Object.keys(value).length : Number.NaN;
}

function typeName(value: unknown): string {
  if (value === null || typeof value === "boolean") return value === null ? "null" : "boolean";
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "list";
  return isPlainObject(value) ? "mapping" : "number";
}

/** The name of the linear-time function that replaces CEL's own `matches`, which backtracks and cannot be overridden. */
export const MATCHES_INSIDE = "_match_";

/** Redirects calls of `matches` to the linear-time function. Must be called before the type check. */
export function useLinearMatches(tree: object): void {
  const reached = new Set<object>([tree]);
  for (const part of reached) {
    if (isCallOfMatches(part)) part.args[0] = MATCHES_INSIDE;
    const inside = "meta" in part ? [...Object.values(part), part.meta] : Object.values(part);
    for (const one of inside) if (typeof one === "object" && one !== null) reached.add(one);
  }
}

function isCallOfMatches(part: object): part is { args: unknown[] } {
  return (
    "op" in part &&
    part.op === "rcall" &&
    "args" in part &&
    Array.isArray(part.args) &&
    part.args[0] === "matches"
  );
}

/** Whether a variable may have this name. Reserved names of CEL, such as `list` and `in`, are refused. */
export function isExpressionName(name: string): boolean {
  const known = EXPRESSION_NAMES.get(name);
  if (known !== undefined) return known;
  const isFree = canRegister(innerName(name));
  EXPRESSION_NAMES.set(name, isFree);
  return isFree;
}

const EXPRESSION_NAMES = new Map<string, boolean>();

function canRegister(name: string): boolean {
  try {
    new Environment().registerVariable(name, "dyn");
    return true;
  } catch {
    return false;
  }
}

function schemaOf(fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, "dyn"]));
}

type Compute = (a: unknown, b: unknown) => number;

const MIXED: readonly (readonly [operator: string, compute: Compute])[] = [
  ["+", (a, b) => Number(a) + Number(b)],
  ["-", (a, b) => Number(a) - Number(b)],
  ["*", (a, b) => Number(a) * Number(b)],
  ["/", (a, b) => Number(a) / Number(b)],
  ["%", (a, b) => Number(a) % Number(b)],
];

/** The inner name of the variable `map`, which is a type in CEL. It has the same length, so that positions stay correct. */
export const MAP_INSIDE = "_m_";

function innerName(name: string): string {
  return name === "map" ? MAP_INSIDE : name;
}

/** Renames the variable `map`, but not in strings, comments, fields and functions. */
export function renameMap(text: string): string {
  return text.replace(TOKEN, (token, offset: number) => {
    if (token !== "map" || isField(text, offset)) return token;
    CALL.lastIndex = offset + token.length;
    return CALL.test(text) ? token : MAP_INSIDE;
  });
}

function isField(text: string, offset: number): boolean {
  let before = offset - 1;
  while (/\s/.test(text.charAt(before))) before -= 1;
  return /[.?]/.test(text.charAt(before));
}

const CALL = /\s*\(/y;

const TOKEN =
  /"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|\w+/g;
