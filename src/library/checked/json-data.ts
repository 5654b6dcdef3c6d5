/** Checks that data can be stored as JSON. Refuses values that JSON would change silently, such as NaN or a Map. Pure. */
import { copyJson, type Json } from "../../std/json.ts";

/** The maximum nesting depth. The limit also detects cycles. */
const DEPTH_MAX = 1000;

/** Returns why the value cannot be stored as JSON; undefined if it can. */
export function jsonProblem(value: unknown): string | undefined {
  const found = inspect(value, 0);
  return found === "plain" || found === "convertible" ? undefined : found.problem;
}

/** Returns the value itself, or a copy if it contains a Date or an undefined field. */
export function toJsonData(value: unknown): Json {
  return inspect(value, 0) === "plain" ? (value as Json) : copyJson(value);
}

type Finding = "plain" | "convertible" | { readonly problem: string };

function inspect(value: unknown, depth: number): Finding {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "bigint":
      return "plain";
    case "number":
      return Number.isFinite(value) ? "plain" : { problem: `${value} is not a JSON number` };
    case "object":
      return value === null ? "plain" : inspectObject(value, depth);
    default:
      return { problem: value === undefined ? "it is undefined" : `it has a ${typeof value}` };
  }
}

function inspectObject(value: object, depth: number): Finding {
  if (depth > DEPTH_MAX) return { problem: "it is nested too deeply, or contains itself" };
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return "convertible";
  if (value instanceof Map || value instanceof Set) return { problem: "it contains a Map or a Set" };
  return Array.isArray(value)
    ? inspectAll(value, depth, false)
    : inspectAll(Object.values(value), depth, true);
}

/** An undefined field counts as absent; an undefined list element would become null and is refused. */
function inspectAll(values: readonly unknown[], depth: number, mayLack: boolean): Finding {
  let all: Finding = "plain";
  for (const one of values) {
    const found = one === undefined && mayLack ? "convertible" : inspect(one, depth + 1);
    if (typeof found === "object") return found;
    if (found === "convertible") all = found;
  }
  return all;
}
