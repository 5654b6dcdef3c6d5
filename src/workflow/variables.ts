/** Expands `${…}` in texts that no shell reads, renders scripts for display, and builds the environment of a workflow. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import {
  lookUp,
  type Placeholder,
  type TemplatePart,
  templateParts,
  variablePath,
} from "../attempt/template.ts";
import { RedriveError } from "../errors.ts";
import { readText } from "../std/files.ts";
import type { Json } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import { quotingContexts } from "./quoting-context.ts";
import type { WorkflowSpec } from "./workflow-spec.ts";

export type Variables = Readonly<Record<string, Json>>;
/** `shell` is a script for `sh`; `plain` is text that no shell reads. */
export type ExpandMode = "plain" | "shell";

/** Expands all variables. Throws a usage error when one has no value. For scripts that run, use `fillScript`. */
export function expand(template: string, variables: Variables): string {
  return expandParts(templateParts(template), variables);
}

export function expandParts(parts: readonly TemplatePart[], variables: Variables): string {
  return parts.map((part) => fillPart(part, variables)).join("");
}

/** Puts the name of a setting before the message of a usage error. */
export function naming<T>(setting: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!isUsageError(error)) throw error;
    throw new RedriveError("usage", `${setting}: ${error.message}`);
  }
}

/** Returns the message of the usage error that the action throws, or undefined. */
export function usageProblem(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (isUsageError(error)) return error.message;
    throw error;
  }
}

export function isUsageError(error: unknown): error is RedriveError {
  return error instanceof RedriveError && error.code === "usage";
}

/** For display only, never to run: variables without a value stay as written, and values in scripts are quoted. */
export function expandKnown(template: string, variables: Variables, mode: ExpandMode): string {
  const parts = templateParts(template);
  const contexts =
    mode === "shell" ? quotingContexts(parts.map((part) => (isValue(part) ? null : writtenOf(part)))) : [];
  let count = 0;
  let text = "";
  for (const part of parts) {
    const context = isValue(part) ? contexts[count++] : undefined;
    const value = findValue(part, variables);
    text += value === undefined ? writtenOf(part) : shownAt(context?.kind, value, writtenOf(part));
  }
  return text;
}

function shownAt(kind: string | undefined, value: string, written: string): string {
  if (kind === "bare") return quoteForShell(value);
  if (kind === "single") return value.replaceAll("'", "'\\''");
  if (kind === "double") return value.replace(/[\\"$`]/g, "\\$&");
  return kind === undefined ? value : written;
}

/** Whether the part is a value that a shell must not run as code. */
export function isValue(part: TemplatePart): part is Placeholder {
  return typeof part !== "string" && part.kind === "placeholder" && !part.isRaw;
}

function writtenOf(part: TemplatePart): string {
  return typeof part === "string" ? part : part.written;
}

export function fillPart(part: TemplatePart, variables: Variables): string {
  const value = findValue(part, variables);
  if (value !== undefined) return value;
  const isPlaceholder = typeof part !== "string" && part.kind === "placeholder";
  const problem = isPlaceholder ? missing(part, variables) : unreadable(writtenOf(part));
  throw new RedriveError("usage", problem);
}

function findValue(part: TemplatePart, variables: Variables): string | undefined {
  if (typeof part === "string") return part;
  return part.kind === "unreadable" ? undefined : lookUp(part, variables);
}

export function quoteForShell(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

export function unreadable(written: string): string {
  return `${written} is not a variable. Write one like \${item.name} or \${item.list[0]}; for a literal \${ write $\${.`;
}

/** Returns the error for an unknown variable, with a suggestion if a known name is similar. */
export function unknownVariable(
  placeholder: Placeholder,
  known: readonly string[],
): { readonly message: string; readonly suggestion?: string } {
  const message = `${placeholder.written}: there is no variable "${placeholder.name}"`;
  const meant = nearest(placeholder.name, known);
  return meant === undefined
    ? { message: `${message}. ${shellHint(placeholder)}` }
    : { message, suggestion: `\${${meant}}` };
}

/** Suggests how to write a variable that was probably meant for the shell. */
function shellHint({ name, path }: Placeholder): string {
  const isName = path.length === 0 && /^[A-Z_][A-Z0-9_]*$/.test(name);
  if (isName) return `For an environment variable write $${name} in a script, or \${env.${name}}`;
  return "For a shell expansion ${…} write $${…}";
}

function missing(placeholder: Placeholder, variables: Variables): string {
  if (!Object.hasOwn(variables, placeholder.name)) {
    const { message, suggestion } = unknownVariable(placeholder, Object.keys(variables));
    return suggestion === undefined ? `${message}.` : `${message}. Did you mean ${suggestion}?`;
  }
  const way = variablePath(placeholder);
  const { item_id: itemId } = variables;
  const owner = placeholder.name === "item" && typeof itemId === "string" ? `item ${itemId} has` : "there is";
  return `${placeholder.written}: ${owner} no value at ${way}. Give it one, or write \${${way}:-default}.`;
}

/** Returns the environment of a workflow's steps. Its `env` section overrides its env files. */
export function environmentOf({ workflow, cwd, variables }: WorkflowSpec): Record<string, string> {
  const env: Record<string, string> = {};
  for (const file of workflow.envFiles) {
    const { path, isOptional } = typeof file === "string" ? { path: file, isOptional: false } : file;
    const full = resolve(cwd, expand(path, { ...variables, env: { ...outsideEnv(), ...env } }));
    if (!isOptional || existsSync(full)) Object.assign(env, readEnvFile(full));
  }
  for (const [name, file] of Object.entries(workflow.secretFiles ?? {}))
    env[name] = readSecretFile(resolve(cwd, file.replace(/^~(?=\/)/, homedir())), name);
  for (const [name, value] of Object.entries(workflow.env)) {
    const known = { ...variables, env: { ...outsideEnv(), ...env } };
    env[name] = naming(`env.${name}`, () => expand(value, known));
  }
  return env;
}

/** Trailing line breaks of the file are not part of the secret. */
function readSecretFile(path: string, name: string): string {
  try {
    return readText(path).replace(/(\r?\n)+$/, "");
  } catch (error) {
    throw new RedriveError("usage", `The file ${path} with the secret ${name} cannot be read.`, {
      cause: error,
    });
  }
}

function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readText(path));
  } catch (error) {
    throw new RedriveError("usage", `The file ${path} in env_files cannot be read.`, { cause: error });
  }
}

export function outsideEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}
