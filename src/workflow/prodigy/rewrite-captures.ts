/**
 * Rewrites `capture_outputs` of setup as captures of its steps, with additional steps that extract part of an
 * output.
 */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteCaptures(phase: yaml.YAMLMap, rewriting: Rewriting): void {
  const outputs = yaml.take(phase, "capture_outputs");
  if (!yaml.isMap(outputs)) return;
  rewriting.touch();
  const steps = yaml.nodeAt(phase, "commands") ?? yaml.nodeAt(phase, "steps");
  const after = new Map<unknown, yaml.YAMLMap[]>();
  for (const pair of outputs.items) {
    const value = pair.value as yaml.Node;
    const index = yaml.isMap(value)
      ? yaml.plainOf(value, "command_index")
      : yaml.isScalar(value)
        ? value.value
        : undefined;
    const step = yaml.isSeq(steps) && typeof index === "number" ? steps.items[index] : undefined;
    if (!yaml.isMap(step)) {
      rewriting.refuse(value, "there is no command with this index. Write capture: NAME at the step itself");
      continue;
    }
    const extracting = captureAt(step, yaml.keyText(pair), value, rewriting);
    if (extracting !== undefined) after.set(step, [...(after.get(step) ?? []), extracting]);
  }
  if (yaml.isSeq(steps))
    steps.items = steps.items.flatMap((step: unknown) => [step, ...(after.get(step) ?? [])]);
}

/** Returns a step that extracts the value, unless the value is the whole output. */
function captureAt(
  step: yaml.YAMLMap,
  name: string,
  settings: yaml.Node,
  rewriting: Rewriting,
): yaml.YAMLMap | undefined {
  const format = yaml.isMap(settings)
    ? (yaml.plainOf(settings, "format") ?? LINES[String(yaml.plainOf(settings, "multiline"))])
    : undefined;
  const script = yaml.isMap(settings) ? scriptOf(settings) : undefined;
  const hasCapture = yaml.has(step, "capture") || yaml.has(step, "capture_output");
  if (script === undefined && !hasCapture) {
    yaml.put(step, "capture", name, settings);
    if (typeof format === "string" && format !== "string") yaml.put(step, "capture_format", format, settings);
    return undefined;
  }
  if (!hasCapture) yaml.put(step, "capture", rewriting.newName("output"), settings);
  const whole = String(yaml.plainOf(step, "capture") ?? yaml.plainOf(step, "capture_output"));
  const shell = `printf '%s\\n' ${sourceOf(settings, whole)}${script ?? ""}`;
  return yaml.mapOf(settings, {
    shell,
    capture: name,
    capture_format: typeof format === "string" && format !== "string" ? format : undefined,
  });
}

const LINES: Readonly<Record<string, string>> = { array: "lines" };

function sourceOf(settings: yaml.Node, name: string): string {
  const source = yaml.isMap(settings) ? yaml.plainOf(settings, "source") : undefined;
  const [output, error] = [`"\${steps.${name}.output}"`, `"\${steps.${name}.stderr}"`];
  if (source === "stderr") return error;
  if (source === "combined") return `${output} ${error}`;
  return source === "both" ? `stdout: ${output} stderr: ${error}` : output;
}

const MULTILINE: Readonly<Record<string, string>> = {
  join: "tr '\\n' ' ' | sed 's/ $//'",
  first_line: "head -n 1",
  last_line: "tail -n 1",
};

/** Returns the filter script, or undefined if the value is the whole standard output. */
function scriptOf(settings: yaml.YAMLMap): string | undefined {
  const [path, pattern, bytes, fallback] = ["json_path", "pattern", "max_size", "default"].map((key) =>
    yaml.plainOf(settings, key),
  );
  const lines = MULTILINE[String(yaml.plainOf(settings, "multiline"))];
  const filters = [
    typeof path === "string" ? `jq -r ${quoted(jqOf(path))}` : undefined,
    typeof pattern === "string"
      ? `perl -s -0777 -ne ${quoted(MATCH)} -- ${quoted(`-re=${pattern}`)}`
      : undefined,
    lines,
    typeof bytes === "number" ? `head -c ${bytes}` : undefined,
  ].filter((filter) => filter !== undefined);
  const source = yaml.plainOf(settings, "source") ?? "stdout";
  if (filters.length === 0 && fallback === undefined && source === "stdout") return undefined;
  const piped = filters.map((filter) => ` | ${filter}`).join("");
  return fallback === undefined ? piped : `${piped} | ${orElse(String(fallback))}`;
}

const MATCH = "if (/$re/m) { print defined $1 ? $1 : $& }";

/** Translates `$.items[*].name` to `.items[].name`. A missing value prints nothing. */
function jqOf(path: string): string {
  const inner = path.replace(/^\$/, "").replaceAll("[*]", "[]");
  return `${inner.startsWith(".") ? inner : `.${inner}`} // empty`;
}

function orElse(fallback: string): string {
  return `{ value=$(cat); if [ -n "$value" ]; then printf '%s\\n' "$value"; else printf '%s\\n' ${quoted(fallback)}; fi; }`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
