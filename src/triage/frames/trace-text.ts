/** The text of the stack trace in a command's output, as the record of a failure keeps it. */
import { cleanText } from "../clean.ts";
import { containsLine } from "../reading.ts";
import type { Trace } from "./frame.ts";
import { readTrace } from "./trace.ts";

const TEXT_CHARS_MAX = 65_536;
const KEPT_CHARS_MAX = 16_384;

/** The trace that belongs to the message; undefined when the outputs have none, or one of another failure. */
export function traceTextFor(message: string, outputs: readonly (string | undefined)[]): string | undefined {
  for (const output of outputs) {
    const text = output ? textOf(message, output) : undefined;
    if (text !== undefined) return text;
  }
  return undefined;
}

function textOf(message: string, output: string): string | undefined {
  const trace = readTrace(output);
  const lines = cleanText(output.slice(-TEXT_CHARS_MAX)).split("\n");
  const block = trace && lines.slice(startOf(trace, lines), endOf(trace, lines));
  if (block === undefined || !belongs(message, trace, block)) return panicText(message, lines);
  return block.join("\n").slice(0, KEPT_CHARS_MAX).trimEnd();
}

/** The headline is that of the root cause; the message may be that of an error above it. */
function belongs(message: string, trace: Trace | undefined, block: readonly string[]): boolean {
  if (containsLine(message, trace?.headline ?? "")) return true;
  return block.some((line) => /^\S/.test(line) && !CAUSE.test(line) && containsLine(message, line));
}

/** With the line that says how many frames were left out. */
function endOf({ endsAt }: Trace, lines: readonly string[]): number {
  return /^\s*\.\.\. \d+ /.test(lines[endsAt + 1] ?? "") ? endsAt + 2 : endsAt + 1;
}

/** Rust prints where it panicked also without a backtrace. */
function panicText(message: string, lines: readonly string[]): string | undefined {
  const start = lines.findLastIndex((line) => /^thread '.*' .*panicked at /.test(line));
  if (start < 0 || !containsLine(message, lines[start] ?? "")) return undefined;
  const end = lines.findIndex((line, index) => index > start && (line === "" || line.startsWith("note: ")));
  return lines
    .slice(start, end < 0 ? undefined : end)
    .join("\n")
    .slice(0, KEPT_CHARS_MAX);
}

/** Where two causes are printed one after the other, the first line is that of the outer one. */
const CAUSE = /^(?:Caused by: |Traceback \(|During handling of |The above exception )/;
const HEADLINE_CHARS_MAX = 80;

function startOf({ headline, endsAt }: Trace, lines: readonly string[]): number {
  const beginning = headline.slice(0, HEADLINE_CHARS_MAX);
  const named = lines.findLastIndex((line, index) => index <= endsAt && line.includes(beginning));
  const traceback = lines.findLastIndex((line, index) => index <= named && line.startsWith("Traceback ("));
  const isPython = traceback >= 0 && lines.slice(traceback + 1, named).every((line) => /^\s/.test(line));
  const first = isPython ? traceback : Math.max(0, named);
  return CAUSE.test(lines[first] ?? "") && !isPython ? outerStart(lines, first) : first;
}

function outerStart(lines: readonly string[], cause: number): number {
  let index = cause;
  while (index > 0 && /^\s|^Caused by: /.test(lines[index - 1] ?? "")) index -= 1;
  return index < cause ? Math.max(0, index - 1) : cause;
}
