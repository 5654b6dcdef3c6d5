/** Runs of lines that belong to one stack trace, and the line above that names the failure. */
import type { Frame } from "./frame.ts";

/** Frames in the order of the text, and the indexes of their first and last line. */
export interface Block {
  readonly frames: readonly Frame[];
  readonly start: number;
  readonly end: number;
}

/** The last run of frames. Lines that are `inside` a trace, such as the source under a frame, do not end it. */
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

/** The line above a block that names the failure: a message of several lines begins further up. */
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
