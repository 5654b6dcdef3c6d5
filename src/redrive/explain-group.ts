/** Explains why a failure is in its group: the rule or the algorithm, corrections, and the most similar groups. */
import type { Engine, StoredLetter } from "../engine.ts";
import { type Correction, corrected, type GroupRecord } from "../item/group.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { type Explanation, explainFailure, nearestPatterns } from "../triage/explain.ts";
import { type FailureGroup, type GroupRule, groupOf } from "../triage/grouping.ts";
import { type PatternDifference, patternDifferences } from "../triage/pattern-difference.ts";
import { type MergeSuggestion, suggestMerges } from "../triage/suggest.ts";
import { titleToJson } from "../triage/title.ts";
import { type GroupSummary, joinGroups } from "./groups.ts";
import { suggestionToJson } from "./suggest-merges.ts";

export interface GroupExplanation {
  readonly signature: string;
  readonly pattern: string;
  /** The letter used as the example; absent if the group has none left. */
  readonly itemId?: string;
  readonly jobId?: string;
  readonly reading?: Explanation;
  /** The group that a rule or the algorithm assigns to the failure, before corrections. */
  readonly group?: FailureGroup;
  /** The group after corrections; absent if they change nothing. */
  readonly correctedTo?: string;
  /** The merge or split that moved it there; the last of several. */
  readonly correctedBy?: Correction;
  /** Whether `groups rebuild` would move the letter to another group. */
  readonly wouldMove: boolean;
  /** The most similar groups first. Distance 0 is the same text; 1 means no word in common. */
  readonly nearest: readonly NearGroup[];
  /** Suggests a merge if similar groups exist; otherwise absent. */
  readonly suggestion?: MergeSuggestion;
}

export type NearGroup = Pick<GroupSummary, "signature" | "pattern" | "count"> & { readonly distance: number };

/** Whether two groups or letters are in the same group, and the fixed parts in which they differ. */
export interface GroupComparison {
  readonly signature: string;
  readonly isSameGroup: boolean;
  readonly differences: readonly PatternDifference[];
}

/** Compares the letters that two explanations are based on, or else the groups' patterns. */
export function compareGroups(here: GroupExplanation, there: GroupExplanation): GroupComparison {
  return {
    signature: there.signature,
    isSameGroup: here.signature === there.signature,
    differences: patternDifferences(patternOf(here), patternOf(there)),
  };
}

function patternOf({ pattern, reading }: GroupExplanation): string {
  return reading?.pattern ?? pattern;
}

export function comparisonToJson({ signature, isSameGroup, differences }: GroupComparison): JsonObject {
  return {
    signature,
    same_group: isSameGroup,
    differences: differences.map((difference) => ({ ...difference })),
  };
}

const NEAREST_MAX = 5;

/** Explains a group by its newest waiting letter, or else by its newest resolved or discarded one. */
export async function explainGroup(
  engine: Engine,
  { signature, pattern }: Pick<GroupRecord, "signature" | "pattern">,
  rules: readonly GroupRule[],
): Promise<GroupExplanation> {
  const letter = await newestLetter(engine, signature);
  if (letter !== undefined) return explainLetter(engine, letter, rules);
  const nearest = await similarGroups(engine, { signature, pattern });
  return { signature, pattern, wouldMove: false, ...nearest };
}

async function newestLetter(engine: Engine, signature: string): Promise<StoredLetter | undefined> {
  const query = { signatures: [signature], limit: 1 };
  const [waiting] = (await engine.listLetters(query)).letters;
  return waiting ?? (await engine.listLetters({ ...query, states: ["done", "discarded"] })).letters[0];
}

export async function explainLetter(engine: Engine, letter: StoredLetter, rules: readonly GroupRule[]) {
  const { itemId, jobId, errorSignature: signature, errorPattern: pattern } = letter;
  const found = { signature, pattern, itemId, jobId };
  const similar = await similarGroups(engine, found);
  const failure = letter.failureHistory.at(-1);
  if (failure === undefined) return { ...found, wouldMove: false, ...similar };
  const group = groupOf(failure, rules);
  const corrections = await engine.listCorrections();
  const end = corrected(group, failure.errorMessage, corrections);
  const message = failure.errorMessage.toLowerCase();
  const correctedBy = corrections.findLast(
    ({ to, text }) => to === end.signature && (text === undefined || message.includes(text.toLowerCase())),
  );
  return {
    ...found,
    reading: explainFailure(failure),
    group,
    ...(end.signature !== group.signature && {
      correctedTo: end.signature,
      ...(correctedBy && { correctedBy }),
    }),
    wouldMove: end.signature !== signature,
    ...similar,
  };
}

/** Searches only groups that have letters. */
async function similarGroups(
  engine: Engine,
  { signature, pattern }: Pick<GroupRecord, "signature" | "pattern">,
): Promise<Pick<GroupExplanation, "nearest" | "suggestion">> {
  const groups = joinGroups(await engine.listGroups({}));
  const others = groups.filter((other) => other.signature !== signature);
  const nearest = nearestPatterns(pattern, others, NEAREST_MAX).map(({ other, distance }) => {
    const { signature, pattern, count } = other;
    return { signature, pattern, count, distance: Math.round(distance * 100) / 100 };
  });
  const suggestion = suggestMerges(groups.filter(({ state }) => state === "open")).find(({ words }) =>
    words.has(signature),
  );
  return { nearest, ...(suggestion !== undefined && { suggestion }) };
}

/** The JSON form of an explanation. */
export function explanationToJson(explanation: GroupExplanation): JsonObject {
  const { signature, pattern, itemId, jobId, reading, group, correctedTo, wouldMove, nearest, suggestion } =
    explanation;
  return compact({
    signature,
    ...titleToJson(pattern),
    pattern,
    item_id: itemId,
    job_id: jobId,
    rule: group?.rule,
    computed_signature: group?.signature,
    computed_pattern: group?.pattern,
    corrected_to: correctedTo,
    would_move: wouldMove,
    algorithm: reading?.algorithm,
    source: reading?.source,
    why: reading?.why,
    lines: reading && [...reading.lines],
    hits: reading?.hits.map((hit) => ({ ...hit })),
    words: reading?.words.map(({ text, isVariable, why }) => ({ text, variable: isVariable, why })),
    language: reading?.language,
    frames_counted: reading?.framesCounted.map(frameToJson),
    frames_skipped: reading?.framesSkipped.map(frameToJson),
    nearest: nearest.map((near) => ({ ...near, ...titleToJson(near.pattern) })),
    suggestion: suggestion && suggestionToJson(suggestion),
  });
}

function frameToJson({ function: name, file }: Explanation["framesCounted"][number]): JsonObject {
  return compact({ function: name, file });
}
