/**
 * Decides, by their form and their neighbours, which words of a pattern are variable although the maskers did
 * not mask them.
 */
import { isKind } from "../mask/vocabulary.ts";
import { isBeforeExistence } from "./existence-words.ts";
import { NAME_REASONS, NAMES_FAILURE, plainNameReason, nameReason as unquotedReason } from "./name-words.ts";
import { ANGLE, DIGIT, LOWER, type PatternWords } from "./pattern-words.ts";
import { isNamedType, isTypeValue } from "./type-words.ts";

/** Why a word belongs to the item and not to the failure. Each reason completes the sentence "It is variable, because …". */
export const VARIABLE_REASONS = {
  mask: "a part of this word differs from item to item",
  letter: "a single letter names one thing",
  literal: "it is a value such as null or true",
  dotted: "a dotted name identifies one field or module",
  symbol: "a symbol at this position is what the message is about",
  angles: "a word in angle brackets stands for one thing",
  call: "the name of a called function differs from item to item",
  compound: "a name with hyphens identifies one thing",
  type: "the name of a data type differs from item to item",
  user: 'the word after "user" is a name',
  operand: "the word after a system error is what the program worked on",
  last: "the words after the last colon are the value",
  exists: "it names the thing that exists or does not exist",
  name: "a word with a capital at this position is a name",
  bracketed: "a word in brackets at this position is the name of one thing",
  index: "the index of a value belongs to the value",
  invalid: "it only states what is invalid, and the reason follows",
  ...NAME_REASONS,
} as const;

export type VariableReason = keyof typeof VARIABLE_REASONS;

const HAS_DIGIT = /\d/;

/** Why a word is part of the failure, for people. */
export function fixedReason(words: PatternWords, index: number): string {
  const word = words.word(index);
  if (HAS_DIGIT.test(word)) return "a code: a different code means a different group";
  if (NAMES_FAILURE.test(word))
    return "the name of an error or a constant: a different name means a different group";
  if (/^ ?=/.test(words.gap(index + 1))) return "the key of a value";
  return "message text: different text means a different group";
}

export function isMasked(words: PatternWords, index: number): boolean {
  return (words.kinds(index) & ANGLE) !== 0 && MASK.test(words.word(index));
}

/** Returns why the word is variable; undefined when it is part of the message. */
export function variableReason(words: PatternWords, index: number): VariableReason | undefined {
  const kinds = words.kinds(index);
  const word = words.word(index);
  if (isMasked(words, index)) return "mask";
  if ((kinds & DIGIT) !== 0) return undefined; // only codes still have digits
  if (word.length === 1) return letterReason(words, index, word);
  if (kinds === LOWER) return plainReason(words, index, word);
  if (!WORD.test(word)) return symbolReason(words, index, word);
  if ((kinds & ANGLE) !== 0 && IN_ANGLES.test(word)) return "angles";
  return (
    valueReason(words, index, word) ??
    formReason(words, index, word) ??
    nameReason(words, index, word) ??
    unquotedReason(words, index, word)
  );
}

/** The rules for a word in lower case. Most words are, so cheap tests come first. */
function plainReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (isTypeValue(words, index, word)) return "type";
  if (words.gap(index) !== " " || words.isLast(index)) {
    const reason = valueReason(words, index, word);
    if (reason !== undefined) return reason;
  }
  const after = words.gap(index + 1);
  if (after === " " && isBeforeExistence(words, index, word)) return "exists";
  if (after.startsWith("(") && isCalled(words, index, word)) return "call";
  if (isUserName(words, index, word)) return "user";
  if (isNamedType(words, index, word)) return "type";
  return isBracketed(words, index, word) ? "bracketed" : plainNameReason(words, index, word);
}

/** Whether the word is the name in `field [price] of`, or `in [price]`. */
function isBracketed(words: PatternWords, index: number, word: string): boolean {
  const after = words.gap(index + 1);
  if (words.gap(index) === " (" && after.startsWith(") ")) return isKind(words.word(index - 1));
  if (words.gap(index) !== " [" || !after.startsWith("]") || !SIMPLE.test(word)) return false;
  const before = words.word(index - 1);
  return isKind(before) || (/^[a-z]{2,}$/.test(before) && /^\](?: |[,.)]|$)/.test(after));
}

/** `<module>`, `<.Cart>`: a placeholder that a program prints for a thing without a name. */
const IN_ANGLES = /^<[^<>]*[^<>a-z][^<>]*>$/;
const MASK = /<[a-z]{2,5}>/;
const WORD = /[\w\u0080-\uffff]/;

function letterReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (!/[a-zA-Z]/.test(word)) return symbolReason(words, index, word);
  const isPlural = word === "s" && words.gap(index) === "("; // `column(s)`
  return isPlural || isArticle(words, index, word) ? undefined : "letter";
}

/** Whether the letter is a word: "a" before its noun, or "I". */
function isArticle(words: PatternWords, index: number, word: string): boolean {
  if (word !== "a" && word !== "A" && word !== "I") return false;
  return (
    /^ (?!\()/.test(words.gap(index + 1)) && !words.isLast(index) && /^[ :]*[ ([]?$/.test(words.gap(index))
  );
}

const BEFORE_SYMBOL = new Set(["operator", "token", "symbol", "character"]);
const ARROWS = new Set(["-->", "->", "=>", "--", "|", ">>", "..."]);

function symbolReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (ARROWS.has(word)) return undefined;
  if (BEFORE_SYMBOL.has(words.word(index - 1))) return "symbol";
  const isAlone = words.gap(index).endsWith("(") && words.gap(index + 1).startsWith(")");
  const endsText = words.isLast(index) && /[a-z:]$/.test(words.word(index - 1));
  return isAlone || endsText ? "symbol" : undefined;
}

const LITERAL = new Set([
  ..."null nil none None undefined NULL NaN true false True False YES NO yes no".split(" "),
]);
const AFTER_VALUE = /^(?:[:;,.)]|$)/;
const ERRNO = /^E[A-Z]{3,}$/;

function valueReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  const gap = words.gap(index);
  const follows = gap.endsWith(": ");
  if ((follows || gap.endsWith("=") || gap.endsWith("= ")) && LITERAL.has(word)) {
    if (AFTER_VALUE.test(words.gap(index + 1))) return "literal";
  }
  if (index === 0 && LITERAL.has(word) && /^(?:is|was|has|does|cannot|must)$/.test(words.word(1)))
    return "literal";
  if (!words.isLast(index)) return isListed(words, index, word) ? "last" : undefined;
  if (gap === " " && ERRNO.test(words.word(index - 1))) return "operand";
  if (isListed(words, index, word)) return "last";
  const isPlainWord = follows && !NAMES_FAILURE.test(word) && SIMPLE.test(word);
  return isPlainWord && ENDS_TEXT.test(words.gap(index + 1)) ? "last" : undefined;
}

const BETWEEN = /^, ?$/;
/** Words before a colon and the list of allowed values, which belongs to the message. */
const ALLOWED = /^(?:of|set|list|values|options|choices)$/;

const LIST_WORDS_MAX = 40;
/** A list of so many words is a value wherever it stands: it is cut at another place in every message. */
const LONG_LIST_MIN = 8;

/** Whether the word is in a long list, or in one of single words after a colon that ends the text: `granted to: ana,ben`. */
function isListed(words: PatternWords, index: number, word: string): boolean {
  if (!words.gap(index).startsWith(",") && !words.gap(index + 1).startsWith(",")) return false;
  if (!SIMPLE.test(word) || NAMES_FAILURE.test(word)) return false;
  let first = index;
  while (first > index - LIST_WORDS_MAX && BETWEEN.test(words.gap(first))) first -= 1;
  let last = index;
  while (last < index + LIST_WORDS_MAX && BETWEEN.test(words.gap(last + 1))) last += 1;
  if (last - first >= LONG_LIST_MIN) return true;
  if (!words.gap(first).endsWith(": ") || ALLOWED.test(words.word(first - 1))) return false;
  return words.isLast(last) && ENDS_TEXT.test(words.gap(last + 1));
}

const SIMPLE = /^[\w.-]+$/;
const ENDS_TEXT = /^\.?$/;

const DOTTED = /^(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*$/;
function formReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (DOTTED.test(word)) return NAMES_FAILURE.test(word) ? undefined : "dotted";
  return word.includes("-") && isCompoundName(words, index, word) ? "compound" : undefined;
}

const COMPOUND = /^[a-z]+(?:-[a-z]+)+$/;
/** Parts of hyphenated words that are not names: `read-only`, `non-empty`, `left-hand`, `case-insensitive`. */
const COMPOUND_PART =
  /(?:^|-)(?:non|pre|re|self|read|write|only|in|out|up|down|on|off|to|of|by|or|and|at|a|the|per|for|based|free|safe|time|level|hand|side|well|high|low|full|long|short|first|last|one|two|three|multi|sub|super|co|cross|end|run|case|x|data|like|single|double|semi|de|un|anti|inter|intra|auto|built|left|right|wide|old|new|early|late|hard|soft|log|line|point|error|code|type|value|name|key|string|file|user|system|speed|way|size|part|zero|negative|positive|empty|null|[a-z]+(?:ed|ing|able|ible|ive|al|ic|ous|ly|ary|ent|ant|less|ful|er|or|ion))(?=-|$)/;

function isCompoundName(words: PatternWords, index: number, word: string): boolean {
  if (!COMPOUND.test(word) || !words.gap(index).startsWith(" ") || words.gap(index + 1).startsWith("("))
    return false;
  return /[A-Za-z]$/.test(words.word(index - 1)) && !COMPOUND_PART.test(word);
}

function nameReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (isCalled(words, index, word)) return "call";
  if (isUserName(words, index, word)) return "user";
  if (isBeforeExistence(words, index, word)) return "exists";
  if (isNamedType(words, index, word)) return "type";
  if (isBracketed(words, index, word)) return "bracketed";
  if (isNamedConstant(words, index, word)) return "name";
  return isCapitalName(words, index, word) ? "name" : undefined;
}

function isCalled(words: PatternWords, index: number, word: string): boolean {
  const after = words.gap(index + 1);
  if (!after.startsWith("(") || index === 0 || !/^\w+$/.test(word)) return false;
  if (!/^:? $/.test(words.gap(index)) || !/[a-z]$/.test(words.word(index - 1))) return false;
  if (after === "(" && /^[a-z]+$/.test(word) && words.gap(index + 2) === "=") return true; // `root(uid=0)`
  return after.startsWith("()") || (MASK.test(words.word(index + 1)) && words.gap(index + 2).startsWith(")"));
}

const NOT_USER = new Set(
  "is was has name unknown not does cannot can may must and or with in on from by id without to for of account".split(
    " ",
  ),
);
const AFTER_USER = new Set("from by on at has is was does cannot not in with to via port".split(" "));

function isUserName(words: PatternWords, index: number, word: string): boolean {
  const before = words.word(index - 1);
  if ((before !== "user" && before !== "User") || words.gap(index) !== " " || NOT_USER.has(word))
    return false;
  if (words.isLast(index)) return words.gap(index + 1) === "";
  const next = words.word(index + 1);
  return words.gap(index + 1) === " " && (next.startsWith("<") || AFTER_USER.has(next));
}

const CAPITALS = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/;
const NO_CONSTANT = /^(?:NOT?|IS|AND|OR|ERROR|FAIL\w*|FATAL|WARNING)$/;

/** Whether a word in capitals follows the kind of thing that it names: "the field CART_ID is", "cannot find revision OLD". */
function isNamedConstant(words: PatternWords, index: number, word: string): boolean {
  if (!CAPITALS.test(word) || NO_CONSTANT.test(word) || !/^ (?:: )?$/.test(words.gap(index))) return false;
  const before = words.word(index - 1);
  if (!isKind(before) && before !== "constant") return false;
  return word.includes("_") || isWithin(words.gap(index + 1), words.word(index + 1));
}

const BEFORE_NAMES = new Set(
  "of for to in from by with named called class parameter name field key id".split(" "),
);
const AFTER_NAMES = new Set("is was has cannot could does not".split(" "));

/** States such as "Forbidden" and "Pending", and the first words of messages. */
const STATE =
  /(?:ed|den|able|[dnt]ing)$|^(?:Bad|Could|Failure|Illegal|Incorrect|Invalid|Mismatch|Not|The|This|Too|Unknown|Wrong)$/;

/** Whether a word with a capital stands within a sentence, or ends a clause after a preposition: "an instance of Cart". */
function isCapitalName(words: PatternWords, index: number, word: string): boolean {
  if (!/^[A-Z][\w.]*$/.test(word) || NAMES_FAILURE.test(word)) return false;
  if (words.gap(index) !== " ") return false;
  const before = words.word(index - 1);
  const after = words.gap(index + 1);
  const next = words.word(index + 1);
  if (/^[A-Z][a-z]+$/.test(word) && !STATE.test(word) && /^[a-z]{2,}$/.test(before) && isWithin(after, next))
    return !(before === "to" && words.word(index - 2).startsWith("connect")); // which service is down matters
  if (!BEFORE_NAMES.has(before) || !/[a-z]$/.test(words.word(index - 2))) return false;
  return /^(?:[,.;)]|$|\[)/.test(after) || (after === " " && AFTER_NAMES.has(next));
}

/** Whether the sentence goes on in small letters, or ends: a title such as "Bad Gateway" has more capitals. */
function isWithin(after: string, next: string): boolean {
  return after === " " ? /^[a-z<]/.test(next) : /^(?:[,.:)]|$)/.test(after);
}
