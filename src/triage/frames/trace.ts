/** Finds the stack trace in a text of any language, and selects the frames that go into the signature. */
import { cleanText } from "../clean.ts";
import type { Frame, Trace, TraceReader } from "./frame.ts";
import { KERNEL } from "./kernel.ts";
import { DOTNET, GO, JAVASCRIPT, JVM, NATIVE, PYTHON, RUST } from "./languages.ts";
import { PHP, RUBY } from "./scripts.ts";

/** Reader order matters: if two traces end on the same line, the earlier reader wins. */
const TRACE_READERS: readonly TraceReader[] = [
  KERNEL,
  RUST,
  JVM,
  JAVASCRIPT,
  DOTNET,
  PYTHON,
  GO,
  RUBY,
  PHP,
  NATIVE,
];

const TEXT_CHARS_MAX = 65_536;
const LINE_CHARS_MAX = 600;

export function readTrace(text: string): Trace | undefined {
  const tail = cleanTail(text);
  const readers = TRACE_READERS.filter((reader) => reader.hint.test(tail));
  if (readers.length === 0) return undefined;
  const lines = tail.split("\n").map((line) => line.slice(0, LINE_CHARS_MAX).trimEnd());
  let last: Trace | undefined;
  for (const reader of readers) {
    const trace = reader.read(lines);
    if (trace && (last === undefined || trace.endsAt > last.endsAt))
      last = { ...trace, language: reader.language };
  }
  return last;
}

const UNCLEAN = /(?![\n\t])\p{Cc}|\ufeff/u;

function cleanTail(text: string): string {
  const tail = text.length > TEXT_CHARS_MAX ? text.slice(-TEXT_CHARS_MAX) : text;
  return UNCLEAN.test(tail) ? cleanText(tail) : tail;
}

const FRAMES_MAX = 2;
const NAME_CHARS_MAX = 120;

export type CountedFrames = { readonly counted: readonly Frame[]; readonly skipped: readonly Frame[] };

/**
 * Selects the innermost named frames of the application, or else the innermost named frame. Unnamed frames
 * are skipped: they could be identified only by their file, and copies of a file fail in the same way.
 */
export function countFrames({ frames, framesMax = FRAMES_MAX, onlyInApp = false }: Trace): CountedFrames {
  const counted: Frame[] = [];
  const skipped: Frame[] = [];
  for (const frame of frames) {
    if (counted.length === framesMax) break;
    if (!frame.inApp || !isNamed(frame)) skipped.push(frame);
    else if (counted.at(-1)?.function !== frame.function) counted.push(frame); // recursive calls count as one frame
  }
  if (onlyInApp || counted.length > 0 || frames.some(({ inApp }) => inApp)) return { counted, skipped };
  const innermost = skipped.findIndex(isNamed);
  return { counted: skipped.splice(innermost, innermost < 0 ? 0 : 1), skipped };
}

function isNamed({ function: name }: Frame): boolean {
  return name !== "";
}

/** The beginning of the frames in a pattern. */
export const FRAMES_START = " (in ";

/** Formats the frames as the end of a pattern, ` (in loadConfig < main)`; empty if there are no frames. */
export function framesText(counted: readonly Frame[]): string {
  if (counted.length === 0) return "";
  return `${FRAMES_START}${counted.map((frame) => frame.function.slice(0, NAME_CHARS_MAX)).join(" < ")})`;
}

const KEPT_CHARS_MAX = 16_384;

/**
 * Returns the trace that belongs to the message; undefined if the outputs contain no trace, or only one of
 * another failure.
 */
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

/**
 * Also compares other lines of the trace, because the headline names the root cause but the message may be a
 * later error.
 */
function belongs(message: string, trace: Trace | undefined, block: readonly string[]): boolean {
  if (containsLine(message, trace?.headline ?? "")) return true;
  return block.some((line) => /^\S/.test(line) && !CAUSE.test(line) && containsLine(message, line));
}

/** Returns the index after the trace, including a line with the number of omitted frames. */
function endOf({ endsAt }: Trace, lines: readonly string[]): number {
  return /^\s*\.\.\. \d+ /.test(lines[endsAt + 1] ?? "") ? endsAt + 2 : endsAt + 1;
}

/** Returns the text of a Rust panic, which has a position even without a backtrace. */
function panicText(message: string, lines: readonly string[]): string | undefined {
  const start = lines.findLastIndex((line) => /^thread '.*' .*panicked at /.test(line));
  if (start < 0 || !containsLine(message, lines[start] ?? "")) return undefined;
  const end = lines.findIndex((line, index) => index > start && (line === "" || line.startsWith("note: ")));
  return lines
    .slice(start, end < 0 ? undefined : end)
    .join("\n")
    .slice(0, KEPT_CHARS_MAX);
}

/** Lines that introduce a cause. The trace of the outer error begins above them. */
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

const COMPARED_CHARS_MAX = 80;

/** Whether a message contains a line of output. Compares only the beginning, because messages are shortened. */
export function containsLine(message: string, line: string): boolean {
  const start = line.replace(/\s+/g, " ").trim().slice(0, COMPARED_CHARS_MAX);
  return start !== "" && message.includes(start);
}
