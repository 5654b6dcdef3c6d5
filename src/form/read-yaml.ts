/**
 * The text of a YAML file that a person wrote: what is in it, and where in it whatever is wrong stands. What may be in it
 * is said by the form of its kind; this knows lines and columns only.
 */
import { type Document, LineCounter, parseDocument, type YAMLError } from "yaml";
import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { positionOf } from "./positions.ts";
import { type Finding, type FormProblem, pathText, problemText } from "./problem.ts";

/** How a kind of file speaks of itself. */
export interface YamlKind {
  /** Said of a file in which nothing is; when absent, an empty file is an empty mapping. */
  readonly empty?: string;
  /** Said of a file that is no mapping. */
  readonly notMapping: string;
}

export interface YamlText {
  /** The mapping that the file is; absent when it cannot be read. */
  readonly raw?: JsonObject;
  /** What YAML itself objects to and what was found besides, in the order of the lines. */
  problems(findings: readonly Finding[]): readonly FormProblem[];
}

/** Reads a text. It never throws: what is wrong is among the problems. */
export function readYaml(text: string, kind: YamlKind): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const syntaxError = document.errors.find((error) => error.code !== "DUPLICATE_KEY");
  // The others follow from it.
  if (syntaxError) return unreadable([yamlProblem(syntaxError, lines, text)]);
  const yamlProblems = document.errors.map((error) => yamlProblem(error, lines, text));
  const read = contentOf(document, kind);
  if ("message" in read) return unreadable([...yamlProblems, { line: 1, column: 1, path: "", ...read }]);
  return {
    raw: read.raw,
    problems: (findings) =>
      inOrder([
        ...yamlProblems,
        ...withoutEchoes(findings).map((finding) => located(finding, document, lines, text)),
      ]),
  };
}

function unreadable(problems: readonly FormProblem[]): YamlText {
  return { problems: () => problems };
}

function yamlProblem(error: YAMLError, lines: LineCounter, text: string): FormProblem {
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

function contentOf(
  document: Document,
  { empty, notMapping }: YamlKind,
): { readonly raw: JsonObject } | { readonly message: string } {
  if (document.contents === null) return empty === undefined ? { raw: {} } : { message: empty };
  try {
    const raw: unknown = document.toJS();
    return isJsonObject(raw) ? { raw } : { message: notMapping };
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

function located(finding: Finding, document: Document, lines: LineCounter, text: string): FormProblem {
  const { path, message, suggestion } = finding;
  return {
    ...positionOf(finding, document, lines, text),
    path: pathText(path),
    message,
    ...(suggestion !== undefined && { suggestion }),
  };
}

function inOrder(problems: readonly FormProblem[]): readonly FormProblem[] {
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
