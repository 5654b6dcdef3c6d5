/** Converts a Prodigy workflow to the format of Redrive, with a comment wherever the meaning differs. */
import type { Document } from "yaml";
import * as yaml from "../../yaml/edit-yaml.ts";
import { type FormProblem, readYaml } from "../../yaml/read-yaml.ts";
import type { FileAccess } from "./other-files.ts";
import { rewriteProdigy } from "./rewrite.ts";
import type { Note, Rewriting } from "./rewriting.ts";

export type Migrated =
  | {
      readonly text: string;
      readonly notes: readonly string[];
      readonly isChanged: boolean;
      /** Variables that the workflow does not define and that `--var` must set. */
      readonly variables: readonly string[];
    }
  | { readonly problems: readonly FormProblem[] };

export interface MigrateOptions {
  readonly environment: (name: string) => string | undefined;
  /** How to read other files that the workflow names. Their steps become part of the converted file. */
  readonly files?: FileAccess;
}

/** Comments of the file are kept. Settings that are read from the environment get the values that they have now. */
export function migrateWorkflow(text: string, { environment, files }: MigrateOptions): Migrated {
  let rewriting: Rewriting | undefined;
  const read = readYaml(text, {
    empty: "the file is empty",
    notMapping: "a workflow must be a mapping, or a list of steps",
    rewrite: (document) => {
      rewriting = rewriteProdigy(document, { environment, ...(files && { files }) });
      if (document.contents instanceof yaml.YAMLMap && rewriting.isProdigy)
        yaml.take(document.contents, "mode");
      annotate(document, rewriting.notes);
    },
  });
  const notes = rewriting?.notes ?? [];
  const refused = notes
    .filter(({ kind }) => kind === "problem")
    .map(({ at, message }) => ({ path: "", message, ...read.place(at) }));
  const problems = [...refused, ...read.problems([])];
  if (read.raw === undefined || problems.length > 0) return { problems };
  const isChanged = rewriting?.isProdigy === true;
  return {
    text: isChanged ? read.print() : text,
    notes: notes.map(({ message }) => message),
    isChanged,
    variables: [...(rewriting?.assumed ?? [])],
  };
}

const WIDTH_MAX = 110;

/** Puts each note above its key or list entry. Notes on removed keys are put at the top. */
function annotate(document: Document, notes: readonly Note[]): void {
  const left = new Map<yaml.Node, string[]>();
  for (const { at, message } of notes) left.set(at, [...(left.get(at) ?? []), message]);
  walk(document.contents, (owner, value) => {
    const own = left.get(value) ?? left.get(owner);
    if (own === undefined) return;
    owner.commentBefore = [owner.commentBefore, ...own.flatMap(lines)].filter((line) => line).join("\n");
    left.delete(value);
    left.delete(owner);
  });
  const rest = [...left.values()].flat();
  if (rest.length === 0) return;
  const head = [
    ...lines("Converted from a Prodigy workflow. Keys without effect, and differences:"),
    ...rest.flatMap(lines),
  ];
  document.commentBefore = [document.commentBefore, ...head].filter((line) => line).join("\n");
}

/** Visits the values of mappings together with their keys, and the entries of lists. */
function walk(node: unknown, visit: (owner: yaml.Node, value: yaml.Node) => void): void {
  if (yaml.isSeq(node))
    for (const item of node.items) {
      if (yaml.isMap(item) || yaml.isScalar(item)) visit(item, item);
      walk(item, visit);
    }
  if (!yaml.isMap(node)) return;
  for (const { key, value } of node.items) {
    if (yaml.isScalar(key) && value !== null && typeof value === "object") visit(key, value as yaml.Node);
    walk(value, visit);
  }
}

/** Wraps text into comment lines of at most `WIDTH_MAX` characters, each with a leading space. */
function lines(message: string): string[] {
  const found: string[] = [];
  let line = "";
  for (const word of message.split(" ")) {
    if (line.length + word.length >= WIDTH_MAX) {
      found.push(line);
      line = "";
    }
    line += ` ${word}`;
  }
  return [...found, line];
}
