/** One JSON text to a record, or to the reason why it is none. */
import { WorkError } from "../../errors.ts";
import type { Origin } from "../../intake/origin.ts";
import { parseJson, quoteInexactNumbers } from "../../intake/parse-json.ts";
import type { Place, Reading } from "./reading.ts";

/**
 * The same rules as for items, but a number that JavaScript would change is kept as a string of its digits: who imports
 * letters did not write them and cannot put it into quotes.
 */
export function parseRecord(text: string, place: Place, bytes: number): Reading {
  try {
    const { text: exact, count } = quoteInexactNumbers(text);
    const data = parseJson(exact, originOf(place.file), { line: place.line ?? 1 });
    return { data, place, bytes, ...(count > 0 && { quotedNumbers: count }) };
  } catch (error) {
    return refusalOf(error, place);
  }
}

/** How the readers of items name a file of letters. */
export function originOf(file: string): Origin {
  return { name: file, format: "json", sniffed: false };
}

/** What an operating error says, at its place. The place that its message begins with is not said twice. */
export function refusalOf(error: unknown, place: Place): Reading {
  if (!(error instanceof WorkError)) throw error;
  const { file } = place;
  const line = error.message.startsWith(`${file}:`) ? /^:(\d+)/.exec(error.message.slice(file.length)) : null;
  const at = line === null ? place : { file, line: Number(line[1]) };
  const message = error.message.startsWith(file)
    ? error.message.slice(file.length).replace(/^(:\d+)*: /, "")
    : error.message;
  return { place: at, why: message };
}
