/**
 * Finds groups that may have the same cause: their canonical patterns differ only in one word that looks like
 * a value. Only suggests; the algorithm never merges groups because of other groups. The result does not
 * depend on the order of the groups.
 */
import { canonicalPattern, commandEnd } from "./canonical/canonical-pattern.ts";
import { isOrdinary } from "./mask/vocabulary.ts";
import { splitPattern } from "./signature.ts";

export interface SuggestedGroup {
  readonly signature: string;
  readonly pattern: string;
  readonly count: number;
}

/** Groups that may be one failure, and the word in which each differs. */
export interface MergeSuggestion<Group extends SuggestedGroup = SuggestedGroup> {
  /** The group with the most letters, into which the others would be merged. */
  readonly into: Group;
  readonly others: readonly Group[];
  /** The canonical pattern, with `<?>` at the position where the groups differ. */
  readonly common: string;
  /** The differing word of each group, by signature. */
  readonly words: ReadonlyMap<string, string>;
}

interface Candidate<Group> {
  readonly common: string;
  readonly members: Map<
    string,
    { readonly group: Group; readonly word: string; readonly isOrdinary: boolean }
  >;
}

/** Only the largest groups are compared, at most this many. */
export const COMPARED_MAX = 2000;
const WORDS_MAX = 60;
/** Shorter messages have too little in common to suggest a merge. */
const COMMON_WORDS_MIN = 3;
const DIFFERENT = "<?>";
const VALUE = "<*>";
/** So many groups with different ordinary words at one position suggest that the word is a value after all. */
const ORDINARY_MIN = 3;

export function suggestMerges<Group extends SuggestedGroup>(
  groups: readonly Group[],
): readonly MergeSuggestion<Group>[] {
  const candidates = new Map<string, Candidate<Group>>();
  for (const group of [...groups].sort(bySize).slice(0, COMPARED_MAX)) addTo(candidates, group);
  const taken = new Set<string>();
  const found: MergeSuggestion<Group>[] = [];
  const sorted = [...candidates.values()]
    .filter(isConvincing)
    .sort((a, b) => b.members.size - a.members.size || compare(a.common, b.common));
  for (const { common, members } of sorted) {
    const free = [...members.values()].filter(({ group }) => !taken.has(group.signature));
    const [into, ...others] = free.map(({ group }) => group).sort(bySize);
    if (into === undefined || others.length === 0) continue;
    for (const { group } of free) taken.add(group.signature);
    found.push({
      into,
      others,
      common,
      words: new Map(free.map(({ group, word }) => [group.signature, word])),
    });
  }
  return found;
}

function isConvincing({ members }: Candidate<SuggestedGroup>): boolean {
  const all = [...members.values()];
  const different = new Set(all.map(({ word }) => word)).size;
  return different >= (all.some(({ isOrdinary }) => isOrdinary) ? ORDINARY_MIN : 2);
}

/** Adds the group to the candidates of every position with a word that may be a value. */
function addTo<Group extends SuggestedGroup>(candidates: Map<string, Candidate<Group>>, group: Group): void {
  const parts = splitPattern(group.pattern);
  if (parts === undefined) return; // a name that a person gave
  const end = commandEnd(parts.message);
  const command = end === 0 ? "" : `${canonicalPattern(parts.message.slice(0, end))} `;
  const words = canonicalPattern(parts.message.slice(end)).split(" ");
  const fixed = words.filter((word) => word !== VALUE && /\w/.test(word)).length;
  if (words.length > WORDS_MAX) return;
  for (const [index, word] of words.entries()) {
    if (fixed - (word === VALUE ? 0 : 1) < COMMON_WORDS_MIN) continue;
    const isOrdinaryWord = isOrdinary(word.toLowerCase());
    if (isOrdinaryWord ? !mayBeNoun(words, index, word) : !looksVariable(word)) continue;
    const common = `${command}${words.with(index, DIFFERENT).join(" ")}`;
    const key = `${parts.type}::${common}${parts.frames}`;
    const candidate = candidates.get(key) ?? { common, members: new Map() };
    candidates.set(key, candidate);
    candidate.members.set(group.signature, { group, word, isOrdinary: isOrdinaryWord });
  }
}

/** Codes and names of errors are not values. */
function looksVariable(word: string): boolean {
  if (word === VALUE) return true; // the other group has a word where this one has a value
  if (!/^[A-Za-z\u0080-\uffff][\w\u0080-\uffff./:@-]*$/.test(word) || /\d/.test(word)) return false;
  return !/(?:Error|Exception|Warning|Fault)$/.test(word) && !/^[A-Z][A-Z_]+$/.test(word);
}

const NO_NOUN = /(?:ed|ing|able|ible|ive|ous|ful|less|ly)$|^(?:error|fatal|warning|not?|is|are|was|cannot)$/i;
/** Words before a verb or an adjective. */
const BEFORE_VERB = /^(?:cannot|can't|couldn't|could|not|is|are|was|were|be|must|should|will|failed)$/i;
const BEFORE_INFINITIVE =
  /^(?:failed|unable|able|not|need|needs|want|wants|tried|trying|attempt|attempted|refused|refusing)$/i;

/** Whether an ordinary word may be the name of something: not a verb as in "cannot read", nor an adjective. */
function mayBeNoun(words: readonly string[], index: number, word: string): boolean {
  if (!/^[a-z]{3,}$/.test(word) || NO_NOUN.test(word)) return false;
  const before = words[index - 1] ?? "";
  return before === "to" ? !BEFORE_INFINITIVE.test(words[index - 2] ?? "") : !BEFORE_VERB.test(before);
}

function bySize(a: SuggestedGroup, b: SuggestedGroup): number {
  return b.count - a.count || compare(a.signature, b.signature);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
