/** Rewrites `timeout_config` of Prodigy: time limits of commands become time limits of steps. */
import {
  has,
  isMap,
  isScalar,
  mapsOf,
  type Node,
  nodeAt,
  plainOf,
  put,
  scalar,
  take,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { movePolicyKey } from "./rewrite-policy.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteTimeouts(root: YAMLMap, map: YAMLMap, rewriting: Rewriting): void {
  const config = take(map, "timeout_config") ?? take(root, "timeout_config");
  if (!isMap(config)) return;
  rewriting.touch();
  rewriteNumber(config, "agent_timeout_secs", rewriting);
  for (const key of ["default", "per_command"]) rewriteDuration(config, key, rewriting);
  const steps = stepsOf(map);
  const policy = plainOf(config, "timeout_policy");
  const whole = take(config, "agent_timeout_secs") ?? take(config, "default");
  if (whole !== undefined) {
    if (policy === "per_command") for (const step of steps) setTimeoutOf(step, whole);
    else if (!has(map, "agent_timeout_secs")) put(map, "agent_timeout_secs", whole);
  }
  const each = take(config, "per_command");
  for (const [name, limit] of limitsOf(take(config, "command_timeouts"))) limitSteps(steps, name, limit);
  if (each !== undefined) for (const step of steps) if (!has(step, "timeout")) setTimeoutOf(step, each);
  timeoutAction(root, config, rewriting);
  const grace = take(config, "cleanup_grace_period_secs");
  if (grace !== undefined)
    rewriting.warn(
      grace,
      "cleanup_grace_period_secs has no effect: a step that is over its time gets TERM, and KILL after 5 s",
    );
}

function stepsOf(map: YAMLMap): readonly YAMLMap[] {
  const template = nodeAt(map, "agent_template");
  return mapsOf(isMap(template) && has(template, "commands") ? nodeAt(template, "commands") : template);
}

function limitsOf(node: Node | undefined): readonly (readonly [string, Node])[] {
  if (!isMap(node)) return [];
  return node.items
    .map(({ key, value }) => [String(isScalar(key) ? key.value : key), value as Node] as const)
    .sort(([one], [other]) => Number(/_\d+$/.test(other)) - Number(/_\d+$/.test(one)));
}

/** `claude_0` is the first claude step; `claude` is each of them that has no limit of its own. */
function limitSteps(steps: readonly YAMLMap[], name: string, limit: Node): void {
  const [, kind = name, index] = /^(.*)_(\d+)$/.exec(name) ?? [];
  const ofKind = steps.filter((step) => has(step, kind));
  const chosen = index === undefined ? ofKind : ofKind.slice(Number(index), Number(index) + 1);
  for (const step of chosen) if (!has(step, "timeout")) setTimeoutOf(step, limit);
}

function setTimeoutOf(step: YAMLMap, limit: Node): void {
  if (isScalar(limit)) put(step, "timeout", scalar(limit.value as string | number, limit));
}

const ACTIONS: Readonly<Record<string, string>> = { skip: "skip", fail: "stop" };

function timeoutAction(root: YAMLMap, config: YAMLMap, rewriting: Rewriting): void {
  const action = take(config, "timeout_action");
  take(config, "timeout_policy");
  take(config, "enable_monitoring"); // time limits are always recorded as events
  if (!isScalar(action)) return;
  const to = ACTIONS[String(action.value)];
  if (to === undefined) return; // a letter, and TERM before KILL, are what always happens
  put(root, "on_timeout", to, action);
  movePolicyKey(root, root, "on_timeout", rewriting);
}
