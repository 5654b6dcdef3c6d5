/** Rewrites Prodigy's `timeout_config`: time limits of commands become time limits of steps. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { movePolicyKey } from "./rewrite-policy.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteTimeouts(root: yaml.YAMLMap, map: yaml.YAMLMap, rewriting: Rewriting): void {
  const config = yaml.take(map, "timeout_config") ?? yaml.take(root, "timeout_config");
  if (!yaml.isMap(config)) return;
  rewriting.touch();
  rewriteNumber(config, "agent_timeout_secs", rewriting);
  for (const key of ["default", "per_command"]) rewriteDuration(config, key, rewriting);
  const steps = stepsOf(map);
  const policy = yaml.plainOf(config, "timeout_policy");
  const whole = yaml.take(config, "agent_timeout_secs") ?? yaml.take(config, "default");
  if (whole !== undefined) {
    if (policy === "per_command") for (const step of steps) setTimeoutOf(step, whole);
    else if (!yaml.has(map, "agent_timeout_secs")) yaml.put(map, "agent_timeout_secs", whole);
  }
  const each = yaml.take(config, "per_command");
  for (const [name, limit] of limitsOf(yaml.take(config, "command_timeouts"))) limitSteps(steps, name, limit);
  if (each !== undefined) for (const step of steps) if (!yaml.has(step, "timeout")) setTimeoutOf(step, each);
  timeoutAction(root, config, rewriting);
  const grace = yaml.take(config, "cleanup_grace_period_secs");
  if (grace !== undefined)
    rewriting.warn(
      grace,
      "cleanup_grace_period_secs has no effect: a step that exceeds its time limit gets TERM, and KILL after 5 s",
    );
}

function stepsOf(map: yaml.YAMLMap): readonly yaml.YAMLMap[] {
  const template = yaml.nodeAt(map, "agent_template");
  return yaml.mapsOf(
    yaml.isMap(template) && yaml.has(template, "commands") ? yaml.nodeAt(template, "commands") : template,
  );
}

function limitsOf(node: yaml.Node | undefined): readonly (readonly [string, yaml.Node])[] {
  if (!yaml.isMap(node)) return [];
  return node.items
    .map(({ key, value }) => [String(yaml.isScalar(key) ? key.value : key), value as yaml.Node] as const)
    .sort(([one], [other]) => Number(/_\d+$/.test(other)) - Number(/_\d+$/.test(one)));
}

/** `claude_0` is the first claude step; `claude` means all claude steps without their own limit. */
function limitSteps(steps: readonly yaml.YAMLMap[], name: string, limit: yaml.Node): void {
  const [, kind = name, index] = /^(.*)_(\d+)$/.exec(name) ?? [];
  const ofKind = steps.filter((step) => yaml.has(step, kind));
  const chosen = index === undefined ? ofKind : ofKind.slice(Number(index), Number(index) + 1);
  for (const step of chosen) if (!yaml.has(step, "timeout")) setTimeoutOf(step, limit);
}

function setTimeoutOf(step: yaml.YAMLMap, limit: yaml.Node): void {
  if (yaml.isScalar(limit)) yaml.put(step, "timeout", yaml.scalar(limit.value as string | number, limit));
}

const ACTIONS: Readonly<Record<string, string>> = { skip: "skip", fail: "stop" };

function timeoutAction(root: yaml.YAMLMap, config: yaml.YAMLMap, rewriting: Rewriting): void {
  const action = yaml.take(config, "timeout_action");
  yaml.take(config, "timeout_policy");
  yaml.take(config, "enable_monitoring"); // time limits are always recorded as events
  if (!yaml.isScalar(action)) return;
  const to = ACTIONS[String(action.value)];
  if (to === undefined) return; // a letter, and TERM before KILL, are the default
  yaml.put(root, "on_timeout", to, action);
  movePolicyKey(root, root, "on_timeout", rewriting);
}
