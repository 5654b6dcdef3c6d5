/**
 * What an expression in CEL can name and do: the variables that its place knows, and the operators that make the one
 * kind of number that JSON has mix freely with CEL's integers.
 */
import { Environment } from "@marcbachmann/cel-js";

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
  return environment;
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
    const isVariable = token === "map" && !/[.?]\s*$/.test(text.slice(0, offset));
    return isVariable && !/^\s*\(/.test(text.slice(offset + token.length)) ? MAP_INSIDE : token;
  });
}

const TOKEN =
  /"""(?:\\[\s\S]|[\s\S])*?"""|'''(?:\\[\s\S]|[\s\S])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|\w+/g;
