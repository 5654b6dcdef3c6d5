/** Splits a pattern into words and the punctuation between them. */

/** The characters between words. A colon or full stop ends a word only if no more of the word follows. */
const IS_GAP = new Uint8Array(128);
for (const char of " \t,;()[]{}\"'`=|") IS_GAP[char.charCodeAt(0)] = 1;
const QUOTES = new Set("\u2018\u2019\u201c\u201d\u00ab\u00bb");

const OPERATOR = "=!+*/%&|^~-";
const [APOSTROPHE, EQUALS, BAR] = [39, 61, 124];
const [COLON, FULL_STOP, EXCLAMATION, QUESTION, LESS_THAN] = [58, 46, 33, 63, 60];
const BLANK = 32;

function isGap(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === APOSTROPHE) return !(isLetter(text.charCodeAt(at - 1)) && isLetter(text.charCodeAt(at + 1)));
  if (code === EQUALS || code === BAR) return !isInOperator(text, at);
  return code < 128 ? IS_GAP[code] === 1 : QUOTES.has(text[at] ?? "");
}

/** Whether an equals sign or a bar is an operator such as `===` or `|=` and does not separate a key from its value. */
function isInOperator(text: string, at: number): boolean {
  const [before, after] = [text[at - 1] ?? " ", text[at + 1] ?? ""];
  if ((before === ">" || before === "<") && / |[(<>"'`]/.test(text[at - 2] ?? " ")) return true;
  if (before === " " && after === " " && text.endsWith("operator", at - 1)) return true;
  if (OPERATOR.includes(before) || (after !== "" && OPERATOR.includes(after) && /[\s(]/.test(before)))
    return true;
  return before === " " && /^\.?$/.test(text.slice(at + 1));
}

function isLabelEnd(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === COLON &&
    text.charCodeAt(at + 1) === LESS_THAN &&
    text.charCodeAt(at - 1) !== COLON
  );
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isStop(code: number): boolean {
  return code === COLON || code === FULL_STOP || code === EXCLAMATION || code === QUESTION;
}

/** Bits for the kinds of characters in a word. */
export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 4;
/** A `<`, with which masks begin. */
export const ANGLE = 8;
export const OTHER = 16;

const KIND = new Uint8Array(128).fill(OTHER);
for (let code = 97; code <= 122; code += 1) KIND[code] = LOWER;
for (let code = 65; code <= 90; code += 1) KIND[code] = UPPER;
for (let code = 48; code <= 57; code += 1) KIND[code] = DIGIT;
KIND[LESS_THAN] = ANGLE;
KIND[APOSTROPHE] = LOWER;

function kindsOf(text: string, start: number, end: number): number {
  let kinds = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    kinds |= code < 128 ? (KIND[code] ?? OTHER) : OTHER;
  }
  return kinds;
}

/** Finds the words of a pattern. One object is reused for all patterns, because allocating its arrays is expensive. */
export class PatternWords {
  readonly #words: string[] = [];
  readonly #gaps: string[] = [];
  readonly #starts: number[] = [];
  readonly #kinds: number[] = [];
  #count = 0;
  #plainCount = 0;

  /** Finds the words of the text that begins at `from`. */
  read(pattern: string, from = 0): void {
    this.#count = 0;
    this.#plainCount = 0;
    let gapStart = from;
    let at = from;
    while (at < pattern.length) {
      if (isGap(pattern, at)) {
        at += 1;
        continue;
      }
      const end = this.#wordEnd(pattern, at);
      if (end > at) {
        this.#add(pattern, gapStart, at, end);
        gapStart = end;
      }
      at = Math.max(end, at + 1);
    }
    this.#gaps[this.#count] = pattern.slice(gapStart);
    this.#words[this.#count] = "";
    this.#starts[this.#count] = pattern.length;
  }

  /** Where the word ends; equals `start` when there are only stops or a single dash. */
  #wordEnd(pattern: string, start: number): number {
    let end = start;
    while (end < pattern.length && !isGap(pattern, end)) {
      // `label:<mask>` is a label and a value.
      if (end > start && isLabelEnd(pattern, end)) return end;
      end += 1;
    }
    let last = end;
    while (last > start && isStop(pattern.charCodeAt(last - 1))) last -= 1;
    return last - start === 1 && pattern[start] === "-" ? start : last;
  }

  #add(pattern: string, gapStart: number, start: number, end: number): void {
    this.#words[this.#count] = pattern.slice(start, end);
    const isBlank = start - gapStart === 1 && pattern.charCodeAt(gapStart) === BLANK;
    this.#gaps[this.#count] = isBlank ? " " : pattern.slice(gapStart, start);
    this.#starts[this.#count] = start;
    const kinds = kindsOf(pattern, start, end);
    this.#kinds[this.#count] = kinds;
    if (kinds === LOWER && end - start > 1) this.#plainCount += 1;
    this.#count += 1;
  }

  get count(): number {
    return this.#count;
  }

  /** How many words of at least two lower-case letters the pattern has. */
  get plainCount(): number {
    return this.#plainCount;
  }

  /** The word; empty before the first and after the last. */
  word(index: number): string {
    return index < 0 || index >= this.#count ? "" : (this.#words[index] ?? "");
  }

  /** The characters before the word; after the last word, the end of the pattern. */
  gap(index: number): string {
    return index < 0 || index > this.#count ? "" : (this.#gaps[index] ?? "");
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  kinds(index: number): number {
    return this.#kinds[index] ?? 0;
  }

  isLast(index: number): boolean {
    return index === this.#count - 1;
  }
}
