/**
 * Formats text for terminals: makes it safe, measures and shortens it, adds colours, and formats numbers and times. All text
 * from items, commands and errors must pass through `clean` or `fit` before it is printed.
 */
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";

export type Tint = (text: string) => string;

export type Paint = Readonly<Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", Tint>>;

export interface Screen {
  readonly paint: Paint;
  /** The width; infinite means that nothing is cut. */
  readonly columns: number;
}

export interface Terminal {
  readonly isTty: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns colours for a terminal, and none for other outputs, with NO_COLOR, or in CI without FORCE_COLOR. */
export function paintFor(screen: Terminal): Paint {
  return hasColour(screen) ? COLOURED : PLAIN;
}

/** Whether printed lines can be rewritten, which requires an interactive terminal. */
export function canRedraw({ isTty, env }: Terminal): boolean {
  return isTty && env.TERM !== "dumb" && !isOn(env.CI);
}

function hasColour({ isTty, env }: Terminal): boolean {
  if (!isTty || env.NO_COLOR || env.TERM === "dumb") return false;
  return !isOn(env.CI) || isOn(env.FORCE_COLOR);
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0" && value !== "false";
}

const asIs: Tint = (text) => text;
const PLAIN: Paint = { bold: asIs, dim: asIs, red: asIs, green: asIs, yellow: asIs, cyan: asIs };

export const PLAIN_SCREEN: Screen = { paint: PLAIN, columns: Number.POSITIVE_INFINITY };

const COLOURED: Paint = {
  bold: tint(1, 22),
  dim: tint(2, 22),
  red: tint(31, 39),
  green: tint(32, 39),
  yellow: tint(33, 39),
  cyan: tint(36, 39),
};

function tint(on: number, off: number): Tint {
  return (text) => (text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`);
}

/**
 * Returns the text on one line without terminal control: control characters become visible symbols, and invisible characters
 * that reorder or hide text (bidirectional marks, tags) are removed.
 */
export function clean(text: string): string {
  return isPlainAscii(text) ? text : text.replace(UNSAFE, signOf);
}

/** Returns the width of the cleaned text in columns; the larger number if terminals disagree. */
export function width(text: string): number {
  if (isPlainAscii(text)) return text.length;
  let columns = 0;
  for (const char of clean(text)) columns += charWidth(char);
  return columns;
}

/** The maximum number of UTF-16 units per column, because combining marks take no column. The rest is not read. */
const UNITS_PER_COLUMN_MAX = 8;

/** Cleans the text and cuts it to this width with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return "";
  const head = text.slice(0, columns * UNITS_PER_COLUMN_MAX);
  const shown = clean(head);
  let used = 0;
  let index = 0;
  let cutAt = 0;
  for (const char of shown) {
    used += charWidth(char);
    if (used > columns) return `${shown.slice(0, cutAt)}…`;
    index += char.length;
    if (used < columns) cutAt = index;
  }
  return head.length === text.length ? shown : `${shown.slice(0, cutAt)}…`;
}

function isPlainAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/** Matches control and format characters, line and paragraph separators, and lone surrogates. */
const UNSAFE = /\r\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const JOINER = "\u200d";

function signOf(char: string): string {
  if (char === "\n" || char === "\r\n" || char === "\u2028" || char === "\u2029") return "↵";
  if (char === "\t") return " ";
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code < 0xa0 || (char.length === 1 && code >= 0xd800 && code < 0xe000)) return "\ufffd";
  return char === JOINER ? char : "";
}

const EMOJI_STYLE = "\ufe0f"; // turns the previous character into an emoji, which is one column wider
const ZERO = /[\p{Mn}\p{Me}\u200d]/u;
const FLAG_HALF = /\p{Regional_Indicator}/u;
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;

function charWidth(char: string): number {
  if (char >= " " && char <= "~") return 1;
  if (char === EMOJI_STYLE) return 1;
  if (ZERO.test(char)) return 0;
  return WIDE.test(char) && !FLAG_HALF.test(char) ? 2 : 1;
}

export function shortenApart(texts: readonly string[], columns: number): readonly string[] {
  if (texts.every((text) => text.length * WIDTH_MAX <= columns || width(text) <= columns))
    return texts.map(clean);
  const differsAt = pointsOfDifference(texts.map((text) => text.slice(0, COMPARED_CHARS_MAX)));
  return texts.map((text) =>
    shortenAround(clean(text), columns, differsAt.get(text.slice(0, COMPARED_CHARS_MAX))),
  );
}

/** Shortens one text in the middle. */
export function shorten(text: string, columns: number): string {
  return shortenAround(clean(text), columns, undefined);
}

/** The maximum width of a character in columns. */
const WIDTH_MAX = 2;
/** Only this many characters of each text are compared. */
const COMPARED_CHARS_MAX = 4000;

/** Finds where each text differs from the most similar one, which is its neighbour in sorted order. */
function pointsOfDifference(texts: readonly string[]): ReadonlyMap<string, number> {
  const sorted = [...new Set(texts)].sort();
  const points = new Map<string, number>();
  for (const [index, text] of sorted.entries()) {
    const before = commonLength(text, sorted[index - 1] ?? "");
    const after = commonLength(text, sorted[index + 1] ?? "");
    points.set(text, Math.max(before, after));
  }
  return points;
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** The share of the width for the beginning of the text; the end gets the rest. */
const HEAD_SHARE = 0.55;
/** The minimum number of characters shown before and after the point of difference. */
const BEFORE_CHARS = 6;
const AFTER_CHARS = 10;
/** A smaller number of characters after that point, sufficient if it avoids a second cut. */
const NEAR_CHARS = 4;

function shortenAround(text: string, columns: number, differsAt = 0): string {
  if (width(text) <= columns) return text;
  if (columns <= SHORT_COLUMNS) return fit(text, columns);
  const shownTo = Math.min(text.length, differsAt + AFTER_CHARS);
  const head = takeHead(text, Math.ceil((columns - 1) * HEAD_SHARE));
  const tail = takeTail(text, columns - 1 - width(head));
  if (shownTo <= head.length || differsAt >= text.length - tail.length)
    return `${head.trimEnd()}…${tail.trimStart()}`;
  if (differsAt + NEAR_CHARS < takeHead(text, columns).length) return fit(text, columns);
  const start = takeHead(text, Math.floor(columns / 4));
  const rest = columns - width(start) - 1;
  const from = Math.max(start.length + 1, wordStart(text, differsAt));
  return `${start.trimEnd()}…${fit(text.slice(from), rest)}`;
}

function wordStart(text: string, at: number): number {
  const space = text.lastIndexOf(" ", at - 1) + 1;
  return at - space <= WORD_CHARS_MAX ? space : at - BEFORE_CHARS;
}

const WORD_CHARS_MAX = 14;

/** Below this width, only the beginning is shown, because two short ends are hard to read. */
const SHORT_COLUMNS = 12;

function takeHead(text: string, columns: number): string {
  let [used, end] = [0, 0];
  for (const char of text) {
    used += width(char);
    if (used > columns) break;
    end += char.length;
  }
  return text.slice(0, end);
}

function takeTail(text: string, columns: number): string {
  const chars = [...text.slice(-columns * UNITS_PER_COLUMN_MAX)];
  let [used, start] = [0, text.length];
  for (const char of chars.reverse()) {
    used += width(char);
    if (used > columns) break;
    start -= char.length;
  }
  return text.slice(start);
}

/** Formats a count: `1 item`, `3 items`, `2 copies of evidence`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : several}`;
}

/** Formats a count such as `3 refused`; empty for 0. */
export function some(count: number, word: string): string {
  return count === 0 ? "" : `${thousands(count)} ${word}`;
}

export function listed(parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(", ");
}

/** Returns the first lines, and a line with the number of omitted ones. */
export function capped(
  lines: readonly string[],
  max: number,
  more = (left: number) => `… and ${thousands(left)} more`,
): readonly string[] {
  return lines.length > max ? [...lines.slice(0, max), more(lines.length - max)] : lines;
}

export function lettersText(count: number): string {
  return counted(count, "letter");
}

export function timesText(count: number): string {
  return count === 1 ? "once" : `${thousands(count)} times`;
}

/** Formats a rate in the shortest unit that gives at least one: `1,181/s`, `3.2/s`, `15/min`, `4/h`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${rounded(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${rounded(perSecond * 60)}/min`;
  return `${rounded(perSecond * 3600)}/h`;
}

function rounded(value: number): string {
  return value >= 9.95 ? thousands(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats an age: `34 s ago`, `3m 05s ago`. */
export function agoText(ms: number): string {
  return `${secondsText(ms)} ago`;
}

/** Formats whole seconds for live displays: `34 s`, `3m 05s`. */
export function secondsText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

export function secondText(at: number): string {
  return toRfc3339(at).slice(0, 19).replace("T", " ");
}

export function minuteText(at: number): string {
  return toRfc3339(at).slice(0, 16).replace("T", " ");
}

/** Formats a command to paste: `redrive dlq retry orders 'a b'`. Values are quoted if needed, options never. */
export function commandLine(words: readonly string[]): string {
  const quoted = (word: string) => shellWord(word) ?? `'${word.replaceAll("'", "'\\''")}'`;
  return ["redrive", ...words].map((word) => (word.startsWith("-") ? word : quoted(word))).join(" ");
}

/** Quotes text for a shell; null if it is not reasonable to type. */
export function shellWord(text: string): string | null {
  if (/^[\w./:@%+=,][\w./:@%+=,-]*$/.test(text)) return text;
  return /^[^-\p{C}][^\p{C}]*$/u.test(text) && text.length <= 80
    ? `'${text.replaceAll("'", "'\\''")}'`
    : null;
}
