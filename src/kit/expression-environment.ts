/**
 * What an expression in CEL can name and do: the variables that its place knows, and the operators that make the one
 * kind of number that JSON has mix freely with CEL's integers.
 */
import { Environment } from "@marcbachmann/cel-js";
import { rememberedLinear } from "./linear-pattern.ts";

/** The names that an expression can use: with the fields it has, or anything below it. */
export type KnownVariables = ReadonlyMap<string, readonly string[] | "any">;

/** Refuses every name that is not known. */
export function environmentFor(known: KnownVariables): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
  });
  for (const [name, fields] of known) {
    if (!isExpressionName(name)) continue;
    if (fields === "any") environment.registerVariable(innerName(name), "dyn");
    else environment.registerVariable({ name: innerName(name), schema: schemaOf(fields) });
  }
  for (const [operator, compute] of MIXED) {
    environment.registerOperator(`double ${operator} int: double`, compute);
    environment.registerOperator(`int ${operator} double: double`, compute);
  }
  environment.registerOperator("double % double: double", (a, b) => Number(a) % Number(b));
  environment.registerOperator("double == int: bool", (a, b) => Number(a) === Number(b));
  environment.registerFunction(
    "string.replace(string, string): string",
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  );
  environment.registerFunction(`string.${MATCHES_INSIDE}(string): bool`, (text: string, pattern: string) =>
    rememberedLinear(pattern)(text),
  );
  return environment;
}

/** Stands for CEL's own `matches`, which backtracks and cannot be replaced under its name. */
export const MATCHES_INSIDE = "_match_";

/** Sends every call of `matches` to the one that needs linear time. To be called before the types are checked. */
export function useLinearMatches(tree: object): void {
  const reached = new Set<object>([tree]);
  for (const part of reached) {
    if (isCallOfMatches(part)) part.args[0] = MATCHES_INSIDE;
    const inside = "meta" in part ? [...Object.values(part), part.meta] : Object.values(part);
    for (const one of inside) if (typeof one === "object" && one !== null) reached.add(one);
  }
}

function isCallOfMatches(part: object): part is { args: unknown[] } {
  return (
    "op" in part &&
    part.op === "rcall" &&
    "args" in part &&
    Array.isArray(part.args) &&
    part.args[0] === "matches"
  );
}

/** False for the names that CEL keeps for itself, such as `list` and `in`. */
export function isExpressionName(name: string): boolean {
  const known = EXPRESSION_NAMES.get(name);
  if (known !== undefined) return known;
  const isFree = canRegister(innerName(name));
  EXPRESSION_NAMES.set(name, isFree);
  return isFree;
}

const EXPRESSION_NAMES = new Map<string, boolean>();

function canRegister(name: string): boolean {
  try {
    new Environment().registerVariable(name, "dyn");
    return true;
  } catch {
    return false;
  }
}

function schemaOf(fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, "dyn"]));
}

type Compute = (a: unknown, b: unknown) => number;

const MIXED: readonly (readonly [operator: string, compute: Compute])[] = [
  ["+", (a, b) => Number(a) + Number(b)],
  ["-", (a, b) => Number(a) - Number(b)],
  ["*", (a, b) => Number(a) * Number(b)],
  ["/", (a, b) => Number(a) / Number(b)],
  ["%", (a, b) => Number(a) % Number(b)],
];

/** In CEL `map` is the name of a type. Inside it goes by a name of the same length, so that places stay the same. */
export const MAP_INSIDE = "_m_";

function innerName(name: string): string {
  return name === "map" ? MAP_INSIDE : name;
}

/** The text with the variable `map` by its inner name. Strings and comments stay as they are; so do fields and functions called `map`. */
export function standIn(text: string): string {
  return text.replace(TOKEN, (token, offset: number) => {
    if (token !== "map" || isField(text, offset)) return token;
    CALL.lastIndex = offset + token.length;
    return CALL.test(text) ? token : MAP_INSIDE;
  });
}

function isField(text: string, offset: number): boolean {
  let before = offset - 1;
  while (/\s/.test(text.charAt(before))) before -= 1;
  return /[.?]/.test(text.charAt(before));
}

const CALL = /\s*\(/y;

const TOKEN =
  /"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|\w+/g;
