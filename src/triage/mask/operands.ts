/** The names of things: behind the word for their kind, and before what follows a name in a sentence. */
import { DIGIT, UNDERSCORE } from "./characters.ts";
import { isPath } from "./paths.ts";
import { AFTER_NAME, DATA_TYPES, isPlain, KINDS, NO_NAME } from "./vocabulary.ts";
import type { Words } from "./words.ts";

/** Whether the word is a name by the words around it. `before` is the word before as it was written, empty for none. */
export function isOperand(words: Words, index: number, before: string): boolean {
  if (before === "" || !words.hasBlankAfter(index - 1)) return false;
  if (before === "for") return isUserBetween(words, index);
  const isOfType = BEFORE_TYPES.has(before);
  if (!isOfType && !isKind(before)) return false;
  const word = words.word(index);
  if (before === "user" && isUserName(words, index, word)) return true;
  if (DATA_TYPES.has(word)) return isOfType;
  if (isOfType && !isKind(before)) return false;
  if (/^\d+$/.test(word) || isPlain(word) || isPath(word, words.kinds(index))) return false; // "column 1" has no name
  return (
    (words.kinds(index) & (UNDERSCORE | DIGIT)) !== 0 || /[a-z][A-Z]/.test(word) || endsName(words, index)
  );
}

const BEFORE_TYPES = new Set(["from", "to", "as", "type"]);

function isKind(word: string): boolean {
  if (KINDS.has(word)) return true;
  const first = word.charCodeAt(0);
  return first >= 65 && first <= 90 && KINDS.has(word.toLowerCase()); // "Table", "TABLE"
}

/** Users may be called anything, also "default" or "operator". */
function isUserName(words: Words, index: number, word: string): boolean {
  if (NO_NAME.has(word)) return false;
  if (words.text.startsWith(" [", words.end(index))) return true;
  return words.hasBlankAfter(index) && /^(?:from|on|at)$/.test(words.word(index + 1));
}

/** "for root from <ip>": whoever it was, it was about where they came from. */
function isUserBetween(words: Words, index: number): boolean {
  return (
    words.hasBlankAfter(index) &&
    words.word(index + 1) === "from" &&
    words.hasBlankAfter(index + 1) &&
    words.word(index + 2) === "<ip>"
  );
}

/** A name is followed by the end of the sentence, a bracket, or one of the words that go on after a name. */
function endsName(words: Words, index: number): boolean {
  if (words.touchesNext(index)) return false;
  const char = words.charAfter(index);
  if (char !== " ") return char !== "<";
  // Whether a mask comes next is not asked: the next word may be one that is only about to be masked.
  if (!words.hasBlankAfter(index)) return words.text.charCodeAt(words.end(index) + 1) !== 60;
  return !words.touchesNext(index + 1) && AFTER_NAME.has(words.word(index + 1).toLowerCase());
}
