/** The grammar of `${…}`, and its use in the arguments of commands, which no shell interprets. */
import { basename, dirname, extname } from "node:path";
import { RedriveError } from "../errors.ts";
import { asText, isJsonObject, type Json } from "../std/json.ts";
import { type ListFilter, listText, readFilters, selectedFrom } from "./list-filters.ts";

/** A filled template, or the reason why it cannot be filled. */
export type Filled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** A parsed `${name.path[0]|filter:-fallback}`. */
export interface Placeholder {
  readonly kind: "placeholder";
  readonly written: string;
  readonly name: string;
  readonly path: readonly PathStep[];
  readonly fallback: string | undefined;
  /** Set by `${raw:…}`: the value is inserted into a shell script without quoting. */
  readonly isRaw: boolean;
  /** Selects a part of the value. Default: the whole value. */
  readonly of?: (value: string) => string;
  /** How a list becomes text. Default: as JSON. */
  readonly filters?: readonly ListFilter[];
}

/** Text that begins like a placeholder but is invalid. */
interface Unreadable {
  readonly kind: "unreadable";
  readonly written: string;
}

type PathStep = string | number;
export type TemplatePart = string | Placeholder | Unreadable;

/** Matches `$${`, `${…}` (possibly unclosed), and in the second pattern also `{}` and its variants. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g;
const PLACEHOLDER_OR_BRACES = /\$\$\{|\$\{([^}]*)(\}?)|\{(?:\.|\/|\/\/|\/\.|#)?\}/g;

/** The replacement strings of GNU parallel. */
const BRACES: Readonly<Record<string, Pick<Placeholder, "name" | "of">>> = {
  "{}": { name: "item" },
  "{.}": { name: "item", of: withoutExtension },
  "{/}": { name: "item", of: basename },
  "{//}": { name: "item", of: dirname },
  "{/.}": { name: "item", of: (value) => withoutExtension(basename(value)) },
  "{#}": { name: "index", of: (value) => String(Number(value) + 1) },
};

/** Keeps the name of a hidden file, which is not an extension. */
function withoutExtension(path: string): string {
  return path.slice(0, path.length - extname(path).length);
}

function hasVariable(argument: string): boolean {
  return templateParts(argument, { braces: true }).some((part) => typeof part !== "string");
}

/**
 * Splits the text into literals and placeholders. `$${` is a literal `${`. With `braces`, the forms in
 * `BRACES` are placeholders too.
 */
export function templateParts(text: string, options: { readonly braces?: boolean } = {}): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (const match of text.matchAll(options.braces ? PLACEHOLDER_OR_BRACES : PLACEHOLDER)) {
    parts.push(text.slice(at, match.index), readPlaceholder(match));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

function readPlaceholder(match: RegExpExecArray): TemplatePart {
  const [written, inside, end] = match;
  if (written === "$${") return "${";
  const braces = BRACES[written];
  if (braces) return { kind: "placeholder", written, path: [], fallback: undefined, isRaw: false, ...braces };
  const parsed = end === "}" ? PLACEHOLDER_INSIDE.exec(inside ?? "") : null;
  if (!parsed) return { kind: "unreadable", written };
  const [, raw, name = "", path = "", filters = "", fallback] = parsed;
  const read = filters === "" ? {} : { filters: readFilters(filters) };
  return {
    kind: "placeholder",
    written,
    name,
    path: readPath(path),
    fallback,
    isRaw: raw !== undefined,
    ...read,
  };
}

/** A name, then fields and indexes, then optional filters for lists, then an optional default. */
const PLACEHOLDER_INSIDE =
  /^(raw:)?([A-Za-z_]\w*)((?:\.[^.[\]:|\s]+|\[(?:\d+|\*)\]|\["[^"]*"\])*)((?:\|(?:words|lines|csv|json|basename|match:(?:(?!:-)[^|])+))*)(?::-(.*))?$/s;
const PATH_STEP = /\.([^.[\]:|\s]+)|\[(\d+|\*)\]|\["([^"]*)"\]/g;

/** The step `[*]`: every element of a list. */
const EACH = "*";

function readPath(path: string): PathStep[] {
  return Array.from(path.matchAll(PATH_STEP), ([, field, index, quoted]) =>
    index === undefined ? (field ?? quoted ?? "") : index === EACH ? EACH : Number(index),
  );
}

/** Returns a string unchanged and other values as JSON; undefined when missing. With a default, null counts as missing. */
export function lookUp(placeholder: Placeholder, values: Readonly<Record<string, Json>>): string | undefined {
  const root = Object.hasOwn(values, placeholder.name) ? values[placeholder.name] : undefined;
  const value = valueAt(root, placeholder.path);
  if (placeholder.fallback !== undefined && (value ?? null) === null) return placeholder.fallback;
  if (value === undefined) return undefined;
  if (placeholder.filters) return listText(value, placeholder.filters);
  return placeholder.of === undefined ? asText(value) : placeholder.of(asText(value));
}

/** Returns the elements if each of them is to become a separate word of a script. */
export function lookUpWords(
  { name, path, filters }: Placeholder,
  values: Readonly<Record<string, Json>>,
): readonly string[] | undefined {
  if (filters?.at(-1)?.kind !== "words") return undefined;
  const value = valueAt(Object.hasOwn(values, name) ? values[name] : undefined, path);
  return (value ?? null) === null ? undefined : selectedFrom(value as Json, filters);
}

/** `[*]` collects the rest of the path from each element that has it. */
function valueAt(value: Json | undefined, [step, ...rest]: readonly PathStep[]): Json | undefined {
  if (step === undefined || value === undefined) return value;
  if (step !== EACH) return valueAt(stepInto(value, step), rest);
  if (!Array.isArray(value)) return undefined;
  return (value as readonly Json[])
    .map((element) => valueAt(element, rest))
    .filter((found) => found !== undefined);
}

/** An element of a list may be written `.0` or `[0]`. */
function stepInto(value: Json, step: PathStep): Json | undefined {
  if (Array.isArray(value))
    return /^\d+$/.test(String(step)) ? (value as readonly Json[])[Number(step)] : undefined;
  if (typeof step === "number") return undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Returns the placeholder without braces and default: `item.list[0]`. */
export function variablePath({ name, path }: Placeholder): string {
  return name + path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}

const VARIABLES = ["item", "item_id", "index"] as const;

/** `index` is the position of the item in its input, from 0. */
type TemplateVars = { readonly item: Json; readonly item_id: string; readonly index: number };

/**
 * Checks the arguments and returns a function that fills them for one item: strings unchanged, other values as JSON. Rejects
 * values that the program could read as options, unless `allowOptions` is set.
 */
export function compileCommand(
  argv: readonly string[],
  { allowOptions = false }: { readonly allowOptions?: boolean | undefined } = {},
): (vars: TemplateVars) => Filled<string[]> {
  const templates = argv.map((written) => {
    const [first] = templateParts(written, { braces: true });
    const literal = typeof first === "string" ? first : "";
    return { written, literal, parts: compileParts(written) };
  });
  return (vars) => {
    const words: FilledWord[] = [];
    for (const { written, literal, parts } of templates) {
      const argument = fill(parts, vars);
      if (!argument.ok) return argument;
      words.push({ written, literal, value: argument.value });
    }
    const problem = allowOptions ? undefined : optionProblem(words);
    return problem === undefined
      ? { ok: true, value: words.map(({ value }) => value) }
      : { ok: false, message: `${problem}, or allow it with --allow-options.` };
  };
}

/** Rejects an empty argument if no argument has a variable: the user's shell has probably expanded `"${item}"` to nothing. */
export function refuseEmptiedArgument(argv: readonly string[]): void {
  if (!argv.includes("") || argv.some(hasVariable)) return;
  throw new RedriveError(
    "usage",
    "An argument of the command is empty, and no argument contains the item placeholder.",
    {
      hint: `In double quotes your shell replaces "\${item}" with nothing. Write {} or '\${item}' instead, e.g. -- ${argv.map((argument) => argument || "{}").join(" ")}. To pass an empty argument, use sh -c '…'.`,
    },
  );
}

/** Returns a warning for an argument like `--name=` in a command without variables, which may read its environment instead. */
export function emptiedOptionWarning(argv: readonly string[]): string | undefined {
  const option = argv.slice(1).find((argument) => EMPTY_OPTION.test(argument));
  if (option === undefined || argv.some(hasVariable)) return undefined;
  return `Warning: the argument ${option} has no value, and no argument names the item. In double quotes your shell replaces "\${item}" with nothing; write ${option}{} or '${option}\${item}' if the item belongs there.`;
}

const EMPTY_OPTION = /^[\w.-]+=$/;

type Part = string | Placeholder;
function compileParts(text: string): Part[] {
  return templateParts(text, { braces: true }).map((part) => {
    if (typeof part === "string") return part;
    if (part.kind === "unreadable" || part.isRaw) {
      throw new RedriveError("usage", `"${part.written}" in "${text}" is not a variable.`, {
        hint: "Write a variable like ${item.name} or ${item.list[0]}; for a literal ${ write $${.",
      });
    }
    if (VARIABLES.some((known) => known === part.name)) return part;
    const known = VARIABLES.map((variable) => `\${${variable}}`).join(", ");
    throw new RedriveError("usage", `Unknown variable "${part.name}" in "${part.written}".`, {
      hint: `Valid variables: ${known} and fields of the item, like \${item.name}; for a literal \${ write $\${.`,
    });
  });
}

function fill(parts: readonly Part[], vars: TemplateVars): Filled<string> {
  let text = "";
  for (const part of parts) {
    const value = typeof part === "string" ? part : lookUp(part, vars);
    if (value === undefined) {
      const path = variablePath(part as Placeholder);
      const written = (part as Placeholder).written;
      const message = `${written}: item ${vars.item_id} has no value at ${path}. Give it one, or write \${${path}:-default}.`;
      return { ok: false, message };
    }
    text += value;
  }
  return { ok: true, value: text };
}

/** One argument as written, and its value. */
export interface FilledWord {
  readonly written: string;
  /** The text before the first variable, or the whole text if there is none. */
  readonly literal: string;
  readonly value: string;
}

/** Returns an error when the program could read a value as an option, as `rm` does with `-rf`. Values are never changed. */
export function optionProblem(words: readonly FilledWord[]): string | undefined {
  const safeFrom = firstOperand(words);
  const found = words.findIndex(
    ({ literal, value }, index) => index > 0 && index < safeFrom && literal === "" && value.startsWith("-"),
  );
  const word = words[found];
  if (word === undefined) return undefined;
  const program = basename(words[0]?.literal ?? "") || "the program";
  return `The value of ${word.written} begins with "-", and ${program} could read it as an option. Put -- before ${word.written}`;
}

const SHELLS = new Set("sh bash dash ash ksh mksh zsh".split(" "));

/** Returns the index from which no argument is an option: after `--`, or after the script of `sh -c`. */
function firstOperand(words: readonly FilledWord[]): number {
  for (const [index, { literal, written }] of words.entries()) {
    if (literal !== written) continue;
    if (literal === "--") return index + 1;
    if (index > 0 && /^-[A-Za-z]*c$/.test(literal) && SHELLS.has(basename(words[index - 1]?.literal ?? ""))) {
      return index + 2;
    }
  }
  return words.length;
}
