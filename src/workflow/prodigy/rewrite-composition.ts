/** Rewrites `parameters` and `defaults` of Prodigy; refuses other workflows that it would start, and other files that cannot be read. */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteComposition(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const defaults = yaml.take(root, "defaults");
  if (yaml.isMap(defaults))
    for (const pair of defaults.items) {
      setDefault(yaml.keyText(pair), pair.value, rewriting);
      setVariable(root, yaml.keyText(pair), defaults, rewriting);
    }
  const parameters = yaml.take(root, "parameters");
  if (yaml.isMap(parameters)) declare(parameters, rewriting);
  if (defaults !== undefined || parameters !== undefined) rewriting.touch();
  for (const [key, instead] of Object.entries(OTHER_WORKFLOWS)) {
    const node = yaml.take(root, key);
    if (node === undefined) continue;
    rewriting.refuse(node, `${key}: ${instead}`);
    rewriting.isIncomplete = true;
  }
}

const UNREADABLE = "the other file cannot be read here.";
const NOT_RUN = "these are not run, as in Prodigy. Write a step for each: shell: redrive run FILE";

const OTHER_WORKFLOWS: Readonly<Record<string, string>> = {
  imports: `${UNREADABLE} Copy the steps that you need from it into this one`,
  extends: `${UNREADABLE} Copy the keys that this file does not have from it`,
  template: `${UNREADABLE} Copy its steps into this file, and write its parameters as \${NAME} with --var NAME=VALUE`,
  templates: "these are not read. Write the steps of the templates where they are used",
  sub_workflows: NOT_RUN,
  workflows: NOT_RUN,
};

/** A default is also a variable of the environment, unless `env` has one of this name. */
function setVariable(root: yaml.YAMLMap, name: string, at: yaml.Node, rewriting: Rewriting): void {
  const env = yaml.nodeAt(root, "env");
  if (!/^[A-Za-z_]\w*$/.test(name) || (yaml.isMap(env) && yaml.has(env, name))) return;
  const own = yaml.isMap(env) ? env : yaml.mapOf(at, {});
  const isGiven = (rewriting.options.variables ?? []).includes(name);
  yaml.put(own, name, isGiven ? `\${${name}}` : (rewriting.defaults.get(name) ?? ""), at);
  if (own !== env) yaml.put(root, "env", own, at);
}

function declare(parameters: yaml.YAMLMap, rewriting: Rewriting): void {
  for (const parameter of yaml.nodesOf(yaml.nodeAt(parameters, "required"))) require(parameter, rewriting);
  for (const parameter of yaml.nodesOf(yaml.nodeAt(parameters, "optional")))
    setDefault(
      nameOf(parameter),
      yaml.isMap(parameter) ? yaml.nodeAt(parameter, "default") : undefined,
      rewriting,
    );
  const definitions = yaml.nodeAt(parameters, "definitions");
  const named = parameters.items.filter((pair) => !LISTS.includes(yaml.keyText(pair)));
  for (const pair of [...named, ...(yaml.isMap(definitions) ? definitions.items : [])])
    setDefault(
      yaml.keyText(pair),
      yaml.isMap(pair.value) ? yaml.nodeAt(pair.value, "default") : pair.value,
      rewriting,
    );
}

const LISTS = ["required", "optional", "definitions"];

/** A parameter is a name, or a mapping with a name. */
function nameOf(parameter: yaml.Node): string {
  return String(yaml.isMap(parameter) ? yaml.plainOf(parameter, "name") : parameter.toJSON());
}

/** A required parameter with a default need not be given. */
function require(parameter: yaml.Node, rewriting: Rewriting): void {
  const name = nameOf(parameter);
  if (rewriting.defaults.has(name) || (rewriting.options.variables ?? []).includes(name)) return;
  const problem = `the parameter ${name} has no value. Pass one: --var ${name}=VALUE`;
  if (rewriting.options.isRun) rewriting.refuse(parameter, problem);
  else rewriting.warn(parameter, problem);
  rewriting.assumed.add(name);
}

function setDefault(name: string, value: unknown, rewriting: Rewriting): void {
  if (value === undefined || value === null) {
    if (!rewriting.defaults.has(name)) rewriting.defaults.set(name, "");
    return;
  }
  const node = value as yaml.Node;
  rewriting.defaults.set(
    name,
    yaml.isScalar(node) ? String(node.value ?? "") : JSON.stringify(node.toJSON()),
  );
}
