/** Explains how a failure got its signature, and finds groups with similar patterns. */
import { canonicalPattern, commandEnd } from "./canonical/canonical-pattern.ts";
import { fixedReason, VARIABLE_REASONS } from "./canonical/variable-words.ts";
import { pickErrorLine } from "./error-line.ts";
import type { Frame } from "./frames/frame.ts";
import { containsLine } from "./frames/trace.ts";
import { MASKS } from "./mask/masker.ts";
import { normalise } from "./normalise.ts";
import {
  ALGORITHM,
  type Reading,
  readFailure,
  type Signature,
  type SignedFailure,
  type Source,
  signReading,
  splitPattern,
} from "./signature.ts";

export interface MaskHit {
  /** The name of the mask, without angle brackets. */
  readonly masker: string;
  readonly reason: string;
  readonly before: string;
  readonly after: string;
}

/** Consecutive words of the pattern that are fixed or variable for the same reason. */
export interface ExplainedWords {
  readonly text: string;
  /** Whether the words may differ within the group. */
  readonly isVariable: boolean;
  readonly why: string;
}

/** Why a failure has its signature: the chosen text, and what was masked in it. */
export interface Explanation extends Signature {
  readonly algorithm: string;
  readonly source: Source;
  /** Why this text was chosen, for people. */
  readonly why: string;
  /** The chosen text, as printed. */
  readonly lines: readonly string[];
  readonly hits: readonly MaskHit[];
  /** All words of the message's pattern, in order. */
  readonly words: readonly ExplainedWords[];
  /** The language of the stack trace, when there is one. */
  readonly language?: string;
  readonly framesCounted: readonly Frame[];
  readonly framesSkipped: readonly Frame[];
}

const HITS_MAX = 200;

/** Explains the signature of a failure. */
export function explainFailure(failure: SignedFailure): Explanation {
  const read = readFailure(failure);
  const reading = read.source === "message" ? { ...read, ...pickedFor(failure) } : read;
  const hits: MaskHit[] = [];
  const signature = signReading(failure.errorType.name, reading, (masker, before, after) => {
    if (hits.length < HITS_MAX) hits.push({ masker, reason: MASKS[masker] ?? "", before, after });
  });
  return {
    ...signature,
    algorithm: ALGORITHM,
    source: reading.picked?.stream ?? reading.source,
    why: whyOf(reading),
    lines: reading.picked?.lines ?? (reading.message === "" ? [] : [reading.message]),
    hits,
    words: explainWords(normalise(reading.message)),
    ...(reading.trace && { language: reading.trace.language }),
    framesCounted: reading.counted,
    framesSkipped: reading.skipped,
  };
}

/** Explains each word of a pattern. Neighbours with the same reason are joined. */
export function explainWords(pattern: string): readonly ExplainedWords[] {
  const found: (ExplainedWords & { readonly start: number })[] = [];
  canonicalPattern(pattern, (words, index, reason, isCommand) => {
    const word = words.word(index);
    const fixed = isCommand ? COMMAND_REASON : fixedReason(words, index);
    const why = reason === undefined ? fixed : variableWhy(word, reason);
    const [start, end] = [words.start(index), words.start(index) + word.length];
    const last = found.at(-1);
    const isSame = last?.why === why && last.isVariable === (reason !== undefined);
    if (isSame) found.pop();
    const from = isSame ? last.start : start;
    found.push({ text: closed(pattern, from, end), isVariable: reason !== undefined, why, start: from });
  });
  return found.map(({ start: _start, ...words }) => words);
}

/** The text, with a bracket that closes directly after it, as in `column(s)`. */
function closed(pattern: string, from: number, end: number): string {
  const text = pattern.slice(from, end);
  return pattern[end] === ")" && text.lastIndexOf("(") > text.lastIndexOf(")") ? `${text})` : text;
}

const COMMAND_REASON = "how the command ended: another command or exit code means a different group";

/** A whole mask has a reason of its own. */
function variableWhy(word: string, reason: keyof typeof VARIABLE_REASONS): string {
  const mask = /^<([a-z]+)>$/.exec(word)?.[1] ?? "";
  return MASKS[mask] ?? VARIABLE_REASONS[reason];
}

/** Finds the output lines that the recorded message was taken from. */
function pickedFor({ errorMessage, stderrTail, stdoutTail }: SignedFailure): Pick<Reading, "picked"> {
  const picked = pickErrorLine(stderrTail, stdoutTail);
  return picked && containsLine(errorMessage, picked.message) ? { picked } : {};
}

function whyOf({ source, picked, trace }: Reading): string {
  if (picked) return picked.why;
  if (source === "message") return "the recorded message";
  if (source === "none") return "the failure has no message and no output";
  return `the ${trace?.language ?? ""} stack trace in ${source === "stack trace" ? "the record" : source} names it`;
}

/** Another pattern and its distance: 0 is the same, 1 has nothing in common. */
export type Near<T> = { readonly other: T; readonly distance: number };

const WORDS_MAX = 60;

/** The `count` nearest other patterns, nearest first, then by text. */
export function nearestPatterns<T extends { readonly pattern: string }>(
  pattern: string,
  others: Iterable<T>,
  count: number,
): readonly Near<T>[] {
  const words = wordsOf(pattern);
  const nearest: Near<T>[] = [];
  for (const other of others) {
    if (other.pattern === pattern) continue;
    nearest.push({ other, distance: distanceOf(words, wordsOf(other.pattern)) });
    if (nearest.length > 2 * count + 16) keepNearest(nearest, count);
  }
  keepNearest(nearest, count);
  return nearest;
}

function keepNearest<T extends { readonly pattern: string }>(nearest: Near<T>[], count: number): void {
  nearest.sort((a, b) => a.distance - b.distance || (a.other.pattern < b.other.pattern ? -1 : 1));
  nearest.length = Math.min(nearest.length, count);
}

/** The words of the message, without the command and the masks, which most patterns of a job share. */
function wordsOf(pattern: string): readonly string[] {
  const message = splitPattern(pattern)?.message ?? pattern;
  const text = message.slice(commandEnd(message)) || message;
  const words = text.toLowerCase().split(/[\s:;,.!?()[\]"'`]+/, WORDS_MAX);
  return words.filter((word) => word !== "" && !MASK.test(word));
}
const MASK = /<[a-z]{2,5}>/;

/** The Levenshtein distance in words, as a share of the longer pattern. */
function distanceOf(one: readonly string[], other: readonly string[]): number {
  const longest = Math.max(one.length, other.length);
  if (longest === 0) return 1;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, word] of one.entries()) row = nextRow(row, word, index + 1, other);
  return (row[other.length] ?? longest) / longest;
}

function nextRow(row: readonly number[], word: string, index: number, other: readonly string[]): number[] {
  const next = [index];
  for (const [at, otherWord] of other.entries()) {
    const changed = (row[at] ?? 0) + (word === otherWord ? 0 : 1);
    next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
  }
  return next;
}
