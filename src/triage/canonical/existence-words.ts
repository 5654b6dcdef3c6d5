/** Recognises the thing that exists or does not: "table orders not found", "queue inbox already exists". */
import { isKind, isOrdinary } from "../mask/vocabulary.ts";
import type { PatternWords } from "./pattern-words.ts";

const SIMPLE = /^[\w.-]+$/;
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
export function isBeforeExistence(words: PatternWords, index: number, word: string): boolean {
  if (!MAY_BE_EXISTENCE.has(words.word(index + 1))) return false;
  if (words.gap(index + 1) !== " " || NOT_SUBJECT.has(word) || !SIMPLE.test(word)) return false;
  if (index === 0 || !/^,? $/.test(words.gap(index)) || !/^[A-Za-z]\w+$/.test(words.word(index - 1)))
    return false;
  return !isNoun(words, index, word) && isExistence(words, index + 1);
}

const DETERMINERS = new Set(
  "the The this This that That a an A An no No any such specified requested given required following".split(
    " ",
  ),
);
const ABSTRACT = /^[a-z]+(?:tion|sion|ment|ness|ity|ance|ence)$/;

/** Whether the word is a noun and not a name: "the specified key does not exist", "the date format is not recognized". */
function isNoun(words: PatternWords, index: number, word: string): boolean {
  const before = words.word(index - 1);
  if (ABSTRACT.test(word)) return true;
  return isKind(word) ? !isKind(before) : DETERMINERS.has(before) && isOrdinary(word);
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
