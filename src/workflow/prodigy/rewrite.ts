/**
 * Rewrites a workflow of Prodigy, the predecessor, in the format of Redrive. It edits the YAML document in place, so that
 * problems are reported at the lines of the file, and leaves a note where a meaning differs or a key has no effect.
 */
import type { Document } from "yaml";
import {
  has,
  isMap,
  isScalar,
  isSeq,
  mapOf,
  type Node,
  nodeAt,
  plainOf,
  put,
  rename,
  take,
  YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { rewriteEnvironment } from "./rewrite-environment.ts";
import { rewriteFilter, rewriteMap } from "./rewrite-map.ts";
import { rewriteDuration } from "./rewrite-numbers.ts";
import { rewritePolicy } from "./rewrite-policy.ts";
import { rewriteSteps } from "./rewrite-steps.ts";
import { collectNames, rewriteVariables } from "./rewrite-variables.ts";
import { type RewriteOptions, Rewriting } from "./rewriting.ts";

export function rewriteProdigy(document: Document, options: RewriteOptions): Rewriting {
  const rewriting = new Rewriting(options, rewriteSteps);
  if (isSeq(document.contents)) {
    document.contents = mapOf(document.contents, { steps: document.contents });
    rewriting.touch();
  }
  const root = document.contents;
  if (!(root instanceof YAMLMap)) return rewriting;
  rewriteRoot(root, rewriting);
  collectNames(root, rewriting);
  rewriteVariables(root, rewriting);
  return rewriting;
}

function rewriteRoot(root: YAMLMap, rewriting: Rewriting): void {
  if (rename(root, "commands", "steps")) rewriting.touch();
  rewriteMode(root, rewriting);
  rewriteEnvironment(root, rewriting);
  const version = take(root, "version");
  if (version !== undefined) rewriting.warn(version, "version has no effect: there is one format");
  const map = nodeAt(root, "map");
  if (isMap(map)) rewriteMap(root, map, rewriting);
  rewritePolicy(root, rewriting);
  for (const key of ["setup", "reduce", "merge"]) rewritePhase(root, key, rewriting);
  rewriting.isSequence = has(root, "steps");
  namedCommands(nodeAt(root, "steps"), rewriting);
  const steps = rewriteSteps(nodeAt(root, "steps"), rewriting);
  if (steps !== undefined) put(root, "steps", steps);
  if (isMap(map)) rewriteFilter(map, rewriting);
}

/** Keys that Prodigy does not have: a file with one of them was written for Redrive. */
const OWN_KEYS = ["id_field", "isolation", "keep", "keep_worktrees", "remote"];

/** `capture_outputs: {count: 0}` is `capture: count` at the first step. */
function captureOutputs(phase: YAMLMap, rewriting: Rewriting): void {
  const outputs = take(phase, "capture_outputs");
  if (!isMap(outputs)) return;
  rewriting.touch();
  const steps = nodeAt(phase, "commands") ?? nodeAt(phase, "steps");
  for (const { key, value } of outputs.items) {
    const settings = isMap(value) ? value.items.length : 0;
    const index = isMap(value) ? plainOf(value, "command_index") : isScalar(value) ? value.value : undefined;
    const step = isSeq(steps) && typeof index === "number" ? steps.items[index] : undefined;
    const isPlain =
      settings <= 1 || (isMap(value) && settings === 2 && plainOf(value, "source") === "stdout");
    if (!isMap(step) || !isPlain || has(step, "capture")) {
      rewriting.refuse(
        value as Node,
        "this capture cannot be converted. Write capture at its step, and extract a part of the output in the script, for example with jq or sed",
      );
      continue;
    }
    put(step, "capture", String(isScalar(key) ? key.value : key), value as Node);
  }
}

/** In a list of steps, `code-review` is the prompt `/code-review`. */
function namedCommands(steps: Node | undefined, rewriting: Rewriting): void {
  if (!isSeq(steps)) return;
  for (const step of steps.items) {
    if (!isScalar(step) || typeof step.value !== "string" || step.value.startsWith("/")) continue;
    step.value = `/${step.value}`;
    rewriting.touch();
  }
}

function rewriteMode(root: YAMLMap, rewriting: Rewriting): void {
  const mode = plainOf(root, "mode");
  const map = nodeAt(root, "map");
  const isOurs = isMap(map) && OWN_KEYS.some((key) => has(map, key));
  if (mode === "mapreduce" && !isOurs) rewriting.touch();
  const isPlain = mode === "standard" || mode === "sequential" || mode === "workflow";
  if (isPlain && !has(root, "map")) take(root, "mode");
}

function rewritePhase(root: YAMLMap, key: string, rewriting: Rewriting): void {
  const phase = nodeAt(root, key);
  if (phase === undefined) return;
  if (!isMap(phase)) {
    const steps = rewriteSteps(phase, rewriting);
    if (steps !== undefined) put(root, key, steps);
    return;
  }
  captureOutputs(phase, rewriting);
  rewriteDuration(phase, "timeout", rewriting);
  if (rename(phase, "steps", "commands")) rewriting.touch();
  const commands = rewriteSteps(nodeAt(phase, "commands"), rewriting);
  if (commands !== undefined) put(phase, "commands", commands);
}
