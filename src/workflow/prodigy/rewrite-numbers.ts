/** Rewrites numbers that are written as text or as an environment variable: `max_parallel: "$WORKERS"`. */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

const VARIABLE = /^\s*\$(?:\{(?:env[.:])?([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))\s*$/;

/** Rewrites a numeric setting. */
export function rewriteNumber(map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  rewriteSetting(map, key, rewriting, (text) => (/^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text));
}

/** Rewrites a duration. A text with a unit is kept. */
export function rewriteDuration(map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  rewriteSetting(map, key, rewriting, (text) => text);
}

function rewriteSetting(
  map: yaml.YAMLMap,
  key: string,
  rewriting: Rewriting,
  valueOfText: (text: string) => string | number,
): void {
  const node = yaml.nodeAt(map, key);
  if (!yaml.isScalar(node) || typeof node.value !== "string") return;
  const variable = VARIABLE.exec(node.value);
  const text = variable ? lookUp(node, variable, rewriting) : node.value;
  if (text === undefined) {
    yaml.take(map, key);
    return;
  }
  const value = valueOfText(text);
  if (value === node.value) return;
  node.value = value;
  rewriting.touch();
}

function lookUp(
  node: yaml.Scalar,
  [, braced, fallback, bare]: RegExpExecArray,
  rewriting: Rewriting,
): string | undefined {
  const name = braced ?? bare ?? "";
  const found = rewriting.variable(name) ?? fallback;
  if (found !== undefined) return found;
  if (rewriting.options.isRun) {
    rewriting.refuse(
      node,
      `${String(node.value)}: the variable ${name} is not set. Set it under env, or in the environment`,
    );
  } else {
    rewriting.warn(
      node,
      `${String(node.value)}: the variable ${name} is not set here. It must be set when the workflow runs`,
    );
  }
  return undefined;
}
