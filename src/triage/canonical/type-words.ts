/** Recognises the names of data types that stand where a value does: "of type int", "must be int, not string". */
import type { PatternWords } from "./pattern-words.ts";

const TYPES = new Set(
  "int integer float double str string bool boolean list dict tuple object array number char void long".split(
    " ",
  ),
);
/** Words for a missing value, which a message names like a type: "expected string, received undefined". */
const NO_VALUE = new Set(["undefined", "null", "none", "nan", "nil", "function"]);
const CANDIDATES = new Set([...TYPES, ...NO_VALUE]);
const BEFORE_TYPES = new Set(
  "of to from as with type types into use pass not got be given expected received unmarshal convert cast".split(
    " ",
  ),
);

/** Whether the word is a data type that stands where a value does: "of type int", "must be int, not string", "types: int + string". */
export function isTypeValue(words: PatternWords, index: number, word: string): boolean {
  if (!CANDIDATES.has(word)) return false;
  if (NO_VALUE.has(word)) return /^(?:received|got)$/.test(words.word(index - 1)) && words.gap(index) === " ";
  const gap = words.gap(index);
  if (gap === " " && BEFORE_TYPES.has(words.word(index - 1))) return true;
  const next = words.word(index + 1);
  const isSecond = /^(?:and|or)$/.test(words.word(index - 1)) && isTypeOrMask(words.word(index - 2));
  return (
    isSecond ||
    next === "given" ||
    next === "+" ||
    words.word(index - 1) === "+" ||
    /types?: $/.test(`${words.word(index - 1)}${gap}`)
  );
}

function isTypeOrMask(word: string): boolean {
  return TYPES.has(word) || word.endsWith(">");
}

const BEFORE_TYPE_OF = /^(?:of|to|from|for|has|is|with)$/;
const AFTER_TYPE = /^(?:but|and|or|instead|is|was|to|varying|precision|in|on|cannot|has|does)$/;

/** Whether the word is the type in "of type record but …". */
export function isNamedType(words: PatternWords, index: number, word: string): boolean {
  if (words.word(index - 1) !== "type" || words.gap(index) !== " " || !/^[A-Za-z_]+$/.test(word))
    return false;
  if (!BEFORE_TYPE_OF.test(words.word(index - 2))) return false;
  const after = words.gap(index + 1);
  return /^(?:[,.;)]|$)/.test(after) || (after === " " && AFTER_TYPE.test(words.word(index + 1)));
}
