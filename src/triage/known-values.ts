/** The item's own values within a message: they differ from item to item by definition. */
import type { Hit } from "./mask/masker.ts";

const KNOWN_MAX = 50;
const KNOWN_CHARS_MIN = 3;

/** Longest first, so that a value is not broken up by a shorter one within it. Very short ones would hit words. */
export function maskableValues(known: readonly string[], charsMax: number): readonly string[] {
  if (known.length === 0) return known;
  const values = known.map((value) => value.slice(0, charsMax).replace(/\s+/g, " ").trim());
  const usable = [...new Set(values)].filter(
    (value) => value.length >= KNOWN_CHARS_MIN && !/[<>]/.test(value),
  );
  return usable.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).slice(0, KNOWN_MAX);
}

/** Every whole occurrence of a value becomes `<item>`. */
export function maskKnown(text: string, values: readonly string[], hit?: Hit): string {
  return values.reduce((masked, value) => maskValue(masked, value, hit), text);
}

/** Replaces whole occurrences: `cat` is not masked in `category`, nor `item` within the mask `<item>`. */
function maskValue(text: string, value: string, hit?: Hit): string {
  let masked = "";
  let from = 0;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
    const end = at + value.length;
    if (!standsAlone(text, at, end)) continue;
    hit?.("item", value, "<item>");
    masked += `${text.slice(from, at)}<item>`;
    from = end;
  }
  return masked + text.slice(from);
}

const MASK_AT_START = /^<[a-z]{2,5}>/;
const MASK_AT_END = /<[a-z]{2,5}>$/;
const MASK_CHARS_MAX = 7;

function standsAlone(text: string, start: number, end: number): boolean {
  if (text[start - 1] === "<" && text[end] === ">") return false;
  // Beside a mask is what is left of a longer word.
  if (text[end] === "<" && MASK_AT_START.test(text.slice(end, end + MASK_CHARS_MAX))) return false;
  if (text[start - 1] === ">" && MASK_AT_END.test(text.slice(Math.max(0, start - MASK_CHARS_MAX), start)))
    return false;
  const joins = (left: string | undefined, right: string | undefined) =>
    left !== undefined && right !== undefined && /\w/.test(left) && /\w/.test(right);
  return !joins(text[start - 1], text[start]) && !joins(text[end - 1], text[end]);
}
