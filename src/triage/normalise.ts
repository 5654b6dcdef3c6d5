/**
 * A failure message with what differs from item to item masked, so that the same failure reads the same. Maskers
 * run in a fixed order, each with a name and a reason. What tells failures apart stays: exit codes, HTTP statuses, and
 * codes such as E0308, TS2345 or ENOENT.
 *
 * It depends on nothing but its input, changes nothing when it is applied again, and costs a bounded time:
 * the text is cut first, and no pattern has nested or unbounded repetition over the same characters.
 */
import { cleanText } from "./clean.ts";
import { FIELD_MASKER } from "./mask/fields.ts";
import { LIST_MASKER } from "./mask/lists.ts";
import type { Hit, Masker } from "./mask/masker.ts";
import { QUOTE_MASKER } from "./mask/quotes.ts";
import { SHAPE_MASKER, URL_MASKER } from "./mask/shapes.ts";
import { STATEMENT_MASKER } from "./mask/statements.ts";
import { SYSTEM_ERROR_MASKER } from "./mask/system-errors.ts";
import { WORD_MASKER } from "./mask/word-masker.ts";

/** No more of a message than this is looked at, and no pattern is longer. */
export const MESSAGE_CHARS_MAX = 4096;

/** All maskers, in order: the specific before the general, so that a date is not three numbers. */
export const MASKERS: readonly Masker[] = [
  QUOTE_MASKER,
  URL_MASKER,
  FIELD_MASKER,
  SHAPE_MASKER,
  WORD_MASKER,
  SYSTEM_ERROR_MASKER,
  STATEMENT_MASKER,
  LIST_MASKER,
];

/** The message with its variable parts masked. */
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

/** What stands between quotes is found by what stands around them, which masking may have changed. */
const MAY_CHANGE = /(?<!\w)["'`](?!<str>["'`](?!["'`])|[\s.,:;)\]}]|$)/;
const ROUNDS_MAX = 5;

const CONTROL = /\p{Cc}|\ufeff/u;
const BLANKS = /\s+/g;

function oneLine(message: string): string {
  const start = message.length > MESSAGE_CHARS_MAX ? message.slice(0, MESSAGE_CHARS_MAX) : message;
  const clean = CONTROL.test(start) ? cleanText(start).replace(BLANKS, " ") : start;
  return clean.includes("  ") ? clean.replace(BLANKS, " ").trim() : clean.trim();
}

/** The beginning of the text, never ending within a mask. */
function cut(text: string): string {
  return text
    .slice(0, MESSAGE_CHARS_MAX)
    .replace(/<[a-z]{0,8}$|[\ud800-\udbff]$/, "")
    .trimEnd();
}
