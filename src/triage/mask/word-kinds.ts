/** Classifies a word as a path, a host, an error code, an identifier, a measurement or a name. */
import {
  AFTER_NAME,
  DATA_TYPES,
  FILE_ENDING,
  HOST_NAME,
  isKind,
  isOrdinary,
  isPlain,
  NO_NAME,
} from "./vocabulary.ts";
import { DIGIT, DOT, isWordEnd, SLASH, UNDERSCORE, type Words } from "./words.ts";

/** Common project folders: `src/components` is a path, although it has the form of `and/or`. */
const PROJECT_FOLDER =
  /^(?:apps|cmd|components|dist|docs|examples|lib|libs|modules|node_modules|packages|pages|pkg|scripts|src|tests|tools|vendor)[/\\]/;

/** Whether a word is a path; `and/or` and `N/A` are not. */
export function isPath(word: string, kinds: number): boolean {
  if ((kinds & SLASH) === 0) return (kinds & DOT) !== 0 && FILE_ENDING.test(word);
  if (word.length === 1) return false;
  if ((kinds & (DIGIT | DOT)) !== 0 || PROJECT_FOLDER.test(word)) return true;
  return /^(?:[/~.]|[A-Za-z]:\\)|[/\\].*[/\\]/.test(word) || isPairOfNames(word);
}

/** Whether a part of `acme/price` is a name, unlike in `read/write` and `text/html`. */
function isPairOfNames(word: string): boolean {
  if (!/^[a-z][a-z.-]{2,}\/[A-Za-z][A-Za-z.-]{2,}$/.test(word)) return false;
  return word.split("/").some((part) => !isOrdinary(part.toLowerCase()));
}

export function isHost(word: string, kinds: number): boolean {
  return (kinds & DOT) !== 0 && HOST_NAME.test(word);
}

/** A position in a file: `:3:4`, `(3,4)`, `:3`. */
const POSITION = /:\d{1,7}(?:[:-]\d{1,7}){0,3}|\(\d{1,7}(?:,\d{1,7}){0,3}\)/y;

export function positionEnd(text: string, end: number): number {
  POSITION.lastIndex = end;
  return POSITION.test(text) && isWordEnd(text, POSITION.lastIndex) ? POSITION.lastIndex : end;
}

/** Words that precede an error code. */
const CODE_NAMES = new Set(
  "code status errno error err signal sqlstate exit exited http https hresult returned with is was of".split(
    " ",
  ),
);
const NAMED =
  /(?:\bexit(?:ed|s)?(?: with)?(?: code| status)?|\breturned(?: code| status)|\bcode|\berrno|\b(?:os|error|err|errno|result) (?:error|code|number)|\berror|\bsqlstate|\bsignal|\bstatus|\bhresult|\bhttps?(?:\/\d(?:\.\d)?)?)(?: is| was| of)?(?:[:=(#[]{1,2} ?| |: |\.| = )$/i;
const NEARBY_CHARS_MAX = 30;
const REASON =
  /^(?:Bad|Unauthorized|Payment|Forbidden|Not|Method|Request|Conflict|Gone|Too|Unprocessable|Internal|Service|Gateway)$/;

/** Whether a number is an exit code, HTTP status or error number, by the words around it. Success codes are not. */
export function isMeantNumber(words: Words, index: number, written: () => string): boolean {
  const word = words.word(index);
  if (!/^(?:-?\d{1,6}|0x[\da-fA-F]{4,16}|[\dA-Z]{5})$/.test(word) || /^(?:-?0+|2\d\d|0x0+)$/.test(word))
    return false;
  if (/^[45]\d\d$/.test(word) && words.hasBlankAfter(index) && REASON.test(words.word(index + 1)))
    return true;
  const before = words.word(index - 1).toLowerCase();
  if (!CODE_NAMES.has(before) && !before.startsWith("http/")) return false;
  const named = NAMED.exec(written().slice(-NEARBY_CHARS_MAX))?.[0] ?? "";
  if (named === "") return false;
  if (/^[\dA-Z]*[A-Z][\dA-Z]*$/.test(word)) return /^sqlstate/i.test(named);
  if (/^err(?:or)?\W/i.test(named) && isCounted(words, index)) return false;
  return !isOneOfManyFields(words, index);
}

/** The form of an error code. The form alone is not conclusive, because ids such as `ORD-1042` have it too. */
const CODE = /^(?:[A-Z]{1,6}-?\d{3,6}|[A-Z]{2,5}\d{1,2}[A-Z]?\d{2,5})$/;
/** Prefixes of error codes of common compilers, linters, databases and identity services. */
const FAMILY =
  /^(?:[CDEFRW]\d{3,4}|(?:AADSTS|BC|CA|CS|DEP|DL|ERR|FS|HTTP|IDE|LNK|MSB|NETSDK|NU|PL[CERW]|RUF|SA|SC|SQL|TS|VB)-?\d{3,6}|(?:DPI|DPY|MY|OGG|ORA|PLS|RMAN|TNS)-\d{4,6})$/;
/** Words that announce the error code of any other program: `error XY1234`, `warning[XY1234]`, `code: XY1234`. */
const ANNOUNCED =
  /\b(?:(?:err|error|warn|warning|fatal|exception)!?(?: |[ ]?[[(])|(?:code|errno|sqlstate)(?: is| was)?[ :=([#]{1,2})$/i;

/** Whether a word is an error code, by its prefix or by the words before it. Otherwise it is an id of an item. */
export function isErrorCode(word: string, written: () => string): boolean {
  if (!CODE.test(word) || /^[A-F\d]{6,}$/.test(word)) return false;
  return FAMILY.test(word) || ANNOUNCED.test(written().slice(-NEARBY_CHARS_MAX));
}

/** Whether the number is a count, as in "error: 3 left". */
function isCounted(words: Words, index: number): boolean {
  return words.hasBlankAfter(index) && /^[a-z]/.test(words.word(index + 1));
}

/** Whether the number is one of several labelled measurements: `status: 404 bytes: 17 seconds: 0.2`. */
function isOneOfManyFields(words: Words, index: number): boolean {
  return (
    words.hasBlankAfter(index) &&
    /^[a-z]+$/.test(words.word(index + 1)) &&
    words.text.startsWith(": ", words.end(index + 1))
  );
}

const HEX = /^[\da-fA-F]{4,128}$/;
const HEX_PREFIXED = /^0[xX][\da-fA-F]{1,128}$/;
/** Hexadecimal words of this length are digests or keys. */
const HASH_CHARS_MIN = 17;
/** Numbers of this length are hashes: a 64-bit counter has fewer digits. */
export const HASH_DIGITS_MIN = 21;
/** A name with a number, of which only the number is masked: `node-5`, `eth0`, `libfoo.2.1`. */
const NUMBERED = /^([A-Za-z](?:[A-Za-z_.-]*[A-Za-z])?)[_.-]{0,2}\d+(?:[._-]\d+)*$/;
/** A duration: `5ms`, `1h30m`. */
const DURATION = /^[+-]?\d[\d.]*(?:ns|us|ms|s|m|h|d|min|mins|sec|secs|hr|hrs)(?:\d[\d.]*(?:ms|s|m|h))*$/;
/** A size: `1.5GB`, `12k`, `512bytes`. */
const SIZE = /^[+-]?\d[\d.]*(?:[kKMGTP]i?[Bb]?|B|b|bytes?)$/;
/** The prefix of an id such as `order_17_x_0032`. It is kept, because it names the kind of the id. */
const PREFIXED = /^([a-z]{3,})_/;
/** Two or more numbers: `1-2`, `3/5`, `12k/64k`. */
const NUMBERS = /^[\d.]+[a-zA-Z%]{0,3}(?:(?:[-/]|\.\.)\d[\d.]*[a-zA-Z%]{0,3})+$/;

export function areNumbers(word: string): boolean {
  return NUMBERS.test(word);
}

export function maskMixed(word: string): string {
  if (HEX_PREFIXED.test(word)) return "<hex>";
  if (areNumbers(word)) return "<num>";
  if (HEX.test(word)) return word.length >= HASH_CHARS_MIN ? "<hash>" : "<num>";
  const numbered = NUMBERED.exec(word);
  if (numbered) return `${numbered[1]}<num>`;
  if (DURATION.test(word)) return "<dur>";
  if (SIZE.test(word)) return "<size>";
  const prefixed = PREFIXED.exec(word);
  return prefixed ? `${prefixed[1]}<id>` : "<id>";
}

const TIME_UNIT =
  /^(?:(?:milli|micro|nano)?sec(?:ond)?s?|[mun]secs?|m?s|min(?:ute)?s?|hours?|hrs?|days?|weeks?)$/;
const SIZE_UNIT = /^(?:[KMGTP]i?B|kB|B|bytes?)$/;

export function measureMask(word: string): string | undefined {
  if (TIME_UNIT.test(word)) return "<dur>";
  return SIZE_UNIT.test(word) ? "<size>" : undefined;
}

/** Whether the word is a name, by the words around it. `before` is the previous word, or empty. */
export function isOperand(words: Words, index: number, before: string): boolean {
  if (before === "" || !words.hasBlankAfter(index - 1)) return false;
  if (before === "for") return isUserBetween(words, index);
  const isOfType = BEFORE_TYPES.has(before);
  if (!isOfType && !isKind(before)) return false;
  const word = words.word(index);
  if (before === "user" && isUserName(words, index, word)) return true;
  if (DATA_TYPES.has(word)) return isOfType;
  if (isOfType && !isKind(before)) return false;
  if (/^\d+$/.test(word) || isPlain(word) || isPath(word, words.kinds(index))) return false; // "column 1" is not a name
  return (
    (words.kinds(index) & (UNDERSCORE | DIGIT)) !== 0 || /[a-z][A-Z]/.test(word) || endsName(words, index)
  );
}

const BEFORE_TYPES = new Set(["from", "to", "as", "type"]);

/** Whether the word is a user name, which can be any word, even "default" or "operator". */
function isUserName(words: Words, index: number, word: string): boolean {
  if (NO_NAME.has(word)) return false;
  if (words.text.startsWith(" [", words.end(index))) return true;
  return words.hasBlankAfter(index) && /^(?:from|on|at)$/.test(words.word(index + 1));
}

/** Whether the word is the user in "for root from <ip>". */
function isUserBetween(words: Words, index: number): boolean {
  return (
    words.hasBlankAfter(index) &&
    words.word(index + 1) === "from" &&
    words.hasBlankAfter(index + 1) &&
    words.word(index + 2) === "<ip>"
  );
}

/** Nouns of actions: "server selection timed out" is about the selection. */
const ABSTRACT = /^[a-z]+(?:tion|sion|ment)$/;

/** Whether the next word can follow a name: the end of the sentence, a bracket, or one of `AFTER_NAME`. */
function endsName(words: Words, index: number): boolean {
  if (words.touchesNext(index)) return false;
  const char = words.charAfter(index);
  if (char !== " ") return char !== "<";
  // The answer must be the same whether the next word is a mask or will be masked later.
  if (!words.hasBlankAfter(index)) return words.text.charCodeAt(words.end(index) + 1) !== 60;
  if (words.touchesNext(index + 1)) return false;
  if (AFTER_NAME.has(words.word(index + 1).toLowerCase())) return true;
  return /^[a-z]{3,}ed$/.test(words.word(index + 1)) && !ABSTRACT.test(words.word(index));
}
