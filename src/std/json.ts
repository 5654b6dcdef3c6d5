/**
 * Parses and writes JSON values and their canonical text, by which contents are compared. Integers that a number cannot
 * represent exactly become bigints, so that no digit is lost. All item data is parsed and written by these functions, never
 * by `JSON` itself.
 */
import { randomUUID } from "node:crypto";

/** A value of JSON. Integers that a number cannot represent are bigints. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * Like `JSON.parse`, but an integer that a number cannot represent exactly becomes a bigint. Fractions, exponents and
 * integers of more than `INTEGER_DIGITS_MAX` digits stay numbers.
 */
export function parseJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (!mayHaveLongInteger(text)) return value;
  const tokens = numbersIn(text).filter(({ token }) => isLongInteger(token));
  return tokens.length === 0 ? value : parseMarked(text, tokens);
}

/** Longer integers take too long to convert. */
export const INTEGER_DIGITS_MAX = 1000;

/** Writes compact JSON, or JSON with this indent. Bigints are written as integers. */
export function stringifyJson(value: unknown, indent?: number): string {
  // If a program defines `BigInt.prototype.toJSON`, `JSON.stringify` does not throw for bigints, so they are tagged.
  if ("toJSON" in BigInt.prototype) return stringifyMarked(value, indent);
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof TypeError && error.message.includes("BigInt"))) throw error;
    return stringifyMarked(value, indent);
  }
}

/** Returns a deep copy without the parts that JSON cannot represent. */
export function copyJson(value: unknown): Json {
  return parseJson(stringifyJson(value));
}

/** Returns JSON with sorted keys, so that equal values have equal text. */
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

/** The form in which commands receive item data: strings unchanged, everything else as JSON. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

export type NumberToken = { readonly token: string; readonly at: number };

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

/** Returns the offset after the closing quote. No regular expression: a long string would overflow its stack. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Whether the text contains 16 or more digits in a row. Shorter integers are always exact. */
export function mayHaveLongInteger(text: string): boolean {
  // Such a run includes every 16th character of the text, and the one 8 before or after it.
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

/** Whether a number represents the integer with all its digits. */
function isExactInteger(token: string): boolean {
  return token.length < 16 || String(Number(token)) === token;
}

/** Replaces these numbers by strings with a unique prefix, parses the text, and converts them to bigints. */
function parseMarked(text: string, tokens: readonly NumberToken[]): Json {
  const tag = randomUUID();
  let [tagged, end] = ["", 0];
  for (const { token, at } of tokens) {
    tagged += `${text.slice(end, at)}"${tag}${token}"`;
    end = at + token.length;
  }
  return JSON.parse(tagged + text.slice(end), (_key, value: Json) =>
    typeof value === "string" && value.startsWith(tag) ? BigInt(value.slice(tag.length)) : value,
  ) as Json;
}

function stringifyMarked(value: unknown, indent: number | undefined): string {
  const tag = randomUUID();
  const text: string | undefined = tagBigints(value, tag, indent);
  return text === undefined ? text : untagBigints(text, tag);
}

/** Writes each bigint as a string that begins with the tag, for libraries that write JSON themselves. */
export function tagBigints(value: unknown, tag: string, indent?: number): string {
  function tagged(this: Readonly<Record<string, unknown>>, key: string, given: unknown): unknown {
    const original = this[key];
    return typeof original === "bigint" ? `${tag}${original}` : given;
  }
  return JSON.stringify(value, tagged, indent);
}

/** Converts tagged strings back to integers. The tag is a UUID, so that no string of the data begins with it. */
export function untagBigints(text: string, tag: string): string {
  return text.replaceAll(new RegExp(`"${tag}(-?\\d+)"`, "g"), "$1");
}

function isArray(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Returns a copy without undefined fields, as `exactOptionalPropertyTypes` and JSON require. */
export function compact<T extends object>(object: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const key in object) if (object[key] !== undefined) kept[key] = object[key]; // hot path: a plain loop is fastest
  return kept as Defined<T>;
}

/** Reads fields of the expected type and treats other values as absent. */
export function reader(json: JsonObject): Reader {
  return new Reader(json);
}

/** A class, because creating closures for each of very many records would cost more than reading them. */
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
