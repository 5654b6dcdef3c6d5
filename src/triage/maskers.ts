/**
 * The maskers of `normalise`, in the order in which they run: the specific before the general, so that a date is
 * not three numbers. A mask is a lower-case word in angle brackets; no masker looks into one.
 */
import { isMeantNumber } from "./meant-number.ts";

/** One kind of thing that differs from item to item. */
export interface Masker {
  /** What stands in the text in place of a match, without the angle brackets. */
  readonly name: string;
  readonly pattern: RegExp;
  /** What a match becomes: its mask, or itself when it is none after all. */
  readonly mask: (match: string, mask: string, offset: number, text: string) => string;
}

const MASK = "<[a-z]{2,8}>";
/** One piece of a path. */
const NAME = `(?:[\\w.@%+~$-]|${MASK}){1,255}`;
/** Not in the middle of a name. */
const START = "(?<![\\w.@%+~$<>/\\\\-])";
/** `:12`, `:12:5`, `(12,5)` behind a path. */
const POSITION = "(?:(?::\\d{1,9}){1,2}|\\(\\d{1,9}(?:,\\d{1,9})?\\))?";
const CLOCK = "\\d{1,2}:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const EXTENSIONS =
  "c|cc|cfg|conf|cpp|cs|css|csv|db|go|gz|h|html|ini|java|jpg|js|json|jsonl|jsx|kt|lock|log|md|mjs|pdf|php|png|" +
  "py|rb|rs|sh|sql|tar|tmp|toml|ts|tsx|txt|xml|yaml|yml|zip";
const UNITS = "ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hours?|days?";

/** All of them, in order. */
export const MASKERS: readonly Masker[] = [
  masker("time", `(?<![\\w.])\\d{4}-\\d\\d-\\d\\d(?:[T ]${CLOCK}(?:Z| ?[+-]\\d\\d:?\\d\\d)?)?(?!\\w)`),
  masker("time", `\\b${MONTH} {1,2}\\d{1,2}(?: \\d{4})? ${CLOCK}(?!\\w)`),
  masker("time", `(?<![\\w.:])${CLOCK}(?!\\w|:\\d)`),
  masker("uuid", "\\b[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}\\b"),
  masker(
    "url",
    `\\b[a-zA-Z][a-zA-Z\\d+.-]{1,15}://(?:${MASK}|[^\\s"'\`<>()\\]]){1,2000}`,
    withoutPunctuation,
  ),
  masker("email", "(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,4}(?![\\w@])"),
  masker("ip", "(?<![\\w.])\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?(?!\\w|\\.\\d)"),
  masker("ip", "(?<![\\w:.])(?:[\\da-fA-F]{0,4}:){2,7}[\\da-fA-F]{0,4}(?![\\w:])", ifAddress),
  masker("path", `${START}[A-Za-z]:(?:\\\\${NAME}){1,64}\\\\?${POSITION}`, withoutPunctuation),
  masker("path", `${START}(?:\\.{1,2}|~|\\$\\w{1,64})?(?:/${NAME}){1,64}/?${POSITION}`, withoutPunctuation),
  masker("path", `${START}(?:${NAME}/){2,64}(?:${NAME})?${POSITION}`, withoutPunctuation),
  masker("path", `${START}(?:${NAME}/)?[\\w.@+-]{1,255}\\.(?:${EXTENSIONS})(?![\\w/-]|\\.\\w)${POSITION}`),
  masker("hex", "\\b0[xX][\\da-fA-F]{1,64}\\b"),
  masker("hash", "(?<![\\w-])(?:[\\da-f]{7,128}|[\\dA-F]{7,128})(?![\\w-])", ifMixed),
  masker("str", "(?<!\\w)([\"'`])[^\"'`]{1,400}\\1(?!\\w)", ifOperand),
  masker("dur", `(?<![\\w.])\\d{1,12}(?:\\.\\d{1,9})? ?(?:${UNITS})\\b`, unlessMeant),
  masker("num", "(?<![\\w.])\\d+(?:[.,_]\\d+)*(?=[a-zA-Z]{0,3}(?!\\w))", unlessMeant),
  // The number at the end of a lower-case name, as in item123 or v2. E0308 and x86 are no such names.
  masker("num", "(?<=[a-z]{3}_?|\\bv)\\d+(?:\\.\\d+)*(?!\\w)"),
];

function masker(name: string, source: string, mask: Masker["mask"] = (_match, word) => word): Masker {
  return { name, pattern: new RegExp(source, "g"), mask };
}

/** The sentence goes on after a URL or a path; its punctuation is not part of it. */
function withoutPunctuation(match: string, mask: string): string {
  return mask + (/[.,;:!?]{1,8}$/.exec(match)?.[0] ?? "");
}

/** `12:30:` and `add::bad` are made of the same characters as an IPv6 address. */
function ifAddress(match: string, mask: string): string {
  return /\d/.test(match) && (match.includes("::") || match.split(":").length > 3) ? mask : match;
}

/** Only digits is a number, only letters may be a word: a hash has both. */
function ifMixed(match: string, mask: string): string {
  return /\d/.test(match) && /[a-fA-F]/.test(match) ? mask : match;
}

const OPERAND_WORDS_MAX = 3;

/** A quoted name or value is an operand; quoted prose is the message itself, and stays. */
function ifOperand(match: string, mask: string): string {
  const quote = match.slice(0, 1);
  return match.split(" ").length <= OPERAND_WORDS_MAX ? quote + mask + quote : match;
}

function unlessMeant(match: string, mask: string, offset: number, text: string): string {
  return isMeantNumber(match, offset, text) ? match : mask;
}
