/**
 * Puts a workflow of Prodigy together from several files: `imports`, `extends` and `template`. Edits the document; what comes from
 * another file gets the position of the key that names the file, so that problems are reported there.
 */
import { isDeepStrictEqual } from "node:util";
import type { Document } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";
import * as yaml from "../../yaml/edit-yaml.ts";
import { WorkflowFiles } from "./other-files.ts";
import type { Rewriting } from "./rewriting.ts";

/** Returns whether parts of other files were added. Without access to files, nothing is changed. */
export function composeWorkflow(root: yaml.YAMLMap, document: Document, rewriting: Rewriting): boolean {
  const { files } = rewriting.options;
  const keys = Object.keys(PARTS).filter((key) => yaml.has(root, key));
  if (files === undefined || keys.length === 0 || !isComposition(root)) return false;
  for (const key of keys) {
    const at = yaml.nodeAt(root, key) ?? root;
    const before = root.toJS(document) as JsonObject;
    const source = new Source(new WorkflowFiles(files), rewriting, at);
    const { [key]: _, ...after } = PARTS[key]?.(before, source) ?? before;
    yaml.take(root, key);
    transfer(root, before, after, at);
  }
  rewriting.touch();
  return true;
}

/** A text of several lines under `template` is a prompt of an older kind of file. */
function isComposition(root: yaml.YAMLMap): boolean {
  const template = yaml.plainOf(root, "template");
  return typeof template !== "string" || !template.includes("\n");
}

type Compose = (own: JsonObject, source: Source) => JsonObject;

/** In the order in which Prodigy applies them. */
const PARTS: Readonly<Record<string, Compose>> = { imports, extends: extended, template: fromTemplate };

/** Where the files are, and where problems with them are reported. */
class Source {
  readonly files: WorkflowFiles;
  readonly #rewriting: Rewriting;
  readonly #at: yaml.Node;

  constructor(files: WorkflowFiles, rewriting: Rewriting, at: yaml.Node) {
    this.files = files;
    this.#rewriting = rewriting;
    this.#at = at;
  }

  /** Reads a file with all that it takes from others. Reports a problem and returns undefined if that fails. */
  read(paths: readonly string[], what: string): JsonObject | undefined {
    const read = this.files.read(paths, what);
    if ("problem" in read) {
      this.refuse(read.problem);
      return undefined;
    }
    const inner = new Source(read.files, this.#rewriting, this.#at);
    return Object.entries(PARTS).reduce((own, [key, compose]) => {
      if (own[key] === undefined) return own;
      const { [key]: _, ...made } = compose(own, inner);
      return made;
    }, read.workflow);
  }

  warn(message: string): void {
    this.#rewriting.warn(this.#at, message);
  }

  refuse(message: string): void {
    this.#rewriting.isIncomplete = true;
    this.#rewriting.refuse(this.#at, message);
  }
}

function imports(own: JsonObject, source: Source): JsonObject {
  return listOf(own.imports).reduce((target: JsonObject, entry) => {
    const { path, alias, selective } = isJsonObject(entry)
      ? entry
      : { path: entry, alias: undefined, selective: undefined };
    const imported = source.read(source.files.besides(String(path)), `the file ${String(path)} in imports`);
    if (imported === undefined) return target;
    if (typeof alias === "string") {
      source.warn(
        `nothing from ${String(path)} is used because of alias, as in Prodigy. Without alias, its steps are appended`,
      );
      return target;
    }
    const chosen = listOf(selective);
    return appended(target, chosen.length === 0 ? imported : selected(imported, chosen, source), IMPORTED);
  }, own);
}

/** Steps by their number, from 0, and parameters by their name. */
function selected(imported: JsonObject, chosen: readonly Json[], source: Source): JsonObject {
  const [all, parameters] = [stepsOf(imported), parametersOf(imported)];
  const steps: Json[] = [];
  const taken: Record<(typeof KINDS)[number], Json[]> = { required: [], optional: [] };
  for (const one of chosen) {
    const step = /^\d+$/.test(String(one)) ? all[Number(one)] : undefined;
    const kind = KINDS.find((each) => parameters[each].some((parameter) => nameOf(parameter) === one));
    if (step !== undefined) steps.push(step);
    else if (kind !== undefined)
      taken[kind].push(...parameters[kind].filter((parameter) => nameOf(parameter) === one));
    else
      source.refuse(
        `selective: "${String(one)}" is not a parameter of the file. Refer to a step by its number, from 0`,
      );
  }
  return { commands: steps, parameters: taken };
}

/** The file takes precedence: its lists replace those of the base, and its mappings are merged with those of the base. */
function extended(own: JsonObject, source: Source): JsonObject {
  const name = String(own.extends);
  const base = source.read(source.files.bases(name), `the file ${name} in extends`);
  return base === undefined ? own : inherited(own, asStepsOf(own, base));
}

function inherited(own: JsonObject, base: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(own)) {
    const below = base[key];
    if (isJsonObject(value) && isJsonObject(below)) merged[key] = inherited(value, below);
    else if (!(Array.isArray(value) && value.length === 0 && Array.isArray(below))) merged[key] = value;
  }
  return merged;
}

/** The steps of the template come after those of the file. `with` gives values to its parameters. */
function fromTemplate(own: JsonObject, source: Source): JsonObject {
  const template: JsonObject = isJsonObject(own.template) ? own.template : { source: own.template ?? null };
  const named = isJsonObject(template.source) ? template.source.file : template.source;
  if (typeof named !== "string" || /^\w+:\/\//.test(named)) {
    source.refuse(
      "template: Redrive cannot load a URL. Save the template as a file, and write source: {file: PATH}",
    );
    return own;
  }
  const paths = isJsonObject(template.source) ? source.files.besides(named) : source.files.templates(named);
  const read = source.read(paths, `the template ${named}`);
  if (read === undefined) return own;
  const given = isJsonObject(template.with) ? template.with : {};
  const made = overridden(read, isJsonObject(template.override) ? template.override : {}, source);
  return appended(own, withValues(made, given));
}

/** Parameters with a value become defaults, so that the command line may still replace them. */
function withValues(template: JsonObject, given: JsonObject): JsonObject {
  const parameters = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      parametersOf(template)[kind].filter((parameter) => given[String(nameOf(parameter))] === undefined),
    ]),
  );
  const defaults = isJsonObject(template.defaults) ? template.defaults : {};
  return { ...template, parameters, defaults: { ...defaults, ...given } };
}

function overridden(template: JsonObject, overrides: JsonObject, source: Source): JsonObject {
  return Object.entries(overrides).reduce((made: JsonObject, [key, value]) => {
    if (key.includes(".") || made[key] !== undefined || OVERRIDES.includes(key))
      return replaced(made, key.split("."), value) as JsonObject;
    source.warn(`override: ${key} has no effect, because the template does not have this key`);
    return made;
  }, template);
}

const OVERRIDES = ["commands", "env", "merge"];

function replaced(inside: Json | undefined, [key, ...rest]: readonly string[], value: Json): Json {
  if (key === undefined) return value;
  if (Array.isArray(inside))
    return inside.map((one, index) => (String(index) === key ? replaced(one, rest, value) : one));
  const fields = isJsonObject(inside) ? inside : {};
  return { ...fields, [key]: replaced(fields[key], rest, value) };
}

/** The keys that an import adds. */
const IMPORTED = ["commands", "setup", "parameters", "defaults", "env"];

/** Steps and parameters are appended, values that the file has are kept, and other keys are taken if they are missing. */
function appended(own: JsonObject, more: JsonObject, keys?: readonly string[]): JsonObject {
  const added = keys === undefined ? more : Object.fromEntries(keys.map((key) => [key, more[key] ?? null]));
  const made: Record<string, Json> = { ...own };
  for (const [key, value] of Object.entries(asStepsOf(own, added))) {
    const mine = own[key];
    if (value === null) continue;
    if (mine === undefined || mine === null) made[key] = value;
    else if (Array.isArray(mine) && Array.isArray(value)) made[key] = [...mine, ...value];
    else if (key === "parameters") made[key] = bothParameters(own, added);
    else if (isJsonObject(mine) && isJsonObject(value)) made[key] = { ...value, ...mine };
  }
  return made;
}

const KINDS = ["required", "optional"] as const;

function bothParameters(own: JsonObject, more: JsonObject): JsonObject {
  const [mine, theirs] = [parametersOf(own), parametersOf(more)];
  const kinds = KINDS.map((kind) => [kind, [...mine[kind], ...theirs[kind]]]);
  return { ...(own.parameters as JsonObject), ...Object.fromEntries(kinds) };
}

function parametersOf({ parameters }: JsonObject): Record<(typeof KINDS)[number], readonly Json[]> {
  const both = isJsonObject(parameters) ? parameters : {};
  return { required: listOf(both.required), optional: listOf(both.optional) };
}

function nameOf(parameter: Json): Json | undefined {
  return isJsonObject(parameter) ? parameter.name : parameter;
}

function stepsOf(workflow: JsonObject): readonly Json[] {
  return listOf(workflow.commands ?? workflow.steps);
}

/** Steps are under `commands` or `steps`. Moves the steps of the other file to the key that this file uses. */
function asStepsOf(own: JsonObject, other: JsonObject): JsonObject {
  const { commands, steps, ...rest } = other;
  const list = commands ?? steps;
  if (list === undefined || list === null) return other;
  return { ...rest, [own.steps === undefined ? "commands" : "steps"]: list };
}

function listOf(value: Json | undefined): readonly Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Writes what has changed into the mapping, and keeps the nodes of everything else. */
function transfer(map: yaml.YAMLMap, before: JsonObject, after: JsonObject, at: yaml.Node): void {
  for (const [key, value] of Object.entries(after)) {
    const [node, old] = [yaml.nodeAt(map, key), before[key]];
    if (isDeepStrictEqual(old, value)) continue;
    if (yaml.isMap(node) && isJsonObject(value) && isJsonObject(old)) transfer(node, old, value, at);
    else if (yaml.isSeq(node) && Array.isArray(value) && node.items.length < value.length)
      node.items.push(...value.slice(node.items.length).map((one) => yaml.nodeFrom(one, at)));
    else yaml.put(map, key, yaml.nodeFrom(value, at), at);
  }
}
