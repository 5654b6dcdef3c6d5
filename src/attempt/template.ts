/**
 * Fills an item's values into the arguments of a command: `${item}`, `${item.a.b[0]}`, `${item_id}`, with a default
 * as `${item.x:-none}`. A variable that does not exist is an error before anything runs; a field that one item lacks
 * fails that item. No shell ever sees the result.
 */
import { WorkError } from "../errors.ts";
import type { Json } from "../kit/json.ts";
import { type FilledWord, optionProblem } from "./option-words.ts";
import { type Filled, hasVariable, lookUp, type Place, templateParts, wayTo } from "./template-parts.ts";

export type { Filled };

export type TemplateVars = {
  readonly item: Json;
  readonly item_id: string;
  /** The position of the item in its input, from 0. */
  readonly index: number;
};

/** Every variable there is. */
export const TEMPLATE_VARIABLES = [
  "item",
  "item_id",
  "index",
] as const satisfies readonly (keyof TemplateVars)[];

/** Checks the text at once; the function fills it for one item. A string goes in as it is, all else as JSON. */
export function compileTemplate(text: string): (vars: TemplateVars) => Filled<string> {
  return compileParts(text, false);
}

export interface CommandTemplateOptions {
  /** Fills an argument that begins with a value also where the value could be read as an option. Default false. */
  readonly allowOptions?: boolean | undefined;
}

/**
 * As `compileTemplate` for each argument, where `{}` is `${item}` too, and the other replacement strings of GNU parallel
 * count. A value that the command could read as an option is refused.
 */
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

/**
 * Refuses a command with an empty argument and no variable: a shell has replaced `"${item}"` in double quotes by nothing, and
 * the command would run without its item.
 */
export function refuseEmptiedArgument(argv: readonly string[]): void {
  if (!argv.includes("") || argv.some(hasVariable)) return;
  throw new WorkError("usage", "An argument of the command is empty, and no argument names the item.", {
    hint: `In double quotes your shell replaces "\${item}" with nothing. Write {} or '\${item}' instead, e.g. ${example(argv)}. A command that needs an empty argument goes into sh -c '…'.`,
  });
}

function example(argv: readonly string[]): string {
  return `-- ${argv.map((argument) => argument || "{}").join(" ")}`;
}

type Part = string | Place;

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
    if (value === undefined) return { ok: false, message: missing(part as Place, vars) };
    text += value;
  }
  return { ok: true, value: text };
}

function missing(place: Place, vars: TemplateVars): string {
  const way = wayTo(place);
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
