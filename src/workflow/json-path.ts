/** JSONPath (RFC 9535): checked when the workflow is parsed, evaluated on the input document. */
import {
  type FilterFunction,
  FunctionExpressionType,
  JSONPathEnvironment,
  JSONPathError,
  type JSONPathQuery,
} from "json-p3";
import { RedriveError } from "../errors.ts";
import { type Json, stringifyJson } from "../std/json.ts";
import { PatternError, rememberedLinear } from "../std/pattern.ts";

export function jsonPathProblem(path: string): string | undefined {
  const compiled = compile(path);
  return typeof compiled === "string" ? compiled : undefined;
}

/** Returns the selected nodes. If the path selects a single array, as `$.items` does, returns its elements. */
export function selectNodes(document: Json, path: string): readonly Json[] {
  const query = compile(path);
  if (typeof query === "string") throw refused(path, query);
  const nodes = valuesOf(query, document, path);
  const [only] = nodes;
  return query.singularQuery() && Array.isArray(only) ? only : nodes;
}

type Document = Parameters<JSONPathQuery["query"]>[0];

function valuesOf(query: JSONPathQuery, document: Json, path: string): readonly Json[] {
  try {
    if (!hasBigint(document)) return query.query(document as Document).values() as readonly Json[];
    // The library cannot compare bigints, so it searches a copy with rounded numbers.
    const rounded = JSON.parse(stringifyJson(document)) as Document;
    return query.query(rounded).nodes.map(({ location }) => valueAt(document, location));
  } catch (error) {
    if (error instanceof PatternError) throw refused(path, `the regular expression: ${error.message}`);
    throw refused(path, problemOf(error));
  }
}

/** Iterative, because a deeply nested document would overflow the stack. */
function hasBigint(document: Json): boolean {
  const values: Json[] = [document];
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    if (typeof value === "bigint") return true;
    if (typeof value === "object" && value !== null)
      for (const part of Object.values(value)) values.push(part);
  }
  return false;
}

function valueAt(document: Json, location: readonly (string | number)[]): Json {
  return location.reduce<Json>(
    (value, key) => (value as Readonly<Record<string, Json>>)[key] ?? null,
    document,
  );
}

function compile(path: string): JSONPathQuery | string {
  if (!path.startsWith("$")) return "a path begins with $";
  try {
    return ENVIRONMENT.compile(path);
  } catch (error) {
    return problemOf(error);
  }
}

function problemOf(error: unknown): string {
  const isStackOverflow = error instanceof RangeError && error.message.includes("call stack");
  if (isStackOverflow) return "it is nested too deeply";
  if (!(error instanceof JSONPathError)) throw error;
  const message = error.message.replace(/\s+\('.*':\d+\)$/s, "").replace("()  must", "() must");
  return message.replace(/^no such function '(.+)'$/, 'unknown function "$1"');
}

function refused(path: string, problem: string): RedriveError {
  return new RedriveError("usage", `json_path "${path}": ${problem}.`);
}

/** Replaces the library's depth limit of 50: a document may be nested as deeply as the stack allows. */
const ENVIRONMENT = new JSONPathEnvironment({ maxRecursionDepth: Number.MAX_SAFE_INTEGER });
const WHOLE = { match: (pattern: string) => `^(?:${pattern})$`, search: (pattern: string) => pattern };
for (const [name, whole] of Object.entries(WHOLE))
  ENVIRONMENT.functionRegister.set(name, regularExpression(whole));

/** A value that is not a string never matches, as RFC 9535 requires. An invalid pattern is an error. */
function regularExpression(whole: (pattern: string) => string): FilterFunction {
  return {
    argTypes: [FunctionExpressionType.ValueType, FunctionExpressionType.ValueType],
    returnType: FunctionExpressionType.LogicalType,
    call: (text: unknown, pattern: unknown) =>
      typeof text === "string" &&
      typeof pattern === "string" &&
      rememberedLinear(whole(inRe2(pattern)))(text),
  };
}

/** RFC 9485: a dot matches neither a line feed nor a carriage return. */
function inRe2(pattern: string): string {
  return pattern.replace(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\./g, (part) =>
    part === "." ? "[^\\n\\r]" : part,
  );
}
