/**
 * Why letters died, in numbers: their groups, their error types, and when. Pure: it is given letters one by one, or
 * groups that are counted already, and keeps no more than the answer needs.
 */
import type { GroupState } from "../item/group.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { toRfc3339 } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { TimeAxis, type Timeline } from "./time-axis.ts";
import { titleToJson } from "./title.ts";

/** The letters that died of the same failure. */
export interface PatternGroup {
  readonly signature: string;
  readonly pattern: string;
  readonly errorType: string;
  readonly count: number;
  readonly firstOccurrence: number;
  readonly lastOccurrence: number;
  /** How its group stands; absent where nobody asked. */
  readonly state?: GroupState;
  readonly isRegression?: boolean;
  /** A few of them, newest first. */
  readonly sampleItems: readonly Letter[];
}

export interface Analysis {
  readonly totalItems: number;
  /** Largest first. */
  readonly patternGroups: readonly PatternGroup[];
  /** The most frequent first. */
  readonly errorDistribution: ReadonlyMap<string, number>;
  readonly timeline: Timeline;
}

/** A group that somebody else has counted. */
export type CountedGroup = Omit<PatternGroup, "sampleItems"> & { readonly sampleItems?: readonly Letter[] };

/** The time axis has at most so many stretches. */
export const STRETCHES_MAX = 48;
/** How many letters stand for their group. */
export const SAMPLES_MAX = 3;

/** Takes in letters or whole groups, and says what they have in common. */
export class Analyst {
  readonly #groups = new Map<string, CountedGroup>();
  readonly #axis: TimeAxis;

  /** The step of the arrivals that it will be given. Default: a minute. */
  constructor(stepMs?: number) {
    this.#axis = new TimeAxis(stepMs);
  }

  addLetter(letter: Letter): void {
    this.addGroup({
      signature: letter.errorSignature,
      pattern: letter.errorPattern,
      errorType: letter.failureHistory.at(-1)?.errorType.name ?? "Unknown",
      count: 1,
      firstOccurrence: letter.firstAttempt,
      lastOccurrence: letter.lastAttempt,
      sampleItems: [letter],
    });
    this.addArrivals(letter.lastAttempt, 1);
  }

  /** The same signature again, such as that of another job, is the same group. */
  addGroup(group: CountedGroup): void {
    const known = this.#groups.get(group.signature);
    this.#groups.set(group.signature, known === undefined ? group : joined(known, group));
  }

  addArrivals(at: number, count: number): void {
    this.#axis.add(at, count);
  }

  result(): Analysis {
    const groups = [...this.#groups.values()].sort(byCount);
    const types = new Map<string, number>();
    for (const { errorType, count } of groups) types.set(errorType, (types.get(errorType) ?? 0) + count);
    return {
      totalItems: groups.reduce((sum, { count }) => sum + count, 0),
      patternGroups: groups.map((group) => ({ ...group, sampleItems: group.sampleItems ?? [] })),
      errorDistribution: new Map([...types].sort(([, a], [, b]) => b - a)),
      timeline: this.#axis.read(STRETCHES_MAX),
    };
  }
}

function joined(one: CountedGroup, other: CountedGroup): CountedGroup {
  return {
    ...one,
    count: one.count + other.count,
    firstOccurrence: Math.min(one.firstOccurrence, other.firstOccurrence),
    lastOccurrence: Math.max(one.lastOccurrence, other.lastOccurrence),
    sampleItems: [...(one.sampleItems ?? []), ...(other.sampleItems ?? [])].slice(0, SAMPLES_MAX),
  };
}

function byCount(a: CountedGroup, b: CountedGroup): number {
  return b.count - a.count || b.lastOccurrence - a.lastOccurrence || (a.signature < b.signature ? -1 : 1);
}

/** The form of an analysis outside the process. */
export function analysisToJson(analysis: Analysis): JsonObject {
  const { totalItems, patternGroups, errorDistribution, timeline } = analysis;
  return {
    total_items: totalItems,
    pattern_groups: patternGroups.map((group) => ({
      signature: group.signature,
      ...titleToJson(group.pattern),
      pattern: group.pattern,
      error_type: group.errorType,
      count: group.count,
      first_occurrence: toRfc3339(group.firstOccurrence),
      last_occurrence: toRfc3339(group.lastOccurrence),
      ...(group.state !== undefined && { state: group.state }),
      ...(group.isRegression !== undefined && { is_regression: group.isRegression }),
      sample_items: group.sampleItems.map(letterToJson),
    })),
    error_distribution: Object.fromEntries(errorDistribution),
    temporal_distribution: timeline.stretches.map(([at, count]) => [toRfc3339(at), count]),
    temporal_step_seconds: timeline.stepMs / 1000,
  };
}
