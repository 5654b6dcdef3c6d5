/**
 * A YAML text becomes a workflow, or the list of everything that is wrong with it, each with line and column. What may
 * be written is said in `yaml-form.ts`; what must hold besides is checked in `check-workflow.ts`.
 */
import { basename, extname } from "node:path";
import { type Document, LineCounter, parseDocument, type YAMLError } from "yaml";
import { WorkError } from "../errors.ts";
import { buildWorkflow } from "./build-workflow.ts";
import { checkWorkflow } from "./check-workflow.ts";
import { fitForm } from "./form-problems.ts";
import type { Workflow } from "./model.ts";
import { positionOf } from "./positions.ts";
import { type Finding, pathText, problemText, type WorkflowProblem } from "./problem.ts";

export type { WorkflowProblem };
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
): { readonly workflow: Workflow } | { readonly problems: readonly WorkflowProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const syntaxError = document.errors.find((error) => error.code !== "DUPLICATE_KEY");
  if (syntaxError) return { problems: [yamlProblem(syntaxError, lines, text)] }; // the others follow from it
  const yamlProblems = document.errors.map((error) => yamlProblem(error, lines, text));
  const read = contentOf(document);
  if ("message" in read) return { problems: [...yamlProblems, { line: 1, column: 1, path: "", ...read }] };
  const { form, findings } = fitForm(read.value);
  const all = withoutEchoes([...findings, ...checkWorkflow(read.value, variables)]);
  const problems = [...yamlProblems, ...all.map((finding) => located(finding, document, lines, text))];
  if (form && problems.length === 0) {
    return { workflow: buildWorkflow(form, basename(file, extname(file))) };
  }
  return { problems: inOrder(problems) };
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

function yamlProblem(error: YAMLError, lines: LineCounter, text: string): WorkflowProblem {
  const [at] = error.pos;
  const { line, col } = lines.linePos(at);
  return { line, column: col, path: "", message: yamlMessage(error, text.slice(at - 1, at + 1)) };
}

function yamlMessage({ code, message }: YAMLError, around: string): string {
  if (code === "DUPLICATE_KEY") return "this key is there twice";
  return around === "${" ? "inside { } and [ ] a text with ${ needs quotes" : tidy(message);
}

function tidy(message: string): string {
  return message.replace(/\s+/g, " ").replace(/^./, (first) => first.toLowerCase());
}

function contentOf(document: Document): { readonly value: unknown } | { readonly message: string } {
  if (document.contents === null)
    return { message: "the file is empty; `redrive init` writes one to begin with" };
  try {
    const value: unknown = document.toJS();
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value };
    return { message: "a workflow is a mapping with keys such as name and map" };
  } catch (error) {
    return { message: tidy(error instanceof Error ? error.message : String(error)) };
  }
}

/** A misspelt key is one problem: that the right one is missing says nothing new. */
function withoutEchoes(findings: readonly Finding[]): readonly Finding[] {
  const misspelt = new Set(
    findings
      .filter((finding) => finding.isUnknownKey)
      .map(({ path, suggestion }) => pathText([...path.slice(0, -1), suggestion ?? ""])),
  );
  return findings.filter(({ lacks, path }) => !lacks?.some((key) => misspelt.has(pathText([...path, key]))));
}

function located(finding: Finding, document: Document, lines: LineCounter, text: string): WorkflowProblem {
  const { path, message, suggestion } = finding;
  return {
    ...positionOf(finding, document, lines, text),
    path: pathText(path),
    message,
    ...(suggestion !== undefined && { suggestion }),
  };
}

function inOrder(problems: readonly WorkflowProblem[]): readonly WorkflowProblem[] {
  const seen = new Set<string>();
  return [...problems]
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .filter((problem) => {
      const text = problemText(problem, "");
      if (seen.has(text)) return false;
      seen.add(text);
      return true;
    });
}
