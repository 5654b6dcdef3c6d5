/**
 * The lines of a command's output that tell why it failed. Programs do not agree on where they say it, so the last line
 * with a mark of an error is taken, first from stderr, then from stdout; without a mark, the last line.
 */
import { cleanText } from "./clean.ts";
import { FRAME, MARKS, SUMMARIES } from "./telling/marks.ts";
import { LINE_CHARS_MAX, wholeAt } from "./telling/whole.ts";

/** What was picked, and why. */
export interface Picked {
  readonly stream: "stderr" | "stdout";
  /** One readable line. */
  readonly message: string;
  /** The failure as it was printed, which may be several lines. */
  readonly lines: readonly string[];
  /** For people, e.g. `the last line with an error marker`. */
  readonly why: string;
}

/** How much of the end of each stream is looked at. */
const TAIL_CHARS_MAX = 65_536;

/** One readable line, or undefined when the command said nothing. */
export function tellingLine(stderr: string | undefined, stdout: string | undefined): string | undefined {
  return pickTelling(stderr, stdout)?.message;
}

/** The telling lines with where they stood and why they were picked; undefined when the command said nothing. */
export function pickTelling(stderr: string | undefined, stdout: string | undefined): Picked | undefined {
  const streams = [
    { stream: "stderr", lines: linesOf(stderr) },
    { stream: "stdout", lines: linesOf(stdout) },
  ] as const;
  for (const { stream, lines } of streams) {
    const found = markedLine(lines);
    if (found) return { stream, ...wholeAt(lines, found.index), why: found.why };
  }
  for (const { stream, lines } of streams) {
    const last = lines.at(-1)?.trim();
    if (last !== undefined) {
      return {
        stream,
        message: last,
        lines: [last],
        why: "no line is marked as an error: the last one",
      };
    }
  }
  return undefined;
}

/** The lines that are not blank, indentation kept: a stack frame is known by it. */
function linesOf(output: string | undefined): readonly string[] {
  if (!output) return [];
  return cleanText(output.slice(-TAIL_CHARS_MAX))
    .split("\n")
    .map((line) => withoutBox(line.slice(0, LINE_CHARS_MAX)).trimEnd())
    .filter((line) => line.length > 0 && isReadable(line));
}

/** Some tools draw a line down the left of their errors. */
function withoutBox(line: string): string {
  return line.replace(/^[│╷╵┃▌] ?/, "");
}

/** Bytes that are no text tell a person nothing, and would make every failure another one. */
function isReadable(line: string): boolean {
  return 10 * (line.split("\ufffd").length - 1) < line.length;
}

interface Found {
  readonly index: number;
  readonly why: string;
}

function markedLine(lines: readonly string[]): Found | undefined {
  const traceback = endOfTraceback(lines);
  const best = announcedAt(
    lines,
    lines.findLastIndex((line) => markOf(line) !== undefined && !isSummary(line)),
  );
  if (traceback >= 0 && traceback >= best)
    return { index: traceback, why: "the end of the last Python traceback" };
  if (best >= 0) return { index: best, why: `the last line with ${markOf(lines[best] ?? "")}` };
  const summary = lines.findLastIndex((line) => markOf(line) !== undefined);
  return summary < 0 ? undefined : { index: summary, why: "only a summary has a mark: its last line" };
}

/** "thread 'x' panicked at …:" announces the line below it, which may be marked too. */
function announcedAt(lines: readonly string[], index: number): number {
  const above = lines[index - 1] ?? "";
  return above.endsWith(":") && markOf(above) !== undefined && !isSummary(above) ? index - 1 : index;
}

function markOf(line: string): string | undefined {
  if (FRAME.test(line)) return undefined;
  return MARKS.find(({ shape }) => shape.test(line))?.what;
}

function isSummary(line: string): boolean {
  return SUMMARIES.some((summary) => summary.test(line));
}

/** Python names the exception in the first line after the frames, whatever its class is called; -1 without one. */
function endOfTraceback(lines: readonly string[]): number {
  const start = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last)"));
  return start < 0 ? -1 : lines.findIndex((line, index) => index > start && !/^\s/.test(line));
}
