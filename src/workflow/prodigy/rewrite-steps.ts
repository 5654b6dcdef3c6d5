/** Rewrites the steps of Prodigy: short forms, `test`, `goal_seek`, nested `foreach`, and options under other names. */
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
  scalar,
  take,
  type YAMLMap,
  type YAMLSeq,
} from "../../yaml/edit-yaml.ts";
import { conditionToCel } from "./conditions.ts";
import { nested, nestedPair } from "./nested-steps.ts";
import { rewriteFailureHandler, rewriteValidation } from "./rewrite-handlers.ts";
import { rewriteDuration, rewriteNumber } from "./rewrite-numbers.ts";
import { rewriteRetry } from "./rewrite-retry.ts";
import type { Rewriting } from "./rewriting.ts";

const ACTIONS = ["shell", "claude", "agent", "write_file", "foreach"];

/** Rewrites a list of steps, or a single step, and returns it as a list. */
export function rewriteSteps(node: Node | undefined, rewriting: Rewriting): YAMLSeq | undefined {
  if (node === undefined) return undefined;
  if (!isSeq(node))
    return listOf(
      node,
      rewriteStep(node, rewriting).flatMap((step) => bothActions(step, rewriting)),
    );
  node.items = node.items.flatMap((item) => rewriteStep(item as Node, rewriting));
  return node;
}

function rewriteStep(node: Node, rewriting: Rewriting): Node[] {
  if (isScalar(node) && typeof node.value === "string") return [shortStep(node, rewriting)];
  if (!isMap(node)) return [node];
  namedCommand(node, rewriting);
  testStep(node, rewriting);
  if (has(node, "goal_seek")) goalSeek(node, rewriting);
  if (has(node, "analyze")) analysis(node, rewriting);
  rewriteOptions(node, rewriting);
  rewriteForeach(node, rewriting);
  for (const key of ["on_success"]) nested(node, key, rewriting);
  const codes = nodeAt(node, "on_exit_code");
  if (isMap(codes)) for (const pair of codes.items) nestedPair(pair, rewriting);
  rewriteValidation(node, rewriting);
  rewriteFailureHandler(node, rewriting);
  return [node, ...outputSteps(node, rewriting)];
}

/** `outputs: {spec: {file_pattern: "*.md"}}` is the file of the last commit that matches; a step after it captures the name. */
function outputSteps(step: YAMLMap, rewriting: Rewriting): Node[] {
  const outputs = take(step, "outputs");
  if (!isMap(outputs)) return [];
  rewriting.touch();
  const id = plainOf(step, "id");
  if (typeof id !== "string" || !/^[A-Za-z_]\w*$/.test(id)) {
    rewriting.refuse(
      outputs,
      "outputs needs an id of letters, digits and _ at its step, such as id: coverage",
    );
    return [];
  }
  return outputs.items.map(({ key, value }) => {
    const pattern = isMap(value) ? String(plainOf(value, "file_pattern")) : "";
    const quoted = `':(glob)**/${pattern.replaceAll("'", "'\\''")}'`;
    const shell = `git log -1 --name-only --format= -- ${quoted} | head -n 1`;
    return mapOf(outputs, { shell, capture: `${id}.${String(isScalar(key) ? key.value : key)}` });
  });
}

/** `"/fix the tests"` is a prompt, any other text a script. */
export function shortStep(node: Node, rewriting: Rewriting): Node {
  rewriting.touch();
  const text = isScalar(node) ? String(node.value) : "";
  return mapOf(node, { [text.startsWith("/") ? "claude" : "shell"]: node });
}

/** The oldest form, `{name: code-review, args: [x], focus: security}`, is a prompt `/code-review x --focus security`. */
function namedCommand(step: YAMLMap, rewriting: Rewriting): void {
  const name = plainOf(step, "name");
  const hasAction = [...ACTIONS, "test", "goal_seek", "analyze", "command"].some((key) => has(step, key));
  if (hasAction || typeof name !== "string") return;
  const node = take(step, "name");
  const [args, options, focus] = [take(step, "args"), take(step, "options"), take(step, "focus")];
  const words = isSeq(args) ? args.items.map((one) => String(isScalar(one) ? one.value : one)) : [];
  const flags = isMap(options)
    ? options.items.map(({ key, value }) => ` --${String(key)} ${String(value)}`)
    : [];
  if (isScalar(focus)) flags.push(` --focus ${String(focus.value)}`);
  put(step, "claude", `/${[name.replace(/^\//, ""), ...words].join(" ")}${flags.join("")}`, node);
  const metadata = take(step, "metadata");
  if (isMap(metadata)) {
    const retries = plainOf(metadata, "retries");
    if (typeof retries === "number" && retries > 0)
      put(step, "retry", mapOf(metadata, { max_attempts: retries + 1 }));
    for (const key of ["timeout", "env", "commit_required", "continue_on_error"]) {
      const value = take(metadata, key);
      if (value !== undefined) put(step, key, value);
    }
  }
  rewriting.touch();
}

/** `test: {command, on_failure}` is an older way to write `shell` with `on_failure`. */
function testStep(step: YAMLMap, rewriting: Rewriting): void {
  const test = take(step, "test");
  if (test === undefined) return;
  rewriting.touch();
  if (!isMap(test)) {
    put(step, "shell", test);
    return;
  }
  const command = take(test, "command");
  if (command !== undefined) put(step, "shell", command);
  const handler = take(test, "on_failure");
  if (handler !== undefined) put(step, "on_failure", handler);
}

/** Repeats a command until the score of another one reaches the threshold. */
function goalSeek(step: YAMLMap, rewriting: Rewriting): void {
  const goal = take(step, "goal_seek");
  if (!isMap(goal)) return;
  rewriting.touch();
  const action = has(goal, "claude") ? "claude" : "shell";
  const command = take(goal, action);
  const attempts = plainOf(goal, "max_attempts");
  const fails = plainOf(goal, "fail_on_incomplete");
  const again = mapOf(goal, {
    [action]: isScalar(command) ? scalar(command.value as string, command) : undefined,
    max_attempts: Math.max(1, (typeof attempts === "number" ? attempts : 3) - 1),
    fail_workflow: fails === false ? false : undefined,
  });
  if (command !== undefined) put(step, action, command);
  const timeout = take(goal, "timeout_seconds");
  if (timeout !== undefined) put(step, "timeout", timeout);
  const title = take(goal, "goal");
  if (title !== undefined && !has(step, "name")) put(step, "name", title);
  put(
    step,
    "validate",
    mapOf(goal, { shell: take(goal, "validate"), threshold: take(goal, "threshold"), on_incomplete: again }),
  );
}

function analysis(step: YAMLMap, rewriting: Rewriting): void {
  const settings = take(step, "analyze");
  rewriting.warn(
    settings ?? step,
    "analyze has no effect: Redrive does not analyse a code base. Run a tool of your own in a shell step",
  );
  put(step, "shell", "true # analyze has no effect", settings);
}

/** Options with another name or another form. */
function rewriteOptions(step: YAMLMap, rewriting: Rewriting): void {
  for (const [key, to] of [
    ["cwd", "working_dir"],
    ["condition", "when"],
    ["retry_config", "retry"],
  ] as const)
    if (rename(step, key, to)) rewriting.touch();
  rewriteDuration(step, "timeout", rewriting);
  rewriteRetry(nodeAt(step, "retry"), rewriting);
  rewriteWhen(step, rewriting);
  for (const key of ["capture", "capture_output"]) {
    if (typeof plainOf(step, key) !== "boolean") continue;
    take(step, key); // the output of the last step is always ${shell.output} or ${claude.output}
    rewriting.touch();
  }
  captureStreams(step, rewriting);
  const file = nodeAt(step, "write_file");
  if (isMap(file)) createdFolders(file, rewriting);
  for (const [key, why] of Object.entries(WITHOUT_EFFECT)) {
    const value = take(step, key);
    if (value !== undefined) rewriting.warn(value, `${key} has no effect: ${why}`);
  }
  for (const key of ["continue_on_error", "ignore_errors", "allow_failure"])
    ignoredFailure(step, key, rewriting);
}

const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  analysis: "Redrive does not analyse a code base",
  auto_commit: "what a step leaves uncommitted is committed at the end of the item",
  commit_config: "what a step leaves uncommitted is committed at the end of the item, with its own message",
  temporary: "the variables of a step are always for this step only",
  clear_env: "a step keeps the environment. Write `env -i` in its script",
  git_context: "name the files in the prompt, for example with `git diff --name-only`",
};

/** Exit code, success and duration can always be read; the error output is never part of the capture. */
function captureStreams(step: YAMLMap, rewriting: Rewriting): void {
  const streams = take(step, "capture_streams");
  if (streams === undefined) return;
  rewriting.touch();
  const isError = isMap(streams)
    ? plainOf(streams, "stderr") === true
    : isScalar(streams) && ["stderr", "both"].includes(String(streams.value));
  if (isError)
    rewriting.warn(
      streams,
      "a capture has only standard output. Read the error output as ${steps.NAME.stderr}, or add 2>&1 to the script",
    );
}

function createdFolders(file: YAMLMap, rewriting: Rewriting): void {
  const created = take(file, "create_dirs");
  if (created === undefined) return;
  rewriting.touch();
  if (isScalar(created) && created.value === false)
    rewriting.warn(created, "create_dirs: false has no effect: write_file creates the folders of its file");
}

function ignoredFailure(step: YAMLMap, key: string, rewriting: Rewriting): void {
  const value = take(step, key);
  if (value === undefined) return;
  rewriting.touch();
  if (!isScalar(value) || value.value !== true) return;
  const handler = nodeAt(step, "on_failure");
  if (isMap(handler)) put(handler, "fail_workflow", false, value);
  else if (handler === undefined) put(step, "on_failure", scalar(true, value));
}

function rewriteWhen(step: YAMLMap, rewriting: Rewriting): void {
  const node = nodeAt(step, "when");
  if (!isScalar(node)) return;
  if (typeof node.value === "boolean") {
    node.value = String(node.value);
    rewriting.touch();
  }
  if (typeof node.value !== "string" || !/\$\{|(^|\s)(AND|OR|NOT|contains|matches)\s/.test(node.value))
    return;
  const cel = conditionToCel(node.value, "when");
  if (cel === undefined) {
    rewriting.refuse(
      node,
      'this condition cannot be read. Compare variables with ==, !=, <, > and join them with && and ||: ${score} >= 80 && ${branch} == "main"',
    );
    take(step, "when");
    return;
  }
  node.value = cel;
  rewriting.touch();
}

const LISTS = ["foreach", "input"];

/** `foreach: {foreach: COMMAND, do: […]}`: the elements are the lines that the command prints. */
function rewriteForeach(step: YAMLMap, rewriting: Rewriting): void {
  let foreach = nodeAt(step, "foreach");
  if (foreach !== undefined && !isMap(foreach)) {
    foreach = mapOf(foreach, { foreach });
    for (const key of ["do", "steps", "parallel", "continue_on_error", "max_items"]) {
      const value = take(step, key);
      if (value !== undefined) put(foreach as YAMLMap, key, value);
    }
    put(step, "foreach", foreach);
    rewriting.touch();
  }
  if (!isMap(foreach)) return;
  for (const key of LISTS) {
    const value = take(foreach, key);
    if (value === undefined) continue;
    rewriting.touch();
    put(foreach, "items", isScalar(value) ? mapOf(value, { command: value }) : value);
    put(foreach, "own_item", true, value);
  }
  const parallel = nodeAt(foreach, "parallel");
  if (isScalar(parallel) && typeof parallel.value === "boolean") {
    parallel.value = parallel.value ? FOREACH_PARALLEL : 1;
    rewriting.touch();
  }
  for (const key of ["parallel", "max_items"]) rewriteNumber(foreach, key, rewriting);
  nested(foreach, "do", rewriting);
  nested(foreach, "steps", rewriting);
}

/** What `parallel: true` means in Prodigy. */
const FOREACH_PARALLEL = 10;

/** A handler with `shell` and `claude` runs both, in this order. Options stay with the last one. */
function bothActions(step: Node, rewriting: Rewriting): Node[] {
  if (!isMap(step) || !has(step, "shell") || !has(step, "claude")) return [step];
  rewriting.touch();
  const shell = take(step, "shell");
  return [mapOf(shell, { shell, when: nodeAt(step, "when") }), step];
}
