/** Rewrites the map phase of Prodigy: a command as input, bare filters, policy keys, time limits of commands. */

import { compileExpression, FILTER_VARIABLES } from "../../std/expression.ts";
import {
  has,
  isMap,
  isScalar,
  isSeq,
  mapOf,
  mapsOf,
  nodeAt,
  plainOf,
  put,
  rename,
  take,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { conditionToCel } from "./conditions.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { movePolicyKey } from "./rewrite-policy.ts";
import { rewriteSteps } from "./rewrite-steps.ts";
import { rewriteTimeouts } from "./rewrite-timeouts.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteMap(root: YAMLMap, map: YAMLMap, rewriting: Rewriting): void {
  rewriteInput(map, rewriting);
  if (plainOf(map, "json_path") === "") {
    take(map, "json_path");
    rewriting.touch();
  }
  rewriteDistinct(map, rewriting);
  if (rename(map, "timeout_per_agent", "agent_timeout_secs")) rewriting.touch();
  for (const key of ["max_parallel", "max_items", "offset"]) rewriteNumber(map, key, rewriting);
  rewriteSeconds(map, rewriting);
  for (const key of ["on_item_failure", "continue_on_failure", "max_failures", "failure_threshold"])
    movePolicyKey(root, map, key, rewriting);
  for (const key of ["error_collection", "circuit_breaker", "retry_config", "error_policy"])
    if (key !== "error_policy" || !has(root, key)) moveUp(root, map, key, rewriting);
  retryOnFailure(root, map, rewriting);
  const template = nodeAt(map, "agent_template");
  if (isMap(template) && (has(template, "commands") || has(template, "steps"))) {
    if (rename(template, "steps", "commands")) rewriting.touch();
    const steps = rewriteSteps(nodeAt(template, "commands"), rewriting);
    if (steps !== undefined) put(template, "commands", steps);
  } else if (template !== undefined) {
    const steps = rewriteSteps(template, rewriting);
    if (steps !== undefined && (isSeq(template) || isMap(template))) put(map, "agent_template", steps);
  }
  rewriteTimeouts(root, map, rewriting);
}

function moveUp(root: YAMLMap, map: YAMLMap, key: string, rewriting: Rewriting): void {
  if (key !== "error_policy") {
    movePolicyKey(root, map, key, rewriting);
    return;
  }
  const policy = take(map, key);
  if (policy === undefined) return;
  put(root, key, policy);
  rewriting.touch();
}

/** A text with blanks is a command, unless a file has this name. */
function rewriteInput(map: YAMLMap, rewriting: Rewriting): void {
  const input = nodeAt(map, "input");
  if (!isScalar(input) || typeof input.value !== "string") return;
  const text = input.value.trim();
  if (!/\s/.test(text) || /^\S*\$\{[^}]*\}\S*$/.test(text)) return;
  put(map, "input", mapOf(input, { command: input }));
  rewriting.warn(
    input,
    `input has blanks, so it is run as a command, and each line or element of its output is an item. Write input: {command: …}`,
  );
}

/** Only in a file of Prodigy: elsewhere an unknown name is a mistake, not a field of the item. */
export function rewriteFilter(map: YAMLMap, rewriting: Rewriting): void {
  const filter = nodeAt(map, "filter");
  if (!rewriting.isProdigy || !isScalar(filter) || typeof filter.value !== "string") return;
  if (compileExpression(filter.value, FILTER_VARIABLES).ok) {
    if (!/\bhas\(|\.\?/.test(filter.value))
      rewriting.warn(
        filter,
        "an item without a field of the filter stops the run. Prodigy skips such an item; write has(item.field) && … for that",
      );
    return;
  }
  const cel = conditionToCel(filter.value, "filter");
  if (cel === undefined || !compileExpression(cel, FILTER_VARIABLES).ok) return;
  filter.value = cel;
  rewriting.touch();
}

/** `distinct: item.id` compares the field `id` of the item. */
function rewriteDistinct(map: YAMLMap, rewriting: Rewriting): void {
  const distinct = nodeAt(map, "distinct");
  if (!isScalar(distinct) || typeof distinct.value !== "string" || !/^item\../.test(distinct.value)) return;
  distinct.value = distinct.value.slice("item.".length);
  rewriting.touch();
}

/** `agent_timeout_secs` is a number; Prodigy also accepts a text such as 600s. */
function rewriteSeconds(map: YAMLMap, rewriting: Rewriting): void {
  rewriteDuration(map, "agent_timeout_secs", rewriting);
  const node = nodeAt(map, "agent_timeout_secs");
  if (!isScalar(node) || typeof node.value !== "string") return;
  const match = /^\s*(\d+(?:\.\d+)?)\s*(s|m|h)?\s*$/.exec(node.value);
  if (!match || !rewriting.isProdigy) return;
  node.value = Number(match[1]) * (SECONDS[match[2] ?? "s"] ?? 1);
  rewriting.touch();
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** `retry_on_failure: 2` is two more attempts. */
function retryOnFailure(root: YAMLMap, map: YAMLMap, rewriting: Rewriting): void {
  const node = take(map, "retry_on_failure");
  if (!isScalar(node)) return;
  rewriting.touch();
  const [policy] = mapsOf(nodeAt(root, "error_policy"));
  if (policy !== undefined && has(policy, "retry_config")) {
    rewriting.warn(node, "retry_on_failure has no effect beside retry_config");
    return;
  }
  const retries = Number(node.value);
  put(map, "retry_config", mapOf(node, { max_attempts: Number.isInteger(retries) ? retries + 1 : 1 }), node);
  movePolicyKey(root, map, "retry_config", rewriting);
}
