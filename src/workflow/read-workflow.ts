/** Parses a YAML text into a workflow, or into a list of all its problems with line and column. */
import { basename, extname } from "node:path";
import { WorkError } from "../errors.ts";
import { checkForm } from "../yaml/form.ts";
import { type FormProblem, problemText, readYaml } from "../yaml/read-yaml.ts";
import { buildWorkflow } from "./build-workflow.ts";
import { checkWorkflow } from "./check-workflow.ts";
import type { Workflow } from "./model.ts";
import { workflowForm } from "./yaml-form.ts";

export { problemText };

export interface ParseOptions {
  /** How the file is called in messages; its base name is the default name of the workflow. */
  readonly file: string;
  /** Names of variables that the command line gives with `--var`. */
  readonly variables?: readonly string[];
}

/** The workflow, or every problem of the text in the order of its lines. */
export function parseWorkflow(
  text: string,
  { file, variables = [] }: ParseOptions,
): { readonly workflow: Workflow } | { readonly problems: readonly FormProblem[] } {
  const read = readYaml(text, {
    empty: "the file is empty; `redrive init` writes one to begin with",
    notMapping: "a workflow is a mapping with keys such as name and map",
  });
  if (read.raw === undefined) return { problems: read.problems([]) };
  const { value, findings } = checkForm(workflowForm, read.raw);
  const problems = read.problems([...findings, ...checkWorkflow(read.raw, variables)]);
  if (value && problems.length === 0) {
    return { workflow: buildWorkflow(value, basename(file, extname(file))) };
  }
  return { problems };
}

/** The workflow, or one usage error that lists every problem. */
export function requireWorkflow(
  text: string,
  file: string,
  options: Pick<ParseOptions, "variables"> = {},
): Workflow {
  const parsed = parseWorkflow(text, { file, ...options });
  if ("workflow" in parsed) return parsed.workflow;
  const { problems } = parsed;
  const [count, list] = [problems.length, problems.map((problem) => `  ${problemText(problem, file)}`)];
  throw new WorkError(
    "usage",
    `${file} has ${count === 1 ? "a problem" : `${count} problems`}:\n${list.join("\n")}`,
    { hint: "Nothing was run." },
  );
}
