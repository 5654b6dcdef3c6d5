/** Rewrites the variables of Prodigy in scripts, prompts and other templates: `${NAME}` of the environment, `${build.success}`. */

import { nearest } from "../../std/nearest.ts";
import {
  isMap,
  isScalar,
  isSeq,
  keyText,
  type Node,
  plainOf,
  type Scalar,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import { RESERVED_NAMES } from "../step-variables.ts";
import type { Rewriting } from "./rewriting.ts";

/** Finds the names that steps give to their output, and their ids. */
export function collectNames(node: unknown, rewriting: Rewriting): void {
  if (isSeq(node)) for (const item of node.items) collectNames(item, rewriting);
  if (!isMap(node)) return;
  const [id, capture] = [plainOf(node, "id"), plainOf(node, "capture") ?? plainOf(node, "capture_output")];
  if (typeof capture === "string") {
    rewriting.names.add(capture.split(".")[0] ?? "");
    rewriting.stepNames.add(capture);
  }
  if (typeof id === "string") {
    rewriting.stepNames.add(id);
    rewriting.names.add(id);
  }
  for (const { key, value } of node.items) {
    if (String(isScalar(key) ? key.value : key) === "capture_outputs" && isMap(value))
      for (const pair of value.items) rewriting.names.add(keyText(pair));
    collectNames(value, rewriting);
  }
}

/** Keys whose text is a script; every other text is a plain template. */
const SCRIPTS = new Set(["shell", "command"]);
/** Keys whose text is not a template. */
const SKIPPED = new Set(
  "filter when json_path sort_by distinct id name capture capture_output description mode".split(" "),
);

interface Place {
  readonly isScript: boolean;
  /** Whether the text is in the handler of a failed step. */
  readonly isHandler: boolean;
}

export function rewriteVariables(root: YAMLMap, rewriting: Rewriting): void {
  walk(root, { isScript: false, isHandler: false }, rewriting);
}

function walk(node: unknown, place: Place, rewriting: Rewriting): void {
  if (isSeq(node)) for (const item of node.items) walk(item, place, rewriting);
  if (isMap(node))
    for (const pair of node.items) {
      const key = keyText(pair);
      if (SKIPPED.has(key)) continue;
      const isHandler = place.isHandler || key === "on_failure";
      walk(pair.value, { isScript: SCRIPTS.has(key), isHandler }, rewriting);
    }
  if (isScalar(node) && typeof node.value === "string" && node.value.includes("${"))
    rewriteText(node as Scalar<string>, place, rewriting);
}

const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}/g;

function rewriteText(node: Scalar<string>, place: Place, rewriting: Rewriting): void {
  const text = node.value;
  const changed = text.replace(PLACEHOLDER, (written, inner: string | undefined) =>
    inner === undefined ? written : (replacementOf(inner, { ...place, text, node }, rewriting) ?? written),
  );
  if (changed === text) return;
  node.value = changed;
  rewriting.touch();
}

interface Spot extends Place {
  readonly text: string;
  readonly node: Node;
}

const SIMPLE = /^(raw:)?([A-Za-z_]\w*)(:-.*)?$/s;
const PATH = /^(raw:)?([A-Za-z_][\w-]*)\.(.+)$/s;

function replacementOf(inner: string, spot: Spot, rewriting: Rewriting): string | undefined {
  const fallback = /^([\w.[\]]+)\s*\|\s*default:(.*)$/s.exec(inner);
  if (fallback) {
    const path = fallback[1] ?? "";
    return replacementOf(`${path}:-${fallback[2]}`, spot, rewriting) ?? `\${${path}:-${fallback[2]}}`;
  }
  const ofEnv = /^env:([A-Za-z_]\w*)$/.exec(inner)?.[1];
  if (ofEnv !== undefined) return `\${env.${ofEnv}}`;
  const simple = SIMPLE.exec(inner);
  if (simple) return simpleName(simple, spot, rewriting);
  const path = PATH.exec(inner);
  if (path) return fieldOf(path, spot, rewriting);
  return forTheShell(inner, spot, rewriting);
}

const RENAMED: Readonly<Record<string, string>> = { item_index: "index" };
/** The argument of a sequential workflow. */
const ARGUMENTS = new Set(["ARG", "ARGUMENT", "FILE", "FILE_PATH"]);

function simpleName([, raw = "", name = "", rest = ""]: RegExpExecArray, spot: Spot, rewriting: Rewriting) {
  const renamed = RENAMED[name];
  if (renamed !== undefined && !rewriting.names.has(name)) return `\${${raw}${renamed}${rest}}`;
  if (isKnown(name, rewriting)) return undefined;
  if (rewriting.isSequence && ARGUMENTS.has(name)) return `\${${raw}item${rest}}`;
  if (rewriting.environment.has(name)) return `\${${raw}env.${name}${rest}}`;
  if (!rewriting.isProdigy) return undefined;
  if (spot.isScript && assigns(spot.text, name)) return `$\${${name}${rest}}`;
  if (/^[A-Z][A-Z0-9_]*$/.test(name)) {
    if (spot.isScript) return `$\${${name}${rest}}`;
    if (rest !== "") return `\${env.${name}${rest}}`;
    rewriting.warn(
      spot.node,
      `\${${name}} is read from the environment when the workflow runs, and is empty if ${name} is not set`,
    );
    return `\${env.${name}:-}`;
  }
  assume(name, spot, rewriting);
  return undefined;
}

function isKnown(name: string, { names, options }: Rewriting): boolean {
  return names.has(name) || RESERVED_NAMES.has(name) || (options.variables ?? []).includes(name);
}

/** Before a run, an unknown name may still be given with `--var`. */
function assume(name: string, { node }: Spot, rewriting: Rewriting): void {
  if (!rewriting.isProdigy || rewriting.options.isRun || rewriting.assumed.has(name)) return;
  const isMisspelt = nearest(name, [...rewriting.names, ...RESERVED_NAMES]) !== undefined;
  if (isMisspelt) return;
  rewriting.assumed.add(name);
  rewriting.warn(
    node,
    `\${${name}} is not defined in the workflow. Prodigy leaves it as it is; pass a value: --var ${name}=VALUE`,
  );
}

/** Whether a script gives a value to a variable of its own. */
function assigns(script: string, name: string): boolean {
  return new RegExp(
    String.raw`(?:^|[\s;&|(\`])${name}\+?=|\bfor\s+${name}\s|\bread\s+(?:-\w+\s+)*(?:\w+\s+)*${name}\b`,
    "m",
  ).test(script);
}

const STEP_FIELDS = new Set(["output", "success", "exit_code", "stderr", "duration"]);
const GIT_FIELDS = /^(files|commits?|insertions|deletions|diff|log|status|changes)/;
const SCORES = new Set(["completion", "completion_percentage", "percentage"]);

function fieldOf([, raw = "", name = "", rest = ""]: RegExpExecArray, spot: Spot, rewriting: Rewriting) {
  const [, field = "", fallback = ""] = /^([^:]+)(:-.*)?$/s.exec(rest) ?? [];
  if (rewriting.stepNames.has(name) && STEP_FIELDS.has(field))
    return `\${${raw}${stepPath(name)}.${field}${fallback}}`;
  if (name === "validation" && SCORES.has(field)) return `\${${raw}validation.score${fallback}}`;
  // The output that Prodigy shows to a handler includes the error output.
  if (
    name === "shell" &&
    field === "output" &&
    spot.isHandler &&
    !raw &&
    rewriting.isProdigy &&
    fallback === ""
  )
    return "${shell.output}${error.stderr}";
  if (GIT_FIELDS.test(rest) && (name === "step" || name === "workflow" || name === "git")) {
    rewriting.refuse(
      spot.node,
      `\${${name}.${rest}} is not there. Capture it in a step before: shell: git diff --name-only HEAD~1, with capture: files`,
    );
    return "";
  }
  if (name === "map" && /^results\[\*\]\.(item|output)\b/.test(rest)) {
    rewriting.refuse(
      spot.node,
      `\${map.${rest}} is not there. What the steps of an item captured is \${map.results[*].result.NAME}, and its id \${map.results[*].item_id}`,
    );
    return "";
  }
  if (name === "handler" && field === "output") return `\${${raw}last.output${fallback}}`;
  if (!isKnown(name, rewriting) && !rewriting.stepNames.has(name)) assume(name, spot, rewriting);
  return undefined;
}

function stepPath(name: string): string {
  return /^\w+$/.test(name) ? `steps.${name}` : `steps["${name}"]`;
}

/** Expansions that only a shell has, such as `${file%.rs}`, stay with the shell if the name is none of the workflow's. */
function forTheShell(inner: string, { isScript }: Spot, rewriting: Rewriting): string | undefined {
  const match = /^[#!]?([A-Za-z_]\w*|[\d@*#?$!-])(?:\[[@*\d]*\])?(?:[:%#/^,+?=-].*)?$/s.exec(inner);
  if (!isScript || !rewriting.isProdigy || !match || isKnown(match[1] ?? "", rewriting)) return undefined;
  return `$\${${inner}}`;
}
