/**
 * Recognises names that a message prints without quotes: by their form, their position in the sentence, and a
 * list of ordinary words. A word that looks like a name stays part of the message unless it is in a position
 * where names are usual.
 */
import { isKind, isOrdinary } from "../mask/vocabulary.ts";
import { LOWER, type PatternWords } from "./pattern-words.ts";

/** Reasons that complete the sentence "It is variable, because …". */
export const NAME_REASONS = {
  segment: "a single word between two colons names what failed",
  unquoted: "an unusual word where names usually stand is a name",
  identifier: "a word in mixed case or with underscores is an identifier",
  argument: "a word in brackets directly after a name is its argument",
  pair: "it is a value in a list of keys and values",
  subject: "the first word is what the message is about",
  flag: "a word that begins with a dash is an option of a command",
  sigil: "a word that begins with a sign such as $ is a variable",
  coordinates: "a name of parts joined by colons or @ identifies one thing",
  hex: "a word of hexadecimal digits after id, commit or hash is an identifier",
} as const;

export type NameReason = keyof typeof NAME_REASONS;

/** Names of exceptions and constants in capitals, which identify the failure. */
export const NAMES_FAILURE = /(?:Error|Exception|Warning|Fault)$|(?:^|\.)[A-Z][A-Z\d]*_[A-Z\d_]+$/;

const SIMPLE = /^[\w.-]+$/;
const SIGIL = /^(?:[$@#:]|%[-\d.]*)[A-Za-z_]\w*$/;
const FLAG = /^--?[A-Za-z][\w-]+$/;
/** `org.shop:cart:jar`, `shop::Cart`, `cart@latest`. */
const COORDINATES = /^[@&]?[\w./-]+(?:::|:[\w./-]+:(?![A-Z])|@)[\w.:/<>-]*$|^[a-z][\w.-]+:[A-Za-z*][\w.*-]+$/;
const HEX_LETTERS = /^[a-f]{4,}$/;
const BEFORE_HEX = /^(?:id|ID|commit|hash|object|revision|digest|checksum)$/;

/** The rules for a word that is not entirely in lower case. */
export function nameReason(words: PatternWords, index: number, word: string): NameReason | undefined {
  if (index > 0) {
    if (SIGIL.test(word)) return "sigil";
    if (FLAG.test(word) && words.gap(index).endsWith(" ")) return "flag";
    if (isIdentifier(words, index, word)) return "identifier";
    if (COORDINATES.test(word) && /^[: ]*[ ([]$/.test(words.gap(index)) && words.plainCount > 1)
      return "coordinates";
  }
  return isSubject(words, index, word) ? "subject" : plainNameReason(words, index, word);
}

/** `cart/items/price`, with any words. */
const POINTER = /^[\w$@~.-]*(?:\/[\w$@~.-]+)+$/;

/** Whether the first word is what the message is about: "Price must be positive", "cart/price is missing". */
function isSubject(words: PatternWords, index: number, word: string): boolean {
  if (index > 0 || words.gap(1) !== " ") return false;
  if (/^(?:should|must)$/.test(words.word(1)) && /^[A-Z][A-Za-z]+$/.test(word)) return true;
  return POINTER.test(word) && PREDICATES.has(words.word(1));
}

/** The rules for a word in lower case. Most words are, so cheap tests come first. */
export function plainNameReason(words: PatternWords, index: number, word: string): NameReason | undefined {
  if (words.gap(index) !== " ") {
    if (isArgument(words, index, word)) return "argument";
    if (isPair(words, index, word)) return "pair";
    if (isSegment(words, index, word)) return "segment";
  } else if (HEX_LETTERS.test(word) && BEFORE_HEX.test(words.word(index - 1))) return "hex";
  return isUnquotedName(words, index, word) ? "unquoted" : undefined;
}

const IDENTIFIER = /^_*(?:[a-z]+\d*[A-Z]|[A-Z][a-z]+\d*[A-Z]|[a-z]\w*_|_[a-z])\w*$/;
/** An identifier is only variable if enough other words describe the failure. */
const PLAIN_MIN = 4;

function isIdentifier(words: PatternWords, index: number, word: string): boolean {
  if (words.plainCount < PLAIN_MIN || words.gap(index) !== " ") return false;
  if (!IDENTIFIER.test(word) || NAMES_FAILURE.test(word) || !/[a-z>]$/.test(words.word(index - 1)))
    return false;
  const after = words.gap(index + 1);
  return /^(?: |[:,.;)]|$)/.test(after) && !after.startsWith(" (");
}

const COMMA = /^, ?$/;

/** Whether the word is one of the arguments in `Set(red, blue)` or `chdir(pwd)`; the `s` in `worker(s)` is not. */
function isArgument(words: PatternWords, index: number, word: string): boolean {
  let open = index;
  while (open > 0 && COMMA.test(words.gap(open))) open -= 1;
  if (words.gap(open) !== "(" || open === 0) return false;
  if (word === "s" || word === "es" || !SIMPLE.test(word) || !/\w$/.test(words.word(open - 1))) return false;
  let close = index + 1;
  while (close < words.count && COMMA.test(words.gap(close))) close += 1;
  return words.gap(close).startsWith(")");
}

const KEY_WORDS_MAX = 4;
const KEY_START = /,|[:.] $/;
const AFTER_KEY = /^: ?$/;

/** Whether the word is a value in `…, state: ok, mode: fast`, where another key follows. */
function isPair(words: PatternWords, index: number, word: string): boolean {
  if (!AFTER_KEY.test(words.gap(index)) || !words.gap(index + 1).startsWith(",")) return false;
  if (!SIMPLE.test(word) || NAMES_FAILURE.test(word)) return false;
  let key = index - 1;
  while (key > 0 && key > index - KEY_WORDS_MAX && !KEY_START.test(words.gap(key))) key -= 1;
  const start = words.gap(key);
  if (key > 0 && !start.includes(",") && !(KEY_START.test(start) && SMALL.test(words.word(index - 1))))
    return false;
  for (let next = index + 2; next <= index + 1 + KEY_WORDS_MAX; next += 1)
    if (AFTER_KEY.test(words.gap(next))) return true;
  return false;
}

const SEVERITY =
  /^(?:error|fatal|warning|warn|err|info|debug|trace|note|panic|critical|alert|emergency|notice|hint|detail|usage|failed|e|w|i|d|f)$/i;
/** Endings of words that describe a failure: `denied: …`, `exception: …`, `timeout: …`. */
const DESCRIBES = /(?:ed|ing|ion|ure|able|timeout|ial|den)$/;

/** Whether the word stands alone between two colons: `tar: notes: Not found in archive`. */
function isSegment(words: PatternWords, index: number, word: string): boolean {
  if (words.word(index + 1) === ":<num>" && words.gap(index + 2) === ": ") return SIMPLE.test(word);
  if (index === 0 || words.gap(index + 1) !== ": " || !words.gap(index).endsWith(": ")) return false;
  if (words.count < index + 3 || !SIMPLE.test(word)) return false; // `state: off` is a key and its value
  return !SEVERITY.test(word) && !DESCRIBES.test(word) && !NAMES_FAILURE.test(word);
}

/** Whether the word looks like a name and is in a position where names are usual. */
function isUnquotedName(words: PatternWords, index: number, word: string): boolean {
  const { plainCount } = words;
  if (word.length < 2 || plainCount === 0 || (plainCount === 1 && words.gap(index + 1) !== ": "))
    return false;
  if (/^ ?=/.test(words.gap(index + 1))) return false; // a key
  if (!looksLikeName(word) || isAfterArticle(words, index, word) || isCommand(words, index)) return false;
  const isPlain = (words.kinds(index) & ~LOWER) === 0;
  return (isPlain && index > 0 && plainCount > PLAIN_MIN) || isPlaced(words, index);
}

const SMALL = /^[a-z]+$/;
const CAPITALISED = /^[A-Z][a-z]+$/;
const HYPHENATED = /^[a-z]+(?:-[a-z]+)+$/;
const PREFIX = /^(?:non|pre|re|self|co|sub|super|multi|un|anti|inter|intra|auto|semi|de|post|x)-/;

function looksLikeName(word: string): boolean {
  if (SMALL.test(word)) return !isOrdinary(word);
  if (CAPITALISED.test(word)) return !NAMES_FAILURE.test(word) && !isOrdinary(word.toLowerCase());
  if (HYPHENATED.test(word)) return !PREFIX.test(word) && word.split("-").some((part) => !isOrdinary(part));
  return IDENTIFIER.test(word) && !NAMES_FAILURE.test(word);
}

/** After "a" or "an", and an adjective, a word is a noun: "a valid frobnicator". */
function isAfterArticle(words: PatternWords, index: number, word: string): boolean {
  if (index === 0 || !/^[a-z-]+$/.test(word)) return false;
  return (
    /^an?$/.test(words.word(index - 1)) || (/^an?$/.test(words.word(index - 2)) && words.gap(index) === " ")
  );
}

const COMMAND_WORDS_MAX = 6;

/** Whether the word belongs to the command in "make all timed out after <dur>", which Redrive writes itself. */
function isCommand(words: PatternWords, index: number): boolean {
  for (let at = index + 1; at <= index + COMMAND_WORDS_MAX; at += 1) {
    if (words.gap(at) !== " ") return false;
    if (words.word(at) === "timed" && words.word(at + 1) === "out") return true;
  }
  return false;
}

function list(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/** Words that usually precede names: prepositions and the like. */
const LEADS =
  list(`in for from of to at on with by as into than not but got and or matching near is was via using under
  against between after before expected specified given named called found received actual because that when`);
/** Two words before a name: "cannot open <name>", "failed to open <name>". */
const LEADS_VERB = list("cannot can't couldn't Cannot Can't Couldn't not to");
/** Words that follow a name within a sentence. */
const FOLLOWS =
  list(`in for from of to at on with by as into than but and or via using against between after before because
  when if while is was are were has had have must cannot can can't could does did will would should may need needs failed
  fails too not contain contains require requires exceed exceeds returned already isn't doesn't instead which that you
  expected found`);
/** Words that describe the name before them. */
const PREDICATES =
  list(`is was has had must cannot can't can could does did will would should may needs failed fails too not
  no contains requires exceeds returned already isn't doesn't wasn't exited died crashed terminated expired differ differs
  redeclared redefined undeclared undefined unused unknown unbound shadowed deprecated`);

/** Whether names are usual at this position. */
function isPlaced(words: PatternWords, index: number): boolean {
  const gap = words.gap(index);
  if (index === 0 || /[:;.] $/.test(gap)) return isClauseSubject(words, index);
  const after = words.gap(index + 1);
  if (gap.endsWith("(")) return after.startsWith(")");
  if (gap !== " ") return false;
  const before = words.word(index - 1);
  if (words.isLast(index) && SMALL.test(before) && before.length > 1) return true;
  const next = words.word(index + 1);
  const says = after === " " && PREDICATES.has(next);
  const endsPhrase =
    after === " "
      ? says || FOLLOWS.has(next) || next.startsWith("<")
      : after === " (" || !/^[ =(]/.test(after);
  return endsPhrase && (says || LEADS.has(before) || LEADS_VERB.has(words.word(index - 2)) || isKind(before));
}

/** Whether the word begins a clause about it: "Warning: inbox is full", "inbox: not a folder". */
function isClauseSubject(words: PatternWords, index: number): boolean {
  const after = words.gap(index + 1);
  const next = words.word(index + 1);
  if (after === ": ") return index > 0 && words.count > index + 2; // the first word names a program or a function
  return after === " " && (PREDICATES.has(next) || (index > 0 && /^[a-z]{3,}s$/.test(next)));
}
