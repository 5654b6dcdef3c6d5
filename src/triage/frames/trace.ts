/** The stack trace in a text, in whatever language, and which of its frames tell the failure from others. */
import { cleanText } from "../clean.ts";
import { DOTNET } from "./dotnet.ts";
import type { Frame, Trace, TraceReader } from "./frame.ts";
import { GO } from "./go.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { JVM } from "./jvm.ts";
import { KERNEL } from "./kernel.ts";
import { NATIVE } from "./native.ts";
import { PYTHON } from "./python.ts";
import { RUST } from "./rust.ts";

/** All readers; where two find a trace that ends on the same line, the earlier one is right. */
export const TRACE_READERS: readonly TraceReader[] = [
  KERNEL,
  RUST,
  JVM,
  JAVASCRIPT,
  DOTNET,
  PYTHON,
  GO,
  NATIVE,
];

/** How much of a text is looked at, and of a line. */
const TEXT_CHARS_MAX = 65_536;
const LINE_CHARS_MAX = 600;

/** The trace that ends last; undefined when there is none. */
export function readTrace(text: string): Trace | undefined {
  const tail = cleanTail(text);
  const readers = TRACE_READERS.filter((reader) => reader.hint.test(tail));
  if (readers.length === 0) return undefined;
  const lines = tail.split("\n").map((line) => line.slice(0, LINE_CHARS_MAX).trimEnd());
  let last: Trace | undefined;
  for (const reader of readers) {
    const trace = reader.read(lines);
    if (trace && (last === undefined || trace.endsAt > last.endsAt)) last = trace;
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

/** The frames that count, and those above and between them that do not. */
export interface CountedFrames {
  readonly counted: readonly Frame[];
  readonly skipped: readonly Frame[];
}

/**
 * The innermost named frames of the application; of a trace without frames of the application, its innermost frame. A frame
 * without a name does not count: all that identifies it is its file, and a copy of that file fails in the same way.
 */
export function countFrames({ frames, framesMax = FRAMES_MAX }: Trace): CountedFrames {
  const counted: Frame[] = [];
  const skipped: Frame[] = [];
  for (const frame of frames) {
    if (counted.length === framesMax) break;
    if (!frame.inApp || !isNamed(frame)) skipped.push(frame);
    else if (counted.at(-1)?.function !== frame.function) counted.push(frame); // recursion is one frame
  }
  if (counted.length > 0 || frames.some(({ inApp }) => inApp)) return { counted, skipped };
  const innermost = skipped.findIndex(isNamed);
  return { counted: skipped.splice(innermost, innermost < 0 ? 0 : 1), skipped };
}

function isNamed({ function: name }: Frame): boolean {
  return name !== "";
}

/** ` (in loadConfig < main)`: innermost first, as a pattern ends; empty without frames. */
export function framesText(counted: readonly Frame[]): string {
  if (counted.length === 0) return "";
  return ` (in ${counted.map((frame) => frame.function.slice(0, NAME_CHARS_MAX)).join(" < ")})`;
}
