/** Decides which words of a pattern are variable although the maskers left them, by their form and their neighbours. */
import { isKind } from "../mask/vocabulary.ts";
import { NAME_REASONS, NAMES_FAILURE, plainNameReason, nameReason as unquotedReason } from "./name-words.ts";
import { ANGLE, DIGIT, LOWER, type PatternWords } from "./pattern-words.ts";

/** Why a word belongs to the item and not to the failure. Each reason completes the sentence "It is variable, because …". */
export const VARIABLE_REASONS = {
  mask: "a part of this word differs from item to item",
  letter: "a single letter names one thing",
  literal: "it is the value after a colon or an equals sign",
  dotted: "a dotted name identifies one field or module",
  symbol: "a symbol at this position is what the message is about",
  call: "the name of a called function differs from item to item",
  compound: "a name with hyphens identifies one thing",
  type: "the name of a data type differs from item to item",
  user: 'the word after "user" is a name',
  operand: "the word after a system error is what the program worked on",
  last: "a single word after the last colon is the value",
  exists: "it names the thing that exists or does not exist",
  name: "a word with a capital at this position is a name",
  bracketed: "a word in square brackets after the kind of thing is its name",
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
  if (NAMES_FAILURE.test(word)) return "an error name: a different name means a different group";
  if (/^ ?=/.test(words.gap(index + 1))) return "the key of a value";
  return "message text: different text means a different group";
}

/** Returns why the word is variable; undefined when it is part of the message. */
export function variableReason(words: PatternWords, index: number): VariableReason | undefined {
  const kinds = words.kinds(index);
  const word = words.word(index);
  if ((kinds & ANGLE) !== 0 && MASK.test(word)) return "mask";
  if ((kinds & DIGIT) !== 0) return undefined; // only codes still have digits
  if (word.length === 1) return letterReason(words, index, word);
  if (kinds === LOWER) return plainReason(words, index, word);
  if (!WORD.test(word)) return symbolReason(words, index, word);
  return (
    valueReason(words, index, word) ??
    formReason(words, index, word) ??
    nameReason(words, index, word) ??
    unquotedReason(words, index, word)
  );
}

/** The rules for a word of small letters. Most words are such, so cheap tests come first. */
function plainReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (words.gap(index) === " " && TYPES.has(word)) {
    if (BEFORE_TYPES.has(words.word(index - 1))) return "type";
  }
  if (words.gap(index) !== " " || words.isLast(index)) {
    const reason = valueReason(words, index, word);
    if (reason !== undefined) return reason;
  }
  const after = words.gap(index + 1);
  if (after === " " ? isBeforeExistence(words, index, word) : false) return "exists";
  if (after.startsWith("(") && isCalled(words, index, word)) return "call";
  if (isUserName(words, index, word)) return "user";
  if (isNamedType(words, index, word)) return "type";
  return isBracketed(words, index, word) ? "bracketed" : plainNameReason(words, index, word);
}

const BEFORE_TYPE_OF = /^(?:of|to|from|for|has|is|with)$/;
const AFTER_TYPE = /^(?:but|and|or|instead|is|was|to|varying|precision|in|on|cannot|has|does)$/;

/** Whether the word is the type in "of type record but …". */
function isNamedType(words: PatternWords, index: number, word: string): boolean {
  if (words.word(index - 1) !== "type" || words.gap(index) !== " " || !/^[A-Za-z_]+$/.test(word))
    return false;
  if (!BEFORE_TYPE_OF.test(words.word(index - 2))) return false;
  const after = words.gap(index + 1);
  return /^(?:[,.;)]|$)/.test(after) || (after === " " && AFTER_TYPE.test(words.word(index + 1)));
}

/** Whether the word is the name in `field [price]`. */
function isBracketed(words: PatternWords, index: number, word: string): boolean {
  if (words.gap(index) !== " [" || !words.gap(index + 1).startsWith("]")) return false;
  return SIMPLE.test(word) && isKind(words.word(index - 1));
}

const MASK = /<[a-z]{2,5}>/;
const WORD = /[\w\u0080-\uffff]/;

function letterReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (/[a-zA-Z]/.test(word)) return word === "a" || word === "A" || word === "I" ? undefined : "letter";
  return symbolReason(words, index, word);
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
  if (!words.isLast(index)) return undefined;
  if (gap === " " && ERRNO.test(words.word(index - 1))) return "operand";
  const isPlainWord = follows && !NAMES_FAILURE.test(word) && SIMPLE.test(word);
  return isPlainWord && ENDS_TEXT.test(words.gap(index + 1)) ? "last" : undefined;
}

const SIMPLE = /^[\w.-]+$/;
const ENDS_TEXT = /^\.?$/;

const DOTTED = /^(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*$/;
function formReason(words: PatternWords, index: number, word: string): VariableReason | undefined {
  if (DOTTED.test(word)) return NAMES_FAILURE.test(word) ? undefined : "dotted";
  return word.includes("-") && isCompoundName(words, index, word) ? "compound" : undefined;
}

const TYPES = new Set(
  "int integer float double str string bool boolean list dict tuple object array number char void long".split(
    " ",
  ),
);
const BEFORE_TYPES = new Set("of to from as with type into use pass".split(" "));

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
  return isCapitalName(words, index, word) ? "name" : undefined;
}

function isCalled(words: PatternWords, index: number, word: string): boolean {
  const after = words.gap(index + 1);
  if (!after.startsWith("(") || index === 0 || !/^\w+$/.test(word)) return false;
  if (!/^:? $/.test(words.gap(index)) || !/[a-z]$/.test(words.word(index - 1))) return false;
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

const NOT_SUBJECT = new Set(
  "is was are were has have could can does do did already that it this which not and or the a an for of with be to in".split(
    " ",
  ),
);
const AUXILIARY = new Set("is was were are has could can does do did".split(" "));
const NEGATED = /^(?:is|was|were|are|has|could|can|does|do|did)n't$/;
const EXISTENCE = new Set(
  "found exist exists defined verified registered available located known recognized declared".split(" "),
);
const ALREADY = new Set("exists defined registered declared in".split(" "));

const MAY_BE_EXISTENCE = new Set([
  ...AUXILIARY,
  ..."not already cannot isn't wasn't weren't aren't hasn't couldn't can't doesn't don't didn't".split(" "),
]);

/** Whether a predicate follows such as "not found", "does not exist" or "already exists", and a word is before it. */
function isBeforeExistence(words: PatternWords, index: number, word: string): boolean {
  if (!MAY_BE_EXISTENCE.has(words.word(index + 1))) return false;
  if (words.gap(index + 1) !== " " || NOT_SUBJECT.has(word) || !SIMPLE.test(word)) return false;
  if (index === 0 || !/^,? $/.test(words.gap(index)) || !/^[A-Za-z]\w+$/.test(words.word(index - 1)))
    return false;
  return isExistence(words, index + 1);
}

function isExistence(words: PatternWords, index: number): boolean {
  const first = words.word(index);
  const second = words.word(index + 1);
  if (first === "not") return second === "found";
  if (first === "already") return ALREADY.has(second);
  if (first === "cannot") return second === "be" && EXISTENCE.has(words.word(index + 2));
  if (first === "is" && second === "unknown") return true;
  const from = NEGATED.test(first) ? index + 1 : second === "not" && AUXILIARY.has(first) ? index + 2 : -1;
  if (from < 0) return false;
  return EXISTENCE.has(words.word(words.word(from) === "be" ? from + 1 : from));
}

const BEFORE_NAMES = new Set(
  "of for to in from by with named called class parameter name field key id".split(" "),
);
const AFTER_NAMES = new Set("is was has cannot could does not".split(" "));

/** Whether a word with a capital ends a clause after a preposition: "an instance of Cart". */
function isCapitalName(words: PatternWords, index: number, word: string): boolean {
  if (!/^[A-Z][\w.]*$/.test(word) || NAMES_FAILURE.test(word)) return false;
  if (words.gap(index) !== " " || !BEFORE_NAMES.has(words.word(index - 1))) return false;
  if (!/[a-z]$/.test(words.word(index - 2))) return false;
  const after = words.gap(index + 1);
  return /^(?:[,.;)]|$|\[)/.test(after) || (after === " " && AFTER_NAMES.has(words.word(index + 1)));
}
