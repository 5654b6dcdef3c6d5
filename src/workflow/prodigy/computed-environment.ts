/**
 * Rewrites `env: {BRANCH: {command: …}}`: an initial step captures the value, and every other step gets it in
 * its environment.
 */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

const ACTIONS = ["shell", "claude", "agent", "write_file", "foreach"];

export function rewriteComputedEnvironment(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const { computedVariables, isSequence } = rewriting;
  if (computedVariables.size === 0) return;
  rewriting.touch();
  for (const { value } of root.items) addVariables(value, rewriting);
  const key = isSequence ? "steps" : "setup";
  const phase = yaml.nodeAt(root, key);
  const list = yaml.isMap(phase) ? yaml.nodeAt(phase, "commands") : phase;
  const first = [...computedVariables].map(([name, shell]) =>
    yaml.mapOf(root, { name, shell, capture: name }),
  );
  if (yaml.isSeq(list)) list.items.unshift(...first);
  else yaml.put(root, key, yaml.listOf(root, first));
}

function addVariables(node: unknown, rewriting: Rewriting): void {
  if (yaml.isSeq(node)) for (const item of node.items) addVariables(item, rewriting);
  if (!yaml.isMap(node)) return;
  for (const { value } of node.items) addVariables(value, rewriting);
  if (!ACTIONS.some((key) => yaml.has(node, key))) return;
  const env = yaml.nodeAt(node, "env");
  const own = yaml.isMap(env) ? env : yaml.mapOf(node, {});
  for (const name of rewriting.computedVariables.keys())
    if (!yaml.has(own, name)) yaml.put(own, name, `\${${name}}`, node);
  yaml.put(node, "env", own);
}
