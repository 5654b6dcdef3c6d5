/** Rewrites `env`, `secrets`, `profiles` and `env_files` of Prodigy. */
import { compileExpression } from "../../std/expression.ts";
import * as yaml from "../../yaml/edit-yaml.ts";
import { conditionToCel } from "./conditions.ts";
import type { Rewriting } from "./rewriting.ts";

export function rewriteEnvironment(root: yaml.YAMLMap, rewriting: Rewriting): void {
  flattenProfiles(root, rewriting);
  rewriteSecrets(root, rewriting);
  rewriteValues(root, rewriting);
  rewriteFiles(root, rewriting);
  const env = yaml.nodeAt(root, "env");
  const profiles = yaml.nodeAt(root, "profiles");
  const { profile } = rewriting.options;
  if (yaml.isMap(profiles))
    for (const pair of profiles.items) {
      if (!yaml.isMap(pair.value)) continue;
      for (const inner of pair.value.items)
        if (yaml.keyText(pair) === profile || !rewriting.environment.has(yaml.keyText(inner)))
          define(rewriting, inner, yaml.keyText(pair) === profile);
    }
  if (yaml.isMap(env))
    for (const pair of env.items)
      if (profile === undefined || rewriting.environment.get(yaml.keyText(pair)) === undefined)
        define(rewriting, pair, true);
  for (const name of yaml.textsOf(yaml.nodeAt(root, "secrets")))
    if (!rewriting.environment.has(name.value)) rewriting.environment.set(name.value, undefined);
}

/** Rewrites `{env: {A: b}, description}` of a profile as `{A: b, description}`. */
function flattenProfiles(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const profiles = yaml.nodeAt(root, "profiles");
  if (!yaml.isMap(profiles)) return;
  for (const { value } of profiles.items) {
    const inner = yaml.isMap(value) ? yaml.nodeAt(value, "env") : undefined;
    if (!yaml.isMap(value) || !yaml.isMap(inner)) continue;
    yaml.take(value, "env");
    value.items.push(...inner.items);
    rewriting.touch();
  }
}

function define(rewriting: Rewriting, pair: yaml.YAMLMap["items"][number], hasValue: boolean): void {
  const { value } = pair;
  const isFixed = hasValue && yaml.isScalar(value) && !String(value.value).includes("${");
  rewriting.environment.set(yaml.keyText(pair), isFixed ? String(value.value) : undefined);
}

/** A mapping of secrets becomes a list of names, with an entry in `env` if the value has another source. */
function rewriteSecrets(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const secrets = yaml.nodeAt(root, "secrets");
  if (!yaml.isMap(secrets)) return;
  rewriting.touch();
  const names: (string | yaml.Node)[] = [];
  for (const pair of secrets.items) {
    const name = yaml.keyText(pair);
    const entry = secretOf(name, pair.value as yaml.Node, rewriting);
    if (entry === undefined) continue;
    names.push(entry.listed);
    if (entry.value !== undefined) yaml.put(envOf(root, secrets), name, entry.value, pair.value as yaml.Node);
  }
  yaml.put(root, "secrets", yaml.listOf(secrets, names));
}

interface Secret {
  readonly listed: string | yaml.Node;
  /** The entry for `env`, if the variable has a different name or a fixed value. */
  readonly value?: string | yaml.Node | undefined;
}

function secretOf(name: string, node: yaml.Node, rewriting: Rewriting): Secret | undefined {
  if (yaml.isScalar(node)) {
    const text = String(node.value);
    const from = /^\$?\{?(?:env[:.])?([A-Za-z_]\w*)\}?$/.exec(text)?.[1];
    const provider = /^\$\{(\w+):/.exec(text)?.[1];
    if (from === undefined && provider !== undefined) return fromOutside(name, node, provider, rewriting);
    if (from === undefined) return { listed: name, value: node };
    return from === name ? { listed: name } : { listed: name, value: `\${env.${from}}` };
  }
  if (!yaml.isMap(node)) return undefined;
  const value = yaml.nodeAt(node, "value");
  if (value !== undefined) return { listed: name, value };
  const [provider, key] = [yaml.plainOf(node, "provider"), yaml.plainOf(node, "key")];
  if (provider === "env")
    return key === name ? { listed: name } : { listed: name, value: `\${env.${String(key)}}` };
  if (provider === "file") return { listed: yaml.mapOf(node, { name, file: String(key) }) };
  return fromOutside(name, node, typeof provider === "string" ? provider : "this provider", rewriting);
}

/** A secret of an unsupported provider must be set in the environment. */
function fromOutside(name: string, node: yaml.Node, named: string, rewriting: Rewriting): Secret {
  const { isRun, environment } = rewriting.options;
  const message = `Redrive cannot read secrets from ${named}. Put ${name} into the environment before the run, and write secrets: [${name}]`;
  if (isRun && environment?.(name) === undefined) rewriting.refuse(node, message);
  else rewriting.warn(node, message);
  return { listed: name };
}

function envOf(root: yaml.YAMLMap, at: yaml.Node): yaml.YAMLMap {
  const env = yaml.nodeAt(root, "env");
  if (yaml.isMap(env)) return env;
  const made = yaml.mapOf(at, {});
  yaml.put(root, "env", made);
  return made;
}

/** Rewrites `{secret: true, value}` as a variable that is also listed as a secret. */
function rewriteValues(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const env = yaml.nodeAt(root, "env");
  if (!yaml.isMap(env)) return;
  for (const pair of env.items) {
    const { value } = pair;
    if (!yaml.isMap(value)) continue;
    const command = yaml.plainOf(value, "command");
    if (typeof command === "string") {
      rewriting.computedVariables.set(yaml.keyText(pair), command);
      continue;
    }
    if (!yaml.has(value, "secret")) {
      pair.value = chosenValue(yaml.keyText(pair), value, rewriting);
      continue;
    }
    rewriting.touch();
    const isSecret = yaml.plainOf(value, "secret") !== false;
    const entry = secretOf(yaml.keyText(pair), value, rewriting);
    pair.value = (entry?.value ?? `\${env.${yaml.keyText(pair)}}`) as yaml.Node;
    if (typeof pair.value === "string") yaml.put(env, yaml.keyText(pair), pair.value, value);
    if (isSecret && entry !== undefined) addSecret(root, entry.listed, value);
  }
  for (const name of rewriting.computedVariables.keys()) yaml.take(env, name);
}

/**
 * `{default: a, prod: b}` has one value per profile; `{condition, when_true, when_false}` has two
 * alternatives.
 */
function chosenValue(name: string, value: yaml.YAMLMap, rewriting: Rewriting): yaml.Node {
  rewriting.touch();
  const { profile } = rewriting.options;
  const ofProfile = profile === undefined ? undefined : yaml.nodeAt(value, profile);
  const condition = yaml.plainOf(value, "condition");
  const branch = typeof condition === "string" ? `when_${holds(condition, value, rewriting)}` : "default";
  const chosen = ofProfile ?? yaml.nodeAt(value, branch);
  if (chosen !== undefined) return chosen;
  rewriting.refuse(value, computed(name));
  return yaml.scalar("", value);
}

/** Evaluates the condition with the environment and the profile, which is all that is known before a run. */
function holds(condition: string, at: yaml.Node, rewriting: Rewriting): boolean {
  const { options } = rewriting;
  const cel = conditionToCel(condition, "when");
  const compiled = cel === undefined ? undefined : compileExpression(cel, new Map([["vars", "any"]]));
  const words = [...new Set(condition.match(/[A-Za-z_]\w*/g) ?? [])];
  const env = Object.fromEntries(words.map((word) => [word, options.environment?.(word) ?? null]));
  const vars = { ...env, env, profile: options.profile ?? null };
  const answer = compiled?.ok ? compiled.evaluate({ vars }) : undefined;
  const isTrue = answer?.ok === true && answer.value;
  rewriting.warn(
    at,
    `the condition is evaluated before the run, with the environment and the profile: ${isTrue}`,
  );
  return isTrue;
}

function computed(name: string): string {
  return `the value of ${name} must be a text. Compute it in a step with capture: ${name}, and read it as \${${name}}`;
}

function addSecret(root: yaml.YAMLMap, secret: string | yaml.Node, at: yaml.Node): void {
  const secrets = yaml.nodeAt(root, "secrets");
  yaml.put(
    root,
    "secrets",
    yaml.listOf(secrets ?? at, [...yaml.nodesOf(yaml.isSeq(secrets) ? secrets : undefined), secret]),
  );
}

/** A missing file is skipped, as Prodigy does, unless `required` is set. */
function rewriteFiles(root: yaml.YAMLMap, rewriting: Rewriting): void {
  const files = yaml.nodeAt(root, "env_files");
  if (files === undefined || !rewriting.isProdigy) return;
  const entries = yaml
    .nodesOf(files)
    .map((file) =>
      yaml.isScalar(file) ? yaml.mapOf(file, { path: chosenFile(file, root), required: false }) : file,
    );
  yaml.put(root, "env_files", yaml.listOf(files, entries));
}

/**
 * Resolves `.env.${STAGE}` with the value of `STAGE` in `env`. Without a value the file counts as missing.
 */
function chosenFile(file: yaml.Scalar, root: yaml.YAMLMap): yaml.Scalar {
  const env = yaml.nodeAt(root, "env");
  const path = String(file.value).replace(/\$\{(?:env[.:])?(\w+)\}/g, (_, name: string) => {
    const value = yaml.isMap(env) ? String(yaml.plainOf(env, name) ?? "") : "";
    const fallback = /^\$\{.*:-(.*)\}$/.exec(value)?.[1] ?? (value.includes("${") ? "" : value);
    return `\${env.${name}:-${fallback}}`;
  });
  return yaml.scalar(path, file);
}
