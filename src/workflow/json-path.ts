/** JSONPath as in RFC 9535: checked when the workflow is read, and asked once the document is there. */
import { query } from "jsonpath-rfc9535";
import parse from "jsonpath-rfc9535/parser";
import { WorkError } from "../errors.ts";
import type { Json } from "../kit/json.ts";

/** What is wrong with the path, or undefined. */
export function jsonPathProblem(path: string): string | undefined {
  try {
    return functionProblem(parse(path));
  } catch (error) {
    return error instanceof Error ? syntaxProblem(path, error) : String(error);
  }
}

/**
 * The nodes that the path selects. A path that can only mean one place, such as `$.items`, stands for the elements
 * of the array that is there.
 */
export function selectNodes(document: Json, path: string): readonly Json[] {
  const problem = jsonPathProblem(path);
  if (problem !== undefined) throw new WorkError("usage", `json_path "${path}": ${problem}.`);
  const nodes = query(document as Parameters<typeof query>[0], path) as readonly Json[];
  const [only] = nodes;
  return isSingular(parse(path)) && Array.isArray(only) ? only : nodes;
}

/** The engine takes a function that it does not know for "no match"; the standard says that it is an error. */
function functionProblem(node: unknown): string | undefined {
  if (Array.isArray(node)) return firstOf(node, functionProblem);
  if (typeof node !== "object" || node === null) return undefined;
  if (isFunction(node)) {
    const parameters = PARAMETERS[node.name];
    if (parameters === undefined) return `there is no function "${node.name}"`;
    if (parameters !== node.arguments.length) {
      return `the function "${node.name}" takes ${parameters === 1 ? "one value" : `${parameters} values`}`;
    }
  }
  if ("type" in node && node.type === "TestExpr" && "expression" in node && isFunction(node.expression)) {
    const { name } = node.expression;
    if (name in PARAMETERS && !LOGICAL.has(name)) return `the result of "${name}" has to be compared`;
  }
  return firstOf(Object.values(node), functionProblem);
}

const PARAMETERS: Readonly<Record<string, number>> = { length: 1, count: 1, value: 1, match: 2, search: 2 };
const LOGICAL: ReadonlySet<string> = new Set(["match", "search"]);

function isFunction(node: unknown): node is { name: string; arguments: readonly unknown[] } {
  return typeof node === "object" && node !== null && "type" in node && node.type === "FunctionExpr";
}

function firstOf<T>(nodes: readonly T[], find: (node: T) => string | undefined): string | undefined {
  for (const node of nodes) {
    const found = find(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isSingular({ segments }: ReturnType<typeof parse>): boolean {
  return segments.every(({ type, node }) => {
    if (type !== "ChildSegment") return false;
    if (node.type !== "BracketedSelection") return node.type === "MemberNameShorthand";
    const [selector, ...more] = node.selectors;
    return more.length === 0 && (selector?.type === "NameSelector" || selector?.type === "IndexSelector");
  });
}

function syntaxProblem(path: string, error: Error): string {
  if (!path.startsWith("$")) return "a path begins with $";
  const offset = /"offset":(\d+)/.exec(JSON.stringify({ ...error }))?.[1];
  const rest = offset === undefined ? "" : path.slice(Number(offset));
  if (offset === undefined) return error.message;
  return rest === "" ? "it ends too soon" : `it cannot be read from "${rest}" on`;
}
