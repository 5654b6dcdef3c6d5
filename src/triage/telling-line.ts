/**
 * The line of a command's output that tells why it failed. Programs do not agree on where they say it, so the last
 * line with a mark of an error is taken, first from stderr, then from stdout; without a mark, the last line.
 */
import { cleanText, oneLine } from "./clean.ts";

/** How much of the end of each stream is looked at. */
const TAIL_CHARS_MAX = 65_536;
/** How much of one line is looked at and kept. */
const LINE_CHARS_MAX = 300;

/** One readable line, or undefined when the command said nothing. */
export function tellingLine(stderr: string | undefined, stdout: string | undefined): string | undefined {
  const streams = [linesOf(stderr), linesOf(stdout)];
  for (const lines of streams) {
    const index = markedIndex(lines);
    if (index !== undefined) return withRest(lines, index);
  }
  return streams
    .map((lines) => lines.at(-1))
    .find((line) => line !== undefined)
    ?.trim();
}

/** The lines that are not blank, indentation kept: a stack frame is known by it. */
function linesOf(output: string | undefined): readonly string[] {
  if (!output) return [];
  return cleanText(output.slice(-TAIL_CHARS_MAX))
    .split("\n")
    .map((line) => line.slice(0, LINE_CHARS_MAX).trimEnd())
    .filter((line) => line.length > 0 && isReadable(line));
}

/** Bytes that are no text tell a person nothing, and would make every failure another one. */
function isReadable(line: string): boolean {
  return 10 * (line.split("\ufffd").length - 1) < line.length;
}

const MARKS = [
  /\b(?:error|fatal|panic|critical|failed|failure|err)\s*(?:\[[^\]]{0,40}\]|[A-Z]{1,4}\d{1,6})?\s*[:!]/i,
  /(?:Error|Exception)(?::|$)/,
  /\b(?:FAILED|FATAL|ERROR|PANIC)\b/,
  /\bpanicked at\b|^Exception in thread|^Caused by:/,
  /no such file|permission denied|access denied|command not found|: not found$|out of memory|segmentation fault/i,
];

/** Marked lines that only say that something went wrong above; passed over while there is a better one. */
const SUMMARIES = [
  /aborting due to|could not compile|for more information about this error/i,
  /process didn't exit successfully|^\s*Error: Process completed with exit code/i,
  /^make(?:\[\d{1,4}\])?: \*\*\*|^npm (?:ERR!|error) (?:code|errno|path|command|A complete log)/,
  /^\s*(?:Tests?|Test Suites?|Test Files):? .{0,60}\bfailed\b/i,
];

const FRAME = /^\s+at /;

function markedIndex(lines: readonly string[]): number | undefined {
  const isMarked = (line: string) => !FRAME.test(line) && MARKS.some((mark) => mark.test(line));
  const isSummary = (line: string) => SUMMARIES.some((summary) => summary.test(line));
  const best = lines.findLastIndex((line) => isMarked(line) && !isSummary(line));
  if (best >= 0) return Math.max(best, endOfTraceback(lines));
  const any = Math.max(lines.findLastIndex(isMarked), endOfTraceback(lines));
  return any >= 0 ? any : undefined;
}

/** Python names the exception in the first line after the frames, whatever its class is called; -1 without one. */
function endOfTraceback(lines: readonly string[]): number {
  const start = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last)"));
  return start < 0 ? -1 : lines.findIndex((line, index) => index > start && !/^\s/.test(line));
}

/** Rust and others announce the message and print it on the next line. */
function withRest(lines: readonly string[], index: number): string {
  const line = lines[index] ?? "";
  const next = lines[index + 1];
  const whole = line.endsWith(":") && next !== undefined && !FRAME.test(next) ? `${line} ${next}` : line;
  return oneLine(whole, LINE_CHARS_MAX);
}
