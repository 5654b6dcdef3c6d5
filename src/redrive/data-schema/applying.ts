/** The JSON Schema keywords that apply subschemas: to fields, to elements, or to the same value. */
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";
import { compilePattern } from "./asserting.ts";
import { type Check, type Keyword, problemAt, schemaError } from "./check.ts";

/** By keyword; each function compiles a keyword's value or throws. */
export const APPLYING: ReadonlyMap<string, (keyword: Keyword) => Check> = new Map([
  ["properties", propertiesCheck],
  ["patternProperties", patternPropertiesCheck],
  ["additionalProperties", additionalPropertiesCheck],
  ["propertyNames", propertyNamesCheck],
  ["dependentSchemas", dependentSchemasCheck],
  ["dependencies", dependenciesCheck],
  ["prefixItems", prefixItemsCheck],
  ["items", itemsCheck],
  ["additionalItems", additionalItemsCheck],
  ["contains", containsCheck],
  ["allOf", allOfCheck],
  ["anyOf", anyOfCheck],
  ["oneOf", oneOfCheck],
  ["not", notCheck],
  ["if", ifCheck],
]);

type Compile = Keyword["compile"];

function firstOf(problems: Iterable<string | undefined>): string | undefined {
  for (const problem of problems) if (problem !== undefined) return problem;
  return undefined;
}

function propertiesCheck({ name, value, compile }: Keyword): Check {
  const checks = compileEach(objectOf(value, name), compile);
  return onObject(function* (data, at) {
    for (const [field, check] of checks) {
      if (Object.hasOwn(data, field)) yield check(data[field] ?? null, [...at, field]);
    }
  });
}

function patternPropertiesCheck({ name, value, compile }: Keyword): Check {
  const checks = compileEach(objectOf(value, name), compile).map(
    ([pattern, check]) => [compilePattern(pattern), check] as const,
  );
  return onObject(function* (data, at) {
    for (const [field, inner] of Object.entries(data)) {
      for (const [matches, check] of checks) if (matches(field)) yield check(inner, [...at, field]);
    }
  });
}

/** Checks the fields that `properties` and `patternProperties` do not match. */
function additionalPropertiesCheck({ value, schema, compile }: Keyword): Check {
  const named = new Set(Object.keys(objectOf(schema.properties ?? {}, "properties")));
  const patterns = Object.keys(objectOf(schema.patternProperties ?? {}, "patternProperties")).map((pattern) =>
    compilePattern(pattern),
  );
  const check = compile(value);
  return onObject(function* (data, at) {
    for (const [field, inner] of Object.entries(data)) {
      if (!named.has(field) && !patterns.some((matches) => matches(field)))
        yield check(inner, [...at, field]);
    }
  });
}

function propertyNamesCheck({ value, compile }: Keyword): Check {
  const check = compile(value);
  return onObject(function* (data, at) {
    for (const field of Object.keys(data)) {
      const problem = check(field, []);
      yield problem && problemAt(at, `has the invalid field name ${field}: ${problem}`);
    }
  });
}

function dependentSchemasCheck({ name, value, compile }: Keyword): Check {
  const checks = compileEach(objectOf(value, name), compile);
  return onObject(function* (data, at) {
    for (const [field, check] of checks) if (Object.hasOwn(data, field)) yield check(data, at);
  });
}

/** Draft 7: the value is a list of names or a schema. */
function dependenciesCheck({ name, value, compile }: Keyword): Check {
  const rules = Object.entries(objectOf(value, name)).map(([field, rule]): [string, Json] => [
    field,
    Array.isArray(rule) ? { required: rule } : rule,
  ]);
  return dependentSchemasCheck({ name, value: Object.fromEntries(rules), schema: {}, compile });
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

/** A list of `items` is draft 7's form of `prefixItems`. */
function itemsCheck(keyword: Keyword): Check {
  if (Array.isArray(keyword.value)) return prefixItemsCheck(keyword);
  return restCheck(keyword, keyword.schema.prefixItems);
}

function additionalItemsCheck(keyword: Keyword): Check {
  const { items } = keyword.schema;
  return Array.isArray(items) ? restCheck(keyword, items) : () => undefined;
}

/** Checks the elements after those with schemas of their own. */
function restCheck({ value, compile }: Keyword, before: Json | undefined): Check {
  const from = Array.isArray(before) ? before.length : 0;
  const check = compile(value);
  return onList(function* (data, at) {
    for (let index = from; index < data.length; index += 1) yield check(data[index] ?? null, [...at, index]);
  });
}

function containsCheck({ value, schema, compile }: Keyword): Check {
  const check = compile(value);
  const min = typeof schema.minContains === "number" ? schema.minContains : 1;
  const max = typeof schema.maxContains === "number" ? schema.maxContains : Number.POSITIVE_INFINITY;
  return onList(function* (data, at) {
    const count = data.filter((entry, index) => check(entry, [...at, index]) === undefined).length;
    if (count < min || count > max) yield problemAt(at, `contains ${count} matching entries`);
  });
}

function allOfCheck({ name, value, compile }: Keyword): Check {
  const checks = listOf(value, name).map(compile);
  return (data, at) => firstOf(checks.map((check) => check(data, at)));
}

function anyOfCheck({ name, value, compile }: Keyword): Check {
  const checks = listOf(value, name).map(compile);
  return (data, at) => {
    const problems = checks.map((check) => check(data, at));
    return problems.includes(undefined)
      ? undefined
      : problemAt(at, `matches no alternative: ${problems.join("; ")}`);
  };
}

function oneOfCheck({ name, value, compile }: Keyword): Check {
  const checks = listOf(value, name).map(compile);
  return (data, at) => {
    const problems = checks.map((check) => check(data, at)).filter((problem) => problem !== undefined);
    const fitting = checks.length - problems.length;
    if (fitting === 1) return undefined;
    return problemAt(
      at,
      fitting === 0
        ? `matches no alternative: ${problems.join("; ")}`
        : `matches ${fitting} alternatives instead of one`,
    );
  };
}

function notCheck({ value, compile }: Keyword): Check {
  const check = compile(value);
  return (data, at) =>
    check(data, at) === undefined ? problemAt(at, "matches a schema that it must not match") : undefined;
}

function ifCheck({ value, schema, compile }: Keyword): Check {
  const condition = compile(value);
  const [then, otherwise] = [compile(schema.then ?? true), compile(schema.else ?? true)];
  return (data, at) => (condition(data, at) === undefined ? then : otherwise)(data, at);
}

function onObject(
  problems: (data: JsonObject, at: Parameters<Check>[1]) => Iterable<string | undefined>,
): Check {
  return (data, at) => (isJsonObject(data) ? firstOf(problems(data, at)) : undefined);
}

function onList(
  problems: (data: readonly Json[], at: Parameters<Check>[1]) => Iterable<string | undefined>,
): Check {
  return (data, at) => (Array.isArray(data) ? firstOf(problems(data, at)) : undefined);
}

function compileEach(schemas: JsonObject, compile: Compile): (readonly [string, Check])[] {
  return Object.entries(schemas).map(([name, schema]) => [name, compile(schema)] as const);
}

function objectOf(value: Json, name: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw schemaError(`${name} is not an object`);
}

function listOf(value: Json, name: string): readonly Json[] {
  if (Array.isArray(value)) return value;
  throw schemaError(`${name} is not a list`);
}
