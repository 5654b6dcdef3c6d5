/** Rewrites `on_failure`, `validate` and `on_incomplete` of Prodigy. */
import {
  has,
  isMap,
  isScalar,
  isSeq,
  listOf,
  mapOf,
  type Node,
  nodeAt,
  plainOf,
  put,
  rename,
  take,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { nested } from "./nested-steps.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import type { Rewriting } from "./rewriting.ts";

/** `true` and `false`, a command, a list of commands, or settings with one command, both actions or `commands`. */
export function rewriteFailureHandler(step: YAMLMap, rewriting: Rewriting): void {
  const node = nodeAt(step, "on_failure");
  if (node === undefined) return;
  if (isScalar(node) && typeof node.value === "boolean") {
    rewriting.touch();
    if (node.value) put(step, "on_failure", ignoring(node));
    else take(step, "on_failure");
  } else if (isMap(node)) rewriteSettings(node, rewriting);
  else put(step, "on_failure", withoutRetry(node, rewriting));
}

/** A handler that does nothing, and lets the workflow continue. */
function ignoring(at: Node): YAMLMap {
  return mapOf(at, { steps: listOf(at, []), max_attempts: 0, fail_workflow: false });
}

/** Commands in the short form run once; the workflow continues, and the failed step is not run again. */
function withoutRetry(node: Node, rewriting: Rewriting): Node {
  const isShort = (one: unknown) => isScalar(one) && typeof one.value === "string";
  const isAllShort = isSeq(node) ? node.items.length > 0 && node.items.every(isShort) : isShort(node);
  const steps = rewriting.rewriteSteps(node);
  if (!isAllShort || steps === undefined) return steps ?? node;
  return mapOf(node, { steps, max_attempts: 0, fail_workflow: false });
}

const CONTROLS = ["max_attempts", "fail_workflow", "steps"];

function rewriteSettings(handler: YAMLMap, rewriting: Rewriting): void {
  retryOriginal(handler, rewriting);
  rewriteNumber(handler, "max_attempts", rewriting);
  for (const key of ["commands", "steps"]) nested(handler, key, rewriting);
  const strategy = take(handler, "strategy");
  if (strategy !== undefined) rewriting.touch(); // a description: what happens is said by the other keys
  const fatal = take(handler, "handler_failure_fatal");
  if (fatal !== undefined && isScalar(fatal) && fatal.value === true)
    rewriting.warn(
      fatal,
      "handler_failure_fatal has no effect: write fail_workflow: true to fail when the step still fails",
    );
  const capture = take(handler, "capture");
  if (isMap(capture))
    rewriting.warn(capture, "capture of a handler has no effect: write capture at one of its steps");
  else if (capture !== undefined) put(handler, "capture", capture);
  const hasSteps = has(handler, "commands") || has(handler, "steps");
  if (hasSteps && has(handler, "timeout")) {
    const timeout = take(handler, "timeout");
    if (timeout !== undefined)
      rewriting.warn(timeout, "timeout of a handler has no effect: write timeout at its steps");
  }
  if (!hasSteps) singleStep(handler, rewriting);
  if (!has(handler, "fail_workflow") && rewriting.isProdigy) rewriting.warn(handler, DIFFERENT_DEFAULT);
}

const DIFFERENT_DEFAULT =
  "fail_workflow is not set: the step is run again after its handler, and if it still fails, the item fails. Prodigy would continue; write fail_workflow: false for that";

/** `max_retries` is `max_attempts`; `retry_original: false` runs only the handler. */
function retryOriginal(handler: YAMLMap, rewriting: Rewriting): void {
  if (rename(handler, "max_retries", "max_attempts")) rewriting.touch();
  const retry = take(handler, "retry_original");
  if (retry === undefined) return;
  rewriting.touch();
  if (isScalar(retry) && retry.value === false && !has(handler, "max_attempts"))
    put(handler, "max_attempts", 0, retry);
}

/** The keys of a single step move into a list, if one entry is not enough. */
function singleStep(handler: YAMLMap, rewriting: Rewriting): void {
  const own = mapOf(handler, {});
  own.items = handler.items.filter(({ key }) => !CONTROLS.includes(String(isScalar(key) ? key.value : key)));
  if (own.items.length === 0) {
    put(handler, "steps", listOf(handler, []), handler);
    if (!has(handler, "max_attempts")) put(handler, "max_attempts", 0, handler);
    rewriting.touch();
    return;
  }
  const steps = rewriting.rewriteSteps(own);
  const [first, ...more] = steps?.items ?? [];
  handler.items = handler.items.filter(({ key }) =>
    CONTROLS.includes(String(isScalar(key) ? key.value : key)),
  );
  if (more.length > 0) put(handler, "steps", steps ?? null);
  else if (isMap(first)) handler.items.unshift(...first.items);
}

/** `validate` as a command, a list, with `commands`, or with `command`. */
export function rewriteValidation(step: YAMLMap, rewriting: Rewriting): void {
  const node = nodeAt(step, "validate");
  if (node === undefined) return;
  if (!isMap(node)) {
    const steps = rewriting.rewriteSteps(node);
    if (steps === undefined) return;
    put(step, "validate", mapOf(node, { steps, result_file: resultFile(steps) }));
    rewriting.touch();
    return;
  }
  if (rename(node, "command", "shell")) rewriting.touch();
  if (rename(node, "commands", "steps")) rewriting.touch();
  rewriteNumber(node, "threshold", rewriting);
  rewriteDuration(node, "timeout", rewriting);
  nested(node, "steps", rewriting);
  const schema = take(node, "expected_schema");
  if (schema !== undefined)
    rewriting.warn(
      schema,
      "expected_schema has no effect: the answer must be a score, or a JSON object with a score",
    );
  const handler = nodeAt(node, "on_incomplete");
  if (handler === undefined) return;
  if (isMap(handler)) {
    const prompt = take(handler, "prompt");
    if (prompt !== undefined)
      rewriting.warn(prompt, "prompt has no effect: nobody is asked while a job runs");
    retryOriginal(handler, rewriting);
    rewriteNumber(handler, "max_attempts", rewriting);
    for (const key of ["commands", "steps"]) nested(handler, key, rewriting);
    if (!has(handler, "commands") && !has(handler, "steps")) singleStep(handler, rewriting);
    if (rewriting.isProdigy && !has(handler, "max_attempts"))
      put(handler, "max_attempts", INCOMPLETE_ATTEMPTS, handler);
  } else put(node, "on_incomplete", rewriting.rewriteSteps(handler) ?? handler);
}

/** What Prodigy does without `max_attempts`. */
const INCOMPLETE_ATTEMPTS = 2;

/** In a list, the file with the result is named at the last command. */
function resultFile(steps: { items: unknown[] }): Node | undefined {
  const last = steps.items.at(-1);
  return isMap(last) && typeof plainOf(last, "result_file") === "string"
    ? take(last, "result_file")
    : undefined;
}
