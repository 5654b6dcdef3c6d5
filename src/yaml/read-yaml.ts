/** Reads a YAML file that a person wrote, and locates problems by line and column. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from "yaml";
import { isJsonObject, type JsonObject } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";

export interface YamlKind {
  /** The message for an empty file. Without it, an empty file is an empty mapping. */
  readonly empty?: string;
  readonly notMapping: string;
  /** Edits the document before it is read. */
  readonly rewrite?: (document: Document) => void;
}

export interface YamlText {
  readonly raw?: JsonObject;
  /** Returns the line and column of a node. */
  place(node: Node): Position;
  /** Returns the text of the document as it was edited. */
  print(): string;
  /** YAML errors and the given findings, in the order of the lines. */
  problems(findings: readonly Finding[]): readonly FormProblem[];
}

/** Parses a YAML file. Never throws: errors are among the problems. */
export function readYaml(text: string, kind: YamlKind): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const syntaxError = document.errors.find((error) => error.code !== "DUPLICATE_KEY");
  // Other errors are usually consequences of the first one.
  if (syntaxError) return unreadable([yamlProblem(syntaxError, lines, text)]);
  kind.rewrite?.(document);
  const yamlProblems = document.errors.map((error) => yamlProblem(error, lines, text));
  const read = contentOf(document, kind);
  if ("message" in read) return unreadable([...yamlProblems, { line: 1, column: 1, path: "", ...read }]);
  return {
    raw: read.raw,
    place: (node) => {
      const { line, col } = lines.linePos(startOf(node));
      return { line, column: col };
    },
    print: () => document.toString({ lineWidth: 0 }),
    problems: (findings) =>
      inOrder([
        ...yamlProblems,
        ...withoutEchoes(findings).map((finding) => located(finding, document, lines, text)),
      ]),
  };
}

function unreadable(problems: readonly FormProblem[]): YamlText {
  return { problems: () => problems, place: () => ({ line: 1, column: 1 }), print: () => "" };
}

function yamlProblem(error: YAMLError, lines: LineCounter, text: string): FormProblem {
  const [at] = error.pos;
  const { line, col } = lines.linePos(at);
  return { line, column: col, path: "", message: yamlMessage(error, text.slice(at - 1, at + 1)) };
}

function yamlMessage({ code, message }: YAMLError, around: string): string {
  if (code === "DUPLICATE_KEY") return "this key is duplicated";
  return around === "${" ? "inside { } and [ ] a text with ${ must be quoted" : tidy(message);
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
    return { message: tidy(messageOf(error)) };
  }
}

/** Reports a misspelt key only once, without reporting the correct key as missing. */
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

export interface FormProblem {
  readonly line: number;
  readonly column: number;
  /** E.g. `map.agent_template[0].timeout`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly suggestion?: string;
}

export interface Finding {
  readonly path: readonly PropertyKey[];
  readonly atKey?: boolean;
  readonly message: string;
  readonly suggestion?: string | undefined;
  /** The part of the value that causes the problem. */
  readonly word?: string | undefined;
  /** The keys of which one is missing. Not reported if one of them is only misspelt. */
  readonly lacks?: readonly string[];
  readonly isUnknownKey?: boolean;
}

/** Formats a problem: `file:12:5: map.filer: unknown key "filer". Did you mean filter?` */
export function problemText(problem: FormProblem, file: string): string {
  const { line, column, path, message, suggestion } = problem;
  const meant = suggestion === undefined ? "" : `. Did you mean ${suggestion}?`;
  return `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}${meant}`;
}

export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? String(step) : `.${String(step)}`;
    })
    .join("");
}

export type Position = { readonly line: number; readonly column: number };

/** The position of a problem: the key or value at its path, or its nearest existing parent. */
export function positionOf(finding: Finding, document: Document, lines: LineCounter, text: string): Position {
  const offset = offsetOf(finding, document, text);
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function offsetOf({ path, atKey, word }: Finding, document: Document, text: string): number {
  let value: Node | null = document.contents;
  let key: Node | null = null;
  for (const step of path) {
    const inner = child(value, step, document);
    if (inner === undefined) return startOf(key ?? value);
    key = inner.key ?? key;
    value = inner.value;
  }
  if (atKey && key) return startOf(key);
  if (value === null || (isScalar(value) && value.value === null)) return startOf(key ?? value);
  return word === undefined ? startOf(value) : wordIn(value, word, text);
}

type Child = { readonly key: Node | null; readonly value: Node | null };

function child(parent: Node | null, step: PropertyKey, document: Document): Child | undefined {
  const node = isAlias(parent) ? (parent.resolve(document) ?? null) : parent;
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return isNode(item) ? { key: null, value: item } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step));
  if (!pair) return undefined;
  return { key: isNode(pair.key) ? pair.key : null, value: isNode(pair.value) ? pair.value : null };
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/** Finds the word in the value. If escapes or folding hide it, the start of the value is used. */
function wordIn(node: Node, word: string, text: string): number {
  const [start, end] = node.range ?? [0, 0];
  const at = text.slice(start, end).indexOf(word);
  return at < 0 || word === "" ? start : start + at;
}
