/**
 * Rewrites Prodigy's map phase: a command as input, filters without `item.`, policy keys, time limits of
 * commands.
 */

import { compileExpression, FILTER_VARIABLES } from "../../std/expression.ts";
import * as yaml from "../../yaml/edit-yaml.ts";
import { conditionToCel } from "./conditions.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { movePolicyKey } from "./rewrite-policy.ts";
import { rewriteSteps } from "./rewrite-steps.ts";
import { rewriteTimeouts } from "./rewrite-timeouts.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteMap(root: yaml.YAMLMap, map: yaml.YAMLMap, rewriting: Rewriting): void {
  agentMerge(root, map, rewriting);
  rewriteInput(map, rewriting);
  if (yaml.plainOf(map, "json_path") === "") {
    yaml.take(map, "json_path");
    rewriting.touch();
  }
  rewriteDistinct(map, rewriting);
  fromTheTop(root, map, "agent_timeout_secs", rewriting);
  if (yaml.rename(map, "timeout_per_agent", "agent_timeout_secs")) rewriting.touch();
  for (const key of ["max_parallel", "max_items", "offset"]) rewriteNumber(map, key, rewriting);
  rewriteSeconds(map, rewriting);
  for (const key of ["on_item_failure", "continue_on_failure", "max_failures", "failure_threshold"])
    movePolicyKey(root, map, key, rewriting);
  for (const key of ["error_collection", "circuit_breaker", "retry_config", "error_policy"])
    if (key !== "error_policy" || !yaml.has(root, key)) moveUp(root, map, key, rewriting);
  retryOnFailure(root, map, rewriting);
  const template = yaml.nodeAt(map, "agent_template");
  if (yaml.isMap(template) && (yaml.has(template, "commands") || yaml.has(template, "steps"))) {
    if (yaml.rename(template, "steps", "commands")) rewriting.touch();
    const steps = rewriteSteps(yaml.nodeAt(template, "commands"), rewriting);
    if (steps !== undefined) yaml.put(template, "commands", steps);
  } else if (template !== undefined) {
    const steps = rewriteSteps(template, rewriting);
    if (steps !== undefined && (yaml.isSeq(template) || yaml.isMap(template)))
      yaml.put(map, "agent_template", steps);
  }
  rewriteTimeouts(root, map, rewriting);
}

/** Moves a key into `map` that may also be at the top level of the file. */
function fromTheTop(root: yaml.YAMLMap, map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const value = yaml.take(root, key);
  if (value === undefined) return;
  rewriting.touch();
  if (!yaml.has(map, key)) yaml.put(map, key, value);
}

function moveUp(root: yaml.YAMLMap, map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  if (key !== "error_policy") {
    movePolicyKey(root, map, key, rewriting);
    return;
  }
  const policy = yaml.take(map, key);
  if (policy === undefined) return;
  yaml.put(root, key, policy);
  rewriting.touch();
}

/** A text with spaces is a command, unless a file has this name. */
function rewriteInput(map: yaml.YAMLMap, rewriting: Rewriting): void {
  const input = yaml.nodeAt(map, "input");
  if (!yaml.isScalar(input) || typeof input.value !== "string") return;
  const text = input.value.trim();
  if (!/\s/.test(text) || /^\S*\$\{[^}]*\}\S*$/.test(text)) return;
  yaml.put(map, "input", yaml.mapOf(input, { command: input }));
  rewriting.warn(
    input,
    `input contains spaces, so it is run as a command, and each line or element of its output is an item. Write input: {command: …}`,
  );
}

/** Applies only to Prodigy files: in other files an unknown name is a mistake, not a field of the item. */
export function rewriteFilter(map: yaml.YAMLMap, rewriting: Rewriting): void {
  const filter = yaml.nodeAt(map, "filter");
  if (!rewriting.isProdigy || !yaml.isScalar(filter) || typeof filter.value !== "string") return;
  if (!rewriting.hasTheirDefaults && compileExpression(filter.value, FILTER_VARIABLES).ok) {
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
function rewriteDistinct(map: yaml.YAMLMap, rewriting: Rewriting): void {
  const distinct = yaml.nodeAt(map, "distinct");
  if (!yaml.isScalar(distinct) || typeof distinct.value !== "string" || !/^item\../.test(distinct.value))
    return;
  distinct.value = distinct.value.slice("item.".length);
  rewriting.touch();
}

/** `agent_timeout_secs` is a number; Prodigy also accepts text such as `600s`. */
function rewriteSeconds(map: yaml.YAMLMap, rewriting: Rewriting): void {
  rewriteDuration(map, "agent_timeout_secs", rewriting);
  const node = yaml.nodeAt(map, "agent_timeout_secs");
  if (!yaml.isScalar(node) || typeof node.value !== "string") return;
  const match = /^\s*(\d+(?:\.\d+)?)\s*(s|m|h)?\s*$/.exec(node.value);
  if (!match || !rewriting.isProdigy) return;
  node.value = Number(match[1]) * (SECONDS[match[2] ?? "s"] ?? 1);
  rewriting.touch();
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** `retry_on_failure: 2` means two additional attempts. */
function retryOnFailure(root: yaml.YAMLMap, map: yaml.YAMLMap, rewriting: Rewriting): void {
  const node = yaml.take(map, "retry_on_failure");
  if (!yaml.isScalar(node)) return;
  rewriting.touch();
  const [policy] = yaml.mapsOf(yaml.nodeAt(root, "error_policy"));
  if (policy !== undefined && yaml.has(policy, "retry_config")) {
    rewriting.warn(node, "retry_on_failure has no effect next to retry_config");
    return;
  }
  const retries = Number(node.value);
  yaml.put(
    map,
    "retry_config",
    yaml.mapOf(node, { max_attempts: Number.isInteger(retries) ? retries + 1 : 1 }),
    node,
  );
  movePolicyKey(root, map, "retry_config", rewriting);
}

/** `agent_merge` runs in the worktree of an item after its other steps, before its work is merged. */
function agentMerge(root: yaml.YAMLMap, map: yaml.YAMLMap, rewriting: Rewriting): void {
  const merge = yaml.take(root, "agent_merge");
  const template = yaml.nodeAt(map, "agent_template");
  const steps = yaml.isMap(template) ? yaml.nodeAt(template, "commands") : template;
  const more = yaml.isMap(merge) ? yaml.nodeAt(merge, "commands") : merge;
  if (!yaml.isSeq(steps) || !yaml.isSeq(more)) return;
  steps.items.push(...more.items);
  rewriting.touch();
}
