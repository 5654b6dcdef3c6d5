/** The grammar of `${…}`, and its use in the arguments of commands, which no shell interprets. */
import { basename, dirname, extname } from "node:path";
import { RedriveError } from "../errors.ts";
import { asText, isJsonObject, type Json } from "../std/json.ts";

/** A filled template, or the reason why it cannot be filled. */
export type Filled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** A parsed `${name.path[0]:-fallback}`. */
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
}

/** Text that begins like a placeholder but is invalid. */
export interface Unreadable {
  readonly kind: "unreadable";
  readonly written: string;
}

export type PathStep = string | number;
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

/** Whether an argument of a command contains a placeholder of any form. */
export function hasVariable(text: string): boolean {
  return templateParts(text, { braces: true }).some((part) => typeof part !== "string");
}

/** Splits the text into literals and placeholders. `$${` is a literal `${`. With `braces`, the forms of `BRACES` count too. */
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
  const [, raw, name = "", path = "", fallback] = parsed;
  return { kind: "placeholder", written, name, path: readPath(path), fallback, isRaw: raw !== undefined };
}

/** A name, then fields and indexes, then an optional default. */
const PLACEHOLDER_INSIDE = /^(raw:)?([A-Za-z_]\w*)((?:\.[^.[\]:\s]+|\[\d+\]|\["[^"]*"\])*)(?::-(.*))?$/s;
const PATH_STEP = /\.([^.[\]:\s]+)|\[(\d+)\]|\["([^"]*)"\]/g;

function readPath(path: string): PathStep[] {
  return Array.from(path.matchAll(PATH_STEP), ([, field, index, quoted]) =>
    index === undefined ? (field ?? quoted ?? "") : Number(index),
  );
}

/** Returns a string unchanged and other values as JSON; undefined when missing. With a default, null counts as missing. */
export function lookUp(placeholder: Placeholder, values: Readonly<Record<string, Json>>): string | undefined {
  let value: Json | undefined = Object.hasOwn(values, placeholder.name)
    ? values[placeholder.name]
    : undefined;
  for (const step of placeholder.path) value = value === undefined ? undefined : stepInto(value, step);
  if (placeholder.fallback !== undefined && (value ?? null) === null) return placeholder.fallback;
  if (value === undefined) return undefined;
  return placeholder.of === undefined ? asText(value) : placeholder.of(asText(value));
}

function stepInto(value: Json, step: PathStep): Json | undefined {
  if (typeof step === "number") return Array.isArray(value) ? (value as readonly Json[])[step] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Returns the placeholder without braces and default: `item.list[0]`. */
export function variablePath({ name, path }: Placeholder): string {
  return name + path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}

export type TemplateVars = {
  readonly item: Json;
  readonly item_id: string;
  /** The position of the item in its input, from 0. */
  readonly index: number;
};

export const TEMPLATE_VARIABLES = [
  "item",
  "item_id",
  "index",
] as const satisfies readonly (keyof TemplateVars)[];

/** Checks the text and returns a function that fills it for one item. Strings are inserted unchanged, other values as JSON. */
export function compileTemplate(text: string): (vars: TemplateVars) => Filled<string> {
  return compileParts(text, false);
}

export interface CommandTemplateOptions {
  /** Allows values that could be read as options. Default false. */
  readonly allowOptions?: boolean | undefined;
}

/** Like `compileTemplate`, with the replacement strings of GNU parallel. Rejects values that look like options. */
export function compileCommand(
  argv: readonly string[],
  { allowOptions = false }: CommandTemplateOptions = {},
): (vars: TemplateVars) => Filled<string[]> {
  const templates = argv.map((written) => ({
    written,
    literal: literalStart(written),
    fill: compileParts(written, true),
  }));
  return (vars) => {
    const words: FilledWord[] = [];
    for (const { written, literal, fill } of templates) {
      const argument = fill(vars);
      if (!argument.ok) return argument;
      words.push({ written, literal, value: argument.value });
    }
    const problem = allowOptions ? undefined : optionProblem(words);
    return problem === undefined
      ? { ok: true, value: words.map(({ value }) => value) }
      : { ok: false, message: `${problem}, or allow it with --allow-options.` };
  };
}

function literalStart(text: string): string {
  const [first] = templateParts(text, { braces: true });
  return typeof first === "string" ? first : "";
}

/** Rejects an empty argument if no argument has a variable: the user's shell has probably expanded `"${item}"` to nothing. */
export function refuseEmptiedArgument(argv: readonly string[]): void {
  if (!argv.includes("") || argv.some(hasVariable)) return;
  throw new RedriveError(
    "usage",
    "An argument of the command is empty, and no argument contains the item placeholder.",
    {
      hint: `In double quotes your shell replaces "\${item}" with nothing. Write {} or '\${item}' instead, e.g. ${example(argv)}. A command that needs an empty argument goes into sh -c '…'.`,
    },
  );
}

/**
 * Returns a warning for an argument like `--name=` in a command without variables. It is no error, because the command can
 * read the item from its environment.
 */
export function emptiedOptionWarning(argv: readonly string[]): string | undefined {
  const option = argv.slice(1).find((argument) => EMPTY_OPTION.test(argument));
  if (option === undefined || argv.some(hasVariable)) return undefined;
  return `Warning: the argument ${option} has no value, and no argument names the item. In double quotes your shell replaces "\${item}" with nothing; write ${option}{} or '${option}\${item}' if the item belongs there.`;
}

const EMPTY_OPTION = /^[\w.-]+=$/;

function example(argv: readonly string[]): string {
  return `-- ${argv.map((argument) => argument || "{}").join(" ")}`;
}

type Part = string | Placeholder;

function compileParts(text: string, braces: boolean): (vars: TemplateVars) => Filled<string> {
  const parts: Part[] = templateParts(text, { braces }).map((part) => {
    if (typeof part === "string") return part;
    if (part.kind === "unreadable" || part.isRaw) throw notATemplate(part.written, text);
    if (!TEMPLATE_VARIABLES.some((known) => known === part.name)) {
      throw unknownVariable(part.name, part.written);
    }
    return part;
  });
  return (vars) => fill(parts, vars);
}

function fill(parts: readonly Part[], vars: TemplateVars): Filled<string> {
  let text = "";
  for (const part of parts) {
    const value = typeof part === "string" ? part : lookUp(part, vars);
    if (value === undefined) return { ok: false, message: missing(part as Placeholder, vars) };
    text += value;
  }
  return { ok: true, value: text };
}

function missing(placeholder: Placeholder, vars: TemplateVars): string {
  const path = variablePath(placeholder);
  return `${placeholder.written}: item ${vars.item_id} has no value at ${path}. Give it one, or write \${${path}:-default}.`;
}

function notATemplate(written: string, text: string): RedriveError {
  return new RedriveError("usage", `"${written}" in "${text}" is not a variable.`, {
    hint: "Write a variable like ${item.name} or ${item.list[0]}; for a literal ${ write $${.",
  });
}

function unknownVariable(name: string, written: string): RedriveError {
  const known = TEMPLATE_VARIABLES.map((variable) => `\${${variable}}`).join(", ");
  return new RedriveError("usage", `Unknown variable "${name}" in "${written}".`, {
    hint: `Valid variables: ${known} and fields of the item, like \${item.name}; for a literal \${ write $\${.`,
  });
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
