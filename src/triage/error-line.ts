/** Finds the output lines that name the failure: the last with an error marker, stderr first, or else the last line. */
import { cleanText, oneLine } from "./clean.ts";

export interface Picked {
  readonly stream: "stderr" | "stdout";
  /** The failure as one readable line. */
  readonly message: string;
  /** The failure as printed, on one or more lines. */
  readonly lines: readonly string[];
  /** Why this line was chosen, for people: e.g. `the last line with an error marker`. */
  readonly why: string;
}

const TAIL_CHARS_MAX = 65_536;

/** Returns the error line, or undefined if the command printed nothing. */
export function errorLine(stderr: string | undefined, stdout: string | undefined): string | undefined {
  return pickErrorLine(stderr, stdout)?.message;
}

/** Returns the error lines with their stream and the reason; undefined if the command printed nothing. */
export function pickErrorLine(stderr: string | undefined, stdout: string | undefined): Picked | undefined {
  const streams = [
    { stream: "stderr", lines: linesOf(stderr) },
    { stream: "stdout", lines: linesOf(stdout) },
  ] as const;
  for (const find of [markedLine, weaklyMarkedLine, summaryLine]) {
    for (const { stream, lines } of streams) {
      const found = find(lines);
      if (found) return { stream, ...wholeAt(lines, found.index), why: found.why };
    }
  }
  for (const { stream, lines } of streams) {
    const last = lines.at(-1)?.trim();
    if (last !== undefined) {
      return {
        stream,
        message: last,
        lines: [last],
        why: "no line has an error marker, so the last line was used",
      };
    }
  }
  return undefined;
}

/** The lines that are not blank. Indentation is kept because it identifies stack frames. */
function linesOf(output: string | undefined): readonly string[] {
  if (!output) return [];
  return cleanText(output.slice(-TAIL_CHARS_MAX))
    .split("\n")
    .map((line) => withoutBox(line.slice(0, LINE_CHARS_MAX)).trimEnd())
    .filter((line) => line.length > 0 && isReadable(line));
}

/** Removes the vertical bar that some tools draw to the left of their errors. */
function withoutBox(line: string): string {
  return line.replace(/^[│╷╵┃▌] ?/, "");
}

/** Whether the line is text. Binary output does not help a person, and would give every failure its own signature. */
function isReadable(line: string): boolean {
  return 10 * (line.split("\ufffd").length - 1) < line.length;
}

type Found = { readonly index: number; readonly why: string };

function markedLine(lines: readonly string[]): Found | undefined {
  const traceback = endOfTraceback(lines);
  const best = announcedAt(
    lines,
    lines.findLastIndex((line) => markerOf(line) !== undefined && !isSummary(line)),
  );
  if (traceback >= 0 && traceback >= best)
    return { index: traceback, why: "the last line of the last Python traceback" };
  if (best >= 0) return { index: best, why: `the last line with ${markerOf(lines[best] ?? "")}` };
  return undefined;
}

/** Finds a line whose words usually mean failure, in an output without markers. */
function weaklyMarkedLine(lines: readonly string[]): Found | undefined {
  const index = lines.findLastIndex(
    (line) => WEAK_MARKER.test(line) && !isSummary(line) && !FRAME.test(line),
  );
  return index < 0 ? undefined : { index, why: "the last line with a word that usually means failure" };
}

function summaryLine(lines: readonly string[]): Found | undefined {
  const index = lines.findLastIndex((line) => markerOf(line) !== undefined);
  return index < 0
    ? undefined
    : { index, why: "only summary lines have an error marker, so the last one was used" };
}

/** Returns the index of the introducing line above, such as "thread 'x' panicked at …:", or else the given index. */
function announcedAt(lines: readonly string[], index: number): number {
  const above = lines[index - 1] ?? "";
  return above.endsWith(":") && markerOf(above) !== undefined && !isSummary(above) ? index - 1 : index;
}

function markerOf(line: string): string | undefined {
  if (FRAME.test(line)) return undefined;
  return MARKERS.find(({ shape }) => shape.test(line))?.what;
}

function isSummary(line: string): boolean {
  return SUMMARIES.some((summary) => summary.test(line));
}

/**
 * Returns the index of the line after the frames, where Python names the exception; -1 if there is no
 * traceback.
 */
function endOfTraceback(lines: readonly string[]): number {
  const start = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last)"));
  return start < 0 ? -1 : lines.findIndex((line, index) => index > start && !/^\s/.test(line));
}

export type Whole = { readonly lines: readonly string[]; readonly message: string };

/** The maximum length of a line, and therefore of a message. */
export const LINE_CHARS_MAX = 300;
const LINES_MAX = 12;

/** Returns the failure that begins on this line, with the following lines that belong to it. */
export function wholeAt(lines: readonly string[], index: number): Whole {
  const said = [lines[index] ?? ""];
  const parts = [said[0] ?? ""];
  for (let at = index + 1; at < lines.length && said.length < LINES_MAX; at += 1) {
    const line = lines[at] ?? "";
    const belongs = belongsTo(parts.at(-1) ?? "", line);
    if (belongs === "no") break;
    said.push(line);
    if (belongs === "message") parts.push(line);
  }
  return { lines: said, message: oneLine(parts.join(" "), LINE_CHARS_MAX) };
}

type Belonging = "message" | "shown" | "no";

/** The position that rustc prints after `-->`. */
const POSITION = /^\s*--> \S/;
const COMPARED =
  /^\s*(?:left|right|expected|received|actual|got|want|wanted|but was| {1,2}[-+] (?:Expected|Received))\s*[:=]/i;
/** Source code under a message, with line numbers and markers. */
const SOURCE = /^\s*(?:\d{1,6}\s*)?\||^\s*[\^~]+\s*$|^\s*= (?:note|help):/;
const NEW_MESSAGE = /^\s*(?:note|help|hint|warning):|^stack backtrace|RUST_BACKTRACE/i;

function belongsTo(previous: string, line: string): Belonging {
  if (FRAME.test(line) || NEW_MESSAGE.test(line)) return "no";
  if (previous.endsWith(":") || POSITION.test(line) || COMPARED.test(line)) return "message"; // a line that ends in a colon introduces the next
  return SOURCE.test(line) ? "shown" : "no";
}

export type Marker = { readonly what: string; readonly shape: RegExp };

/** Markers of the line that names the failure. Each regular expression is bounded. */
export const MARKERS: readonly Marker[] = [
  {
    what: "an error marker",
    shape:
      /\b(?:error|fatal|panic|critical|failed|failure|err)\s*(?:\[[^\]]{0,40}\]|[A-Z]{1,4}\d{1,6}|\([^)]{0,40}\))?\s*[:!]/i,
  },
  {
    what: "an error with a position",
    shape:
      /\b[Ee]rror (?:at|in) \S{1,200}:\d|\*\*\* \S.{0,200}\. {1,2}Stop\.$|^[a-z][\w+-]{0,30}: \(\d{1,3}\) \S/,
  },
  { what: "the place of an error at its end", shape: / at \S{1,200} line \d{1,7}\.$/ },
  { what: "an exception name", shape: /(?:Error|Exception)(?::|$)/ },
  {
    what: "a word in capitals that means failure",
    shape: /\b(?:FAILED|FATAL|ERROR|PANIC|FAIL:|CONFLICT)(?![\w-])/,
  },
  {
    what: "a panic or an uncaught exception",
    shape: /\bpanicked at\b|^Exception in thread|^Caused by:|^Unhandled exception/,
  },
  {
    what: "a failed assertion",
    shape: /\b[Aa]ssert(?:ion)?\b.{0,200}\bfail|^E {2,}\S|^\s*AssertionError\b/,
  },
  { what: "a linter's finding", shape: /^\s*\d+:\d+\s+error\s/ },
  {
    what: "the error message of a known tool",
    shape:
      /^npm (?:ERR!|error) \S|^\* What went wrong:|No rule to make target|undefined reference to|Error response from daemon/,
  },
  {
    what: "an operating system error",
    shape:
      /no such file|permission denied|access denied|command not found|: not found$|out of memory|segmentation fault|connection refused|no space left|cannot allocate memory|address already in use|too many open files|Killed$|file exists|not a directory|is a directory|directory not empty|operation not permitted|broken pipe|connection reset/i,
  },
];

/** Lines with a marker that only summarise an earlier failure; used only if there is no better line. */
export const SUMMARIES: readonly RegExp[] = [
  // Compilers and linkers
  /aborting due to|could not compile|for more information about this error|warning: build failed|^collect2: error: ld returned/i,
  /^\s*(?:Found )?\d+ (?:errors?|problems?)\b|✖ \d+ problems?/,
  // Test runners
  /^\s*(?:Tests?|Test Suites?|Test Files|Snapshots):? .{0,60}\bfailed\b/i,
  /^test result: FAILED|error: (?:test|\d+ targets?) failed|^=+ .{0,80}\b(?:failed|error)s?\b.{0,80} =+$|^FAIL(?:ED)?(?:\s|$)(?!.*\s-\s)/,
  /^\s*--- FAIL: |^\s*FAIL\b|^There (?:was|were) \d+ failure|^FAILURES!|^Failures?:$|^\s*[✗✕×] /,
  // Builders, package managers and shells
  /^make(?:\[\d{1,4}\])?: \*\*\* \[|^npm (?:ERR!|error) (?:code|errno|path|command|syscall|A complete log|Lifecycle|Exit status|Failed at|This is probably|Test failed|To see a list|Did you mean| {1,4}npm )/,
  /^npm (?:ERR!|error)\s*$|ELIFECYCLE|^error Command failed|^error: script .{0,80} exited|^ ?ERR_PNPM_RECURSIVE/,
  /^\[ERROR\]\s*$|^\[ERROR\] (?:-> |To see the full|Re-run Maven|For more information|After correcting|\[Help|Failed to execute goal)|BUILD FAIL|^FAILURE: Build failed/,
  /process didn't exit successfully|^\s*(?:##\[error\]|Error: )?Process completed with exit code|^exit status \d+$/i,
  /^BEGIN failed--compilation aborted|^fatal: Could not read from remote repository/,
  /did not complete successfully: exit code|^Automatic merge failed|^error: failed to push some refs|^Execution failed for task/,
];

/** `mkdir: cannot create directory`: a program and a word that means failure, or a sentence that begins with one. */
const WEAK_MARKER =
  /^(?:Can't|Cannot|Could not|Couldn't|Failed to|Unable to)\b|^[\w./+-]{1,80}: .{0,200}\b(?:cannot|can't|could not|couldn't|unable|failed|invalid|illegal|unknown|unexpected|unterminated|unrecognized|missing|denied|refused|not|no)\b/i;

export const FRAME = /^\s+at /;
