/** Rewrites `parameters` and `defaults` of Prodigy; refuses what takes parts of a workflow from other files. */
import * as yaml from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteComposition(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const defaults = yaml.take(root, "defaults");
  if (yaml.isMap(defaults))
    for (const pair of defaults.items) setDefault(yaml.keyText(pair), pair.value, rewriting);
  const parameters = yaml.take(root, "parameters");
  if (yaml.isMap(parameters)) declare(parameters, rewriting);
  if (defaults !== undefined || parameters !== undefined) rewriting.touch();
  for (const [key, instead] of Object.entries(OTHER_FILES)) {
    const node = yaml.take(root, key);
    if (node !== undefined) rewriting.refuse(node, `${key}: a workflow is one file here. ${instead}`);
  }
}

const OTHER_FILES: Readonly<Record<string, string>> = {
  imports: "Copy the steps that you need from the other file into this one",
  extends: "Copy the keys that this file does not have from the other file into it",
  template:
    "Copy the steps of the template into this file, and write its parameters as ${NAME} with --var NAME=VALUE",
  templates: "Write the steps of the templates where they are used",
  sub_workflows: "Write a step for each of them: shell: redrive run FILE",
  workflows: "Write a step for each of them: shell: redrive run FILE",
};

function declare(parameters: yaml.YAMLMap, rewriting: Rewriting): void {
  for (const parameter of yaml.mapsOf(yaml.nodeAt(parameters, "required"))) require(parameter, rewriting);
  for (const parameter of yaml.mapsOf(yaml.nodeAt(parameters, "optional")))
    setDefault(String(yaml.plainOf(parameter, "name")), yaml.nodeAt(parameter, "default"), rewriting);
  for (const pair of parameters.items)
    if (yaml.keyText(pair) !== "required" && yaml.keyText(pair) !== "optional")
      setDefault(
        yaml.keyText(pair),
        yaml.isMap(pair.value) ? yaml.nodeAt(pair.value, "default") : pair.value,
        rewriting,
      );
}

/** A required parameter with a default need not be given. */
function require(parameter: yaml.YAMLMap, rewriting: Rewriting): void {
  const name = String(yaml.plainOf(parameter, "name"));
  if (rewriting.defaults.has(name) || (rewriting.options.variables ?? []).includes(name)) return;
  const problem = `the parameter ${name} has no value. Pass one: --var ${name}=VALUE`;
  if (rewriting.options.isRun) rewriting.refuse(parameter, problem);
  else rewriting.warn(parameter, problem);
  rewriting.assumed.add(name);
}

function setDefault(name: string, value: unknown, rewriting: Rewriting): void {
  if (value === undefined || value === null) {
    rewriting.defaults.set(name, "");
    return;
  }
  const node = value as yaml.Node;
  rewriting.defaults.set(
    name,
    yaml.isScalar(node) ? String(node.value ?? "") : JSON.stringify(node.toJSON()),
  );
}
