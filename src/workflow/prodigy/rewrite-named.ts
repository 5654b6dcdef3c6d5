/** Rewrites the oldest form of a step, `{name: code-review, args: [x], focus: security}`, as the prompt `/code-review x --focus security`. */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

const ACTIONS = [
  "shell",
  "claude",
  "agent",
  "write_file",
  "foreach",
  "test",
  "goal_seek",
  "analyze",
  "command",
];

export function rewriteNamed(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const name = yaml.plainOf(step, "name");
  if (ACTIONS.some((key) => yaml.has(step, key)) || typeof name !== "string") return;
  const node = yaml.take(step, "name");
  const [args, options, focus] = [
    yaml.take(step, "args"),
    yaml.take(step, "options"),
    yaml.take(step, "focus"),
  ];
  const words = yaml.isSeq(args) ? args.items.map((one) => String(yaml.isScalar(one) ? one.value : one)) : [];
  const flags = yaml.isMap(options) ? options.items.map(flagOf) : [];
  if (yaml.isScalar(focus)) flags.push(`--focus ${String(focus.value)}`);
  const prompt = [name.replace(/^\//, ""), ...words, ...inputsOf(step), ...flags].join(" ");
  yaml.put(step, "claude", `/${prompt}`, node);
  rewriting.touch();
}

/** `fix: true` is `--fix`. */
function flagOf(pair: yaml.YAMLMap["items"][number]): string {
  const value = String(pair.value);
  return value === "true" ? `--${yaml.keyText(pair)}` : `--${yaml.keyText(pair)} ${value}`;
}

/** `inputs` become words of the prompt, ordered by position, or environment variables. */
function inputsOf(step: yaml.YAMLMap): readonly string[] {
  const inputs = yaml.take(step, "inputs");
  if (!yaml.isMap(inputs)) return [];
  const words: { readonly position: number; readonly text: string }[] = [];
  for (const { value } of inputs.items) {
    if (!yaml.isMap(value)) continue;
    const [from, way] = [String(yaml.plainOf(value, "from") ?? ""), yaml.nodeAt(value, "pass_as")];
    const [argument, variable] = yaml.isMap(way)
      ? [yaml.nodeAt(way, "argument"), yaml.nodeAt(way, "environment")]
      : [];
    if (yaml.isMap(variable)) setVariable(step, String(yaml.plainOf(variable, "name")), from, value);
    else
      words.push({
        position: Number(yaml.isMap(argument) ? (yaml.plainOf(argument, "position") ?? 0) : 0),
        text: from,
      });
  }
  return words.sort((one, other) => one.position - other.position).map(({ text }) => text);
}

function setVariable(step: yaml.YAMLMap, name: string, from: string, at: yaml.YAMLMap): void {
  const env = yaml.nodeAt(step, "env");
  if (yaml.isMap(env)) yaml.put(env, name, from, at);
  else yaml.put(step, "env", yaml.mapOf(at, { [name]: from }));
}

const METADATA = ["timeout", "env", "commit_required", "continue_on_error"];

/** Rewrites `metadata: {retries: 2, timeout: 60}` as keys of the step. */
export function rewriteMetadata(step: yaml.YAMLMap, rewriting: Rewriting): void {
  const metadata = yaml.take(step, "metadata");
  if (!yaml.isMap(metadata)) return;
  rewriting.touch();
  const retries = yaml.plainOf(metadata, "retries");
  if (typeof retries === "number" && retries > 0)
    yaml.put(step, "retry", yaml.mapOf(metadata, { max_attempts: yaml.scalar(retries + 1, metadata) }));
  for (const key of METADATA) {
    const value = yaml.take(metadata, key);
    if (value !== undefined) yaml.put(step, key, value);
  }
}
