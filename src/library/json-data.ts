/**
 * The data of an item as every store keeps it: JSON. What JSON cannot represent would be lost without a word (NaN, a Map)
 * or end in an error of the database (undefined, a bigint), so it is refused. Pure.
 */
import type { Json } from "../kit/json.ts";

/** Deeper than any data of work; a circle is deeper still. */
const DEPTH_MAX = 1000;

/** Why the value cannot be kept as JSON, to be read after its name; undefined when it can. */
export function jsonProblem(value: unknown): string | undefined {
  const found = inspect(value, 0);
  return found === "plain" || found === "convertible" ? undefined : found.problem;
}

/** The value as JSON has it: itself, or a copy where a Date or an absent field has to be written in another way. */
export function toJsonData(value: unknown): Json {
  return inspect(value, 0) === "plain" ? (value as Json) : (JSON.parse(JSON.stringify(value)) as Json);
}

type Finding = "plain" | "convertible" | { readonly problem: string };

function inspect(value: unknown, depth: number): Finding {
  switch (typeof value) {
    case "string":
    case "boolean":
      return "plain";
    case "number":
      return Number.isFinite(value) ? "plain" : { problem: `${value} is not a number of JSON` };
    case "object":
      return value === null ? "plain" : inspectObject(value, depth);
    default:
      return { problem: value === undefined ? "it is undefined" : `it has a ${typeof value}` };
  }
}

function inspectObject(value: object, depth: number): Finding {
  if (depth > DEPTH_MAX) return { problem: "it is nested too deeply, or contains itself" };
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return "convertible";
  if (value instanceof Map || value instanceof Set) return { problem: "it has a Map or a Set" };
  return Array.isArray(value)
    ? inspectAll(value, depth, false)
    : inspectAll(Object.values(value), depth, true);
}

/** A field that is undefined is a field that is not there; an element that is undefined would become null. */
function inspectAll(values: readonly unknown[], depth: number, mayLack: boolean): Finding {
  let all: Finding = "plain";
  for (const one of values) {
    const found = one === undefined && mayLack ? "convertible" : inspect(one, depth + 1);
    if (typeof found === "object") return found;
    if (found === "convertible") all = found;
  }
  return all;
}
