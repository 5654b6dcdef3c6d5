/** The form of a stack trace in any language, and functions that find the lines of a trace. */

/** One call. Line numbers are omitted because they change with every edit. */
export interface Frame {
  /** Empty for a function without a name and for code outside of functions. */
  readonly function: string;
  readonly file?: string;
  /** Whether the frame belongs to the program itself, not to its runtime or libraries. */
  readonly inApp: boolean;
}

export interface FoundTrace {
  /** The line that names the failure, e.g. `TypeError: x is not a function`; empty if there is none. */
  readonly headline: string;
  /** The innermost call first. */
  readonly frames: readonly Frame[];
  /** The index of the trace's last line. If a text has several traces, the one that ends last is used. */
  readonly endsAt: number;
  /** Whether no frame counts when none belongs to the application. Default: the innermost one counts. */
  readonly onlyInApp?: boolean;
  /** How many application frames go into the signature. Default 2. */
  readonly framesMax?: number;
}

export interface Trace extends FoundTrace {
  readonly language: string;
}

export interface TraceReader {
  readonly language: string;
  /** A cheap test: if it does not match, the text has no trace of this language. */
  readonly hint: RegExp;
  readonly read: (lines: readonly string[]) => FoundTrace | undefined;
}

/** Frames in the order of the text, with the indexes of their first and last line. */
type Block = { readonly frames: readonly Frame[]; readonly start: number; readonly end: number };

interface BlockRules extends Pick<TraceReader, "language" | "hint"> {
  readonly parse: (line: string, next: string) => Frame | undefined;
  /** Whether a line between frames, such as source code, continues the block. Default: every other line ends it. */
  readonly isInside?: (line: string) => boolean;
  /** Returns the index of the last line that the trace can end on, or -1. */
  readonly end?: (lines: readonly string[]) => number;
  /** Whether the trace ends with its frames even if `end` finds a line. */
  readonly endsWithBlock?: boolean;
  /** How many lines after the last frame belong to the trace. Default 0. */
  readonly linesAfter?: number;
  /** The minimum number of frames in a trace. Default 1. */
  readonly framesMin?: number;
  /** Returns the line that names the failure. Default: the line above the frames. */
  readonly headline?: (lines: readonly string[], start: number) => string;
  readonly tidy?: (headline: string) => string;
}

export function blockReader(rules: BlockRules): TraceReader {
  const { language, hint, headline = headlineAbove, tidy = (text) => text } = rules;
  const { linesAfter = 0, framesMin = 1, endsWithBlock = false } = rules;
  return {
    language,
    hint,
    read: (lines) => {
      const end = rules.end?.(lines) ?? -1;
      const block = lastBlock(end < 0 ? lines : lines.slice(0, end), rules.parse, rules.isInside);
      if (block === undefined || block.frames.length < framesMin) return undefined;
      const endsAt = end < 0 || endsWithBlock ? block.end + linesAfter : end;
      return { headline: tidy(headline(lines, block.start)), frames: block.frames, endsAt };
    },
  };
}

/** Finds the last block of frames. Lines for which `isInside` is true do not end it. */
export function lastBlock(
  lines: readonly string[],
  parse: BlockRules["parse"],
  isInside: (line: string) => boolean = () => false,
): Block | undefined {
  const frames: Frame[] = [];
  let end = -1;
  let start = -1;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index] ?? "";
    const frame = parse(line, lines[index + 1] ?? "");
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

/** Finds the line above a block that names the failure. A message of several lines begins further up. */
function headlineAbove(lines: readonly string[], start: number): string {
  const above = lines.slice(Math.max(0, start - LOOK_BACK_LINES_MAX), start).map((line) => line.trim());
  return above.findLast((line) => NAMES_FAILURE.test(line)) ?? above.findLast((line) => line !== "") ?? "";
}

const HEADLINE_LINES_MAX = { first: 20, last: 30 } as const;

/** Returns the first or last matching line above a block, or else the nearest line. */
export function headlineBefore(
  lines: readonly string[],
  start: number,
  form: RegExp,
  which: "first" | "last",
): string {
  const above = lines.slice(Math.max(0, start - HEADLINE_LINES_MAX[which]), start);
  const isNamed = (line: string) => form.test(line);
  const named = which === "first" ? above.find(isNamed) : above.findLast(isNamed);
  return (named ?? above.findLast((line) => line.trim() !== "") ?? "").trim();
}
