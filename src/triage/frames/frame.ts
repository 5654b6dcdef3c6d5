/** Stack traces of any language, and how to find the block of lines that makes up a trace. */

/** One call. It has no line number because line numbers change with every edit. */
export interface Frame {
  /** Empty for a function without a name and for code outside of functions. */
  readonly function: string;
  readonly file?: string;
  /** True for the program itself, false for its runtime and libraries. */
  readonly inApp: boolean;
}

/** The stack trace of the root cause. */
export interface Trace {
  readonly language: string;
  /** The line that names the failure, e.g. `TypeError: x is not a function`; empty when there is none. */
  readonly headline: string;
  /** The innermost call first. */
  readonly frames: readonly Frame[];
  /** The index of its last line. Of several traces the one that ends last is used. */
  readonly endsAt: number;
  /** How many application frames go into the signature. Default 2. */
  readonly framesMax?: number;
}

/** Reads the traces of one language. */
export interface TraceReader {
  readonly language: string;
  /** A text without a match has no trace of this language. */
  readonly hint: RegExp;
  readonly read: (lines: readonly string[]) => Trace | undefined;
}

/** Frames in the order of the text, with the indexes of their first and last line. */
export interface Block {
  readonly frames: readonly Frame[];
  readonly start: number;
  readonly end: number;
}

/** The last block of frames. Lines for which `isInside` is true, such as source code under a frame, do not end it. */
export function lastBlock(
  lines: readonly string[],
  parse: (line: string, index: number) => Frame | undefined,
  isInside: (line: string) => boolean = () => false,
): Block | undefined {
  const frames: Frame[] = [];
  let end = -1;
  let start = -1;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index] ?? "";
    const frame = parse(line, index);
    if (frame) {
      frames.push(frame);
      if (end < 0) end = index;
      start = index;
    } else if (end >= 0 && !isInside(line)) break;
  }
  return end < 0 ? undefined : { frames: frames.reverse(), start, end };
}

const NAMES_FAILURE =
  /^(?:Uncaught |Unhandled |Caused by: |---> |\[cause\]: |Exception in thread |panic: |fatal error: )|^[\w$.:]*(?:Error|Exception|Failure|Fault|Abort\w*)\b/;
const LOOK_BACK_LINES_MAX = 12;

/** The line above a block that names the failure. A message of several lines begins further up. */
export function headlineAbove(lines: readonly string[], start: number): string {
  const first = Math.max(0, start - LOOK_BACK_LINES_MAX);
  let nearest = "";
  for (let index = start - 1; index >= first; index -= 1) {
    const line = (lines[index] ?? "").trim();
    if (NAMES_FAILURE.test(line)) return line;
    if (line !== "" && nearest === "") nearest = line;
  }
  return nearest;
}
