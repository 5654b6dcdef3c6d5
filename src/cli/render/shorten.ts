/**
 * Shortens texts to a width so that they remain distinguishable: the middle is cut, because messages often differ at the
 * end. If similar texts differ only in the middle, that part is kept.
 */
import { clean, fit, width } from "./paint.ts";

/** Shortens each text to this width with an ellipsis. */
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

/** Returns the start of the word at this position. */
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

/** The maximum number of UTF-16 units per column, because combining marks take no column. */
const UNITS_PER_COLUMN_MAX = 8;
