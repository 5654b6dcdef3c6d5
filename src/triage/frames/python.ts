/**
 * Python: `File "app.py", line 3, in load`, with the innermost call last and the exception below the frames. After "the
 * direct cause of", the traceback above is the root cause; after "during handling of", the one below is.
 */
import { type Frame, lastBlock, type Trace, type TraceReader } from "./frame.ts";

export const PYTHON: TraceReader = { language: "Python", hint: /^[ \t]*File ".{1,400}", line \d+/m, read };

const FRAME = /^\s*(?:\|\s*)*File "([^"]{1,400})", line \d+(?:, in (.{1,200}))?$/;
const DIRECT_CAUSE = /^\s*The above exception was the direct cause of/;
const CAUSES_MAX = 20;

function read(lines: readonly string[]): Trace | undefined {
  let trace = lastTraceback(lines);
  for (let depth = 0; trace !== undefined && depth < CAUSES_MAX; depth += 1) {
    const above = causeAbove(lines, trace.start);
    const cause = above < 0 ? undefined : lastTraceback(lines.slice(0, above));
    if (cause === undefined) break;
    trace = { ...cause, endsAt: trace.endsAt };
  }
  return trace;
}

type Traceback = Trace & { readonly start: number };

function lastTraceback(lines: readonly string[]): Traceback | undefined {
  const block = lastBlock(lines, parse, (line) => /^\s/.test(line));
  if (!block) return undefined;
  const below = lines.findIndex((line, index) => index > block.end && /^[^\s|]/.test(line));
  const headline = (below < 0 ? "" : (lines[below] ?? "")).trim();
  const frames = block.frames.toReversed();
  return { language: "Python", headline, frames, endsAt: below < 0 ? block.end : below, start: block.start };
}

/** The index of the "direct cause" line between this traceback and the one above; -1 without one. */
function causeAbove(lines: readonly string[], start: number): number {
  for (let index = start - 1; index >= 0 && index > start - 6; index -= 1) {
    if (DIRECT_CAUSE.test(lines[index] ?? "")) return index;
  }
  return -1;
}

const FOREIGN =
  /[/\\](?:site-packages|dist-packages|lib[/\\]python\d[\d.]*)[/\\]|^<frozen |[/\\]pluggy[/\\]|_pytest/;

function parse(line: string): Frame | undefined {
  const found = FRAME.exec(line);
  if (!found) return undefined;
  const [, file = "", name = ""] = found;
  return { function: nameOf(name.trim()), file, inApp: !FOREIGN.test(file) };
}

function nameOf(name: string): string {
  return name === "<module>" || name === "<lambda>" ? "" : name;
}
