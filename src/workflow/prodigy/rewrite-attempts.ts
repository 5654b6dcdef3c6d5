/** Rewrites `max_attempts` next to a step's action, and `on_failure` inside its `retry` settings. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { rewriteNumber } from "./rewrite-numbers.ts";
import type { Rewriting } from "./rewriting.ts";

/** With a handler, `max_attempts` is a setting of the handler; otherwise it becomes a `retry` setting. */
export function rewriteAttempts(step: yaml.YAMLMap, rewriting: Rewriting): void {
  retryFailure(step, rewriting);
  rewriteNumber(step, "max_attempts", rewriting);
  const [attempts, fails] = [yaml.take(step, "max_attempts"), yaml.take(step, "fail_workflow")];
  if (attempts === undefined && fails === undefined) return;
  rewriting.touch();
  const handler = yaml.nodeAt(step, "on_failure");
  if (yaml.isMap(handler) || (handler !== undefined && !isBoolean(handler))) {
    const settings = yaml.isMap(handler)
      ? handler
      : yaml.mapOf(handler, { steps: rewriting.rewriteSteps(handler) });
    for (const [key, value] of [
      ["max_attempts", attempts],
      ["fail_workflow", fails],
    ] as const)
      if (value !== undefined && !yaml.has(settings, key)) yaml.put(settings, key, value);
    yaml.put(step, "on_failure", settings);
    return;
  }
  if (attempts !== undefined && !yaml.has(step, "retry"))
    yaml.put(step, "retry", yaml.mapOf(attempts, { max_attempts: attempts }));
  if (yaml.isScalar(fails) && fails.value === false && handler === undefined)
    yaml.put(step, "on_failure", yaml.scalar(true, fails));
}

function isBoolean(node: yaml.Node): boolean {
  return yaml.isScalar(node) && typeof node.value === "boolean";
}

/** In `retry`, `on_failure: continue` and `{fallback: {command}}` become a handler of the step; `stop` is the default. */
function retryFailure(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const retry = yaml.nodeAt(step, "retry");
  const action = yaml.isMap(retry) ? yaml.nodeAt(retry, "on_failure") : undefined;
  if (!yaml.isMap(retry) || action === undefined || yaml.has(step, "on_failure")) return;
  const fallback = yaml.isMap(action) ? yaml.nodeAt(action, "fallback") : undefined;
  const command = yaml.isMap(fallback) ? yaml.plainOf(fallback, "command") : undefined;
  const isContinue = yaml.isScalar(action) && action.value === "continue";
  if (!isContinue && typeof command !== "string") return;
  yaml.take(retry, "on_failure");
  rewriting.touch();
  const steps = typeof command === "string" ? [yaml.mapOf(action, { shell: command })] : [];
  yaml.put(
    step,
    "on_failure",
    yaml.mapOf(action, { steps: yaml.listOf(action, steps), max_attempts: 0, fail_workflow: false }),
  );
}
