/**
 * Reduces a pattern to the form that the signature is computed from. Every variable part becomes `<*>`, and a list of values, an
 * optional part about a value and a remark in brackets become part of the value before them. Pure.
 */
import { PatternWords } from "./pattern-words.ts";
import { isMasked, type VariableReason, variableReason } from "./variable-words.ts";

/**
 * Called for each word with its position, and the reason when it is variable. `isCommand` is true for the words that
 * Redrive writes before the error line: the command and how it ended.
 */
export type WordVisitor = (
  words: PatternWords,
  index: number,
  reason: VariableReason | undefined,
  isCommand: boolean,
) => void;

const VALUE = "<*>";
const OPEN = "(";
const EQUALS = 61;

/** Shared by all calls, which never overlap. */
const words = new PatternWords();

const ALL_RULES: ReadonlySet<VariableReason> = new Set();

/** `without` switches rules off, which the benchmark uses to measure each of them. */
export function canonicalPattern(pattern: string, visit?: WordVisitor, without = ALL_RULES): string {
  const end = commandEnd(pattern);
  const message = withoutPosition(pattern);
  if (end === 0) return canonicalMessage(message, 0, visit, without);
  const command = canonicalCommand(pattern.slice(0, end), visit);
  return end >= message.length ? command : `${command} ${canonicalMessage(message, end, visit, without)}`;
}

/** The command and how it ended, in `make all failed with exit code 2: no rule to make target`. */
const COMMAND =
  /^.{1,200}? (?:failed with exit code \d+(?: \(SIG\w+\))?|was killed by SIG\w+|was answered with (?:HTTP \d{3}|JSON-RPC error code \S+?))(?:: |$)/;

/** Returns where the error line begins; 0 if the message is not that of a command. */
export function commandEnd(pattern: string): number {
  if (
    !pattern.includes(" failed with ") &&
    !pattern.includes(" was killed ") &&
    !pattern.includes(" was answered ")
  )
    return 0;
  return COMMAND.exec(pattern)?.[0].length ?? 0;
}

/** A command is part of the failure, so only its masks are variable. */
function canonicalCommand(command: string, visit: WordVisitor | undefined): string {
  words.read(command);
  const folded = new Folded();
  for (let index = 0; index < words.count; index += 1) {
    folded.readGap(words.gap(index));
    const reason = isMasked(words, index) ? "mask" : undefined;
    visit?.(words, index, reason, true);
    if (reason === undefined) folded.addWord(words.word(index));
    else folded.addValue();
  }
  return folded.text();
}

/** The canonical form of the text from `from` on. Positions count from there, so a command before it changes nothing. */
function canonicalMessage(
  pattern: string,
  from: number,
  visit: WordVisitor | undefined,
  without: ReadonlySet<VariableReason>,
): string {
  words.read(pattern, from);
  const folded = new Folded();
  const start = invalidEnd(words);
  for (let index = 0; index < start; index += 1) visit?.(words, index, "invalid", false);
  for (let index = start; index < words.count; index += 1) {
    folded.readGap(words.gap(index));
    const skipped = indexEnd(words, index, folded.endsWithValue);
    if (skipped > index) {
      for (let at = index; at < skipped; at += 1) visit?.(words, at, "index", false);
      index = skipped - 1;
      continue;
    }
    if (isEmptyValue(words, index)) folded.addValue();
    const word = words.word(index);
    const found = variableReason(words, index);
    const reason = found !== undefined && without.has(found) ? undefined : found;
    visit?.(words, index, reason, false);
    if (reason === undefined) folded.addWord(word);
    else {
      folded.addValue();
      if (isBeforeFreeText(word, words.gap(index + 1))) break;
    }
  }
  if (isEmptyValue(words, words.count)) folded.addValue();
  folded.readGap(words.gap(words.count));
  return folded.text();
}

/** Whether the key before this word has no value, as in `user= host=a`: then a key follows, or nothing. */
function isEmptyValue(all: PatternWords, index: number): boolean {
  const gap = all.gap(index);
  if (gap.charCodeAt(0) !== EQUALS) return false;
  if (index === all.count || /^=[,;)]/.test(gap)) return true;
  if (gap !== "= ") return false;
  const after = all.gap(index + 1);
  return after.startsWith("=") && (after !== "= " || all.gap(index + 2).startsWith("="));
}

/** Removes the source position that compilers print after an arrow. */
function withoutPosition(pattern: string): string {
  const at = pattern.lastIndexOf(" --> ");
  return at > 0 && /^\S+(?: \w+>?)?$/.test(pattern.slice(at + 5)) ? pattern.slice(0, at) : pattern;
}

/**
 * Returns the end of the invalid thing if the reason follows, as in `cart "<str>" is invalid: no price`; 0
 * otherwise.
 */
function invalidEnd(all: PatternWords): number {
  const is = all.word(1) === "is" ? 1 : all.word(2) === "is" ? 2 : 0;
  if (is === 0 || all.word(is + 1) !== "invalid" || !all.gap(is + 2).startsWith(": ")) return 0;
  const isNamed = all.word(is - 1).endsWith(">") || all.gap(is).includes('""');
  return isNamed && is + 2 < all.count ? is + 2 : 0;
}

/** Returns the end of an index: `[…]` directly after a value, or the process id in `sshd[<num>]:`. */
function indexEnd(all: PatternWords, index: number, isAfterValue: boolean): number {
  if (all.gap(index) !== "[" || index === 0) return index;
  let end = index + 1;
  while (end < all.count && !all.gap(end).startsWith("]")) end += 1;
  const isProcess = end === index + 1 && all.gap(end).startsWith("]:") && all.word(index) === "<num>";
  return isAfterValue || isProcess ? end : index;
}

/** Whether free text follows an id, such as the subject of a commit: `3e1f4f7... fix the cart`. */
function isBeforeFreeText(word: string, gap: string): boolean {
  return gap.startsWith("... ") && /<(?:hash|id|hex|num)>$/.test(word);
}

/** Kinds of tokens of a language. Compilers print them or leave them out. */
const TOKENS = new Set("keyword identifier token reserved".split(" "));
const JOINERS = new Set("and or of in on for to".split(" "));
/** Words that may occur between a preposition and a value: "in the column <*>". */
const KINDS = new Set(
  `type class struct enum trait module package crate library table column view relation schema database index constraint
  trigger function method procedure field property attribute variable parameter argument option key value file directory
  folder host node server user role group object instance member interface operator symbol name id service container image
  namespace account repository branch resource bucket queue topic job task event rule policy target extension language
  domain sequence family keyword token identifier a an the`.split(/\s+/),
);
const KINDS_MAX = 3;
const IN_REMARK = new Set([VALUE, "of", "and", "or", "byte", "bytes", "is", "at", "in"]);
const BOUNDS = new Set(["most", "least"]);
const MORE = new Set(["more", "other", "others"]);
const SINGULAR: ReadonlyMap<string, string> = new Map([
  ["are", "is"],
  ["were", "was"],
]);
const NO_PLURAL = /(?:ss|us|is)$|^(?:was|has|does)$/;
const PLURAL_WORDS_MAX = 3;

/** The words of the canonical pattern, in which each new value may absorb what precedes it. */
class Folded {
  readonly #out: string[] = [];
  /** Whether punctuation separates the next word from the last one, so that two values are not merged. */
  #isSeparated = false;
  /** How many words after a value may still be a counted noun. */
  #nounsLeft = 0;
  /** Whether "and <*>" was folded last, so that "more" belongs to it. */
  #isCounted = false;

  get endsWithValue(): boolean {
    return this.#out.at(-1) === VALUE;
  }

  readGap(gap: string): void {
    if (gap === " ") return;
    for (let at = 0; at < gap.length; at += 1) {
      const char = gap[at];
      if (char === OPEN) this.#out.push(OPEN);
      else if (char === ")") this.#close();
      else if ((char === ":" || char === "." || char === "!" || char === "?") && gap[at + 1] === " ")
        this.#isSeparated = true;
    }
  }

  addWord(word: string): void {
    if (this.#isCounted && MORE.has(word)) {
      this.#isCounted = false;
      return;
    }
    this.#isCounted = false;
    this.#isSeparated = false;
    const isVerb = word.length === 3 || word.length === 4;
    this.#out.push(this.#singular(isVerb ? (SINGULAR.get(word) ?? word) : word));
  }

  /** "1 item" and "2 items" are the same: the first plural shortly after a value loses its ending. */
  #singular(word: string): string {
    if (this.#nounsLeft === 0) return word;
    this.#nounsLeft -= 1;
    if (!word.endsWith("s") || word.length < 4 || NO_PLURAL.test(word)) return word;
    this.#nounsLeft = 0;
    return word.slice(0, -1);
  }

  addValue(): void {
    while (this.#out.length > 1 && TOKENS.has(this.#out.at(-1) ?? "")) this.#out.length -= 1;
    this.#dropBound();
    this.#makeSingular();
    const isNew = this.#isSeparated || !this.#absorbed();
    this.#isSeparated = false;
    this.#nounsLeft = PLURAL_WORDS_MAX;
    if (isNew) this.#out.push(VALUE);
  }

  /** "takes 2" and "takes at most 2" are the same: the bound is a part of the number. */
  #dropBound(): void {
    const out = this.#out;
    if (out.length > 2 && out.at(-2) === "at" && BOUNDS.has(out.at(-1) ?? "")) out.length -= 2;
  }

  /** "column <*>" and "columns <*>" are the same: the value may be a list. */
  #makeSingular(): void {
    const last = this.#out.at(-1) ?? "";
    if (last.length > 3 && last.endsWith("s") && KINDS.has(last.slice(0, -1)))
      this.#out[this.#out.length - 1] = last.slice(0, -1);
  }

  /** Folds the value into the value before it: lists, neighbours, and "<*> of the column <*>". */
  #absorbed(): boolean {
    const out = this.#out;
    const last = out.length - 1;
    this.#isCounted = false;
    if (out[last] === VALUE) return true;
    let at = last;
    while (at > last - KINDS_MAX && KINDS.has(out[at] ?? "")) at -= 1;
    if (at < 1 || !JOINERS.has(out[at] ?? "") || out[at - 1] !== VALUE) return false;
    this.#isCounted = at === last;
    out.length = at;
    return true;
  }

  /** Drops a remark in brackets that has only values, or one word about the value before it. */
  #close(): void {
    const open = this.#out.lastIndexOf(OPEN);
    if (open < 0) return;
    const size = this.#out.length - open - 1;
    const isAboutValue = size <= 1 && this.#out[open - 1] === VALUE;
    if (isAboutValue || this.#out.every((word, at) => at <= open || IN_REMARK.has(word)))
      this.#out.length = open;
    else this.#out.push(")");
  }

  text(): string {
    return this.#out.join(" ");
  }
}
