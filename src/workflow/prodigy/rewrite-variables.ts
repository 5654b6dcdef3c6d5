/**
 * Rewrites Prodigy's variables in scripts, prompts and other templates, such as the environment's `${NAME}`
 * or `${build.success}`.
 */

import { templateParts } from "../../attempt/template.ts";
import { compileExpression, isExpressionName } from "../../std/expression.ts";
import { nearest } from "../../std/nearest.ts";
import * as yaml from "../../yaml/edit-yaml.ts";
import { shellProblems } from "../shell-values.ts";
import { MAP_FIELDS, RESERVED_NAMES } from "../step-variables.ts";
import { conditionToCel } from "./conditions.ts";
import { readListReference } from "./list-reference.ts";
import type { Rewriting } from "./rewriting.ts";

/** Collects the ids of steps and the names of their captures. */
export function collectNames(node: unknown, rewriting: Rewriting): void {
  if (yaml.isSeq(node)) for (const item of node.items) collectNames(item, rewriting);
  if (!yaml.isMap(node)) return;
  for (const key of ["capture", "capture_output"]) otherName(yaml.nodeAt(node, key), rewriting);
  const [id, capture] = [
    yaml.plainOf(node, "id"),
    yaml.plainOf(node, "capture") ?? yaml.plainOf(node, "capture_output"),
  ];
  if (typeof capture === "string") {
    rewriting.names.add(capture.split(".")[0] ?? "");
    if (yaml.plainOf(node, "capture_format") === "number") rewriting.numbers.add(capture);
    rewriting.stepNames.add(capture);
  }
  if (typeof id === "string") {
    rewriting.stepNames.add(id);
    rewriting.names.add(id);
  }
  if (yaml.has(node, "foreach")) rewriting.names.add("total");
  for (const { key, value } of node.items) {
    if (String(yaml.isScalar(key) ? key.value : key) === "capture_outputs" && yaml.isMap(value))
      for (const pair of value.items) rewriting.names.add(yaml.keyText(pair));
    collectNames(value, rewriting);
  }
}

/** A capture with a name that has a meaning here, such as `list` or `last`, gets another one. */
function otherName(node: yaml.Node | undefined, rewriting: Rewriting): void {
  if (!rewriting.isProdigy || !yaml.isScalar(node) || typeof node.value !== "string") return;
  const [name = "", ...fields] = node.value.split(".");
  if (!/^[A-Za-z_]\w*$/.test(name) || (!RESERVED_NAMES.has(name) && isExpressionName(name))) return;
  const other = rewriting.renamed.get(name) ?? rewriting.newName(name);
  rewriting.renamed.set(name, other);
  node.value = [other, ...fields].join(".");
}

/** Keys that contain a script; all other texts are plain templates. */
const SCRIPTS = new Set(["shell", "command"]);
/** Keys that do not contain a template. */
const SKIPPED = new Set(
  "filter when json_path sort_by distinct id name capture capture_output description mode".split(" "),
);

interface Place {
  readonly isScript: boolean;
  /** Whether the text is in the handler of a failed step. */
  readonly isHandler: boolean;
}

export function rewriteVariables(root: yaml.YAMLMap, rewriting: Rewriting): void {
  walk(root, { isScript: false, isHandler: false }, rewriting);
}

function walk(node: unknown, place: Place, rewriting: Rewriting): void {
  if (yaml.isSeq(node)) for (const item of node.items) walk(item, place, rewriting);
  if (yaml.isMap(node))
    for (const pair of node.items) {
      const key = yaml.keyText(pair);
      if (key === "when") rewriteCondition(pair.value, rewriting);
      if (key === "foreach") ownItem(pair.value, rewriting);
      if (key === "capture_format") lenientBoolean(pair.value, rewriting);
      if (SKIPPED.has(key)) continue;
      const isHandler = place.isHandler || key === "on_failure";
      walk(pair.value, { isScript: SCRIPTS.has(key), isHandler }, rewriting);
    }
  if (yaml.isScalar(node) && typeof node.value === "string" && node.value.includes("${"))
    rewriteText(node as yaml.Scalar<string>, place, rewriting);
}

/**
 * In a Prodigy file, a bare name in `when: "branch == 'main'"` is a variable, which is false if it is not
 * set.
 */
function rewriteCondition(node: unknown, rewriting: Rewriting): void {
  if (!rewriting.isProdigy || !yaml.isScalar(node) || typeof node.value !== "string") return;
  const known = [...rewriting.names, ...RESERVED_NAMES, ...(rewriting.options.variables ?? []), "vars"];
  const names = new Map(known.map((name) => [name, "any"] as const));
  const cel = compileExpression(node.value, names).ok ? node.value : conditionToCel(node.value, "when");
  if (cel === undefined || !compileExpression(cel, names).ok) return;
  node.value = cel.replace(
    TRANSLATED,
    (written, plain: string | undefined, quoted: string | undefined, rest: string) => {
      const name = rewriting.renamed.get(plain ?? "") ?? plain ?? quoted ?? "";
      if (rewriting.stepNames.has(name) && STEP_FIELDS.has(rest.slice(".?".length)))
        return `vars.?steps${stepOf(name)}${rest}.orValue(null)`;
      if (names.has(name) || plain === undefined)
        return name === (plain ?? quoted) ? written : `vars.?${name}${rest}.orValue(null)`;
      return `vars.?${ownerOf(name, rewriting)}${rest}.orValue(${absent(name, rewriting)})`;
    },
  );
}

function stepOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `.?${name}` : `[?${JSON.stringify(name)}]`;
}

/** A reference in the form that the translation of conditions produces. */
const TRANSLATED = /\bvars(?:\.\?(\w+)|\[\?"([^"]+)"\])((?:\.\?\w+)*)\.orValue\(null\)/g;

function ownerOf(name: string, { environment, defaults }: Rewriting): string {
  const isVariable = environment.has(name) || (/^[A-Z][A-Z0-9_]*$/.test(name) && !defaults.has(name));
  return isVariable ? `env.?${name}` : name;
}

function absent(name: string, { defaults }: Rewriting): string {
  return JSON.stringify(defaults.get(name) ?? null);
}

/** In Prodigy, `${item}` always refers to the element. */
function ownItem(node: unknown, rewriting: Rewriting): void {
  if (rewriting.isProdigy && yaml.isMap(node) && !yaml.has(node, "own_item"))
    yaml.put(node, "own_item", true);
}

/** In Prodigy, output that is not a boolean is replaced by whether the step succeeded. */
function lenientBoolean(node: unknown, rewriting: Rewriting): void {
  if (rewriting.isProdigy && yaml.isScalar(node) && node.value === "boolean") node.value = "success";
}

const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}/g;

function rewriteText(node: yaml.Scalar<string>, place: Place, rewriting: Rewriting): void {
  const text = node.value;
  const changed = text.replace(PLACEHOLDER, (written, inner: string | undefined) => {
    if (inner === undefined) return written;
    const known = withOtherName(inner, rewriting);
    const replaced = replacementOf(known, { ...place, text, node }, rewriting);
    return replaced ?? (known === inner ? written : `\${${known}}`);
  });
  const safe = place.isScript && rewriting.isProdigy ? withRawNumbers(changed, rewriting) : changed;
  if (safe === text) return;
  node.value = safe;
  rewriting.touch();
}

function withOtherName(inner: string, { renamed }: Rewriting): string {
  return inner.replace(
    /^(raw:)?([A-Za-z_]\w*)/,
    (_, raw = "", name: string) => raw + (renamed.get(name) ?? name),
  );
}

/** A number is no code, so it may stand where a shell or a program such as awk evaluates the text. */
function withRawNumbers(script: string, rewriting: Rewriting): string {
  if (shellProblems(script).length === 0) return script;
  const zeros = (part: string) =>
    part.replace(PLACEHOLDER, (written, inner: string | undefined) => (inner === undefined ? written : "0"));
  return script.replace(PLACEHOLDER, (written, inner: string | undefined, at: number) => {
    if (inner === undefined || !isNumber(inner, rewriting)) return written;
    const alone = zeros(script.slice(0, at)) + written + zeros(script.slice(at + written.length));
    return shellProblems(alone).length === 0 ? written : `\${raw:${inner}}`;
  });
}

const NUMBERS =
  /^(?:index|map\.(?:total|successful|failed|skipped|\w+_rate|\w+_duration_secs)|(?:step|workflow)\.(?:commit_count|insertions|deletions))$/;

function isNumber(inner: string, { numbers }: Rewriting): boolean {
  return NUMBERS.test(inner) || numbers.has(inner);
}

interface Spot extends Place {
  readonly text: string;
  readonly node: yaml.Node;
}

const SIMPLE = /^(raw:)?([A-Za-z_]\w*)(:-.*)?$/s;
const PATH = /^(raw:)?([A-Za-z_][\w-]*)\.(.+)$/s;

function replacementOf(inner: string, spot: Spot, rewriting: Rewriting): string | undefined {
  const fallback = /^([\w.[\]]+)\s*\|\s*default:(.*)$/s.exec(inner);
  if (fallback) {
    const path = fallback[1] ?? "";
    return replacementOf(`${path}:-${fallback[2]}`, spot, rewriting) ?? `\${${path}:-${fallback[2]}}`;
  }
  const list = readListReference(inner.replace(/^raw:/, ""), (name) => rewriting.names.has(name));
  if (list !== undefined) {
    rewriting.touch();
    const raw = inner.startsWith("raw:") ? "raw:" : "";
    return `\${${[raw + list.path, ...list.filters].join("|")}}`;
  }
  const ofEnv = /^env:([A-Za-z_]\w*)$/.exec(inner)?.[1];
  if (ofEnv !== undefined) return `\${env.${ofEnv}}`;
  const simple = SIMPLE.exec(inner);
  if (simple) return simpleName(simple, spot, rewriting);
  const path = PATH.exec(inner);
  if (path) return fieldOf(path, spot, rewriting);
  return forTheShell(inner, spot, rewriting) ?? literally(inner, spot, rewriting);
}

const RENAMED: Readonly<Record<string, string>> = { item_index: "index" };
/** Names of the argument in a sequential workflow. */
const ARGUMENTS = new Set(["ARG", "ARGUMENT", "FILE", "FILE_PATH"]);

function simpleName([, raw = "", name = "", rest = ""]: RegExpExecArray, spot: Spot, rewriting: Rewriting) {
  const fallback = rest === "" ? rewriting.defaults.get(name) : undefined;
  if (fallback !== undefined && !rewriting.names.has(name)) return `\${${raw}${name}:-${fallback}}`;
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
  if (name === "item_total")
    rewriting.refuse(
      spot.node,
      "the number of items is known after the map phase: read ${map.total} in reduce",
    );
  else if (rest === "") assume(name, spot, rewriting);
  return undefined;
}

function isKnown(name: string, { names, options }: Rewriting): boolean {
  return names.has(name) || RESERVED_NAMES.has(name) || (options.variables ?? []).includes(name);
}

/** When a workflow is only checked, an unknown name may still be set with `--var` later. */
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

/** Whether a script assigns a shell variable of this name. */
function assigns(script: string, name: string): boolean {
  return new RegExp(
    String.raw`(?:^|[\s;&|(\`])${name}\+?=|\bfor\s+${name}\s|\bread\s+(?:-\w+\s+)*(?:\w+\s+)*${name}\b`,
    "m",
  ).test(script);
}

const STEP_FIELDS = new Set(["output", "success", "exit_code", "stderr", "duration"]);
const KNOWN_OF_MAP: ReadonlySet<string> = new Set(MAP_FIELDS);
/** Variables that have a different name in Redrive. */
const RENAMED_FIELDS: Readonly<Record<string, string>> = {
  "map.success_count": "map.successful",
  "map.failure_count": "map.failed",
  "map.results_array": "map.results",
  "map.results_json": "map.results",
  "validation.completion": "validation.score",
  "validation.completion_percentage": "validation.score",
  "validation.percentage": "validation.score",
  "validation.incomplete_specs": "validation.missing",
  "handler.output": "last.output",
  "test.output": "shell.output",
  "worker.id": "item_id",
};

function fieldOf(
  [, raw = "", name = "", rest = ""]: RegExpExecArray,
  spot: Spot,
  rewriting: Rewriting,
): string | undefined {
  const [, field = "", fallback = ""] = /^([^:]+)(:-.*)?$/s.exec(rest) ?? [];
  if (rewriting.stepNames.has(name) && STEP_FIELDS.has(field))
    return `\${${raw}${stepPath(name)}.${field}${fallback}}`;
  const isOwn = rewriting.names.has(name) || rewriting.stepNames.has(name);
  const renamed = isOwn || !rewriting.isProdigy ? undefined : RENAMED_FIELDS[`${name}.${field}`];
  if (renamed !== undefined) {
    if (name === "worker")
      rewriting.warn(spot.node, "worker.id is the id of the item, because any free agent takes an item");
    return replacementOf(raw + renamed + fallback, spot, rewriting) ?? `\${${raw}${renamed}${fallback}}`;
  }
  const isAbsent = name === "map" && rewriting.isProdigy && /^\w+$/.test(field) && !KNOWN_OF_MAP.has(field);
  if (isAbsent && /^:-[\w ./-]*$/.test(fallback)) return fallback.slice(":-".length);
  // In Prodigy, the output that a handler can read includes standard error.
  if (
    name === "shell" &&
    field === "output" &&
    spot.isHandler &&
    !raw &&
    rewriting.isProdigy &&
    fallback === ""
  )
    return spot.isScript ? "${shell.output}${error.stderr}" : "${shell.output}\n${error.stderr}";
  if (fallback === "" && !isKnown(name, rewriting) && !isOwn) assume(name, spot, rewriting);
  return undefined;
}

function stepPath(name: string): string {
  return /^\w+$/.test(name) ? `steps.${name}` : `steps["${name}"]`;
}

/**
 * Shell-only expansions such as `${file%.rs}` are left to the shell, unless the workflow defines the name.
 */
function forTheShell(inner: string, { isScript }: Spot, rewriting: Rewriting): string | undefined {
  const match = /^[#!]?([A-Za-z_]\w*|[\d@*#?$!-])(?:\[[@*\d]*\])?(?:[:%#/^,+?=-].*)?$/s.exec(inner);
  if (!isScript || !rewriting.isProdigy || !match || isKnown(match[1] ?? "", rewriting)) return undefined;
  return `$\${${inner}}`;
}

/** Text that cannot be parsed as a variable is kept unchanged, as in Prodigy. */
function literally(inner: string, { node }: Spot, rewriting: Rewriting): string | undefined {
  const written = `\${${inner}}`;
  const [, part] = templateParts(written);
  if (!rewriting.isProdigy || typeof part !== "object" || part.kind !== "unreadable") return undefined;
  rewriting.warn(
    node,
    `${written} is not a variable: it stays in the text, as in Prodigy. Read a field as \${name.field}, and other parts with a tool such as jq`,
  );
  return `$${written}`;
}
