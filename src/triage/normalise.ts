/**
 * Masks the parts of a message that differ from item to item, so that the same failure has the same text. Exit codes, HTTP
 * statuses and error codes stay. Idempotent, and bounded in time: no regular expression has unbounded repetition.
 */
import { cleanText } from "./clean.ts";
import type { Hit, Masker } from "./mask/masker.ts";
import { FIELD_MASKER, LIST_MASKER, STATEMENT_MASKER, SYSTEM_ERROR_MASKER } from "./mask/phrases.ts";
import { QUOTE_MASKER } from "./mask/quotes.ts";
import { SHAPE_MASKER, URL_MASKER } from "./mask/shapes.ts";
import { STRUCTURE_MASKER } from "./mask/structures.ts";
import { TYPE_MASKER } from "./mask/types.ts";
import { WORD_MASKER } from "./mask/word-masker.ts";

/** The maximum length of a message and of a pattern. */
export const MESSAGE_CHARS_MAX = 4096;

/** Specific maskers run before general ones, so that a date is not masked as three numbers. */
export const MASKERS: readonly Masker[] = [
  TYPE_MASKER,
  STRUCTURE_MASKER,
  QUOTE_MASKER,
  URL_MASKER,
  FIELD_MASKER,
  SHAPE_MASKER,
  WORD_MASKER,
  SYSTEM_ERROR_MASKER,
  STATEMENT_MASKER,
  LIST_MASKER,
];

export function normalise(message: string, hit?: Hit): string {
  let text = oneLine(message);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = text;
    for (const masker of MASKERS) text = masker.mask(text, hit);
    const isWhole = text.length <= MESSAGE_CHARS_MAX;
    if (!isWhole) text = cut(text);
    if (text === before || (isWhole && !MAY_CHANGE.test(text))) break;
  }
  return text;
}

/** Matches text that needs another round: masking may have changed the context by which quotations are found. */
const MAY_CHANGE = /(?<!\w)["'`](?!<str>["'`](?!["'`])|[\s.,:;)\]}]|$)/;
const ROUNDS_MAX = 5;

const CONTROL = /\p{Cc}|\ufeff/u;
const BLANKS = /\s+/g;

function oneLine(message: string): string {
  const start = message.length > MESSAGE_CHARS_MAX ? message.slice(0, MESSAGE_CHARS_MAX) : message;
  const clean = CONTROL.test(start) ? cleanText(start).replace(BLANKS, " ") : start;
  return clean.includes("  ") ? clean.replace(BLANKS, " ").trim() : clean.trim();
}

/** Cuts the text, but never within a mask. */
function cut(text: string): string {
  return text
    .slice(0, MESSAGE_CHARS_MAX)
    .replace(/<[a-z]{0,8}$|[\ud800-\udbff]$/, "")
    .trimEnd();
}
