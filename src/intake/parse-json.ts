/** Parses the JSON of an input and reports errors with their position. Refuses numbers that cannot be represented. */
import { INTEGER_DIGITS_MAX, type Json, mayHaveLongInteger, numbersIn, parseJson } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";
import { invalidInput, type Origin, type Position } from "./origin.ts";

/** Parses JSON. `start` is the position of the text in the input, for error messages. */
export function parseInputJson(text: string, origin: Origin, start: Position): Json {
  const value = parse(text, origin, start);
  if (LARGE_EXPONENT.test(text) || mayHaveLongInteger(text)) refuseTooLarge(text, origin, start);
  // Each level needs two brackets, so a short text cannot be too deep.
  if (text.length > 2 * DEPTH_MAX && isDeeper(value, DEPTH_MAX)) {
    throw invalidInput(origin, { line: start.line }, `nested more than ${DEPTH_MAX} levels deep`, {
      hint: "Save the data in a file and put the path of the file into the item.",
    });
  }
  return value;
}

function parse(text: string, origin: Origin, start: Position): Json {
  try {
    return parseJson(text);
  } catch (error) {
    const message = messageOf(error);
    throw invalidInput(origin, positionOf(message, text, start), `invalid JSON: ${tidy(message)}`, {
      hint: "Correct the input and run the command again; items that were already added are not added twice.",
      cause: error,
    });
  }
}

/** Derives the position from the engine's message; without an offset, returns the start of the text. */
function positionOf(message: string, text: string, start: Position): Position {
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset === undefined) return { line: start.line };
  const before = text.slice(0, Number(offset)).split("\n");
  const last = before.at(-1) ?? "";
  if (before.length > 1) return { line: start.line + before.length - 1, column: last.length + 1 };
  return { line: start.line, column: start.column === undefined ? undefined : start.column + last.length };
}

function tidy(message: string): string {
  return message.replace(/ in JSON at position.*| at position.*/s, "").replace(/\s+/g, " ");
}

const LARGE_EXPONENT = /\d[eE]\+?\d{3}/;

function refuseTooLarge(text: string, origin: Origin, start: Position): void {
  for (const { token } of numbersIn(text)) {
    const isInteger = /^-?\d+$/.test(token);
    if (isInteger ? token.length <= INTEGER_DIGITS_MAX : Number.isFinite(Number(token))) continue;
    const shown = token.length > 40 ? `${token.slice(0, 40)}…` : token;
    throw invalidInput(origin, { line: start.line }, `the number ${shown} is too large`, {
      hint: "Write it as a string, in quotes.",
    });
  }
}

/** The maximum nesting depth. Deeper values would overflow the stack when they are written as JSON. */
const DEPTH_MAX = 500;

function isDeeper(value: Json, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

export const BYTE = {
  lineFeed: 0x0a,
  quote: 0x22,
  comma: 0x2c,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** White space in JSON: space, tab, line feed, carriage return. */
export const JSON_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** The bytes that a JSON value can start with. */
export const VALUE_START: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn'));

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Whether the byte is the part of the byte order mark at this offset of the input. */
export function isByteOrderMark(byte: number | undefined, offset: number): boolean {
  return byte !== undefined && MARK[offset] === byte;
}

/** Returns the length of the byte order mark: 3, or 0 without one. */
export function skipByteOrderMark(bytes: Buffer): 0 | 3 {
  return bytes.subarray(0, 3).equals(MARK) ? 3 : 0;
}

/** Returns the index of the next byte that is not white space, or the length. */
export function skipSpace(bytes: Buffer, from: number): number {
  let index = from;
  while (index < bytes.length && JSON_SPACE.has(bytes[index] ?? 0)) index++;
  return index;
}
