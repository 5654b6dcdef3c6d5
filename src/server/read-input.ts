/**
 * Parses path, query and body of a request according to the contract. The error for an unknown field or a
 * wrong type contains its path.
 */
import type * as z from "zod";
import { parseJson } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import type { RouteSpec } from "./contract/route.ts";
import { RequestError } from "./problem.ts";

export interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The text of the body; undefined if the route has none. */
  readonly body: string | undefined;
}

export interface ParsedInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export function readInput(route: RouteSpec, raw: RawInput): ParsedInput {
  const params = route.params && parse(route.params, raw.params, "path");
  const query = route.query ? parse(route.query, queryValues(route.query, raw.query), "query") : undefined;
  if (!route.query && raw.query.size > 0) throw unknownField("query", [...raw.query.keys()][0] ?? "", []);
  const body = route.body && parse(route.body, bodyValue(raw.body), "body");
  return { params, query, body };
}

/** Validates values that were not parsed from a request. */
export function checkInput(route: RouteSpec, given: ParsedInput): ParsedInput {
  return {
    params: route.params && parse(route.params, given.params, "path"),
    query: route.query && parse(route.query, given.query, "query"),
    body: route.body && parse(route.body, given.body, "body"),
  };
}

export function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [where, ...(issue?.path ?? []).map(String)].join(".");
  if (issue?.code === "unrecognized_keys") {
    const known = "shape" in schema ? Object.keys((schema as z.ZodObject).shape) : [];
    throw unknownField(path, issue.keys[0] ?? "", known);
  }
  const isMissing = issue?.code === "invalid_type" || issue?.code === "invalid_value";
  if (isMissing && valueAt(value, issue.path) === undefined)
    throw new RequestError("request_invalid", `${path} is required${choiceIn(issue)}.`, { field: path });
  throw new RequestError("request_invalid", `${path}: ${issue?.message ?? "is not valid"}.`, { field: path });
}

function choiceIn(issue: z.core.$ZodIssue): string {
  return issue.code === "invalid_value" ? `: one of ${issue.values.map(String).join(", ")}` : "";
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

function unknownField(path: string, key: string, known: readonly string[]): RequestError {
  const meant = nearest(key, known);
  const field = `${path}.${key}`.slice(0, FIELD_CHARS_MAX);
  return new RequestError("request_invalid", `Unknown field ${field}.`, {
    field,
    ...(known.length > 0 && {
      hint: meant === undefined ? `Known fields: ${[...known].sort().join(", ")}.` : `Did you mean ${meant}?`,
    }),
  });
}

const FIELD_CHARS_MAX = 200;

/** Parses the JSON of a body. */
export function bodyValue(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "")
    throw new RequestError("request_invalid", "The request needs a JSON body.", { field: "body" });
  try {
    return parseJson(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new RequestError("request_malformed", `The body is not JSON: ${why}.`, { field: "body" });
  }
}

/**
 * Converts the strings of a query to the types of the schema. Values that cannot be converted stay strings,
 * which the schema rejects.
 */
function queryValues(schema: z.ZodObject, given: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const key of new Set(given.keys())) {
    const texts = given.getAll(key);
    const type = typeOf(schema.shape[key]);
    Object.defineProperty(values, key, {
      value: type === "array" ? texts : scalarOf(type, texts),
      enumerable: true,
    });
  }
  return values;
}

function scalarOf(type: string | undefined, texts: readonly string[]): unknown {
  const [text = "", ...others] = texts;
  if (others.length > 0) return texts;
  if (type === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** The type inside optional and similar wrappers. */
function typeOf(schema: unknown): string | undefined {
  let at = schema as { readonly def?: { readonly type?: string; readonly innerType?: unknown } } | undefined;
  while (at?.def?.innerType !== undefined) at = at.def.innerType as typeof at;
  return at?.def?.type;
}
