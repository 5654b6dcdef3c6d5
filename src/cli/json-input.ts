/** Reads JSON from the command line, a file or an editor, and the changes of `--set` and `--patch`. */
import { resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import { parseInputJson } from "../intake/parse-json.ts";
import { parseSetting, type Recipe } from "../redrive/recipe.ts";
import { readText as readTextFile } from "../std/files.ts";
import type { Json } from "../std/json.ts";
import { jsonErrorOffset, lineAndColumn } from "../std/json-error.ts";
import { userError } from "./exit-code.ts";

/** Parses JSON. Throws `input_invalid` with line and column. */
export function readJsonText(text: string, name: string, hint: string): Json {
  const fault = jsonErrorOffset(text);
  if (fault !== null) {
    const { line, column } = lineAndColumn(text, fault);
    throw userError("input_invalid", `${name}:${line}:${column}: invalid JSON from here on.`, hint);
  }
  try {
    return parseInputJson(text, { name, format: "json", sniffed: false }, { line: 1, column: 1 });
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    throw userError("input_invalid", `${error.message}.`, hint, error);
  }
}

export function readJsonFile(path: string, { option, cwd }: { option: string; cwd: string }): Json {
  return readJsonText(readText(resolve(cwd, path), option), path, `${option} needs a JSON file.`);
}

/** Reads the value of an option: JSON, or `@FILE`. */
export function readJsonOption(word: string, { option, cwd }: { option: string; cwd: string }): Json {
  if (word.startsWith("@")) return readJsonFile(word.slice(1), { option, cwd });
  return readJsonText(word, option, `Quote the JSON, e.g. '{"a": 1}', or give a file: @FILE`);
}

export function readRecipe({ set, patch }: { set?: readonly string[]; patch?: string }, cwd: string): Recipe {
  return {
    ...(set && { set: set.map(parseSetting) }),
    ...(patch !== undefined && { patch: readJsonOption(patch, { option: "--patch", cwd }) }),
  };
}

function readText(path: string, option: string): string {
  try {
    return readTextFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw userError("usage", `${option}: ${path} cannot be read: ${why}.`, "Give an existing file.", error);
  }
}
