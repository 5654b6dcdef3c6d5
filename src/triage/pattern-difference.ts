/** Finds the fixed parts in which two patterns differ, which is why their failures are in different groups. Pure. */
import { canonicalPattern, commandEnd } from "./canonical/canonical-pattern.ts";
import { type PatternParts, splitPattern } from "./signature.ts";

/** A part of a pattern that belongs to the group. An empty text means that the part is absent. */
export interface PatternDifference {
  readonly part: "type" | "command" | "words" | "stack frames" | "name";
  readonly here: string;
  readonly there: string;
}

/** Lists the parts in which two patterns differ; empty if the algorithm treats them as one. */
export function patternDifferences(here: string, there: string): readonly PatternDifference[] {
  const [one, other] = [splitPattern(here), splitPattern(there)];
  if (one === undefined || other === undefined) return here === there ? [] : [{ part: "name", here, there }]; // a name that a rule or a person gave
  const compared: readonly PatternDifference[] = [
    { part: "type", here: one.type, there: other.type },
    { part: "command", here: commandOf(one), there: commandOf(other) },
    { part: "words", ...differingWords(wordsOf(one), wordsOf(other)) },
    { part: "stack frames", here: one.frames.trim(), there: other.frames.trim() },
  ];
  return compared.filter((difference) => difference.here !== difference.there);
}

function commandOf({ message }: PatternParts): string {
  return canonicalPattern(message.slice(0, commandEnd(message)));
}

function wordsOf({ message }: PatternParts): readonly string[] {
  return canonicalPattern(message.slice(commandEnd(message))).split(" ");
}

/** The words between those that both have at the beginning and at the end. */
function differingWords(
  one: readonly string[],
  other: readonly string[],
): Pick<PatternDifference, "here" | "there"> {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const part = (words: readonly string[]) => words.slice(start, words.length - end).join(" ");
  return { here: part(one), there: part(other) };
}
