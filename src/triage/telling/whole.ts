/** The lines that belong to a telling line: messages go on below it, and say where, what was expected and what was there. */
import { oneLine } from "../clean.ts";
import { FRAME } from "./marks.ts";

/** A failure as it was printed, and as one line. */
export interface Whole {
  readonly lines: readonly string[];
  readonly message: string;
}

/** How much of one line is looked at and kept, and so of a message. */
export const LINE_CHARS_MAX = 300;
const LINES_MAX = 12;

/** The failure that begins in this line. */
export function wholeAt(lines: readonly string[], index: number): Whole {
  const said = [lines[index] ?? ""];
  const parts = [said[0] ?? ""];
  for (let at = index + 1; at < lines.length && said.length < LINES_MAX; at += 1) {
    const line = lines[at] ?? "";
    const belongs = belongsTo(parts.at(-1) ?? "", line);
    if (belongs === "no") break;
    said.push(line);
    if (belongs === "message") parts.push(line);
  }
  return { lines: said, message: oneLine(parts.join(" "), LINE_CHARS_MAX) };
}

type Belonging = "message" | "shown" | "no";

/** `-->` is rustc's word for where it was. */
const PLACE = /^\s*--> \S/;
/** What an assertion compared. */
const COMPARED =
  /^\s*(?:left|right|expected|received|actual|got|want|wanted|but was| {1,2}[-+] (?:Expected|Received))\s*[:=]/i;
/** Source code under a message, with its line numbers and marks. */
const SOURCE = /^\s*(?:\d{1,6}\s*)?\||^\s*[\^~]+\s*$|^\s*= (?:note|help):/;
const NEW_MESSAGE = /^\s*(?:note|help|hint|warning):|^stack backtrace|RUST_BACKTRACE/i;

function belongsTo(previous: string, line: string): Belonging {
  if (FRAME.test(line) || NEW_MESSAGE.test(line)) return "no";
  if (previous.endsWith(":") || PLACE.test(line) || COMPARED.test(line)) return "message"; // announced, and then said
  return SOURCE.test(line) ? "shown" : "no";
}
