/** Analyses the letters of a selection: from what the store has counted where that says it all, else letter by letter. */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, type WorkError } from "../errors.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import { type Analysis, Analyst, SAMPLES_MAX, STRETCHES_MAX } from "../triage/analyse.ts";
import { stepFor } from "../triage/time-axis.ts";
import { type Selection, selectLetters } from "./select.ts";

export interface AnalyseOptions {
  /** So many of the largest groups come with letters as samples. Default 100. */
  readonly sampledGroupsMax?: number;
}

const SAMPLED_GROUPS_MAX = 100;

/** Letters that wait, unless the filter names other states. */
export async function analyseSelected(
  engine: Engine,
  selection: Selection,
  { sampledGroupsMax = SAMPLED_GROUPS_MAX }: AnalyseOptions = {},
): Promise<Analysis> {
  if (isOfGroups(selection)) {
    const analysis = await analyseCounted(engine, selection.filter);
    return withSamples(engine, selection.filter, { analysis, sampledGroupsMax });
  }
  const analyst = new Analyst();
  for await (const letter of selectLetters(engine, selection)) analyst.addLetter(letter);
  return analyst.result();
}

/** Whether a letter is meant depends on its group alone. (Letters of one group may be of different classes.) */
function isOfGroups({ filter, where }: Selection): boolean {
  const { queue, types, signatures, ...others } = filter;
  return where === undefined && Object.values(others).every((value) => value === undefined);
}

async function analyseCounted(engine: Engine, filter: LetterFilter): Promise<Analysis> {
  const { queue, types, signatures } = filter;
  const all = await engine.listGroups(queue === undefined ? {} : { queue });
  const groups = all.filter(
    ({ errorType, signature }) =>
      (types?.includes(errorType) ?? true) && (signatures?.includes(signature) ?? true),
  );
  const bucketMs = stepOf(groups);
  const analyst = new Analyst(bucketMs);
  for (const { firstAt, lastAt, ...group } of groups) {
    analyst.addGroup({ ...group, firstOccurrence: firstAt, lastOccurrence: lastAt });
  }
  for (const { at, waiting } of await engine.listArrivals({ ...filter, bucketMs })) {
    if (waiting > 0) analyst.addArrivals(at, waiting);
  }
  return analyst.result();
}

function stepOf(groups: readonly { readonly firstAt: number; readonly lastAt: number }[]): number {
  const first = groups.reduce((least, { firstAt }) => Math.min(least, firstAt), Number.POSITIVE_INFINITY);
  const last = groups.reduce((most, { lastAt }) => Math.max(most, lastAt), 0);
  return stepFor(Math.min(first, last), last, STRETCHES_MAX);
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

/** Writes the event. A store that cannot be written is still worth reading: the trouble is answered, not thrown. */
export async function recordAnalysis(
  engine: Engine,
  jobId: string,
  { totalItems, patternGroups }: Analysis,
): Promise<WorkError | null> {
  const data = { total_items: totalItems, groups: patternGroups.length };
  try {
    await engine.changeJob(jobId, { event: { type: "dlq_analysis_generated", data } });
    return null;
  } catch (error) {
    if (isStoreTrouble(error)) return error;
    throw error;
  }
}
