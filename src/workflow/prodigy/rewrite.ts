/**
 * Rewrites a workflow of Prodigy, Redrive's predecessor, to the format of Redrive. Edits the YAML document in
 * place, so that problems are reported with line numbers, and adds a note where a meaning differs or a key
 * has no effect.
 */
import type { Document } from "yaml";
import * as yaml from "../../yaml/edit-yaml.ts";
import { composeWorkflow } from "./compose.ts";
import { rewriteComputedEnvironment } from "./computed-environment.ts";
import { rewriteComputed } from "./computed-variables.ts";
import { rewriteCaptures } from "./rewrite-captures.ts";
import { rewriteComposition } from "./rewrite-composition.ts";
import { rewriteEnvironment } from "./rewrite-environment.ts";
import { rewriteFilter, rewriteMap } from "./rewrite-map.ts";
import { rewriteDuration } from "./rewrite-numbers.ts";
import { rewritePolicy } from "./rewrite-policy.ts";
import { rewriteSteps } from "./rewrite-steps.ts";
import { collectNames, rewriteVariables } from "./rewrite-variables.ts";
import { type RewriteOptions, Rewriting } from "./rewriting.ts";

export function rewriteProdigy(document: Document, options: RewriteOptions): Rewriting {
  const rewriting = new Rewriting(options, rewriteSteps);
  const isList = yaml.isSeq(document.contents);
  if (yaml.isSeq(document.contents)) {
    document.contents = yaml.mapOf(document.contents, { steps: document.contents });
    rewriting.touch();
  }
  const root = document.contents;
  if (!(root instanceof yaml.YAMLMap)) return rewriting;
  withoutWrapper(root, rewriting);
  const isComposed = composeWorkflow(root, document, rewriting);
  const ends = rewriteRoot(root, rewriting, isList || isComposed);
  rewriteComputedEnvironment(root, rewriting);
  collectNames(root, rewriting);
  rewriteComputed(root, rewriting);
  const steps = yaml.nodeAt(root, "steps");
  if (yaml.isSeq(steps)) rewriting.stepStarts = [0, ...ends.map((end) => steps.items.indexOf(end) + 1)];
  rewriteVariables(root, rewriting);
  return rewriting;
}

/** Returns the last step here of each step of the file. `isTheirForm`: only Prodigy has such files. */
function rewriteRoot(root: yaml.YAMLMap, rewriting: Rewriting, isTheirForm: boolean): readonly unknown[] {
  const isTheirs = isTheirForm || yaml.has(root, "mode") || yaml.has(root, "commands");
  rewriting.hasTheirDefaults = isTheirs && !isOurs(root);
  if (yaml.rename(root, "commands", "steps")) rewriting.touch();
  if (yaml.rename(root, "retry_defaults", "retry")) rewriting.touch();
  if (yaml.rename(root, "max_iterations", "iterations")) rewriting.touch();
  rewriteMode(root, rewriting);
  rewriteComposition(root, rewriting);
  rewriteEnvironment(root, rewriting);
  const withoutEffect = { ...WITHOUT_EFFECT, ...(rewriting.hasTheirDefaults && ONLY_THEIRS) };
  for (const [key, why] of Object.entries(withoutEffect)) {
    const value = yaml.take(root, key);
    if (value !== undefined) rewriting.warn(value, `${key} has no effect: ${why}`);
  }
  const map = yaml.nodeAt(root, "map");
  if (yaml.isMap(map)) rewriteMap(root, map, rewriting);
  rewritePolicy(root, rewriting);
  for (const key of ["setup", "reduce"]) rewritePhase(root, key, rewriting);
  mergePhase(root, rewriting);
  rewriting.isSequence = yaml.has(root, "steps");
  namedCommands(yaml.nodeAt(root, "steps"), rewriting);
  const ends = rewriteOneByOne(root, rewriting);
  if (yaml.isMap(map)) rewriteFilter(map, rewriting);
  return ends;
}

function rewriteOneByOne(root: yaml.YAMLMap, rewriting: Rewriting): readonly unknown[] {
  const steps = yaml.nodeAt(root, "steps");
  if (!yaml.isSeq(steps)) {
    const rewritten = rewriteSteps(steps, rewriting);
    if (rewritten !== undefined) yaml.put(root, "steps", rewritten);
    return rewritten?.items.slice(-1) ?? [];
  }
  const made = steps.items.map(
    (item) => rewriteSteps(yaml.listOf(item as yaml.Node, [item as yaml.Node]), rewriting)?.items ?? [],
  );
  steps.items = made.flat();
  return made.map((items) => items.at(-1));
}

const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  version: "there is only one format",
  checkpoint: "every change of an item is stored immediately, and a run can always be resumed",
};

/** Keys that its pages show at the top, and that it ignores there. Elsewhere they are mistakes. */
const ONLY_THEIRS: Readonly<Record<string, string>> = {
  timeout: "write it at setup, reduce and merge, and agent_timeout_secs in map",
  max_parallel: "write it in map",
};

/** `workflow: {commands: […]}` is an older form with the same keys as the top level. */
function withoutWrapper(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const inner = yaml.nodeAt(root, "workflow");
  if (!yaml.isMap(inner) || yaml.has(root, "commands") || yaml.has(root, "steps")) return;
  yaml.take(root, "workflow");
  root.items.push(...inner.items);
  rewriting.touch();
}

/** Keys that Prodigy does not have. A file with one of them was written for Redrive. */
const OWN_KEYS = ["id_field", "isolation", "keep", "keep_worktrees", "remote", "budget", "iterations"];

function isOurs(root: yaml.YAMLMap): boolean {
  return [root, ...yaml.mapsOf(yaml.nodeAt(root, "map"))].some((map) =>
    OWN_KEYS.some((key) => yaml.has(map, key)),
  );
}

/** In a list of steps, `code-review` is the prompt `/code-review`. */
function namedCommands(steps: yaml.Node | undefined, rewriting: Rewriting): void {
  if (!yaml.isSeq(steps)) return;
  for (const step of steps.items) {
    if (!yaml.isScalar(step) || typeof step.value !== "string" || step.value.startsWith("/")) continue;
    step.value = `/${step.value}`;
    rewriting.touch();
  }
}

function rewriteMode(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const mode = yaml.plainOf(root, "mode");
  if (mode === "mapreduce" && !isOurs(root)) rewriting.touch();
  const isPlain = mode === "standard" || mode === "sequential" || mode === "workflow";
  if (isPlain && !yaml.has(root, "map")) yaml.take(root, "mode");
}

/** A failure before the merge prevents the merge, as in Prodigy. */
function mergePhase(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const { hasTheirDefaults } = rewriting;
  rewriting.hasTheirDefaults = false;
  rewritePhase(root, "merge", rewriting);
  rewriting.hasTheirDefaults = hasTheirDefaults;
}

function rewritePhase(root: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const phase = yaml.nodeAt(root, key);
  if (phase === undefined) return;
  if (!yaml.isMap(phase)) {
    const steps = rewriteSteps(phase, rewriting);
    if (steps !== undefined) yaml.put(root, key, steps);
    return;
  }
  rewriteCaptures(phase, rewriting);
  rewriteDuration(phase, "timeout", rewriting);
  if (yaml.rename(phase, "steps", "commands")) rewriting.touch();
  const commands = rewriteSteps(yaml.nodeAt(phase, "commands"), rewriting);
  if (commands !== undefined) yaml.put(phase, "commands", commands);
}
