/** Rewrites computed variables such as `${cmd:git rev-parse HEAD}`: a preceding step captures the value. */
import * as yaml from "../../yaml/edit-yaml.ts";
import { readFileFilters } from "./list-reference.ts";
import type { Rewriting } from "./rewriting.ts";

const ACTIONS = ["shell", "claude", "agent", "write_file", "foreach"];

/** Visits all lists of steps, innermost first. */
export function rewriteComputed(node: unknown, rewriting: Rewriting): void {
  if (yaml.isMap(node)) for (const { value } of node.items) rewriteComputed(value, rewriting);
  if (!yaml.isSeq(node)) return;
  for (const item of node.items) rewriteComputed(item, rewriting);
  node.items = node.items.flatMap((item: unknown) =>
    yaml.isMap(item) && ACTIONS.some((key) => yaml.has(item, key))
      ? [...stepsFor(item, rewriting), item]
      : [item],
  );
}

/** Returns the steps that compute the variables of a step, and replaces these variables by the captures. */
function stepsFor(step: yaml.YAMLMap, rewriting: Rewriting): yaml.YAMLMap[] {
  const made: yaml.YAMLMap[] = [];
  const byScript = new Map<string, string>();
  replaceIn(step, (written, inner) => {
    const computed = computedOf(inner, rewriting);
    if (computed === undefined) return written;
    const { shell, isList, filters = [] } = computed;
    const known = inner === "uuid" ? undefined : byScript.get(shell);
    const capture = known ?? rewriting.newName("computed");
    byScript.set(shell, capture);
    const format = isList ? "lines" : undefined;
    if (known === undefined)
      made.push(
        yaml.mapOf(step, { name: inner, shell, capture, capture_format: format, when: whenOf(step) }),
      );
    return `\${${[capture, ...filters].join("|")}}`;
  });
  return made;
}

interface Computed {
  readonly shell: string;
  readonly isList?: boolean;
  readonly filters?: readonly string[];
}

/** Variables for uncommitted changes and the current commit. */
const OF_GIT: Readonly<Record<string, Computed>> = {
  staged_files: { shell: "git diff --name-only --cached", isList: true },
  unstaged_files: { shell: "git diff --name-only", isList: true },
  modified_files: { shell: "git diff --name-only HEAD", isList: true },
  branch: { shell: "git rev-parse --abbrev-ref HEAD" },
  commit: { shell: "git rev-parse HEAD" },
};

const MERGED = '"${merge.target_branch}..HEAD"';
const CHANGED = '"${merge.target_branch}...HEAD"';
const COMMIT =
  '{id: .[0], short_id: .[1], author: {name: .[2], email: .[3]}, timestamp: .[4], message: .[5], files_changed: (.[6] | split("\\n") | map(select(. != "")))}';
const FILE = '{path: .[1], modification_type: ({A: "Added", D: "Deleted"}[.[0]] // "Modified")}';

/** Variables for what the merge phase adds to the branch from which the run started. */
const MERGE: Readonly<Record<string, string>> = {
  commit_count: `git rev-list --count ${MERGED}`,
  commit_ids: `git log --format=%h ${MERGED} | paste -sd, -`,
  commits: `git -c core.quotePath=off log --name-only --format='%x1e%H%x1f%h%x1f%an%x1f%ae%x1f%cI%x1f%s%x1f' ${MERGED} | jq -Rsc 'split("\\u001e")[1:] | map(split("\\u001f") | ${COMMIT})'`,
  file_count: `git diff --name-only ${CHANGED} | wc -l | tr -d ' '`,
  file_list: `git -c core.quotePath=off diff --name-only ${CHANGED} | paste -sd, -`,
  modified_files: `git -c core.quotePath=off diff --name-status --no-renames ${CHANGED} | jq -Rsc 'split("\\n") | map(select(. != "") | split("\\t") | ${FILE})'`,
};

function computedOf(inner: string, rewriting: Rewriting): Computed | undefined {
  const ofMerge = MERGE[/^merge\.(\w+)$/.exec(inner)?.[1] ?? ""];
  if (ofMerge !== undefined) return { shell: ofMerge };
  const [, field = "", modifiers = ""] = /^git\.(\w+)((?:[:|].+)?)$/s.exec(inner) ?? [];
  const ofGit = rewriting.names.has("git") ? undefined : OF_GIT[field];
  if (ofGit === undefined) {
    const shell = scriptOf(inner, rewriting);
    return shell === undefined ? undefined : { shell };
  }
  if (!ofGit.isList) return modifiers === "" ? ofGit : undefined;
  const filters = readFileFilters(modifiers);
  return filters && { ...ofGit, filters };
}

function whenOf(step: yaml.YAMLMap): yaml.Node | undefined {
  return yaml.nodeAt(step, "when");
}

const NOT_TEMPLATES = new Set(["when", "name", "id", "capture", "capture_output"]);

function replaceIn(node: unknown, replace: (written: string, inner: string) => string): void {
  if (yaml.isSeq(node)) for (const item of node.items) replaceIn(item, replace);
  if (yaml.isMap(node))
    for (const pair of node.items) if (!NOT_TEMPLATES.has(yaml.keyText(pair))) replaceIn(pair.value, replace);
  if (!yaml.isScalar(node) || typeof node.value !== "string" || !node.value.includes("${")) return;
  node.value = node.value.replace(/(?<!\$)\$\{([^{}]*)\}/g, replace);
}

/**
 * The colon must be followed by a path or a command, so that `${file:-x}` and `${file:0:3}` remain shell
 * expansions.
 */
const COMPUTED = /^(file|cmd|json|date):(?=[\w./~%])(?!\d+(?::\d+)?$)(.+)$/s;

function scriptOf(inner: string, rewriting: Rewriting): string | undefined {
  if (inner === "uuid" && !rewriting.names.has("uuid"))
    return "cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen";
  const [, kind = "", rest = ""] = COMPUTED.exec(inner) ?? [];
  if (kind === "" || rewriting.names.has(kind)) return undefined;
  if (kind === "cmd") return rest;
  if (kind === "file") return `cat -- ${quoted(rest)}`;
  if (kind === "date") return `date ${quoted(`+${rest}`)}`;
  const [path = "", ...file] = rest.split(":");
  return file.length === 0 ? undefined : `jq -r ${quoted(`.${path}`)} ${quoted(file.join(":"))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
