/**
 * Translates conditions of Prodigy into CEL: filters such as `severity == 'high' OR score > 5`, and `when`
 * such as `${tests.success} && ${coverage} >= 80`. In both, a comparison with a missing value is false and
 * not an error.
 */
import { nearest } from "../../std/nearest.ts";
import { type ListReference, readListReference } from "./list-reference.ts";
import { readReference } from "./references.ts";

/** Returns the CEL expression, or undefined if the text is not in this language. */
export function conditionToCel(text: string, kind: "filter" | "when"): string | undefined {
  const tokens = tokensOf(text.replace(WHOLE_EXPRESSION, "($1)"));
  if (tokens === undefined) return undefined;
  const parser = new Parser(tokens, kind);
  try {
    return parser.whole();
  } catch (error) {
    if (error instanceof NotInLanguage) return undefined;
    throw error;
  }
}

/** Matches `${branch == 'main' && passed}`: an expression inside the braces, in which names are variables. */
const WHOLE_EXPRESSION = /\$\{([^{}]*(?:==|!=|&&|\|\||[<>])[^{}]*)\}/g;

type Token =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "number"; readonly value: string }
  | { readonly kind: "reference"; readonly value: string }
  | { readonly kind: "word"; readonly value: string }
  | { readonly kind: "sign"; readonly value: string };

class NotInLanguage extends Error {}

const TOKEN =
  /\s+|(?<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\$\{(?<reference>[^}]*)\}|(?<number>-?\d+(?:\.\d+)?)(?![\w.])|(?<word>[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d+\])*)|(?<sign>&&|\|\||==|!=|=~|!~|>=|<=|[=<>!(),[\]])|(?<other>[\s\S])/g;

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (const { groups = {} } of text.matchAll(TOKEN)) {
    if (groups.other !== undefined) return undefined;
    const { text: quoted, reference, number, word, sign } = groups;
    if (quoted !== undefined) tokens.push({ kind: "text", value: unquoted(quoted) });
    else if (reference !== undefined) tokens.push({ kind: "reference", value: reference.trim() });
    else if (number !== undefined) tokens.push({ kind: "number", value: number });
    else if (word !== undefined) tokens.push({ kind: "word", value: word });
    else if (sign !== undefined) tokens.push({ kind: "sign", value: sign });
  }
  return tokens;
}

/** Unescapes only the quote and the backslash, so that `\.` in a regular expression is preserved. */
function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(['"\\])/g, "$1");
}

const AND = new Set(["&&", "AND", "and"]);
const OR = new Set(["||", "OR", "or"]);
const NOT = new Set(["!", "NOT", "not"]);
const ORDER = new Set(["<", ">", "<=", ">="]);
const EQUAL: Readonly<Record<string, string>> = { "==": "==", "=": "==", "!=": "!=" };

/** A value in an expression, as CEL source text. */
interface Value {
  readonly cel: string;
  readonly kind: "number" | "text" | "boolean" | "null" | "list" | "any";
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #kind: "filter" | "when";
  #at = 0;

  constructor(tokens: readonly Token[], kind: "filter" | "when") {
    this.#tokens = tokens;
    this.#kind = kind;
  }

  whole(): string {
    const cel = this.#either();
    if (this.#at < this.#tokens.length) throw new NotInLanguage();
    return cel;
  }

  #either(): string {
    const parts = [this.#both()];
    while (this.#takeOne(OR)) parts.push(this.#both());
    return parts.join(" || ");
  }

  #both(): string {
    const parts = [this.#one()];
    while (this.#takeOne(AND)) parts.push(this.#one());
    return parts.join(" && ");
  }

  #one(): string {
    if (this.#takeOne(NOT)) return `!(${this.#one()})`;
    if (this.#takeSign("(")) {
      const inner = this.#either();
      this.#needSign(")");
      return `(${inner})`;
    }
    return this.#call() ?? this.#comparison();
  }

  #call(): string | undefined {
    const [name, open] = [this.#tokens[this.#at], this.#tokens[this.#at + 1]];
    if (name?.kind !== "word" || open?.kind !== "sign" || open.value !== "(") return undefined;
    if (name.value === "length" || name.value === "len") return undefined;
    this.#at += 2;
    const values: Value[] = [];
    if (!this.#takeSign(")")) {
      do values.push(this.#value());
      while (this.#takeSign(","));
      this.#needSign(")");
    }
    return callToCel(name.value, values);
  }

  #comparison(): string {
    const left = this.#value();
    const token = this.#tokens[this.#at];
    if (token === undefined || (token.kind !== "sign" && token.kind !== "word")) return truth(left);
    if (token.kind === "sign" && (ORDER.has(token.value) || token.value in EQUAL)) {
      this.#at += 1;
      return compared(left, token.value, this.#value());
    }
    if (token.kind === "sign" && (token.value === "=~" || token.value === "!~")) {
      this.#at += 1;
      const matches = callToCel("matches", [left, this.#value()]);
      return token.value === "=~" ? matches : `!(${matches})`;
    }
    if (token.kind !== "word") return truth(left);
    const name = token.value.toLowerCase();
    if (!["in", "contains", "matches", "starts_with", "ends_with"].includes(name)) return truth(left);
    this.#at += 1;
    const right = this.#value();
    if (name === "in") return `${asText(left)} in ${right.cel}`;
    return callToCel(name, [left, right]);
  }

  #value(): Value {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new NotInLanguage();
    this.#at += 1;
    if (token.kind === "number") return { kind: "number", cel: token.value };
    if (token.kind === "text") return textValue(token.value);
    if (token.kind === "reference") return referenceValue(token.value);
    if (token.kind === "sign" && token.value === "[") return this.#list();
    if (token.kind !== "word") throw new NotInLanguage();
    if (token.value === "length" || token.value === "len") {
      this.#needSign("(");
      const inner = this.#value();
      this.#needSign(")");
      return { kind: "number", cel: `lengthOf(${inner.cel})` };
    }
    if (token.value === "true" || token.value === "false") return { kind: "boolean", cel: token.value };
    if (token.value === "null" || token.value === "nil") return { kind: "null", cel: "null" };
    if (this.#kind === "when") return referenceValue(token.value);
    const [first = "", ...rest] = token.value.split(/\.(?![^[]*\])/);
    if (first !== "item" && nearest(first, ["item"]) !== undefined) throw new NotInLanguage(); // a misspelt item
    const path = first === "item" ? rest : [first, ...rest];
    return { kind: "any", cel: referenceToCel("item", path.flatMap(steps)) };
  }

  #list(): Value {
    const values: Value[] = [];
    if (!this.#takeSign("]")) {
      do values.push(this.#value());
      while (this.#takeSign(","));
      this.#needSign("]");
    }
    return { kind: "list", cel: `[${values.map(asText).join(", ")}]` };
  }

  #takeOne(words: ReadonlySet<string>): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === "text" || !words.has(token.value)) return false;
    this.#at += 1;
    return true;
  }

  #takeSign(sign: string): boolean {
    return this.#takeOne(new Set([sign]));
  }

  #needSign(sign: string): void {
    if (!this.#takeSign(sign)) throw new NotInLanguage();
  }
}

/** A text that is only `${x}` is the variable x. */
function textValue(text: string): Value {
  const reference = /^\$\{([^}]*)\}$/.exec(text)?.[1];
  if (reference !== undefined) return referenceValue(reference);
  if (text.includes("${")) throw new NotInLanguage();
  return { kind: "text", cel: JSON.stringify(text) };
}

/** Git lists are strings with file names separated by spaces. */
function listValue({ path, filters }: ListReference): string {
  const list = referenceToCel("vars", path.split("."));
  const glob = filters.find((filter) => filter.startsWith("match:"))?.slice("match:".length);
  return glob === undefined ? `words(${list})` : `matching(${list}, ${JSON.stringify(glob)})`;
}

function referenceValue(text: string): Value {
  const git = readListReference(text);
  if (git?.isGit) return { kind: "any", cel: listValue(git) };
  const path = readReference(text);
  if (path === undefined) throw new NotInLanguage();
  return { kind: "any", cel: referenceToCel("vars", path) };
}

function steps(part: string): (string | number)[] {
  const [name = "", ...indexes] = part.split("[");
  return [name, ...indexes.map((index) => Number(index.slice(0, -1)))];
}

function referenceToCel(root: string, path: readonly (string | number)[]): string {
  if (path.length === 0) return root;
  const inner = path.map((step) =>
    typeof step === "string" && /^[A-Za-z_]\w*$/.test(step) ? `.?${step}` : `[?${JSON.stringify(step)}]`,
  );
  return `${root}${inner.join("")}.orValue(null)`;
}

function asText({ kind, cel }: Value): string {
  if (kind === "text") return cel;
  return kind === "any" ? `asText(${cel})` : JSON.stringify(cel);
}

function asNumber({ kind, cel }: Value): string {
  return kind === "number" ? cel : `asNumber(${cel})`;
}

function truth(value: Value): string {
  return value.kind === "boolean" ? value.cel : `isTrue(${value.cel})`;
}

function compared(left: Value, sign: string, right: Value): string {
  const kinds = new Set([left.kind, right.kind]);
  const equal = EQUAL[sign];
  if (equal === undefined) {
    const read = kinds.has("text") ? asText : asNumber;
    return `${read(left)} ${sign} ${read(right)}`;
  }
  if (kinds.has("null")) return `${left.cel} ${equal} ${right.cel}`;
  const read = kinds.has("number") ? asNumber : asText;
  return `${read(left)} ${equal} ${read(right)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  is_number: "number",
  is_string: "text",
  is_bool: "boolean",
  is_boolean: "boolean",
  is_array: "list",
  is_object: "mapping",
};

function callToCel(name: string, [value, other]: readonly Value[]): string {
  if (value === undefined) throw new NotInLanguage();
  const type = TYPES[name];
  if (type !== undefined) return `typeName(${value.cel}) == "${type}"`;
  if (name === "is_null") return `${value.cel} == null`;
  if (name === "is_not_null" || name === "exists") return `${value.cel} != null`;
  if (other === undefined) throw new NotInLanguage();
  if (name === "contains") return `includes(${value.cel}, ${asText(other)})`;
  if (name === "matches") return `${asText(value)}.matches(${asText(other)})`;
  if (name === "starts_with") return `${asText(value)}.startsWith(${asText(other)})`;
  if (name === "ends_with") return `${asText(value)}.endsWith(${asText(other)})`;
  throw new NotInLanguage();
}
