/**
 * Fills `${…}` in the texts of a workflow. Into a shell script each value goes quoted for the place where it stands,
 * so that the script sees exactly that value and never runs it; `${raw:…}` opts out. What cannot be filled or quoted
 * is an error that names it, never an empty text.
 */
import {
  type Filled,
  lookUp,
  type Place,
  type TemplatePart,
  templateParts,
  wayTo,
} from "../attempt/template-parts.ts";
import type { Json } from "../kit/json.ts";
import { nearest } from "../kit/nearest.ts";
import { placeAfter } from "./shell-place.ts";

/** The values that a template can name. */
export type Variables = Readonly<Record<string, Json>>;
/** `shell`: the result is a script for `sh`. `plain`: no shell sees it. */
export type ExpandMode = "plain" | "shell";

/** The text with its values, or why it has none. */
export function expand(template: string, variables: Variables, mode: ExpandMode): Filled<string> {
  const parts = templateParts(template);
  return mode === "plain" ? expandPlain(parts, variables) : expandShell(parts, variables);
}

/** The same for people to read: what has no value yet stands as it was written. */
export function expandKnown(template: string, variables: Variables, mode: ExpandMode): string {
  const parts = templateParts(template).map((part) =>
    typeof part === "string" || valueAt(part, variables).ok ? part : part.written,
  );
  const filled = mode === "plain" ? expandPlain(parts, variables) : expandShell(parts, variables);
  return filled.ok ? filled.value : template;
}

/** What a place in a template is refused for. */
export interface TemplateProblem {
  readonly written: string;
  readonly message: string;
}

/** Every place of a script where a value could not be quoted, whatever the value is. */
export function shellProblems(template: string): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  let script = "";
  for (const part of templateParts(template)) {
    if (typeof part === "string") script += part;
    else if (part.kind === "place") {
      const place = placeAfter(script);
      if (place.kind === "refused" && !part.isRaw) {
        problems.push({ written: part.written, message: refused(part, place.why) });
      }
      script += NEUTRAL;
    }
  }
  return problems;
}

/** The parts of a template that no shell sees, with their values. */
export function expandPlain(parts: readonly TemplatePart[], variables: Variables): Filled<string> {
  let text = "";
  for (const part of parts) {
    const filled = valueAt(part, variables);
    if (!filled.ok) return filled;
    text += filled.value;
  }
  return { ok: true, value: text };
}

/** Stands for a quoted value while the script around it is read: it changes nothing about what comes after it. */
const NEUTRAL = "x";

function expandShell(parts: readonly TemplatePart[], variables: Variables): Filled<string> {
  let text = "";
  let script = "";
  for (const part of parts) {
    const filled = valueAt(part, variables);
    if (!filled.ok) return filled;
    const isQuoted = typeof part !== "string" && part.kind === "place" && !part.isRaw;
    const quoted = isQuoted ? quoteAt(script, part, filled.value) : filled;
    if (!quoted.ok) return quoted;
    text += quoted.value;
    script += isQuoted ? NEUTRAL : filled.value;
  }
  return { ok: true, value: text };
}

function valueAt(part: TemplatePart, variables: Variables): Filled<string> {
  if (typeof part === "string") return { ok: true, value: part };
  if (part.kind === "unreadable") return { ok: false, message: unreadable(part.written) };
  const value = lookUp(part, variables);
  return value === undefined ? { ok: false, message: missing(part, variables) } : { ok: true, value };
}

function quoteAt(script: string, part: Place, value: string): Filled<string> {
  const place = placeAfter(script);
  if (value.includes("\0")) {
    return { ok: false, message: `${part.written} has a NUL character, which no shell can hold.` };
  }
  switch (place.kind) {
    case "bare":
      return { ok: true, value: quoteForShell(value) };
    case "single":
      return { ok: true, value: value.replaceAll("'", "'\\''") };
    case "double":
      return { ok: true, value: inDoubleQuotes(script, value) };
    case "comment":
      return { ok: true, value: part.written }; // a value with a line end in it would leave the comment
    case "arithmetic":
      if (/^-?\d+$/.test(value)) return { ok: true, value };
      return {
        ok: false,
        message: `${part.written} stands in $((…)), where its value has to be an integer.`,
      };
    case "refused":
      return { ok: false, message: refused(part, place.why) };
  }
}

/** One word of a POSIX shell whose value is exactly this text. */
export function quoteForShell(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** After `$NAME` the quotes are closed and opened again, or the value would become part of the name. */
function inDoubleQuotes(script: string, value: string): string {
  if (/\$\w+$/.test(script)) return `"${quoteForShell(value)}"`;
  return value.replace(/[\\"$`]/g, "\\$&");
}

/** How a place that is no variable at all is explained. */
export function unreadable(written: string): string {
  return `${written} is not a variable. Write one like \${item.name} or \${item.list[0]}; for a literal \${ write $\${.`;
}

/** Why there is no such variable, and the one that was probably meant. */
export function unknownVariable(
  place: Place,
  known: readonly string[],
): { readonly message: string; readonly suggestion?: string } {
  const message = `${place.written}: there is no variable "${place.name}"`;
  const meant = nearest(place.name, known);
  return meant === undefined
    ? { message: `${message}. ${shellHint(place)}` }
    : { message, suggestion: `\${${meant}}` };
}

/** A name that looks like one of the shell's own. */
function shellHint({ name, path }: Place): string {
  const isName = path.length === 0 && /^[A-Z_][A-Z0-9_]*$/.test(name);
  if (isName) return `For the environment write $${name} in a script, or \${env.${name}}`;
  return "For a shell's own ${…} write $${…}";
}

function missing(place: Place, variables: Variables): string {
  if (!Object.hasOwn(variables, place.name)) {
    const { message, suggestion } = unknownVariable(place, Object.keys(variables));
    return suggestion === undefined ? `${message}.` : `${message}. Did you mean ${suggestion}?`;
  }
  const way = wayTo(place);
  const { item_id: itemId } = variables;
  const owner = place.name === "item" && typeof itemId === "string" ? `item ${itemId} has` : "there is";
  return `${place.written}: ${owner} no value at ${way}. Give it one, or write \${${way}:-default}.`;
}

function refused(part: Place, why: string): string {
  return `${part.written} cannot be put there: ${why}.`;
}
