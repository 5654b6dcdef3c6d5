/** Rewrites `env`, `secrets`, `profiles` and `env_files` of Prodigy. */
import {
  has,
  isMap,
  isScalar,
  isSeq,
  keyText,
  listOf,
  mapOf,
  type Node,
  nodeAt,
  nodesOf,
  plainOf,
  put,
  textsOf,
  type YAMLMap,
} from "../../yaml/edit-yaml.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteEnvironment(root: YAMLMap, rewriting: Rewriting): void {
  rewriteSecrets(root, rewriting);
  rewriteValues(root, rewriting);
  rewriteFiles(root, rewriting);
  const env = nodeAt(root, "env");
  const profiles = nodeAt(root, "profiles");
  const { profile } = rewriting.options;
  if (isMap(profiles))
    for (const pair of profiles.items) {
      if (!isMap(pair.value)) continue;
      for (const inner of pair.value.items)
        if (keyText(pair) === profile || !rewriting.environment.has(keyText(inner)))
          define(rewriting, inner, keyText(pair) === profile);
    }
  if (isMap(env))
    for (const pair of env.items)
      if (profile === undefined || rewriting.environment.get(keyText(pair)) === undefined)
        define(rewriting, pair, true);
  for (const name of textsOf(nodeAt(root, "secrets")))
    if (!rewriting.environment.has(name.value)) rewriting.environment.set(name.value, undefined);
}

function define(rewriting: Rewriting, pair: YAMLMap["items"][number], hasValue: boolean): void {
  const { value } = pair;
  const isFixed = hasValue && isScalar(value) && !String(value.value).includes("${");
  rewriting.environment.set(keyText(pair), isFixed ? String(value.value) : undefined);
}

/** A mapping of names becomes a list of names, and an entry of `env` where the value comes from elsewhere. */
function rewriteSecrets(root: YAMLMap, rewriting: Rewriting): void {
  const secrets = nodeAt(root, "secrets");
  if (!isMap(secrets)) return;
  rewriting.touch();
  const names: (string | Node)[] = [];
  for (const pair of secrets.items) {
    const name = keyText(pair);
    const entry = secretOf(name, pair.value as Node, rewriting);
    if (entry === undefined) continue;
    names.push(entry.listed);
    if (entry.value !== undefined) put(envOf(root, secrets), name, entry.value, pair.value as Node);
  }
  put(root, "secrets", listOf(secrets, names));
}

interface Secret {
  readonly listed: string | Node;
  /** What `env` gets, if the variable has another name or a value. */
  readonly value?: string | Node | undefined;
}

function secretOf(name: string, node: Node, rewriting: Rewriting): Secret | undefined {
  if (isScalar(node)) {
    const text = String(node.value);
    const from = /^\$?\{?(?:env[:.])?([A-Za-z_]\w*)\}?$/.exec(text)?.[1];
    if (from === undefined) return { listed: name, value: node };
    return from === name ? { listed: name } : { listed: name, value: `\${env.${from}}` };
  }
  if (!isMap(node)) return undefined;
  const value = nodeAt(node, "value");
  if (value !== undefined) return { listed: name, value };
  const [provider, key] = [plainOf(node, "provider"), plainOf(node, "key")];
  if (provider === "env")
    return key === name ? { listed: name } : { listed: name, value: `\${env.${String(key)}}` };
  if (provider === "file") return { listed: mapOf(node, { name, file: String(key) }) };
  rewriting.refuse(
    node,
    `Redrive cannot read secrets from ${String(provider ?? "this provider")}. Put ${name} into the environment before the run, and write secrets: [${name}]`,
  );
  return undefined;
}

function envOf(root: YAMLMap, at: Node): YAMLMap {
  const env = nodeAt(root, "env");
  if (isMap(env)) return env;
  const made = mapOf(at, {});
  put(root, "env", made);
  return made;
}

/** `{secret: true, value}` is a variable that is also a secret. */
function rewriteValues(root: YAMLMap, rewriting: Rewriting): void {
  const env = nodeAt(root, "env");
  if (!isMap(env)) return;
  for (const pair of env.items) {
    const { value } = pair;
    if (!isMap(value) || !has(value, "secret")) continue;
    rewriting.touch();
    const isSecret = plainOf(value, "secret") !== false;
    const entry = secretOf(keyText(pair), value, rewriting);
    pair.value = (entry?.value ?? `\${env.${keyText(pair)}}`) as Node;
    if (typeof pair.value === "string") put(env, keyText(pair), pair.value, value);
    if (isSecret && entry !== undefined) addSecret(root, entry.listed, value);
  }
}

function addSecret(root: YAMLMap, secret: string | Node, at: Node): void {
  const secrets = nodeAt(root, "secrets");
  put(root, "secrets", listOf(secrets ?? at, [...nodesOf(isSeq(secrets) ? secrets : undefined), secret]));
}

/** A missing file is skipped, as Prodigy does, unless `required` is set. */
function rewriteFiles(root: YAMLMap, rewriting: Rewriting): void {
  const files = nodeAt(root, "env_files");
  if (files === undefined || !rewriting.isProdigy) return;
  const entries = nodesOf(files).map((file) =>
    isScalar(file) ? mapOf(file, { path: file, required: false }) : file,
  );
  put(root, "env_files", listOf(files, entries));
}
