/** The JSON Schema keywords that check a value itself: its type, size, range and pattern. */
import { canonicalJson, isJsonObject, type Json } from "../../std/json.ts";
import { compileLinear, type LinearPattern, PatternError } from "../../std/pattern.ts";
import { isSameJson } from "../json-diff.ts";
import { type Check, type Keyword, problemAt, schemaError } from "./check.ts";

/** By keyword; each function compiles a keyword's value or throws. */
export const ASSERTING: ReadonlyMap<string, (keyword: Keyword) => Check> = new Map([
  ["type", typeCheck],
  ["enum", enumCheck],
  [
    "const",
    ({ value }) =>
      (data, at) =>
        unless(isSameJson(data, value), at, `is not ${canonicalJson(value)}`),
  ],
  ["minimum", (keyword) => numberCheck(keyword, (data, limit) => data >= limit, "is less than")],
  ["maximum", (keyword) => numberCheck(keyword, (data, limit) => data <= limit, "is more than")],
  ["exclusiveMinimum", (keyword) => numberCheck(keyword, (data, limit) => data > limit, "is not more than")],
  ["exclusiveMaximum", (keyword) => numberCheck(keyword, (data, limit) => data < limit, "is not less than")],
  ["multipleOf", (keyword) => numberCheck(keyword, isMultiple, "is not a multiple of")],
  ["minLength", (keyword) => sizeCheck(keyword, "characters")],
  ["maxLength", (keyword) => sizeCheck(keyword, "characters")],
  ["minItems", (keyword) => sizeCheck(keyword, "entries")],
  ["maxItems", (keyword) => sizeCheck(keyword, "entries")],
  ["minProperties", (keyword) => sizeCheck(keyword, "fields")],
  ["maxProperties", (keyword) => sizeCheck(keyword, "fields")],
  ["pattern", patternCheck],
  ["uniqueItems", uniqueCheck],
  ["required", requiredCheck],
  ["dependentRequired", dependentRequiredCheck],
]);

function unless(holds: boolean, at: Parameters<Check>[1], problem: string): string | undefined {
  return holds ? undefined : problemAt(at, problem);
}

const TYPES: Readonly<Record<string, (data: Json) => boolean>> = {
  null: (data) => data === null,
  boolean: (data) => typeof data === "boolean",
  number: isNumber,
  integer: (data) => typeof data === "bigint" || Number.isInteger(data),
  string: (data) => typeof data === "string",
  array: Array.isArray,
  object: isJsonObject,
};

function typeCheck({ value }: Keyword): Check {
  const names = (Array.isArray(value) ? value : [value]).map(String);
  const unknown = names.find((name) => TYPES[name] === undefined);
  if (unknown !== undefined) throw schemaError(`unknown type ${unknown}`);
  return (data, at) =>
    unless(
      names.some((name) => TYPES[name]?.(data)),
      at,
      `is ${typeName(data)}, not ${names.join(" or ")}`,
    );
}

function typeName(data: Json): string {
  return Object.keys(TYPES).find((name) => TYPES[name]?.(data)) ?? typeof data;
}

function enumCheck({ value }: Keyword): Check {
  if (!Array.isArray(value)) throw schemaError("enum is not a list");
  const texts = new Set((value as readonly Json[]).map(canonicalJson));
  return (data, at) => unless(texts.has(canonicalJson(data)), at, `is none of ${[...texts].join(", ")}`);
}

function numberCheck(
  { name, value }: Keyword,
  holds: (data: number | bigint, limit: number | bigint) => boolean,
  problem: string,
): Check {
  if (!isNumber(value)) throw schemaError(`${name} is not a number`);
  return (data, at) => unless(!isNumber(data) || holds(data, value), at, `(${data}) ${problem} ${value}`);
}

function isNumber(data: Json): data is number | bigint {
  return typeof data === "number" || typeof data === "bigint";
}

/** Divides integers exactly. A quotient of fractions such as 0.3 / 0.1 may differ in the last bits. */
function isMultiple(data: number | bigint, of: number | bigint): boolean {
  if (isWhole(data) && isWhole(of)) return BigInt(data) % BigInt(of) === 0n;
  const quotient = Number(data) / Number(of);
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * 4 * Math.max(1, Math.abs(quotient));
}

function isWhole(value: number | bigint): boolean {
  return value !== 0 && (typeof value === "bigint" || Number.isInteger(value));
}

function sizeCheck({ name, value }: Keyword, unit: string): Check {
  if (typeof value !== "number") throw schemaError(`${name} is not a number`);
  const isMin = name.startsWith("min");
  return (data, at) => {
    const size = sizeOf(data, unit);
    const fits = size === undefined || (isMin ? size >= value : size <= value);
    return unless(fits, at, `has ${size} ${unit}, ${isMin ? "fewer" : "more"} than ${value}`);
  };
}

function sizeOf(data: Json, unit: string): number | undefined {
  if (unit === "characters") return typeof data === "string" ? [...data].length : undefined;
  if (unit === "entries") return Array.isArray(data) ? data.length : undefined;
  return isJsonObject(data) ? Object.keys(data).length : undefined;
}

function patternCheck({ value }: Keyword): Check {
  const matches = compilePattern(value);
  return (data, at) => unless(typeof data !== "string" || matches(data), at, `does not match ${value}`);
}

/** Compiles a regular expression or throws a schema error. */
export function compilePattern(value: Json): LinearPattern {
  return orSchemaError(value, () => {
    const matches = compileLinear(String(value));
    return (text) => orSchemaError(value, () => matches(text));
  });
}

function orSchemaError<T>(pattern: Json, compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw schemaError(`the pattern ${String(pattern).slice(0, 100)} cannot be used: ${error.message}`);
  }
}

function uniqueCheck({ value }: Keyword): Check {
  if (value !== true) return () => undefined;
  return (data, at) => {
    if (!Array.isArray(data)) return undefined;
    const texts = new Set((data as readonly Json[]).map(canonicalJson));
    return unless(texts.size === data.length, at, "has an entry twice");
  };
}

function requiredCheck({ value }: Keyword): Check {
  const names = namesOf(value, "required");
  return (data, at) => (isJsonObject(data) ? lacking(data, names, at) : undefined);
}

function dependentRequiredCheck({ value }: Keyword): Check {
  const rules = Object.entries(isJsonObject(value) ? value : {}).map(
    ([name, needed]) => [name, namesOf(needed, "dependentRequired")] as const,
  );
  return (data, at) => {
    if (!isJsonObject(data)) return undefined;
    const needed = rules.filter(([name]) => Object.hasOwn(data, name)).flatMap(([, names]) => names);
    return lacking(data, needed, at);
  };
}

function lacking(data: object, names: readonly string[], at: Parameters<Check>[1]): string | undefined {
  const missing = names.find((name) => !Object.hasOwn(data, name));
  return missing === undefined ? undefined : problemAt(at, `has no ${missing}`);
}

function namesOf(value: Json, keyword: string): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  throw schemaError(`${keyword} is not a list of names`);
}
