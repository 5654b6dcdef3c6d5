/**
 * Splits a text into words and masks, with the kinds of characters in each. Trailing full stops and dashes do not belong to
 * a word.
 */

/** Bits for the kinds of characters in a word. */
export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 4;
export const SLASH = 8;
export const DOT = 16;
export const UNDERSCORE = 32;
export const DASH = 64;
/** One of `@%+~$#*`: may occur in a word, but is not a word alone. */
export const SIGN = 128;
/** Any character that is not ASCII. */
export const HIGH = 256;
export const LETTER = LOWER | UPPER;

/** The kind of each ASCII character. A table is fast enough to look up every character of every message. */
const TABLE = new Uint8Array(128);
for (let code = 97; code <= 122; code += 1) TABLE[code] = LOWER;
for (let code = 65; code <= 90; code += 1) TABLE[code] = UPPER;
for (let code = 48; code <= 57; code += 1) TABLE[code] = DIGIT;
TABLE[47] = SLASH;
TABLE[92] = SLASH;
TABLE[46] = DOT;
TABLE[95] = UNDERSCORE;
TABLE[45] = DASH;
for (const sign of "@%+~$#*") TABLE[sign.charCodeAt(0)] = SIGN;

/** The kind of a character; 0 when it cannot be part of a word. */
export function kindOf(code: number): number {
  return code > 127 ? HIGH : (TABLE[code] ?? 0); // NaN past the end gives 0
}

/** Whether a word ends here. Full stops and dashes end a word unless more of it follows. */
export function isWordEnd(text: string, end: number): boolean {
  let at = end;
  while ((kindOf(text.charCodeAt(at)) & (DOT | DASH)) !== 0) at += 1;
  return kindOf(text.charCodeAt(at)) === 0;
}

/** Whether the character is a letter, a digit, `_`, or not ASCII. */
export function isWordCode(code: number): boolean {
  return (kindOf(code) & (LETTER | DIGIT | UNDERSCORE | HIGH)) !== 0;
}

const LESS_THAN = 60;
const GREATER_THAN = 62;
const MASK_CHARS_MAX = 5;
/** The kind of a mask; no character has this kind. */
const MASK = 1024;
/** A word contains at least one of these: `--` and `...` are not words. */
const WORD_KINDS = LETTER | DIGIT | UNDERSCORE | HIGH | SLASH;
const BLANK = 32;

/** Finds the words of a text. One object is reused for all texts, because allocating its arrays is expensive. */
export class Words {
  text = "";
  count = 0;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #kinds: Int16Array;

  constructor(charsMax: number) {
    this.#starts = new Int32Array(charsMax + 1);
    this.#ends = new Int32Array(charsMax + 1);
    this.#kinds = new Int16Array(charsMax + 1);
  }

  /** Finds the words of another text, up to the limit of characters. */
  read(text: string): void {
    this.text = text;
    this.count = 0;
    const length = Math.min(text.length, this.#starts.length - 1);
    for (let at = 0; at < length; ) {
      const code = text.charCodeAt(at);
      if (code === LESS_THAN) at = this.#readMask(at);
      else if (kindOf(code) === 0) at += 1;
      else at = this.#readWord(at, length);
    }
  }

  #readMask(at: number): number {
    const end = maskEnd(this.text, at);
    if (end > 0) this.#add(at, end, MASK);
    return end > 0 ? end : at + 1;
  }

  #readWord(start: number, length: number): number {
    const { text } = this;
    let kinds = 0;
    let waiting = 0;
    let end = start + 1;
    let at = start;
    for (; at < length; at += 1) {
      const kind = kindOf(text.charCodeAt(at));
      if (kind === 0) break;
      if (kind === DOT || kind === DASH) waiting |= kind;
      else {
        kinds |= kind | waiting;
        waiting = 0;
        end = at + 1;
      }
    }
    if ((kinds & WORD_KINDS) !== 0) this.#add(start, end, kinds);
    return at;
  }

  #add(start: number, end: number, kinds: number): void {
    this.#starts[this.count] = start;
    this.#ends[this.count] = end;
    this.#kinds[this.count] = kinds;
    this.count += 1;
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  end(index: number): number {
    return this.#ends[index] ?? 0;
  }

  kinds(index: number): number {
    return this.#kinds[index] ?? 0;
  }

  /** The word; empty when the index is out of range. */
  word(index: number): string {
    return index < 0 || index >= this.count ? "" : this.text.slice(this.start(index), this.end(index));
  }

  isMask(index: number): boolean {
    return index >= 0 && index < this.count && this.kinds(index) === MASK;
  }

  /** Whether exactly one blank separates the word from the next. */
  hasBlankAfter(index: number): boolean {
    return (
      index >= 0 &&
      index + 1 < this.count &&
      this.start(index + 1) - this.end(index) === 1 &&
      this.text.charCodeAt(this.end(index)) === BLANK
    );
  }

  /** Whether the next word follows without a gap. */
  touchesNext(index: number): boolean {
    return index >= 0 && index + 1 < this.count && this.end(index) === this.start(index + 1);
  }

  /** The character after the word; empty at the end. */
  charAfter(index: number): string {
    return this.text[this.end(index)] ?? "";
  }
}

/** The end of the mask that begins here; -1 when there is none. */
function maskEnd(text: string, at: number): number {
  let end = at + 1;
  while (end - at <= MASK_CHARS_MAX && isLower(text.charCodeAt(end))) end += 1;
  return end > at + 2 && text.charCodeAt(end) === GREATER_THAN ? end + 1 : -1;
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}
