/** Which patterns are nearly the same, so that a person can see what two groups differ in, and merge them. */

/** Another pattern, and how far it is: 0 the same, 1 nothing in common. */
export interface Near<T> {
  readonly other: T;
  readonly distance: number;
}

/** No more words of a pattern are compared. */
const WORDS_MAX = 60;

/** The `count` nearest, the nearest first; equally near ones in the order of their text. The pattern itself is none of them. */
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

function wordsOf(pattern: string): readonly string[] {
  return pattern.split(/(?:::|[\s:()[\],"'])+/, WORDS_MAX).filter((word) => word !== "");
}

/** How many words must be added, removed or changed, as a share of the longer one (Levenshtein over words). */
function distanceOf(one: readonly string[], other: readonly string[]): number {
  const longest = Math.max(one.length, other.length);
  if (longest === 0) return 0;
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
