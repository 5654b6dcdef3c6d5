/**
 * A failure message with what differs from item to item masked, so that the same failure reads the same. Maskers
 * run in a fixed order, each with a name that appears in the text: `<time>`, `<path>`, `<num>`. What tells
 * failures apart stays: exit codes, HTTP statuses, and codes such as E0308, TS2345 or ENOENT.
 *
 * It depends on nothing but its input, changes nothing when it is applied again, and costs a bounded time:
 * the text is cut first, and no pattern has nested or unbounded repetition over the same characters.
 */
import { cleanText } from "./clean.ts";
import { MASKERS, type Masker } from "./maskers.ts";

/** No more of a message than this is looked at, and no pattern is longer. */
export const MESSAGE_CHARS_MAX = 4096;

/** The message with its variable parts masked; occurrences of the `known` values become `<item>`. */
export function normalise(message: string, known: readonly string[] = []): string {
  const values = maskable(known);
  let text = cut(cleanText(message.slice(0, MESSAGE_CHARS_MAX)).replace(/\s+/g, " ").trim());
  // A mask can bring together what stood apart. Each round that changes anything masks at least one more
  // character for good, so the rounds come to an end, and the result is one that no round changes.
  for (;;) {
    const next = cut(MASKERS.reduce(applyMasker, maskKnown(text, values))).trim();
    if (next === text) return text;
    text = next;
  }
}

function applyMasker(text: string, masker: Masker): string {
  const word = `<${masker.name}>`;
  // The callback gets the match, the groups, and last the offset and the whole text.
  return text.replace(masker.pattern, (match: string, ...rest: readonly (string | number)[]) =>
    masker.mask(match, word, Number(rest.at(-2)), String(rest.at(-1))),
  );
}

/** The beginning of the text, never ending within a mask. */
function cut(text: string): string {
  if (text.length <= MESSAGE_CHARS_MAX) return text;
  return text.slice(0, MESSAGE_CHARS_MAX).replace(/<[a-z]{0,8}$|[\ud800-\udbff]$/, "");
}

const KNOWN_MAX = 50;
const KNOWN_CHARS_MIN = 3;

/** Longest first, so that a value is not broken up by a shorter one within it. Very short ones would hit words. */
function maskable(known: readonly string[]): readonly string[] {
  const values = known.map((value) => value.slice(0, MESSAGE_CHARS_MAX).replace(/\s+/g, " ").trim());
  const usable = [...new Set(values)].filter(
    (value) => value.length >= KNOWN_CHARS_MIN && !/[<>]/.test(value),
  );
  return usable.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).slice(0, KNOWN_MAX);
}

function maskKnown(text: string, values: readonly string[]): string {
  return values.reduce(maskValue, text);
}

/** Replaces whole occurrences: `cat` is not masked in `category`, nor `item` within the mask `<item>`. */
function maskValue(text: string, value: string): string {
  let masked = "";
  let from = 0;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
    const end = at + value.length;
    if (!standsAlone(text, at, end)) continue;
    masked += `${text.slice(from, at)}<item>`;
    from = end;
  }
  return masked + text.slice(from);
}

function standsAlone(text: string, start: number, end: number): boolean {
  if (text[start - 1] === "<" && text[end] === ">") return false;
  const joins = (left: string | undefined, right: string | undefined) =>
    left !== undefined && right !== undefined && /\w/.test(left) && /\w/.test(right);
  return !joins(text[start - 1], text[start]) && !joins(text[end - 1], text[end]);
}
