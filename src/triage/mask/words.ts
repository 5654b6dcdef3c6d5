/**
 * The words of a text, found in one pass: where each begins and ends, and what it is made of. A mask is a word of its
 * own kind. The sentence's full stops and dashes are not the word's.
 */
import { DASH, DIGIT, DOT, HIGH, kindOf, LETTER, SLASH, UNDERSCORE } from "./characters.ts";

const LESS_THAN = 60;
const GREATER_THAN = 62;
const MASK_CHARS_MAX = 5;
/** A mask among the words; no character has this kind. */
const MASK = 1024;
/** What makes a run of characters a word: `--` and `...` are none. */
const WORTHY = LETTER | DIGIT | UNDERSCORE | HIGH | SLASH;
const BLANK = 32;

/** The words of one text. The same object reads text after text: building arrays anew took a third of the time. */
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

  /** Finds the words of another text, of which no more is looked at than there is room for. */
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
    if ((kinds & WORTHY) !== 0) this.#add(start, end, kinds);
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

  /** What the word is made of, as bits. */
  kinds(index: number): number {
    return this.#kinds[index] ?? 0;
  }

  /** The word; empty when there is none. */
  word(index: number): string {
    return index < 0 || index >= this.count ? "" : this.text.slice(this.start(index), this.end(index));
  }

  isMask(index: number): boolean {
    return index >= 0 && index < this.count && this.kinds(index) === MASK;
  }

  /** Whether one blank, and nothing else, stands between the word and the next. */
  hasBlankAfter(index: number): boolean {
    return (
      index >= 0 &&
      index + 1 < this.count &&
      this.start(index + 1) - this.end(index) === 1 &&
      this.text.charCodeAt(this.end(index)) === BLANK
    );
  }

  /** Whether nothing stands between the word and the next. */
  touchesNext(index: number): boolean {
    return index >= 0 && index + 1 < this.count && this.end(index) === this.start(index + 1);
  }

  /** The character right behind the word; empty at the end. */
  charAfter(index: number): string {
    return this.text[this.end(index)] ?? "";
  }
}

/** Where the mask that begins here ends; -1 when it is none. */
function maskEnd(text: string, at: number): number {
  let end = at + 1;
  while (end - at <= MASK_CHARS_MAX && isLower(text.charCodeAt(end))) end += 1;
  return end > at + 2 && text.charCodeAt(end) === GREATER_THAN ? end + 1 : -1;
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}
