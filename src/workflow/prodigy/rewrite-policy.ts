/**
 * Moves Prodigy's policy keys, which may be at the top level of the file or in `map`, into `error_policy`.
 */
import * as yaml from "../../yaml/edit-yaml.ts";
import { rewriteRetry } from "./rewrite-retry.ts";
import type { Rewriting } from "./rewriting.ts";

const POLICY_KEYS = [
  "on_item_failure",
  "continue_on_failure",
  "max_failures",
  "failure_threshold",
  "error_collection",
  "circuit_breaker",
  "retry_config",
];

/** Policy keys at the top level of the file take precedence over those in `error_policy`. */
export function rewritePolicy(root: yaml.YAMLMap, rewriting: Rewriting): void {
  for (const key of POLICY_KEYS) movePolicyKey(root, root, key, rewriting);
  const policy = yaml.nodeAt(root, "error_policy");
  rewriteRetry(yaml.nodeAt(root, "retry"), rewriting);
  if (!yaml.isMap(policy)) return;
  rewriteRetry(yaml.nodeAt(policy, "retry_config"), rewriting);
  const collection = yaml.take(policy, "error_collection");
  if (collection !== undefined)
    rewriting.warn(
      collection,
      "error_collection has no effect: failures are shown while the job runs, counted at its end, and kept as letters",
    );
  const action = yaml.nodeAt(policy, "on_item_failure");
  if (!yaml.isScalar(action) || typeof action.value !== "string" || !action.value.startsWith("custom:"))
    return;
  rewriting.refuse(
    action,
    `"${action.value}" names a handler that Redrive does not have. Write on_item_failure: custom, and custom_handler with its steps`,
  );
  yaml.take(policy, "on_item_failure");
}

/** Moves a policy key from another mapping into `error_policy`. */
export function movePolicyKey(
  root: yaml.YAMLMap,
  from: yaml.YAMLMap,
  key: string,
  rewriting: Rewriting,
): void {
  const value = yaml.take(from, key);
  if (value === undefined) return;
  rewriting.touch();
  yaml.put(policyOf(root, value), key, value);
}

function policyOf(root: yaml.YAMLMap, at: yaml.Node): yaml.YAMLMap {
  const [policy] = yaml.mapsOf(yaml.nodeAt(root, "error_policy"));
  if (policy !== undefined) return policy;
  const made = yaml.mapOf(at, {});
  yaml.put(root, "error_policy", made);
  return made;
}
