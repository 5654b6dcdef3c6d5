/**
 * Validates data against a JSON Schema (2020-12 or draft 7). A schema with an invalid or unsupported keyword
 * is refused, so that no check is skipped silently. `format` is not checked, as the standard allows. No
 * library is used, because item data may contain bigints and unsafe patterns, and because one schema may use
 * keywords of both drafts.
 */

import { RedriveError } from "../errors.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject, stringifyJson } from "../std/json.ts";
import { isSameJson } from "../std/json-diff.ts";
import { compileLinear, type LinearPattern, PatternError } from "../std/pattern.ts";
import { type Path, pathText } from "../std/set-path.ts";

/** Keywords that affect the result but are not supported. */
const UNSUPPORTED = ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

/** Compiles a schema or throws `usage`. The result returns the first problem of the data, with its path. */
export function compileSchema(root: Json): (data: Json) => string | undefined {
  const targets = new Map<string, Check>();
  const compile = (schema: Json): Check => {
    if (schema === true) return () => undefined;
    if (schema === false) return (_, at) => problemAt(at, "is not allowed");
    if (!isJsonObject(schema)) throw schemaError(`${stringifyJson(schema)} is not a schema`);
    const checks = Object.entries(schema).flatMap(([name, value]) => {
      if (UNSUPPORTED.includes(name)) throw schemaError(`${name} is not supported`);
      if (name === "$ref") return [reference(value)];
      return KEYWORDS.get(name)?.({ name, value, schema, compile }) ?? [];
    });
    return (data, at) => {
      for (const check of checks) {
        const problem = check(data, at);
        if (problem !== undefined) return problem;
      }
      return undefined;
    };
  };
  /** Compiled on first use, because a schema may refer to itself. */
  const reference = (value: Json): Check => {
    const target = resolvePointer(root, value);
    const inProgress = new Set<Path>();
    return (data, at) => {
      if (inProgress.has(at)) throw schemaError(`${value} refers to itself`);
      inProgress.add(at);
      try {
        const check = targets.get(String(value)) ?? compile(target);
        targets.set(String(value), check);
        return check(data, at);
      } finally {
        inProgress.delete(at);
      }
    };
  };
  const check = compile(root);
  return (data) => check(data, []);
}

/** Resolves references within the same document only; nothing is fetched. */
function resolvePointer(root: Json, reference: Json): Json {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) {
    throw schemaError(`$ref ${stringifyJson(reference)} does not point into the schema itself (#/…)`);
  }
  let node: Json | undefined = root;
  for (const step of reference.split("/").slice(1)) {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    node = entryOf(node, name);
    if (node === undefined) throw schemaError(`$ref ${reference} does not exist`);
  }
  return node;
}

function entryOf(node: Json | undefined, name: string): Json | undefined {
  if (typeof node !== "object" || node === null || !Object.hasOwn(node, name)) return undefined;
  return Reflect.get(node, name) as Json;
}

/** Returns the problem with the data at this path, or undefined if it is valid. */
type Check = (data: Json, at: Path) => string | undefined;

interface Keyword {
  readonly name: string;
  readonly value: Json;
  /** The schema that contains the keyword, for keywords that depend on others. */
  readonly schema: JsonObject;
  readonly compile: (schema: Json) => Check;
}

type Compile = (keyword: Keyword) => Check;

function problemAt(at: Path, problem: string): string {
  return `${at.length === 0 ? "the data" : pathText(at)} ${problem}`;
}

function schemaError(problem: string): RedriveError {
  return new RedriveError("usage", `The schema cannot be used: ${problem}.`, {
    hint: "Write JSON Schema, 2020-12 or draft 7, in one document.",
  });
}

const ASSERTING: Readonly<Record<string, Compile>> = {
  type: ({ value }) => {
    const names = (Array.isArray(value) ? value : [value]).map(String);
    const unknown = names.find((name) => TYPES[name] === undefined);
    if (unknown !== undefined) throw schemaError(`unknown type ${unknown}`);
    const isOne = (data: Json) => names.some((name) => TYPES[name]?.(data));
    return (data, at) => unless(isOne(data), at, `is ${typeName(data)}, not ${names.join(" or ")}`);
  },
  enum: ({ name, value }) => {
    const texts = new Set(listOf(value, name).map(canonicalJson));
    return (data, at) => unless(texts.has(canonicalJson(data)), at, `is none of ${[...texts].join(", ")}`);
  },
  const: ({ value }) => {
    const problem = `is not ${canonicalJson(value)}`;
    return (data, at) => unless(isSameJson(data, value), at, problem);
  },
  minimum: numberCheck((data, limit) => data >= limit, "is less than"),
  maximum: numberCheck((data, limit) => data <= limit, "is more than"),
  exclusiveMinimum: numberCheck((data, limit) => data > limit, "is not more than"),
  exclusiveMaximum: numberCheck((data, limit) => data < limit, "is not less than"),
  multipleOf: numberCheck(isMultiple, "is not a multiple of"),
  minLength: sizeCheck("characters"),
  maxLength: sizeCheck("characters"),
  minItems: sizeCheck("entries"),
  maxItems: sizeCheck("entries"),
  minProperties: sizeCheck("fields"),
  maxProperties: sizeCheck("fields"),
  pattern: ({ value }) => {
    const matches = compilePattern(value);
    return (data, at) => unless(typeof data !== "string" || matches(data), at, `does not match ${value}`);
  },
  uniqueItems: ({ value }) =>
    onList(function* (data, at) {
      const isUnique = value !== true || new Set(data.map(canonicalJson)).size === data.length;
      yield unless(isUnique, at, "has a duplicate entry");
    }),
  required: ({ value }) => {
    const names = namesOf(value, "required");
    return onObject((data, at) => lacking(data, names, at));
  },
  dependentRequired: ({ value }) => {
    const rules = Object.entries(isJsonObject(value) ? value : {}).map(
      ([name, needed]) => [name, namesOf(needed, "dependentRequired")] as const,
    );
    return onObject(function* (data, at) {
      for (const [name, needed] of rules) if (Object.hasOwn(data, name)) yield* lacking(data, needed, at);
    });
  },
};

function unless(holds: boolean, at: Path, problem: string): string | undefined {
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

function typeName(data: Json): string {
  return Object.keys(TYPES).find((name) => TYPES[name]?.(data)) ?? typeof data;
}

function numberCheck(
  holds: (data: number | bigint, limit: number | bigint) => boolean,
  problem: string,
): Compile {
  return ({ name, value }) => {
    if (!isNumber(value)) throw schemaError(`${name} is not a number`);
    return (data, at) => unless(!isNumber(data) || holds(data, value), at, `(${data}) ${problem} ${value}`);
  };
}

function isNumber(data: Json): data is number | bigint {
  return typeof data === "number" || typeof data === "bigint";
}

/** Whether the division has no remainder. Fractions allow a tolerance, because 0.3 / 0.1 is not exactly 3. */
function isMultiple(data: number | bigint, of: number | bigint): boolean {
  if (isWhole(data) && isWhole(of)) return BigInt(data) % BigInt(of) === 0n;
  const quotient = Number(data) / Number(of);
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * 4 * Math.max(1, Math.abs(quotient));
}

function isWhole(value: number | bigint): boolean {
  return value !== 0 && (typeof value === "bigint" || Number.isInteger(value));
}

function sizeCheck(unit: "characters" | "entries" | "fields"): Compile {
  return ({ name, value }) => {
    if (typeof value !== "number") throw schemaError(`${name} is not a number`);
    const isMin = name.startsWith("min");
    return (data, at) => {
      const size = sizeOf(data, unit);
      const fits = size === undefined || (isMin ? size >= value : size <= value);
      return unless(fits, at, `has ${size} ${unit}, ${isMin ? "fewer" : "more"} than ${value}`);
    };
  };
}

function sizeOf(data: Json, unit: string): number | undefined {
  if (unit === "characters") return typeof data === "string" ? [...data].length : undefined;
  if (unit === "entries") return Array.isArray(data) ? data.length : undefined;
  return isJsonObject(data) ? Object.keys(data).length : undefined;
}

function compilePattern(value: Json): LinearPattern {
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

function* lacking(data: object, names: readonly string[], at: Path): Generator<string> {
  for (const name of names) if (!Object.hasOwn(data, name)) yield problemAt(at, `has no ${name}`);
}

function namesOf(value: Json, keyword: string): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  throw schemaError(`${keyword} is not a list of names`);
}

const APPLYING: Readonly<Record<string, Compile>> = {
  properties: (keyword) => {
    const checks = compileEach(keyword);
    return onObject(function* (data, at) {
      for (const [field, check] of checks)
        if (Object.hasOwn(data, field)) yield check(data[field] ?? null, [...at, field]);
    });
  },
  patternProperties: (keyword) => {
    const checks = compileEach(keyword).map(([pattern, check]) => [compilePattern(pattern), check] as const);
    return onObject(function* (data, at) {
      for (const [field, inner] of Object.entries(data))
        for (const [matches, check] of checks) if (matches(field)) yield check(inner, [...at, field]);
    });
  },
  /** Checks the fields that `properties` and `patternProperties` do not match. */
  additionalProperties: ({ value, schema, compile }) => {
    const named = new Set(Object.keys(objectOf(schema.properties ?? {}, "properties")));
    const patterns = Object.keys(objectOf(schema.patternProperties ?? {}, "patternProperties")).map(
      (pattern) => compilePattern(pattern),
    );
    const check = compile(value);
    return onObject(function* (data, at) {
      for (const [field, inner] of Object.entries(data)) {
        const isNamed = named.has(field) || patterns.some((matches) => matches(field));
        if (!isNamed) yield check(inner, [...at, field]);
      }
    });
  },
  propertyNames: ({ value, compile }) => {
    const check = compile(value);
    return onObject(function* (data, at) {
      for (const field of Object.keys(data)) {
        const problem = check(field, []);
        yield problem && problemAt(at, `has the invalid field name ${field}: ${problem}`);
      }
    });
  },
  dependentSchemas: dependentSchemasCheck,
  /** A keyword of draft 7: the value is a list of names or a schema. */
  dependencies: ({ name, value, compile }) => {
    const rules = Object.entries(objectOf(value, name)).map(([field, rule]): [string, Json] => [
      field,
      Array.isArray(rule) ? { required: rule } : rule,
    ]);
    return dependentSchemasCheck({ name, value: Object.fromEntries(rules), schema: {}, compile });
  },
  prefixItems: prefixItemsCheck,
  /** A list of schemas is draft 7's form of `prefixItems`. */
  items: (keyword) =>
    Array.isArray(keyword.value) ? prefixItemsCheck(keyword) : restCheck(keyword, keyword.schema.prefixItems),
  additionalItems: (keyword) =>
    Array.isArray(keyword.schema.items) ? restCheck(keyword, keyword.schema.items) : () => undefined,
  contains: ({ value, schema, compile }) => {
    const check = compile(value);
    const min = typeof schema.minContains === "number" ? schema.minContains : 1;
    const max = typeof schema.maxContains === "number" ? schema.maxContains : Number.POSITIVE_INFINITY;
    return onList(function* (data, at) {
      const count = data.filter((entry, index) => check(entry, [...at, index]) === undefined).length;
      if (count < min || count > max) yield problemAt(at, `contains ${count} matching entries`);
    });
  },
  allOf: ({ name, value, compile }) => {
    const checks = listOf(value, name).map(compile);
    return (data, at) => firstOf(checks.map((check) => check(data, at)));
  },
  anyOf: ({ name, value, compile }) => {
    const checks = listOf(value, name).map(compile);
    return (data, at) => {
      const problems = checks.map((check) => check(data, at));
      return unless(problems.includes(undefined), at, `matches no alternative: ${problems.join("; ")}`);
    };
  },
  oneOf: ({ name, value, compile }) => {
    const checks = listOf(value, name).map(compile);
    return (data, at) => {
      const problems = checks.map((check) => check(data, at)).filter((problem) => problem !== undefined);
      const fitting = checks.length - problems.length;
      const none = `matches no alternative: ${problems.join("; ")}`;
      return unless(
        fitting === 1,
        at,
        fitting === 0 ? none : `matches ${fitting} alternatives instead of one`,
      );
    };
  },
  not: ({ value, compile }) => {
    const check = compile(value);
    return (data, at) => unless(check(data, at) !== undefined, at, "matches a schema that it must not match");
  },
  if: ({ value, schema, compile }) => {
    const condition = compile(value);
    const [then, otherwise] = [compile(schema.then ?? true), compile(schema.else ?? true)];
    return (data, at) => (condition(data, at) === undefined ? then : otherwise)(data, at);
  },
};

function dependentSchemasCheck(keyword: Keyword): Check {
  const checks = compileEach(keyword);
  return onObject(function* (data, at) {
    for (const [field, check] of checks) if (Object.hasOwn(data, field)) yield check(data, at);
  });
}

function prefixItemsCheck({ name, value, compile }: Keyword): Check {
  const checks = listOf(value, name).map(compile);
  return onList(function* (data, at) {
    for (const [index, check] of checks.entries()) {
      const entry = data[index];
      if (entry !== undefined) yield check(entry, [...at, index]);
    }
  });
}

function restCheck({ value, compile }: Keyword, before: Json | undefined): Check {
  const from = Array.isArray(before) ? before.length : 0;
  const check = compile(value);
  return onList(function* (data, at) {
    for (let index = from; index < data.length; index += 1) yield check(data[index] ?? null, [...at, index]);
  });
}

type Problems<T> = (data: T, at: Path) => Iterable<string | undefined>;

function onObject(problems: Problems<JsonObject>): Check {
  return (data, at) => (isJsonObject(data) ? firstOf(problems(data, at)) : undefined);
}

function onList(problems: Problems<readonly Json[]>): Check {
  return (data, at) => (Array.isArray(data) ? firstOf(problems(data, at)) : undefined);
}

function firstOf(problems: Iterable<string | undefined>): string | undefined {
  for (const problem of problems) if (problem !== undefined) return problem;
  return undefined;
}

function compileEach({ name, value, compile }: Keyword): (readonly [string, Check])[] {
  return Object.entries(objectOf(value, name)).map(([field, schema]) => [field, compile(schema)] as const);
}

function objectOf(value: Json, name: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw schemaError(`${name} is not an object`);
}

function listOf(value: Json, name: string): readonly Json[] {
  if (Array.isArray(value)) return value;
  throw schemaError(`${name} is not a list`);
}

const KEYWORDS: ReadonlyMap<string, Compile> = new Map(Object.entries({ ...ASSERTING, ...APPLYING }));
