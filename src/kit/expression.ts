/**
 * Expressions in CEL: `filter`, `when`, `--filter`, `--set`. They are parsed and typed before anything runs; an unknown
 * variable, a type error, a field that is missing or, where a yes or no is wanted, an answer that is not a boolean is
 * an error, and never counts as a match. Whether a field is there is asked with `has(item.x)`, or it is given a
 * default: `item.?x.orValue(0)`.
 *
 * JSON has one kind of number, CEL has two: numbers of the data are doubles here, and mix freely with integers.
 */
import { EvaluationError, ParseError, TypeError as TypingError } from "@marcbachmann/cel-js";
import { WorkError } from "../errors.ts";
import {
  environmentFor,
  type KnownVariables,
  MAP_INSIDE,
  MATCHES_INSIDE,
  standIn,
  useLinearMatches,
} from "./expression-environment.ts";
import type { Json } from "./json.ts";
import { PatternError } from "./linear-pattern.ts";
import { nearest } from "./nearest.ts";

export { isExpressionName, type KnownVariables } from "./expression-environment.ts";

/** The values of the names. */
export type ExpressionVariables = Readonly<Record<string, Json>>;

/** The value, or why there is none. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** Asks an expression about these values. */
export type Evaluate<T = boolean> = (variables: ExpressionVariables) => Answer<T>;

/** An expression that can be asked, or what is wrong with it and where (a word of the text). */
export type Compiled<T = boolean> =
  | { readonly ok: true; readonly evaluate: Evaluate<T> }
  | {
      readonly ok: false;
      readonly message: string;
      readonly word?: string | undefined;
      readonly suggestion?: string | undefined;
    };

/** Parses and types the text of a condition: its answer is true or false. */
export function compileExpression(text: string, known: KnownVariables): Compiled {
  return compile(text, known, {
    refuses: (type) => (type === "bool" || type === "dyn" ? null : `it gives a ${type}, not true or false`),
    read: (value) =>
      typeof value === "boolean"
        ? { ok: true, value }
        : { ok: false, message: `it gives ${kindOf(value)}, not true or false` },
  });
}

/** Parses and types the text of a value: its answer is any JSON. */
export function compileValue(text: string, known: KnownVariables): Compiled<Json> {
  return compile(text, known, { refuses: () => null, read: toJson });
}

/** As `compileExpression` for text that was checked before, or comes from a command line. */
export function requireExpression(text: string, known: KnownVariables, what: string): Evaluate {
  return required(compileExpression(text, known), `${what} "${shortened(text)}"`, {
    hint: "It matches nothing. Write CEL, e.g. item.priority > 3 && has(item.name).",
  });
}

/** As `compileValue` for text that comes from a command line or a configuration. */
export function requireValue(text: string, known: KnownVariables, what: string): Evaluate<Json> {
  return required(compileValue(text, known), `${what} "${shortened(text)}"`, {
    hint: `Nothing was changed. Write CEL, e.g. item.count + 1; a text stands in quotes: "new".`,
  });
}

function shortened(text: string): string {
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}…`;
}

const SHOWN_CHARS_MAX = 500;

/** What `filter` can name. */
export const FILTER_VARIABLES: KnownVariables = new Map([["item", "any"]]);

function required<T>(compiled: Compiled<T>, what: string, { hint }: { hint: string }): Evaluate<T> {
  if (compiled.ok) return compiled.evaluate;
  const meant = compiled.suggestion === undefined ? "" : `; did you mean ${compiled.suggestion}?`;
  throw new WorkError("filter_invalid", `${what}: ${compiled.message}${meant || "."}`, { hint });
}

/** Longer expressions are refused. */
const EXPRESSION_CHARS_MAX = 100_000;

/** What makes an expression of one kind. */
interface Kind<T> {
  /** Why an answer of this CEL type is refused before anything is asked; null when it is not. */
  readonly refuses: (type: string) => string | null;
  readonly read: (value: unknown) => Answer<T>;
}

function compile<T>(text: string, known: KnownVariables, kind: Kind<T>): Compiled<T> {
  if (text.length > EXPRESSION_CHARS_MAX) {
    return { ok: false, message: `it is longer than ${EXPRESSION_CHARS_MAX} characters` };
  }
  try {
    const parsed = environmentFor(known).parse(standIn(text));
    useLinearMatches(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) return refusedAt(text, checked.error, known);
    const refusal = kind.refuses(checked.type ?? "dyn");
    if (refusal !== null) return { ok: false, message: refusal };
    const asked = unknownInHas(text, known);
    if (asked) return asked;
    return { ok: true, evaluate: (variables) => evaluate(parsed, variables, kind) };
  } catch (error) {
    return refusedAt(text, error, known);
  }
}

/** CEL answers `has` for a field that can never be there with false; with `!` before it, that would match everything. */
function unknownInHas(text: string, known: KnownVariables): Compiled<never> | undefined {
  for (const [, name = "", word = ""] of text.matchAll(/\bhas\(\s*(\w+)\s*\.\s*(\w+)/g)) {
    const fields = known.get(name);
    if (fields === undefined || fields === "any" || fields.includes(word)) continue;
    return {
      ok: false,
      message: `there is no field "${word}" here`,
      word,
      suggestion: nearest(word, fields),
    };
  }
  return undefined;
}

function evaluate<T>(
  parsed: (context: object) => unknown,
  variables: ExpressionVariables,
  { read }: Kind<T>,
): Answer<T> {
  const { map, ...others } = variables;
  try {
    return read(parsed(map === undefined ? others : { ...others, [MAP_INSIDE]: map }));
  } catch (error) {
    return { ok: false, message: limitMessage(error) ?? explain(requireCelError(error)) };
  }
}

/** Only what JSON has without a loss: no bytes, no endless number, no integer that a double cannot hold. */
function toJson(value: unknown): Answer<Json> {
  if (value === null || typeof value === "boolean" || typeof value === "string") return { ok: true, value };
  if (typeof value === "number" || typeof value === "bigint") return toNumber(Number(value), value);
  if (Array.isArray(value)) return toList(value);
  if (value instanceof Date) return { ok: true, value: value.toISOString() };
  if (isPlainObject(value)) return toObject(value);
  return { ok: false, message: `it gives ${kindOf(value)}, which is no JSON` };
}

function toNumber(value: number, given: number | bigint): Answer<number> {
  const isExact = typeof given === "bigint" ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isExact ? { ok: true, value } : { ok: false, message: `it gives ${given}, which is no JSON` };
}

function toList(values: readonly unknown[]): Answer<Json> {
  const list: Json[] = [];
  for (const value of values) {
    const answer = toJson(value);
    if (!answer.ok) return answer;
    list.push(answer.value);
  }
  return { ok: true, value: list };
}

function toObject(object: Readonly<Record<string, unknown>>): Answer<Json> {
  const fields: [string, Json][] = [];
  for (const [name, value] of Object.entries(object)) {
    const answer = toJson(value);
    if (!answer.ok) return answer;
    fields.push([name, answer.value]);
  }
  return { ok: true, value: Object.fromEntries(fields) };
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

/** The message of what the parser and the evaluator do not report as an error of CEL; undefined for all else. */
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
    return { ok: false, message: `there is no variable "${word}" here`, word, suggestion };
  }
  if (error.code === "no_such_key" && word !== undefined) {
    const siblings = [...known.values()].filter((fields) => fields !== "any").flat();
    return {
      ok: false,
      message: `there is no field "${word}" here`,
      word,
      suggestion: nearest(word, siblings),
    };
  }
  return { ok: false, message: explain(error), word };
}

function explain(error: CelError): string {
  const summary = error.summary
    .replaceAll(MAP_INSIDE, "map")
    .replaceAll(MATCHES_INSIDE, "matches")
    .replaceAll("dyn<", "<");
  const field = /^No such key: (?!index)(.+)$/.exec(summary)?.[1];
  if (field === undefined) return summary.charAt(0).toLowerCase() + summary.slice(1);
  return `there is no field "${field}". Ask with has(…) first, or write .?${field}.orValue(…)`;
}
