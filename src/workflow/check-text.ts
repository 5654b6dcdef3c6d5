/** Checks single texts of a workflow: templates, expressions, and the names of their variables. */
import { type Placeholder, templateParts } from "../attempt/template-parts.ts";
import { compileExpression, type KnownVariables } from "../std/expression.ts";
import { nearest } from "../std/nearest.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import { shellProblems } from "./shell-values.ts";
import { type ExpandMode, unknownVariable, unreadable } from "./variables.ts";

type Path = readonly PropertyKey[];

/** Every variable of the text that is unknown, and every one that is refused where it stands. */
export function checkTemplate(text: string, path: Path, known: KnownVariables, mode: ExpandMode): Finding[] {
  const findings: Finding[] = [];
  for (const part of templateParts(text)) {
    if (typeof part === "string") continue;
    if (part.kind === "unreadable") {
      findings.push({ path, word: part.written, message: unreadable(part.written).replace(/\.$/, "") });
      continue;
    }
    const problem = placeProblem(part, known);
    if (problem) findings.push({ path, word: part.written, ...problem });
  }
  if (mode === "shell") {
    for (const { written, message } of shellProblems(text)) {
      findings.push({ path, word: written, message: message.replace(/\.$/, "") });
    }
  }
  return findings;
}

/** A bare name with a default may stay unknown: `--var` can give it a value. */
function placeProblem(
  place: Placeholder,
  known: KnownVariables,
): { readonly message: string; readonly suggestion?: string | undefined } | undefined {
  const fields = known.get(place.name);
  if (fields === undefined) {
    const isOptional = place.fallback !== undefined && place.path.length === 0;
    return isOptional ? undefined : unknownVariable(place, [...known.keys()]);
  }
  const [field] = place.path;
  if (fields === "any" || field === undefined || fields.includes(String(field))) return undefined;
  const meant = nearest(String(field), fields);
  return {
    message: `${place.written}: there is no "${field}" in ${place.name}`,
    suggestion: meant && `\${${place.name}.${meant}}`,
  };
}

/** What keeps the expression from being parsed or typed. */
export function checkExpression(text: string, path: Path, known: KnownVariables): Finding[] {
  const compiled = compileExpression(text, known);
  if (compiled.ok) return [];
  const { message, word, suggestion } = compiled;
  return [{ path, message, word, suggestion }];
}

/** The first of the secrets that the text names as `${env.NAME}`. */
export function secretIn(text: string, secrets: readonly string[]): string | undefined {
  for (const part of templateParts(text)) {
    if (typeof part === "string" || part.kind !== "placeholder" || part.name !== "env") continue;
    const name = String(part.path[0] ?? "");
    if (secrets.includes(name)) return name;
  }
  return undefined;
}
