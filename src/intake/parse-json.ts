/**
 * One JSON text to its value, with errors that say where. It also refuses what JavaScript would accept and change:
 * an integer that a number cannot hold exactly would reach the command as another one.
 */
import type { WorkError } from "../errors.ts";
import type { Json } from "../kit/json.ts";
import { invalidInput, type Origin, type Place } from "./origin.ts";

/** Parses the text, which starts at the given place of the input. */
export function parseJson(text: string, origin: Origin, start: Place): Json {
  const value = parse(text, origin, start);
  if (MAY_BE_INEXACT.test(text)) refuseInexactNumbers(text, origin, start);
  // A level takes two brackets, so a short text cannot be too deep.
  if (text.length > 2 * DEPTH_MAX && isDeeper(value, DEPTH_MAX)) throw tooDeep(origin, start);
  return value;
}

function parse(text: string, origin: Origin, start: Place): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw invalidInput(origin, placeOf(message, text, start), `invalid JSON: ${tidy(message)}`, {
      hint: "Correct the input there and run it again; items that were read before are known by their content.",
      cause: error,
    });
  }
}

/** The engine names an offset in some of its messages only. Without one the start of the text has to do. */
function placeOf(message: string, text: string, start: Place): Place {
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

const MAY_BE_INEXACT = /\d{16}|\d[eE]\+?\d{3}/;

function refuseInexactNumbers(text: string, origin: Origin, start: Place): void {
  for (const { token } of numbersIn(text)) {
    if (isExact(token)) continue;
    throw invalidInput(origin, { line: start.line }, `the number ${token} cannot be kept exactly`, {
      hint: "Write it as a string, in quotes.",
    });
  }
}

/** The text with every number that cannot be kept exactly as a string of its digits, and how many those are. */
export function quoteInexactNumbers(text: string): { readonly text: string; readonly count: number } {
  if (!MAY_BE_INEXACT.test(text)) return { text, count: 0 };
  let [quoted, end, count] = ["", 0, 0];
  for (const { token, at } of numbersIn(text)) {
    if (isExact(token)) continue;
    quoted += `${text.slice(end, at)}"${token}"`;
    end = at + token.length;
    count += 1;
  }
  return count === 0 ? { text, count } : { text: quoted + text.slice(end), count };
}

/** The numbers of a JSON text as written, and where they stand. */
function* numbersIn(text: string): Generator<{ readonly token: string; readonly at: number }> {
  const number = /-?\d[\d.eE+-]*/y;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? "";
    if (character === '"') index = endOfString(text, index);
    else if (character === "-" || (character >= "0" && character <= "9")) {
      number.lastIndex = index;
      const token = number.exec(text)?.[0] ?? character;
      yield { token, at: index };
      index += token.length - 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === "\\" ? 2 : 1;
  return index;
}

/** Fractions are approximate everywhere. An integer has to be written back with the digits it came with. */
function isExact(token: string): boolean {
  const value = Number(token);
  return Number.isFinite(value) && (!/^-?\d+$/.test(token) || token === "-0" || String(value) === token);
}

/** Deeper values overflow the stack of the code that writes JSON. */
const DEPTH_MAX = 500;

function isDeeper(value: Json, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function tooDeep(origin: Origin, start: Place): WorkError {
  return invalidInput(origin, { line: start.line }, `nested more than ${DEPTH_MAX} levels deep`, {
    hint: "Store the data in a file and let the item name that file.",
  });
}
