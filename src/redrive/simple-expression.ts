/**
 * Reads expressions that only compare fields with constants, without the library for CEL, whose import costs as much as listing
 * thousands of letters. Whatever is not certainly read as the library reads it is left to the library.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { FAILURE_FORM } from "../item/failure.ts";
import { LETTER_FIELDS } from "../item/letter.ts";

/** Returns the syntax tree that the library returns for the expression, which is valid then; null if it is not simple. */
export function simpleTree(where: string): ASTNode | null {
  if (where.length > CHARS_MAX) return null;
  let at = 0;
  let any: Node | null = null;
  let all: Node | null = null;
  for (;;) {
    COMPARISON.lastIndex = at;
    const found = COMPARISON.exec(where);
    const comparison = found?.groups && comparisonOf(found.groups);
    if (!comparison) return null;
    all = all === null ? comparison : { op: "&&", args: [all, comparison] };
    at = COMPARISON.lastIndex;
    const operator = where.slice(at, at + 2);
    if (operator === "&&") at += 2;
    else {
      any = any === null ? all : { op: "||", args: [any, all] };
      if (operator === "") return any as unknown as ASTNode;
      if (operator !== "||") return null;
      all = null;
      at += 2;
    }
  }
}

const CHARS_MAX = 1000;

interface Node {
  readonly op: string;
  readonly args: unknown;
}

const COMPARISON = new RegExp(
  [
    /(?:)/,
    /(?<place>(?:item|letter|failure)(?:\.[A-Za-z_]\w*)+)/,
    /(?:%\s*(?<divisor>[1-9]\d{0,14}))?/,
    /(?<operator>==|!=|<=|>=|<|>)/,
    /(?:(?<minus>-)?(?:(?<double>\d{1,9}\.\d{1,6})|(?<int>0|[1-9]\d{0,14}))|"(?<text>[^"\\\n\r]*)"|(?<word>true|false|null))(?![\w.])/,
    /$|(?=&&|\|\|)/,
  ]
    .map(({ source }) => `(?:${source})`)
    .join("\\s*"),
  "y",
);

/** Words that the library does not accept as names of fields. */
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const NO_FIELDS: readonly string[] = [...Object.keys(WORDS), "in"];

type Groups = Readonly<Record<string, string | undefined>>;

function comparisonOf({ place = "", divisor, operator = "", word, ...number }: Groups): Node | null {
  const [variable = "", ...fields] = place.split(".");
  if (fields.some((field) => NO_FIELDS.includes(field)) || !isKnown(variable, fields)) return null;
  // Only equality is defined for every type.
  if (word !== undefined && operator !== "==" && operator !== "!=") return null;
  const read = fields.reduce<Node>((of, field) => ({ op: ".", args: [of, field] }), {
    op: "id",
    args: variable,
  });
  const left = divisor === undefined ? read : { op: "%", args: [read, valueNode(BigInt(divisor))] };
  const right = word === undefined ? constantOf(number) : valueNode(WORDS[word]);
  return { op: operator, args: [left, right] };
}

function isKnown(variable: string, fields: readonly string[]): boolean {
  if (variable === "item") return true;
  const [field = "", ...others] = fields;
  const known = variable === "letter" ? LETTER_FIELDS : FAILURE_FORM.names;
  return others.length === 0 && known.includes(field);
}

function constantOf({ minus, double, int, text }: Groups): Node {
  if (text !== undefined) return valueNode(text);
  const value = valueNode(double === undefined ? BigInt(int ?? "") : Number(double));
  return minus === undefined ? value : { op: "-_", args: value };
}

function valueNode(args: unknown): Node {
  return { op: "value", args };
}
