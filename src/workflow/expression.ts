/**
 * Expressions in CEL: `filter` and `when`. They are parsed and typed before anything runs; an unknown variable, a type
 * error, a field that is missing or an answer that is not a boolean is an error, and never counts as a match. Whether
 * a field is there is asked with `has(item.x)`, or it is given a default: `item.?x.orValue(0)`.
 *
 * JSON has one kind of number, CEL has two: numbers of the data are doubles here, and mix freely with integers.
 */
import { Environment, EvaluationError, ParseError, TypeError as TypingError } from "@marcbachmann/cel-js";
import type { Filled } from "../attempt/template-parts.ts";
import { WorkError } from "../errors.ts";
import { nearest } from "../kit/nearest.ts";
import type { Variables } from "./variables.ts";

/** The names that an expression can use: with the fields it has, or anything below it. */
export type KnownVariables = ReadonlyMap<string, readonly string[] | "any">;

/** True or false, or why there is no answer. */
export type Evaluate = (variables: Variables) => Filled<boolean>;

/** An expression that can be asked, or what is wrong with it and where (a word of the text). */
export type Compiled =
  | { readonly ok: true; readonly evaluate: Evaluate }
  | {
      readonly ok: false;
      readonly message: string;
      readonly word?: string | undefined;
      readonly suggestion?: string | undefined;
    };

/** Parses and types the text. */
export function compileExpression(text: string, known: KnownVariables): Compiled {
  const environment = environmentFor(known);
  try {
    const parsed = environment.parse(standIn(text));
    const checked = parsed.check();
    if (!checked.valid) return refusedAt(text, checked.error, known);
    if (checked.type !== "bool" && checked.type !== "dyn") {
      return { ok: false, message: `it gives a ${checked.type}, not true or false` };
    }
    return { ok: true, evaluate: (variables) => evaluate(parsed, variables) };
  } catch (error) {
    return refusedAt(text, error, known);
  }
}

/** As `compileExpression` for text that was checked before, or comes from a command line. */
export function requireExpression(text: string, known: KnownVariables, what: string): Evaluate {
  const compiled = compileExpression(text, known);
  if (compiled.ok) return compiled.evaluate;
  throw new WorkError("filter_invalid", `${what} "${text}": ${compiled.message}.`, {
    hint: "It matches nothing. Write CEL, e.g. item.priority > 3 && has(item.name).",
  });
}

/** What `filter` can name. */
export const FILTER_VARIABLES: KnownVariables = new Map([["item", "any"]]);

function environmentFor(known: KnownVariables): Environment {
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
  environment.registerOperator("double == int: bool", (a, b) => Number(a) === Number(b));
  return environment;
}

/** False for the names that CEL keeps for itself, such as `list` and `in`. */
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

/** In CEL `map` is the name of a type. Inside it goes by a name of the same length, so that places stay the same. */
const MAP_INSIDE = "_m_";

function innerName(name: string): string {
  return name === "map" ? MAP_INSIDE : name;
}

/** Strings and comments stay as they are; so do fields and functions called `map`. */
function standIn(text: string): string {
  return text.replace(TOKEN, (token, offset: number) => {
    const isVariable = token === "map" && !/[.?]\s*$/.test(text.slice(0, offset));
    return isVariable && !/^\s*\(/.test(text.slice(offset + token.length)) ? MAP_INSIDE : token;
  });
}

const TOKEN =
  /"""(?:\\[\s\S]|[\s\S])*?"""|'''(?:\\[\s\S]|[\s\S])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|\w+/g;

function evaluate(parsed: (context: object) => unknown, variables: Variables): Filled<boolean> {
  const { map, ...others } = variables;
  try {
    const value = parsed(map === undefined ? others : { ...others, [MAP_INSIDE]: map });
    if (typeof value === "boolean") return { ok: true, value };
    return { ok: false, message: `it gives ${kindOf(value)}, not true or false` };
  } catch (error) {
    if (!isCelError(error)) throw error;
    return { ok: false, message: explain(error) };
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return `a ${typeof value === "bigint" ? "number" : typeof value}`;
}

type CelError = ParseError | TypingError | EvaluationError;

function isCelError(error: unknown): error is CelError {
  return error instanceof ParseError || error instanceof TypingError || error instanceof EvaluationError;
}

function refusedAt(text: string, error: unknown, known: KnownVariables): Compiled & { ok: false } {
  if (!isCelError(error)) throw error;
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
  const summary = error.summary.replaceAll(MAP_INSIDE, "map").replaceAll("dyn<", "<");
  const field = /^No such key: (?!index)(.+)$/.exec(summary)?.[1];
  if (field === undefined) return summary.charAt(0).toLowerCase() + summary.slice(1);
  return `there is no field "${field}". Ask with has(…) first, or write .?${field}.orValue(…)`;
}
