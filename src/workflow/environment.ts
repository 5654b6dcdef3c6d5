/** Builds the environment of a workflow's steps from its env files and its `env` section. */
import { isAbsolute, join } from "node:path";
import { parseEnv } from "node:util";
import { RedriveError } from "../errors.ts";
import { readText } from "../std/files.ts";
import { expand, naming } from "./variables.ts";
import type { WorkflowSpec } from "./workflow-spec.ts";

/** The `env` section overrides the env files. */
export function environmentOf({ workflow, cwd, variables }: WorkflowSpec): Record<string, string> {
  const env: Record<string, string> = {};
  for (const file of workflow.envFiles)
    Object.assign(env, readEnvFile(isAbsolute(file) ? file : join(cwd, file)));
  for (const [name, value] of Object.entries(workflow.env)) {
    const known = { ...variables, env: { ...outsideEnv(), ...env } };
    env[name] = naming(`env.${name}`, () => expand(value, known));
  }
  return env;
}

function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readText(path));
  } catch (error) {
    throw new RedriveError("usage", `The file ${path} of env_files cannot be read.`, { cause: error });
  }
}

export function outsideEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}
