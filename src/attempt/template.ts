/**
 * Fills an item's values into the arguments of a command: `${item}`, `${item.a.b[0]}`, `${item_id}`, with a default
 * as `${item.x:-none}`. A variable that does not exist is an error before anything runs; a field that one item lacks
 * fails that item. No shell ever sees the result.
 */
import { WorkError } from "../errors.ts";
import { asText, isJsonObject, type Json } from "../kit/json.ts";

export interface TemplateVars {
  readonly item: Json;
  readonly item_id: string;
}

/** The values in place, or why this item has none. */
export type Filled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** Every variable there is. */
export const TEMPLATE_VARIABLES = ["item", "item_id"] as const satisfies readonly (keyof TemplateVars)[];

/** Checks the text at once; the function fills it for one item. A string goes in as it is, all else as JSON. */
export function compileTemplate(text: string): (vars: TemplateVars) => Filled<string> {
  return compileParts(text, PLACE);
}

/** As `compileTemplate` for each argument, where `{}` is `${item}` too. */
export function compileCommand(argv: readonly string[]): (vars: TemplateVars) => Filled<string[]> {
  const templates = argv.map((argument) => compileParts(argument, PLACE_OR_BRACES));
  return (vars) => {
    const filled: string[] = [];
    for (const template of templates) {
      const argument = template(vars);
      if (!argument.ok) return argument;
      filled.push(argument.value);
    }
    return { ok: true, value: filled };
  };
}

/** `$${`, then `${…}` (or its beginning without an end), then `{}` where that counts. */
const PLACE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const PLACE_OR_BRACES = /\$\$\{|\$\{([^}]*)(\}?)|\{\}/g;

type Part = string | Place;
type Step = string | number;

interface Place {
  readonly written: string;
  readonly variable: keyof TemplateVars;
  readonly path: readonly Step[];
  readonly fallback: string | undefined;
}

function compileParts(text: string, pattern: RegExp): (vars: TemplateVars) => Filled<string> {
  const parts: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(at, match.index), readPlace(match, text));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return (vars) => fill(parts, vars);
}

function readPlace(match: RegExpExecArray, text: string): Part {
  const [written, inside, end] = match;
  if (written === "$${") return "${";
  if (written === "{}") return { written, variable: "item", path: [], fallback: undefined };
  const parsed = end === "}" ? PLACE_INSIDE.exec(inside ?? "") : null;
  if (!parsed) throw notATemplate(written, text);
  const [, name = "", path = "", fallback] = parsed;
  const variable = TEMPLATE_VARIABLES.find((known) => known === name);
  if (!variable) throw unknownVariable(name, written);
  return { written, variable, path: readPath(path), fallback };
}

/** A name, then fields and indexes, then perhaps a default. */
const PLACE_INSIDE = /^([A-Za-z_]\w*)((?:\.[^.[\]:\s]+|\[\d+\]|\["[^"]*"\])*)(?::-(.*))?$/s;
const PATH_STEP = /\.([^.[\]:\s]+)|\[(\d+)\]|\["([^"]*)"\]/g;

function readPath(path: string): Step[] {
  return Array.from(path.matchAll(PATH_STEP), ([, field, index, quoted]) =>
    index === undefined ? (field ?? quoted ?? "") : Number(index),
  );
}

function fill(parts: readonly Part[], vars: TemplateVars): Filled<string> {
  let text = "";
  for (const part of parts) {
    const value = typeof part === "string" ? part : lookUp(part, vars);
    if (typeof value !== "string") return value;
    text += value;
  }
  return { ok: true, value: text };
}

/** A null counts as missing where a default is given; without one it is JSON like any other value. */
function lookUp(place: Place, vars: TemplateVars): string | { ok: false; message: string } {
  let value: Json | undefined = vars[place.variable];
  for (const step of place.path) value = value === undefined ? undefined : stepInto(value, step);
  if (place.fallback !== undefined && (value ?? null) === null) return place.fallback;
  return value === undefined ? { ok: false, message: missing(place, vars) } : asText(value);
}

function stepInto(value: Json, step: Step): Json | undefined {
  if (typeof step === "number") return Array.isArray(value) ? (value as readonly Json[])[step] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

function missing(place: Place, vars: TemplateVars): string {
  const steps = place.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  const way = `${place.variable}${steps}`;
  return `${place.written}: item ${vars.item_id} has no value at ${way}. Give it one, or write \${${way}:-default}.`;
}

function notATemplate(written: string, text: string): WorkError {
  return new WorkError("usage", `"${written}" in "${text}" is not a variable.`, {
    hint: "Write a variable like ${item.name} or ${item.list[0]}; for a literal ${ write $${.",
  });
}

function unknownVariable(name: string, written: string): WorkError {
  const known = TEMPLATE_VARIABLES.map((variable) => `\${${variable}}`).join(", ");
  return new WorkError("usage", `There is no variable "${name}" (in "${written}").`, {
    hint: `Known are ${known} and fields of the item, like \${item.name}; for a literal \${ write $\${.`,
  });
}
