/**
 * JSON values, their text, and their canonical text, which is what "the same content" means. An integer that a number
 * cannot hold exactly is a bigint here, so that its digits survive; everything that carries data of items is parsed and
 * written by these functions, never by `JSON` itself.
 */
import { randomUUID } from "node:crypto";

export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * As `JSON.parse`, but an integer whose digits a number would change is a bigint. Fractions and exponents are numbers
 * as usual, and so are integers of more than `INTEGER_DIGITS_MAX` digits.
 */
export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (!mayHaveLongInteger(text)) return value;
  const tokens = numbersIn(text).filter(({ token }) => isLongInteger(token));
  return tokens.length === 0 ? value : parseMarked(text, tokens);
}

/** Longer integers take too long to convert. */
export const INTEGER_DIGITS_MAX = 1000;

/** Compact JSON, or with this many spaces of indent. Bigints are written as integers. */
export function stringifyJson(value: unknown, indent?: number): string {
  // Some programs make bigints write themselves as strings; then there is no error to notice them by.
  if ("toJSON" in BigInt.prototype) return stringifyMarked(value, indent);
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof TypeError && error.message.includes("BigInt"))) throw error;
    return stringifyMarked(value, indent);
  }
}

/** A copy that shares nothing with the value, without what JSON cannot write. */
export function copyJson(value: unknown): Json {
  return parseJson(stringifyJson(value));
}

/** The JSON text with the keys of every object in order, so that equal values have equal text. */
export function canonicalJson(value: Json): string {
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${fields.join(",")}}`;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The form in which commands receive item data: a string as it is, everything else as JSON. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

/** A number of a JSON text as it is written, and its offset. */
export interface NumberToken {
  readonly token: string;
  readonly at: number;
}

/** The numbers of a valid JSON text. */
export function numbersIn(text: string): readonly NumberToken[] {
  const tokens: NumberToken[] = [];
  const start = /["\d-]/g;
  const number = /-?\d[\d.eE+-]*/y;
  for (let found = start.exec(text); found; found = start.exec(text)) {
    const at = found.index;
    if (found[0] === '"') {
      start.lastIndex = endOfString(text, at);
      continue;
    }
    number.lastIndex = at;
    const token = number.exec(text)?.[0] ?? found[0];
    tokens.push({ token, at });
    start.lastIndex = at + token.length;
  }
  return tokens;
}

/** The offset behind the closing quote. Not a regular expression: a long string would overflow its stack. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Whether a run of 16 digits or more is in the text. A shorter integer is always exact. */
export function mayHaveLongInteger(text: string): boolean {
  // Such a run covers one of every 16 characters, and the one 8 before or 8 after it.
  for (let at = 15; at < text.length; at += 16) {
    const code = text.charCodeAt(at);
    if (code > 57 || code < 48 || !(isDigit(text, at - 8) || isDigit(text, at + 8))) continue;
    let [start, end] = [at, at + 1];
    while (isDigit(text, start - 1)) start -= 1;
    while (isDigit(text, end)) end += 1;
    if (end - start >= 16) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function isLongInteger(token: string): boolean {
  return token.length <= INTEGER_DIGITS_MAX && !isExactInteger(token) && /^-?\d+$/.test(token);
}

/** Whether a number prints the integer with the digits it was written with. */
function isExactInteger(token: string): boolean {
  return token.length < 16 || String(Number(token)) === token;
}

/** Parses the text with those numbers as strings that nothing else in it can be equal to, and converts them. */
function parseMarked(text: string, tokens: readonly NumberToken[]): Json {
  const mark = randomUUID();
  let [marked, end] = ["", 0];
  for (const { token, at } of tokens) {
    marked += `${text.slice(end, at)}"${mark}${token}"`;
    end = at + token.length;
  }
  return JSON.parse(marked + text.slice(end), (_key, value: Json) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as Json;
}

function stringifyMarked(value: unknown, indent: number | undefined): string {
  const mark = randomUUID();
  const text: string | undefined = markBigints(value, mark, indent);
  return text === undefined ? text : unmarkBigints(text, mark);
}

/** JSON in which each bigint is a string that begins with the mark: for a library that writes JSON itself. */
export function markBigints(value: unknown, mark: string, indent?: number): string {
  function marked(this: Readonly<Record<string, unknown>>, key: string, given: unknown): unknown {
    const original = this[key];
    return typeof original === "bigint" ? `${mark}${original}` : given;
  }
  return JSON.stringify(value, marked, indent);
}

/** The JSON text with the marked strings as integers. The mark is a UUID, so that no string of the data begins with it. */
export function unmarkBigints(text: string, mark: string): string {
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

function isArray(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The same object without the fields that are undefined, as `exactOptionalPropertyTypes` and JSON want it. */
export function compact<T extends object>(object: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const key in object) if (object[key] !== undefined) kept[key] = object[key]; // many a letter passes here
  return kept as Defined<T>;
}

/** Reads fields of the expected kind and takes anything else for absent. */
export function reader(json: JsonObject): Reader {
  return new Reader(json);
}

/** A class, because very many records are read: functions made for each would cost more than what they read. */
class Reader {
  readonly #json: JsonObject;

  constructor(json: JsonObject) {
    this.#json = json;
  }

  text(key: string): string | undefined {
    const value = this.#json[key];
    return typeof value === "string" ? value : undefined;
  }

  number(key: string): number | undefined {
    const value = this.#json[key];
    return typeof value === "number" ? value : undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.#json[key];
    return typeof value === "boolean" ? value : undefined;
  }

  object(key: string): JsonObject | undefined {
    const value = this.#json[key];
    return value !== undefined && isJsonObject(value) ? value : undefined;
  }

  list(key: string): readonly Json[] | undefined {
    const value = this.#json[key];
    return Array.isArray(value) ? value : undefined;
  }

  texts(key: string): readonly string[] | undefined {
    return this.list(key)?.filter((entry) => typeof entry === "string");
  }
}
