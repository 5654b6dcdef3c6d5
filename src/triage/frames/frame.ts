/** Stack traces of any language, and how to find the block of lines that makes up a trace. */

/** One call. It has no line number because line numbers change with every edit. */
export interface Frame {
  /** Empty for a function without a name and for code outside of functions. */
  readonly function: string;
  readonly file?: string;
  /** True for the program itself, false for its runtime and libraries. */
  readonly inApp: boolean;
}

export interface FoundTrace {
  /** The line that names the failure, e.g. `TypeError: x is not a function`; empty when there is none. */
  readonly headline: string;
  /** The innermost call first. */
  readonly frames: readonly Frame[];
  /** The index of its last line. Of several traces the one that ends last is used. */
  readonly endsAt: number;
  /** How many application frames go into the signature. Default 2. */
  readonly framesMax?: number;
}

export interface Trace extends FoundTrace {
  readonly language: string;
}

export interface TraceReader {
  readonly language: string;
  /** A text without a match has no trace of this language. */
  readonly hint: RegExp;
  readonly read: (lines: readonly string[]) => FoundTrace | undefined;
}

/** Frames in the order of the text, with the indexes of their first and last line. */
interface Block {
  readonly frames: readonly Frame[];
  readonly start: number;
  readonly end: number;
}

interface BlockRules extends Pick<TraceReader, "language" | "hint"> {
  readonly parse: (line: string, next: string) => Frame | undefined;
  /** Lines such as source code under a frame do not end a block. Default: all other lines end it. */
  readonly isInside?: (line: string) => boolean;
  /** The index at which the trace ends at the latest, and -1 without such a line. */
  readonly end?: (lines: readonly string[]) => number;
  /** Whether the trace ends with its frames even if `end` finds a line. */
  readonly endsWithBlock?: boolean;
  /** Lines after the last frame that belong to it. Default 0. */
  readonly linesAfter?: number;
  /** Fewer frames are no trace. Default 1. */
  readonly framesMin?: number;
  /** The line that names the failure. Default: the one above the frames. */
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

/** The last block of frames. Lines for which `isInside` is true do not end it. */
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

/** The line above a block that names the failure. A message of several lines begins further up. */
function headlineAbove(lines: readonly string[], start: number): string {
  const above = lines.slice(Math.max(0, start - LOOK_BACK_LINES_MAX), start).map((line) => line.trim());
  return above.findLast((line) => NAMES_FAILURE.test(line)) ?? above.findLast((line) => line !== "") ?? "";
}

const HEADLINE_LINES_MAX = { first: 20, last: 30 } as const;

/** The first or last line above a block with such a form, else the nearest line. */
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
