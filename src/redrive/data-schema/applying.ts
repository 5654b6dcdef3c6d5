/** The keywords of JSON Schema that apply other schemas: to fields, to entries, or to the same value again. */
import { isJsonObject, type Json, type JsonObject } from "../../kit/json.ts";
import { compilePattern } from "./asserting.ts";
import { type Check, type Keyword, problemAt, schemaError } from "./check.ts";

/** By name; each makes the check of a keyword's value, or refuses the value. */
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

/** The first problem of several checks. */
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

/** Of the fields that neither `properties` nor `patternProperties` beside it name. */
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
      yield problem && problemAt(at, `has the field ${field}, whose name does not fit: ${problem}`);
    }
  });
}

function dependentSchemasCheck({ name, value, compile }: Keyword): Check {
  const checks = compileEach(objectOf(value, name), compile);
  return onObject(function* (data, at) {
    for (const [field, check] of checks) if (Object.hasOwn(data, field)) yield check(data, at);
  });
}

/** Draft 7: a list of names, or a schema. */
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

/** Draft 7 writes what is now `prefixItems` as a list of `items`. */
function itemsCheck(keyword: Keyword): Check {
  if (Array.isArray(keyword.value)) return prefixItemsCheck(keyword);
  return restCheck(keyword, keyword.schema.prefixItems);
}

function additionalItemsCheck(keyword: Keyword): Check {
  const { items } = keyword.schema;
  return Array.isArray(items) ? restCheck(keyword, items) : () => undefined;
}

/** Of the entries after those that have their own schemas. */
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
    if (count < min || count > max) yield problemAt(at, `contains ${count} fitting entries`);
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
    return problems.includes(undefined) ? undefined : problemAt(at, `fits none: ${problems.join("; ")}`);
  };
}

function oneOfCheck({ name, value, compile }: Keyword): Check {
  const checks = listOf(value, name).map(compile);
  return (data, at) => {
    const problems = checks.map((check) => check(data, at)).filter((problem) => problem !== undefined);
    const fitting = checks.length - problems.length;
    if (fitting === 1) return undefined;
    return problemAt(at, fitting === 0 ? `fits none: ${problems.join("; ")}` : `fits ${fitting}, not one`);
  };
}

function notCheck({ value, compile }: Keyword): Check {
  const check = compile(value);
  return (data, at) => (check(data, at) === undefined ? problemAt(at, "fits what it must not") : undefined);
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
  throw schemaError(`${name} is no object`);
}

function listOf(value: Json, name: string): readonly Json[] {
  if (Array.isArray(value)) return value;
  throw schemaError(`${name} is no list`);
}
