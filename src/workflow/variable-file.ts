/** Reads a file with variables: a JSON or YAML mapping of names to values. */
import { stringifyJson } from "../std/json.ts";
import { problemText, readYaml } from "../yaml/read-yaml.ts";

export type VariableFile =
  | { readonly variables: Record<string, string> }
  /** Names the file and the line. */
  | { readonly problem: string };

/** A value that is not a text becomes JSON, as in a step. */
export function readVariableText(text: string, file: string): VariableFile {
  const { raw, problems } = readYaml(text, { notMapping: "variables must be a mapping of names to values" });
  const [problem] = problems([]);
  if (problem !== undefined || raw === undefined)
    return { problem: problem === undefined ? file : problemText(problem, file) };
  const wrong = Object.keys(raw).find((name) => !/^[A-Za-z_]\w*$/.test(name));
  if (wrong !== undefined) return { problem: `${file}: "${wrong}" is not the name of a variable` };
  const values = Object.entries(raw).map(([name, value]) => [
    name,
    typeof value === "string" ? value : stringifyJson(value),
  ]);
  return { variables: Object.fromEntries(values) };
}
