/**
 * The input of the workflow commands besides their options: the workflow file, files that it refers to, and
 * variables.
 */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { readText } from "../std/files.ts";
import type { FileAccess } from "../workflow/prodigy/other-files.ts";
import { readVariableText } from "../workflow/variable-file.ts";
import type { Context } from "./context.ts";
import { userError } from "./exit-code.ts";
import * as option from "./options.ts";

export const varFile = option.path(
  "--var-file <file>",
  "a JSON or YAML file with variables of the workflow; --var takes precedence",
);

export function readWorkflow(path: string, name: string): string {
  try {
    return readText(path);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    const hint = "Give an existing file, or create a runnable example: redrive init";
    throw userError("usage", `The workflow ${name} cannot be read${reason}.`, hint, error);
  }
}

/** Other files that a Prodigy workflow refers to are read from the disk. */
export function otherFiles({ terminal: { cwd, env } }: Context, path: string): FileAccess {
  return { path, cwd, home: env.HOME ?? homedir(), read: (other) => readIfPresent(other) };
}

function readIfPresent(path: string): string | undefined {
  try {
    return readText(path);
  } catch {
    return undefined;
  }
}

/** The variables from `--var-file`, overridden by those from `--var`. */
export function readVariables(
  { terminal: { cwd } }: Context,
  file: string | undefined,
  given: readonly string[],
): Record<string, string> {
  const ofFile = file === undefined ? {} : readVariableFile(resolve(cwd, file), file);
  return { ...ofFile, ...Object.fromEntries(given.map(readVariable)) };
}

function readVariable(given: string): [string, string] {
  const match = /^([A-Za-z_]\w*)=(.*)$/s.exec(given);
  if (match?.[1] !== undefined) return [match[1], match[2] ?? ""];
  throw userError("usage", `--var: "${given}" is not NAME=VALUE.`, "Example: --var region=eu");
}

function readVariableFile(path: string, name: string): Record<string, string> {
  const text = readIfPresent(path);
  if (text === undefined)
    throw userError("usage", `--var-file: ${name} cannot be read.`, "Give an existing file.");
  const read = readVariableText(text, name);
  if ("variables" in read) return read.variables;
  throw userError("usage", `--var-file: ${read.problem}.`, 'Example: {"region": "eu"}');
}
