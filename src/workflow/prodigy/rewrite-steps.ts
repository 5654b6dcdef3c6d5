/** Rewrites Prodigy's steps: short forms, `test`, `goal_seek`, nested `foreach`, and renamed options. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { conditionToCel } from "./conditions.ts";
import { nested, nestedPair } from "./nested-steps.ts";
import { rewriteAttempts } from "./rewrite-attempts.ts";
import { rewriteGoal } from "./rewrite-goal.ts";
import { rewriteFailureHandler, rewriteValidation } from "./rewrite-handlers.ts";
import { rewriteMetadata, rewriteNamed } from "./rewrite-named.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { rewriteRetry } from "./rewrite-retry.ts";
import type { Rewriting } from "./rewriting.ts";

/** Rewrites a list of steps, or a single step, and returns it as a list. */
export function rewriteSteps(node: yaml.Node | undefined, rewriting: Rewriting): yaml.YAMLSeq | undefined {
  if (node === undefined) return undefined;
  if (!yaml.isSeq(node))
    return yaml.listOf(
      node,
      rewriteStep(node, rewriting).flatMap((step) => bothActions(step, rewriting)),
    );
  node.items = node.items.flatMap((item) => rewriteStep(item as yaml.Node, rewriting));
  return node;
}

function rewriteStep(node: yaml.Node, rewriting: Rewriting): yaml.Node[] {
  if (yaml.isScalar(node) && typeof node.value === "string") return [shortStep(node, rewriting)];
  if (!yaml.isMap(node)) return [node];
  rewriteNamed(node, rewriting);
  rewriteMetadata(node, rewriting);
  testStep(node, rewriting);
  if (yaml.has(node, "goal_seek")) rewriteGoal(node, rewriting);
  if (yaml.has(node, "analyze")) analysis(node, rewriting);
  if (isOnlyValidation(node)) {
    yaml.put(node, "shell", "true", node);
    rewriting.touch();
  }
  rewriteOptions(node, rewriting);
  rewriteForeach(node, rewriting);
  for (const key of ["on_success"]) nested(node, key, rewriting);
  const codes = yaml.nodeAt(node, "on_exit_code");
  if (yaml.isMap(codes)) for (const pair of codes.items) nestedPair(pair, rewriting);
  rewriteValidation(node, rewriting);
  rewriteFailureHandler(node, rewriting);
  return [node, ...outputSteps(node, rewriting)];
}

/** `validate` may be a separate step, which checks the work of the preceding steps. */
function isOnlyValidation(step: yaml.YAMLMap): boolean {
  return yaml.has(step, "validate") && !STEP_ACTIONS.some((key) => yaml.has(step, key));
}

const STEP_ACTIONS = ["shell", "claude", "agent", "write_file", "foreach"];

/**
 * `outputs: {spec: {file_pattern: "*.md"}}` refers to a file that the step has changed. An additional step
 * captures its name.
 */
function outputSteps(step: yaml.YAMLMap, rewriting: Rewriting): yaml.Node[] {
  const outputs = yaml.take(step, "outputs");
  if (!yaml.isMap(outputs)) return [];
  rewriting.touch();
  const id = yaml.plainOf(step, "id");
  if (typeof id !== "string" || !/^[A-Za-z_]\w*$/.test(id)) {
    rewriting.refuse(
      outputs,
      "outputs needs an id of letters, digits and _ at its step, such as id: coverage",
    );
    return [];
  }
  const when = yaml.nodeAt(step, "when"); // a step that is skipped has no outputs
  return outputs.items.flatMap(({ key, value }) => {
    if (yaml.isMap(value) && yaml.plainOf(value, "extract_from") === "stdout") {
      const shell = `printf '%s\\n' "\${steps.${id}.output}"`;
      return yaml.mapOf(outputs, {
        shell,
        when,
        capture: `${id}.${String(yaml.isScalar(key) ? key.value : key)}`,
      });
    }
    const pattern = filePattern(value as yaml.Node);
    if (pattern === undefined) {
      rewriting.refuse(value as yaml.Node, NO_PATTERN);
      return [];
    }
    return yaml.mapOf(outputs, {
      shell: fileScript(id, pattern),
      when,
      capture: `${id}.${String(yaml.isScalar(key) ? key.value : key)}`,
    });
  });
}

/** Prints the first matching file that the step has added or modified. */
function fileScript(id: string, pattern: string): string {
  const files = ["added", "modified"].map((kind) => `\${steps.${id}.files_${kind}|match:${pattern}|words}`);
  const message = `no file that this step has changed matches ${pattern}`.replaceAll("'", "");
  return `set -- ${files.join(" ")}\n[ $# -gt 0 ] || { echo '${message}' >&2; exit 1; }\nprintf '%s\\n' "$1"`;
}

const NO_PATTERN =
  'this output cannot be read. Write file_pattern: "*.md" for a file that the step writes, or capture at the step for what it prints';

/** The pattern may be nested in `extract_from: {git_commit: …}`. */
function filePattern(node: yaml.Node): string | undefined {
  if (!yaml.isMap(node)) return undefined;
  const pattern = yaml.plainOf(node, "file_pattern");
  if (typeof pattern === "string") return pattern;
  const inner = yaml.nodeAt(node, "extract_from") ?? yaml.nodeAt(node, "git_commit");
  return inner === undefined ? undefined : filePattern(inner);
}

/** `"/fix the tests"` is a prompt; any other text is a script. */
export function shortStep(node: yaml.Node, rewriting: Rewriting): yaml.Node {
  rewriting.touch();
  const text = yaml.isScalar(node) ? String(node.value) : "";
  return yaml.mapOf(node, { [text.startsWith("/") ? "claude" : "shell"]: node });
}

/** `test: {command, on_failure}` is an older form of `shell` with `on_failure`. */
function testStep(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const test = yaml.take(step, "test");
  if (test === undefined) return;
  rewriting.touch();
  if (!yaml.isMap(test)) {
    yaml.put(step, "shell", test);
    return;
  }
  const command = yaml.take(test, "command");
  if (command !== undefined) yaml.put(step, "shell", command);
  const handler = yaml.take(test, "on_failure");
  if (handler !== undefined) yaml.put(step, "on_failure", handler);
}

function analysis(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const settings = yaml.take(step, "analyze");
  rewriting.warn(
    settings ?? step,
    "analyze has no effect: Redrive does not analyse a code base. Run your own tool in a shell step",
  );
  yaml.put(step, "shell", "true # analyze has no effect", settings);
}

/** Rewrites options with a different name or form. */
function rewriteOptions(step: yaml.YAMLMap, rewriting: Rewriting): void {
  for (const [key, to] of [
    ["cwd", "working_dir"],
    ["condition", "when"],
    ["retry_config", "retry"],
  ] as const)
    if (yaml.rename(step, key, to)) rewriting.touch();
  rewriteDuration(step, "timeout", rewriting);
  rewriteAttempts(step, rewriting);
  rewriteRetry(yaml.nodeAt(step, "retry"), rewriting);
  rewriteWhen(step, rewriting);
  for (const key of ["capture", "capture_output"]) impliedCapture(step, key, rewriting);
  captureFormat(step, rewriting);
  captureStreams(step, rewriting);
  const file = yaml.nodeAt(step, "write_file");
  if (yaml.isMap(file)) {
    createdFolders(file, rewriting);
    structuredContent(file, rewriting);
    outsidePath(file, "path", rewriting);
  }
  outsidePath(step, "working_dir", rewriting);
  for (const [key, why] of Object.entries(WITHOUT_EFFECT)) {
    const value = yaml.take(step, key);
    if (value !== undefined) rewriting.warn(value, `${key} has no effect: ${why}`);
  }
  for (const key of ["continue_on_error", "ignore_errors", "allow_failure"])
    ignoredFailure(step, key, rewriting);
}

/** The output of a step can always be read as `${shell.output}` or `${claude.output}`. */
const ALWAYS_CAPTURED = /^(?:shell|claude|last|handler|test)\.output$/;

/** Whether a capture is redundant, or has a different name in each round, so that no step can read it. */
function impliedCapture(step: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const name = yaml.nodeAt(step, key);
  if (!yaml.isScalar(name)) return;
  const text = String(name.value);
  const isVariable = text.includes("${");
  if (typeof name.value !== "boolean" && !isVariable && !ALWAYS_CAPTURED.test(text)) return;
  yaml.take(step, key);
  rewriting.touch();
  if (isVariable)
    rewriting.warn(
      name,
      `${key} has no effect: the name of a capture cannot contain a variable. Write a file for each: output_file: results/NAME.txt`,
    );
}

/** `text` is an older name of `string`. Without a capture name, the format has no effect. */
function captureFormat(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const format = yaml.nodeAt(step, "capture_format");
  if (!yaml.isScalar(format)) return;
  if (format.value === "text") {
    format.value = "string";
    rewriting.touch();
  }
  if (yaml.has(step, "capture") || yaml.has(step, "capture_output") || !rewriting.isProdigy) return;
  yaml.take(step, "capture_format");
  rewriting.warn(format, "capture_format has no effect without the name of a capture: capture: NAME");
}

/** A step may use and write files only inside the folder of its phase. */
function outsidePath(map: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const node = yaml.nodeAt(map, key);
  if (!yaml.isScalar(node) || typeof node.value !== "string" || !rewriting.isProdigy) return;
  const start = /^\$\{(?:env[.:])?(\w+)\}/.exec(node.value)?.[1];
  const text = (start === undefined ? undefined : rewriting.environment.get(start)) ?? node.value;
  if (!/^[/~]/.test(text)) return;
  rewriting.warn(
    node,
    `${key} must be below the folder of the run: this step will fail. Use a script for other folders`,
  );
}

/** Converts content that is written as YAML to JSON text, which is also valid YAML. */
function structuredContent(file: yaml.YAMLMap, rewriting: Rewriting): void {
  const content = yaml.nodeAt(file, "content");
  if (!yaml.isMap(content) && !yaml.isSeq(content)) return;
  rewriting.touch();
  yaml.put(file, "content", JSON.stringify(content.toJSON(), null, 2), content);
}

const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  context: "an agent reads only its prompt. Put what it needs into the prompt",
  analysis: "Redrive does not analyse a code base",
  auto_commit: "what a step leaves uncommitted is committed at the end of the item",
  commit_config: "what a step leaves uncommitted is committed at the end of the item, with its own message",
  temporary: "the variables of a step always apply to this step only",
  clear_env: "a step inherits the environment. Write `env -i` in its script",
  git_context: "name the files in the prompt, for example with `git diff --name-only`",
};

/** Exit code, success and duration are always available; standard error is never part of the capture. */
function captureStreams(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const streams = yaml.take(step, "capture_streams");
  if (streams === undefined) return;
  rewriting.touch();
  const isError = yaml.isMap(streams)
    ? yaml.plainOf(streams, "stderr") === true
    : yaml.isScalar(streams) && ["stderr", "both"].includes(String(streams.value));
  if (isError)
    rewriting.warn(
      streams,
      "a capture has only standard output. Read the error output as ${steps.NAME.stderr}, or add 2>&1 to the script",
    );
}

function createdFolders(file: yaml.YAMLMap, rewriting: Rewriting): void {
  const created = yaml.take(file, "create_dirs");
  if (created === undefined) return;
  rewriting.touch();
  if (yaml.isScalar(created) && created.value === false)
    rewriting.warn(created, "create_dirs: false has no effect: write_file creates the folders of its file");
}

function ignoredFailure(step: yaml.YAMLMap, key: string, rewriting: Rewriting): void {
  const value = yaml.take(step, key);
  if (value === undefined) return;
  rewriting.touch();
  if (!yaml.isScalar(value) || value.value !== true) return;
  const handler = yaml.nodeAt(step, "on_failure");
  if (yaml.isMap(handler)) yaml.put(handler, "fail_workflow", false, value);
  else if (handler === undefined) yaml.put(step, "on_failure", yaml.scalar(true, value));
}

function rewriteWhen(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const node = yaml.nodeAt(step, "when");
  if (!yaml.isScalar(node)) return;
  if (typeof node.value === "boolean") {
    node.value = String(node.value);
    rewriting.touch();
  }
  if (typeof node.value !== "string" || !/\$\{|(^|\s)(AND|OR|NOT|contains|matches|=~)\s/.test(node.value))
    return;
  const cel = conditionToCel(node.value, "when");
  if (cel === undefined) {
    rewriting.refuse(
      node,
      'this condition cannot be read. Compare variables with ==, !=, <, > and join them with && and ||: ${score} >= 80 && ${branch} == "main"',
    );
    yaml.take(step, "when");
    return;
  }
  node.value = cel;
  rewriting.touch();
}

const LISTS = ["foreach", "input"];

/** `foreach: {foreach: COMMAND, do: […]}`: the elements are the lines that the command prints. */
function rewriteForeach(step: yaml.YAMLMap, rewriting: Rewriting): void {
  let foreach = yaml.nodeAt(step, "foreach");
  if (foreach !== undefined && !yaml.isMap(foreach)) {
    foreach = yaml.mapOf(foreach, { foreach });
    for (const key of ["do", "steps", "parallel", "continue_on_error", "max_items"]) {
      const value = yaml.take(step, key);
      if (value !== undefined) yaml.put(foreach as yaml.YAMLMap, key, value);
    }
    yaml.put(step, "foreach", foreach);
    rewriting.touch();
  }
  if (!yaml.isMap(foreach)) return;
  for (const key of LISTS) {
    const value = yaml.take(foreach, key);
    if (value === undefined) continue;
    rewriting.touch();
    yaml.put(foreach, "items", yaml.isScalar(value) ? yaml.mapOf(value, { command: value }) : value);
    yaml.put(foreach, "own_item", true, value);
  }
  const parallel = yaml.nodeAt(foreach, "parallel");
  if (yaml.isScalar(parallel) && typeof parallel.value === "boolean") {
    parallel.value = parallel.value ? FOREACH_PARALLEL : 1;
    rewriting.touch();
  }
  for (const key of ["parallel", "max_items"]) rewriteNumber(foreach, key, rewriting);
  nested(foreach, "do", rewriting);
  nested(foreach, "steps", rewriting);
}

/** Prodigy's default concurrency for `parallel: true`. */
const FOREACH_PARALLEL = 10;

/** A handler with `shell` and `claude` runs both, in this order. Its options apply to the last one. */
function bothActions(step: yaml.Node, rewriting: Rewriting): yaml.Node[] {
  if (!yaml.isMap(step) || !yaml.has(step, "shell") || !yaml.has(step, "claude")) return [step];
  rewriting.touch();
  const shell = yaml.take(step, "shell");
  return [yaml.mapOf(shell, { shell, when: yaml.nodeAt(step, "when") }), step];
}
