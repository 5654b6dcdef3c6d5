/** Masks single words in one pass, based on their characters and at most the next two words. */
import type { Hit, Masker } from "./masker.ts";
import { FIXED_WORD } from "./vocabulary.ts";
import {
  areNumbers,
  HASH_DIGITS_MIN,
  isErrorCode,
  isHost,
  isMeantNumber,
  isOperand,
  isPath,
  maskMixed,
  measureMask,
  positionEnd,
} from "./word-kinds.ts";
import { DASH, DIGIT, DOT, HIGH, LETTER, LOWER, SIGN, SLASH, UNDERSCORE, Words } from "./words.ts";

/** Words beyond this limit are not masked. */
export const WORDS_CHARS_MAX = 8192;

export const WORD_MASKER: Masker = {
  masks: ["path", "host", "num", "dur", "size", "hex", "hash", "id", "name"],
  mask: (text, hit) => new Pass(text, hit).run(),
};

/** Shared by all passes, which never overlap. */
const words = new Words(WORDS_CHARS_MAX);

class Pass {
  readonly #text: string;
  readonly #hit: Hit | undefined;
  #written = "";
  /** The end of the input that `#written` covers. */
  #from = 0;

  constructor(text: string, hit: Hit | undefined) {
    this.#text = text;
    this.#hit = hit;
    words.read(text);
  }

  run(): string {
    let before = "";
    for (let index = 0; index < words.count; index += 1) {
      if (words.isMask(index)) {
        before = "";
        continue;
      }
      const start = words.start(index);
      if (start < this.#from) continue; // masked already
      before = this.#word(index, before);
    }
    return this.#from === 0 ? this.#text : this.#written + this.#text.slice(this.#from);
  }

  /** Returns the word; empty when it was masked. */
  #word(index: number, before: string): string {
    const kinds = words.kinds(index);
    const isTouching = words.isMask(index + 1) && words.touchesNext(index);
    if (isTouching && (kinds & (DIGIT | SLASH)) === 0) return ""; // the rest of a word with a masked number
    const word = words.word(index);
    const mask = this.#maskOf(word, kinds, index, before);
    if (mask === word) return word;
    this.#replace(index, word, mask);
    return "";
  }

  #maskOf(word: string, kinds: number, index: number, before: string): string {
    if ((kinds & ~LETTER) === 0) {
      if (word === "localhost") return "<host>";
      return isOperand(words, index, before) ? "<name>" : word;
    }
    if ((kinds & DIGIT) !== 0 && FIXED_WORD.test(word)) return word;
    if (isOperand(words, index, before)) return "<name>";
    if (isNumber(word, kinds)) return this.#isCode(index) ? word : numberMask(word);
    if ((kinds & SLASH) !== 0 && areNumbers(word)) return "<num>";
    if (isPath(word, kinds)) return "<path>";
    if (isHost(word, kinds)) return "<host>";
    if ((kinds & DIGIT) !== 0)
      return this.#isCode(index) || isErrorCode(word, this.#writtenBefore(index)) ? word : maskMixed(word);
    if (index > 0 && isBundleId(word, kinds)) return "<name>";
    return isLaterIdentifier(word, kinds, index) ? "<name>" : word;
  }

  #isCode(index: number): boolean {
    return isMeantNumber(words, index, this.#writtenBefore(index));
  }

  /** Returns the masked text before a word. A function, because it is rarely needed. */
  #writtenBefore(index: number): () => string {
    return () => this.#written + this.#text.slice(this.#from, words.start(index));
  }

  #replace(index: number, word: string, mask: string): void {
    let end = words.end(index);
    let whole = mask;
    if (mask === "<path>") end = positionEnd(this.#text, pathEnd(index));
    else if (mask === "<num>" && words.hasBlankAfter(index)) {
      whole = measureMask(words.word(index + 1)) ?? mask;
      if (whole !== mask) end = words.end(index + 1);
    }
    const start = this.#startOf(index, whole);
    this.#written += this.#text.slice(this.#from, start) + whole;
    this.#from = end;
    if (this.#hit) this.#hit(nameOf(whole), this.#text.slice(start, end) || word, whole);
  }

  /** Returns where the mask starts: a path includes its drive, and "<1 sec" includes the `<`. */
  #startOf(index: number, mask: string): number {
    const start = words.start(index);
    const text = this.#text;
    if (
      mask === "<path>" &&
      start >= this.#from + 2 &&
      /^[A-Za-z]:\\/.test(text.slice(start - 2, start + 1))
    ) {
      return start - 2;
    }
    return mask === "<dur>" && start > this.#from && text[start - 1] === "<" ? start - 1 : start;
  }
}

/** Returns the end of a path, which may contain masks: `/var/<uuid>/log`. */
function pathEnd(index: number): number {
  let last = index;
  while (words.touchesNext(last)) last += 1;
  return words.end(last);
}

function nameOf(mask: string): string {
  return /<([a-z]+)>/.exec(mask)?.[1] ?? "";
}

/** Whether the word consists of digits with a sign, separators or a percent sign. */
function isNumber(word: string, kinds: number): boolean {
  if ((kinds & DIGIT) === 0 || (kinds & ~(DIGIT | DOT | UNDERSCORE | DASH | SIGN)) !== 0) return false;
  return (kinds & (DASH | SIGN | UNDERSCORE)) === 0 || /^[-+]?\d[\d._]*%?$/.test(word);
}

function numberMask(word: string): string {
  if (word.endsWith("%")) return "<num>%";
  return word.length >= HASH_DIGITS_MIN && !/[._]/.test(word) ? "<hash>" : "<num>";
}

/** Whether the word is an identifier but not the first word, which names the program. */
function isLaterIdentifier(word: string, kinds: number, index: number): boolean {
  if (index === 0 || (kinds & UNDERSCORE) === 0 || (kinds & ~(LOWER | UNDERSCORE)) !== 0) return false;
  return words.charAfter(index) !== ":" && (kinds & (HIGH | SIGN)) === 0 && word.length > 2;
}

/**
 * Whether the word is an application id such as `com.shop.cart`. A word with a capital is a class, perhaps an
 * exception.
 */
function isBundleId(word: string, kinds: number): boolean {
  return (
    (kinds & ~(LOWER | DOT | DASH | UNDERSCORE)) === 0 &&
    /^(?:com|org|net|io|cn|de|uk|jp|co)\.[a-z_-]+(?:\.[a-z_-]+)+$/.test(word)
  );
}
