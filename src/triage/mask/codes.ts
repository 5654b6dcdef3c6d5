/** What identifies the failure, and so must not be masked: exit codes, HTTP statuses, error numbers, error codes. */
import type { Words } from "./words.ts";

/** The word right before a code. */
const NAMES = new Set(
  "code status errno error err signal sqlstate exit exited http https hresult returned with is was of".split(
    " ",
  ),
);
const NAMED =
  /(?:\bexit(?:ed|s)?(?: with)?(?: code| status)?|\breturned(?: code| status)|\bcode|\berrno|\b(?:os|error|err|errno|result) (?:error|code|number)|\berror|\bsqlstate|\bsignal|\bstatus|\bhresult|\bhttps?(?:\/\d(?:\.\d)?)?)(?: is| was| of)?(?:[:=(#[]{1,2} ?| |: |\.| = )$/i;
const NEARBY_CHARS_MAX = 30;
const REASON =
  /^(?:Bad|Unauthorized|Payment|Forbidden|Not|Method|Request|Conflict|Gone|Too|Unprocessable|Internal|Service|Gateway)$/;

/** Whether the number at this place is a code by the words around it. Success is no failure's code. */
export function isMeantNumber(words: Words, index: number, written: () => string): boolean {
  const word = words.word(index);
  if (!/^(?:-?\d{1,6}|0x[\da-fA-F]{4,16}|[\dA-Z]{5})$/.test(word) || /^(?:-?0+|2\d\d|0x0+)$/.test(word))
    return false;
  if (/^[45]\d\d$/.test(word) && words.hasBlankAfter(index) && REASON.test(words.word(index + 1)))
    return true;
  const before = words.word(index - 1).toLowerCase();
  if (!NAMES.has(before) && !before.startsWith("http/")) return false;
  const named = NAMED.exec(written().slice(-NEARBY_CHARS_MAX))?.[0] ?? "";
  if (named === "") return false;
  if (/^[\dA-Z]*[A-Z][\dA-Z]*$/.test(word)) return /^sqlstate/i.test(named);
  if (/^err(?:or)?\W/i.test(named) && isCounted(words, index)) return false;
  return !isOneOfManyFields(words, index);
}

/** Words that look like an error code. `ORD-1042` does too, so that the shape alone does not decide. */
const CODE = /^(?:[A-Z]{1,6}-?\d{3,6}|[A-Z]{2,5}\d{1,2}[A-Z]?\d{2,5})$/;
/** Prefixes of common compilers, linters, databases and identity services. */
const FAMILY =
  /^(?:[CDEFRW]\d{3,4}|(?:AADSTS|BC|CA|CS|DEP|DL|ERR|FS|HTTP|IDE|LNK|MSB|NETSDK|NU|PL[CERW]|RUF|SA|SC|SQL|TS|VB)-?\d{3,6}|(?:DPI|DPY|MY|OGG|ORA|PLS|RMAN|TNS)-\d{4,6})$/;
/** A code of another program is known by the word before it: `error XY1234`, `warning[XY1234]`, `code: XY1234`. */
const ANNOUNCED =
  /\b(?:(?:err|error|warn|warning|fatal|exception)!?(?: |[ ]?[[(])|(?:code|errno|sqlstate)(?: is| was)?[ :=([#]{1,2})$/i;

/** Whether a word is an error code: by its prefix, or by the words before it. Others are ids of an item. */
export function isErrorCode(word: string, written: () => string): boolean {
  if (!CODE.test(word) || /^[A-F\d]{6,}$/.test(word)) return false;
  return FAMILY.test(word) || ANNOUNCED.test(written().slice(-NEARBY_CHARS_MAX));
}

/** "error: 3 left": a count of something. */
function isCounted(words: Words, index: number): boolean {
  return words.hasBlankAfter(index) && /^[a-z]/.test(words.word(index + 1));
}

/** `status: 404 bytes: 17 seconds: 0.2`: one of several labelled figures is a measurement. */
function isOneOfManyFields(words: Words, index: number): boolean {
  return (
    words.hasBlankAfter(index) &&
    /^[a-z]+$/.test(words.word(index + 1)) &&
    words.text.startsWith(": ", words.end(index + 1))
  );
}
