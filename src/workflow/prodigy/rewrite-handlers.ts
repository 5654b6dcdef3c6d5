/** Rewrites `on_failure`, `validate` and `on_incomplete` of Prodigy. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { nested } from "./nested-steps.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import type { Rewriting } from "./rewriting.ts";

/**
 * Accepts `true` and `false`, a command, a list of commands, or settings with one command, with both actions
 * or with `commands`.
 */
export function rewriteFailureHandler(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const node = yaml.nodeAt(step, "on_failure");
  if (node === undefined) return;
  if (yaml.isScalar(node) && typeof node.value === "boolean") {
    rewriting.touch();
    if (node.value) yaml.put(step, "on_failure", ignoring(node));
    else {
      yaml.take(step, "on_failure");
      rewriting.warn(node, NOT_IGNORED);
    }
  } else if (yaml.isMap(node)) rewriteSettings(node, rewriting);
  else yaml.put(step, "on_failure", withoutRetry(node, rewriting));
}

const NOT_IGNORED =
  "on_failure: false means that the step must succeed. The pages of Prodigy disagree on it: write on_failure: true to continue after a failure";

/** A handler that does nothing and lets the workflow continue. */
function ignoring(at: yaml.Node): yaml.YAMLMap {
  return yaml.mapOf(at, { steps: yaml.listOf(at, []), max_attempts: 0, fail_workflow: false });
}

/** Commands in the short form run once. The failed step is not retried, and the workflow continues. */
function withoutRetry(node: yaml.Node, rewriting: Rewriting): yaml.Node {
  const isShort = (one: unknown) => yaml.isScalar(one) && typeof one.value === "string";
  const isAllShort = yaml.isSeq(node) ? node.items.length > 0 && node.items.every(isShort) : isShort(node);
  const steps = rewriting.rewriteSteps(node);
  if (steps !== undefined && (isAllShort || rewriting.hasTheirDefaults)) {
    if (!isAllShort) rewriting.warn(node, CONTINUES);
    return yaml.mapOf(node, { steps, max_attempts: 0, fail_workflow: false });
  }
  if (rewriting.isProdigy) rewriting.warn(node, DIFFERENT_DEFAULT);
  return steps ?? node;
}

const CONTROLS = ["max_attempts", "fail_workflow", "handler_failure_fatal", "steps"];

function rewriteSettings(handler: yaml.YAMLMap, rewriting: Rewriting): void {
  retryOriginal(handler, rewriting);
  rewriteNumber(handler, "max_attempts", rewriting);
  for (const key of ["commands", "steps"]) nested(handler, key, rewriting);
  const strategy = yaml.plainOf(handler, "strategy");
  if (yaml.take(handler, "strategy") !== undefined) rewriting.touch();
  if (rewriting.hasTheirDefaults && !yaml.has(handler, "max_attempts") && !repairs(handler, strategy))
    yaml.put(handler, "max_attempts", 0, handler);
  const hasSteps = yaml.has(handler, "commands") || yaml.has(handler, "steps");
  captureOfAll(handler, rewriting);
  if (!hasSteps) singleStep(handler, rewriting);
  if (yaml.has(handler, "fail_workflow") || !rewriting.isProdigy) return;
  const isContinued = rewriting.hasTheirDefaults && strategy !== "cleanup";
  rewriting.warn(handler, isContinued ? CONTINUES : DIFFERENT_DEFAULT);
  if (isContinued) yaml.put(handler, "fail_workflow", false, handler);
}

/** `capture: {log: handler_output}` captures the output of the last step under each of the names. */
function captureOfAll(handler: yaml.YAMLMap, rewriting: Rewriting): void {
  const capture = yaml.nodeAt(handler, "capture");
  const list = yaml.nodeAt(handler, "commands") ?? yaml.nodeAt(handler, "steps");
  if (!yaml.isMap(capture)) return;
  yaml.take(handler, "capture");
  const [first, ...others] = capture.items.map(yaml.keyText);
  const last = yaml.isSeq(list) ? list.items.at(-1) : handler;
  if (!yaml.isMap(last) || first === undefined) return;
  if (!yaml.has(last, "capture")) yaml.put(last, "capture", first, capture);
  if (yaml.isSeq(list))
    for (const name of others)
      list.items.push(yaml.mapOf(capture, { shell: `printf '%s\\n' "\${${first}}"`, capture: name }));
  rewriting.warn(capture, "the capture of a handler is the output of its last step");
}

/**
 * Whether the failed step is retried after the handler: an agent may have fixed the cause, whereas a script
 * is a fallback or cleans up.
 */
function repairs(handler: yaml.YAMLMap, strategy: unknown): boolean {
  const steps = yaml.mapsOf(yaml.nodeAt(handler, "commands") ?? yaml.nodeAt(handler, "steps"));
  return strategy === "recovery" || [handler, ...steps].some((step) => yaml.has(step, "claude"));
}

const CONTINUES =
  "fail_workflow is not set: as in Prodigy, the workflow continues if the step has failed. Write fail_workflow: true if it must succeed";

const DIFFERENT_DEFAULT =
  "fail_workflow is not set: the step is run again after its handler, and if it still fails, the item fails. Prodigy would continue; write fail_workflow: false for that";

/** `max_retries` becomes `max_attempts`; `retry_original: false` runs only the handler. */
function retryOriginal(handler: yaml.YAMLMap, rewriting: Rewriting): void {
  if (yaml.rename(handler, "max_retries", "max_attempts")) rewriting.touch();
  const retry = yaml.take(handler, "retry_original");
  if (retry === undefined) return;
  rewriting.touch();
  if (yaml.isScalar(retry) && retry.value === false && !yaml.has(handler, "max_attempts"))
    yaml.put(handler, "max_attempts", 0, retry);
}

/** Moves the keys of a single step into a list if one entry is not enough. */
function singleStep(handler: yaml.YAMLMap, rewriting: Rewriting): void {
  const own = yaml.mapOf(handler, {});
  own.items = handler.items.filter(
    ({ key }) => !CONTROLS.includes(String(yaml.isScalar(key) ? key.value : key)),
  );
  if (own.items.length === 0) {
    yaml.put(handler, "steps", yaml.listOf(handler, []), handler);
    if (!yaml.has(handler, "max_attempts")) yaml.put(handler, "max_attempts", 0, handler);
    rewriting.touch();
    return;
  }
  const steps = rewriting.rewriteSteps(own);
  const [first, ...more] = steps?.items ?? [];
  handler.items = handler.items.filter(({ key }) =>
    CONTROLS.includes(String(yaml.isScalar(key) ? key.value : key)),
  );
  if (more.length > 0) yaml.put(handler, "steps", steps ?? null);
  else if (yaml.isMap(first)) handler.items.unshift(...first.items);
}

/** Accepts `validate` as a command, as a list, or as settings with `commands` or `command`. */
export function rewriteValidation(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const node = yaml.nodeAt(step, "validate");
  if (node === undefined) return;
  if (!yaml.isMap(node)) {
    const steps = rewriting.rewriteSteps(node);
    if (steps === undefined) return;
    yaml.put(step, "validate", yaml.mapOf(node, { steps, result_file: resultFile(steps) }));
    rewriting.touch();
    return;
  }
  if (yaml.rename(node, "command", "shell")) rewriting.touch();
  if (yaml.rename(node, "commands", "steps")) rewriting.touch();
  bothActions(node, rewriting);
  for (const key of ["force_refresh", "max_cache_age"]) {
    const value = yaml.take(node, key);
    if (value !== undefined)
      rewriting.warn(value, `${key} has no effect: nothing is kept from an earlier run`);
  }
  if (node.items.length === 0) {
    yaml.take(step, "validate");
    return;
  }
  rewriteNumber(node, "threshold", rewriting);
  rewriteDuration(node, "timeout", rewriting);
  nested(node, "steps", rewriting);
  const schema = yaml.take(node, "expected_schema");
  if (schema !== undefined)
    rewriting.warn(
      schema,
      "expected_schema has no effect: the answer must be a score, or a JSON object with a score",
    );
  const handler = yaml.nodeAt(node, "on_incomplete");
  if (handler === undefined) return;
  if (yaml.isMap(handler)) {
    const prompt = yaml.take(handler, "prompt");
    if (prompt !== undefined)
      rewriting.warn(prompt, "prompt has no effect: there are no prompts while a job runs");
    retryOriginal(handler, rewriting);
    rewriteNumber(handler, "max_attempts", rewriting);
    for (const key of ["commands", "steps"]) nested(handler, key, rewriting);
    if (!yaml.has(handler, "commands") && !yaml.has(handler, "steps")) singleStep(handler, rewriting);
    if (rewriting.isProdigy && !yaml.has(handler, "max_attempts"))
      yaml.put(handler, "max_attempts", INCOMPLETE_ATTEMPTS, handler);
  } else yaml.put(node, "on_incomplete", rewriting.rewriteSteps(handler) ?? handler);
}

/** With both actions, the script runs before the agent, and the agent's answer is used. */
function bothActions(validate: yaml.YAMLMap, rewriting: Rewriting): void {
  if (!yaml.has(validate, "shell") || !yaml.has(validate, "claude")) return;
  rewriting.touch();
  const [shell, claude] = [yaml.take(validate, "shell"), yaml.take(validate, "claude")];
  yaml.put(
    validate,
    "steps",
    yaml.listOf(validate, [yaml.mapOf(shell, { shell }), yaml.mapOf(claude, { claude })]),
  );
}

/** Prodigy's default for `max_attempts`. */
const INCOMPLETE_ATTEMPTS = 2;

/** In a list, the last command contains the path of the result file. */
function resultFile(steps: { items: unknown[] }): yaml.Node | undefined {
  const last = steps.items.at(-1);
  return yaml.isMap(last) && typeof yaml.plainOf(last, "result_file") === "string"
    ? yaml.take(last, "result_file")
    : undefined;
}
