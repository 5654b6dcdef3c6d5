/** Analyses a selection of letters from the store's counters if possible, or else letter by letter. */
import type { Engine, LetterGroup } from "../engine.ts";
import { isStoreTrouble, type RedriveError } from "../errors.ts";
import { ERROR_TYPE_NAMES } from "../item/error-type.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import { type Analysis, Analyst, INTERVALS_MAX, SAMPLES_MAX, stepFor } from "../triage/analyse.ts";
import { type Selection, selectLetters } from "./select.ts";

const SAMPLED_GROUPS_MAX = 100;

/**
 * Analyses waiting letters, unless the filter selects other states. The largest groups include sample
 * letters.
 */
export async function analyseSelected(
  engine: Engine,
  selection: Selection,
  { sampledGroupsMax = SAMPLED_GROUPS_MAX } = {},
): Promise<Analysis> {
  const { queue } = selection.filter;
  const groups = await engine.listGroups(queue === undefined ? {} : { queue });
  if (isOfGroups(selection)) {
    const analysis = await analyseCounted(engine, selection.filter, groups);
    return withSamples(engine, selection.filter, { analysis, sampledGroupsMax });
  }
  const analyst = new Analyst();
  for await (const letter of selectLetters(engine, selection)) analyst.addLetter(letter);
  return withStates(analyst.result(), groups);
}

/** Whether the store's counters can answer the filter. They do not include error classes. */
function isOfGroups({ filter, where }: Selection): boolean {
  const { queue, types, signatures, ...others } = filter;
  return where === undefined && Object.values(others).every((value) => value === undefined);
}

function withStates(analysis: Analysis, groups: readonly LetterGroup[]): Analysis {
  const known = new Map(groups.map((group) => [group.signature, group]));
  const patternGroups = analysis.patternGroups.map((group) => {
    const { state, isRegression } = known.get(group.signature) ?? {};
    return state === undefined || isRegression === undefined ? group : { ...group, state, isRegression };
  });
  return { ...analysis, patternGroups };
}

/** A rule or a merge can put several error types into one group, so letters are counted per type. */
async function ofTypes(engine: Engine, { types }: LetterFilter, groups: readonly LetterGroup[]) {
  if (types === undefined) return groups;
  const counted: LetterGroup[] = [];
  for (const group of groups) {
    const query = { queue: group.queue, signatures: [group.signature], types, limit: 0 };
    const { total: count } = await engine.listLetters(query);
    if (count > 0) counted.push({ ...group, count });
  }
  return counted;
}

/** Counts the error types of the groups first, because they usually account for all letters. */
async function countTypes(engine: Engine, filter: LetterFilter, groups: readonly LetterGroup[]) {
  let left = groups.reduce((sum, { count }) => sum + count, 0);
  const counts: [string, number][] = [];
  for (const type of new Set([...groups.map(({ errorType }) => errorType), ...ERROR_TYPE_NAMES])) {
    if (left <= 0) break;
    if (filter.types?.includes(type) === false) continue;
    const { total } = await engine.listLetters({ ...filter, types: [type], limit: 0 });
    if (total > 0) counts.push([type, total]);
    left -= total;
  }
  return new Map(counts.sort(([, a], [, b]) => b - a));
}

async function analyseCounted(engine: Engine, filter: LetterFilter, all: readonly LetterGroup[]) {
  const { signatures } = filter;
  const named = all.filter(({ signature }) => signatures?.includes(signature) ?? true);
  const groups = await ofTypes(engine, filter, named);
  const bucketMs = stepOf(groups);
  const analyst = new Analyst(bucketMs);
  for (const { firstAt, lastAt, ...group } of groups) {
    analyst.addGroup({ ...group, firstOccurrence: firstAt, lastOccurrence: lastAt });
  }
  for (const { at, waiting } of await engine.listArrivals({ ...filter, bucketMs })) {
    if (waiting > 0) analyst.addArrivals(at, waiting);
  }
  return { ...analyst.result(), errorDistribution: await countTypes(engine, filter, groups) };
}

function stepOf(groups: readonly LetterGroup[]): number {
  const first = groups.reduce((least, { firstAt }) => Math.min(least, firstAt), Number.POSITIVE_INFINITY);
  const last = groups.reduce((most, { lastAt }) => Math.max(most, lastAt), 0);
  return stepFor(Math.min(first, last), last, INTERVALS_MAX);
}

async function withSamples(
  engine: Engine,
  filter: LetterFilter,
  { analysis, sampledGroupsMax }: { analysis: Analysis; sampledGroupsMax: number },
): Promise<Analysis> {
  const patternGroups = [];
  for (const [index, group] of analysis.patternGroups.entries()) {
    const query = { ...filter, signatures: [group.signature], limit: SAMPLES_MAX };
    const isSampled = index < sampledGroupsMax;
    const sampleItems = isSampled ? (await engine.listLetters(query)).letters : [];
    patternGroups.push({ ...group, sampleItems });
  }
  return { ...analysis, patternGroups };
}

/** Records the analysis as an event. Returns a store error, because a read-only store can still be analysed. */
export async function recordAnalysis(
  engine: Engine,
  jobId: string,
  { totalItems, patternGroups }: Analysis,
): Promise<RedriveError | null> {
  const data = { total_items: totalItems, groups: patternGroups.length };
  try {
    await engine.changeJob(jobId, { event: { type: "dlq_analysis_generated", data } });
    return null;
  } catch (error) {
    if (isStoreTrouble(error)) return error;
    throw error;
  }
}
