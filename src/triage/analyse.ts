/** Analyses letters or counted groups: their groups, error types and distribution over time. Pure. */
import type { GroupState } from "../item/group.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import { titleToJson } from "./title.ts";

/** The letters with the same signature. */
export interface PatternGroup {
  readonly signature: string;
  readonly pattern: string;
  readonly errorType: string;
  readonly count: number;
  readonly firstOccurrence: number;
  readonly lastOccurrence: number;
  /** The state of the group; absent when it was not loaded. */
  readonly state?: GroupState;
  readonly isRegression?: boolean;
  /** At most `SAMPLES_MAX` letters, newest first. */
  readonly sampleItems: readonly Letter[];
}

/** The failure statistics of a set of letters. */
export interface Analysis {
  readonly totalItems: number;
  /** Largest first. */
  readonly patternGroups: readonly PatternGroup[];
  /** Most frequent first. */
  readonly errorDistribution: ReadonlyMap<string, number>;
  readonly timeline: Timeline;
}

export type CountedGroup = Omit<PatternGroup, "sampleItems"> & { readonly sampleItems?: readonly Letter[] };

export const INTERVALS_MAX = 48;
export const SAMPLES_MAX = 3;

export class Analyst {
  readonly #groups = new Map<string, CountedGroup>();
  readonly #axis: TimeAxis;

  /** `stepMs` is the time resolution of the arrivals that will be added. Default: a minute. */
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

  /** Adds the counts to the group with the same signature, which may come from another job. */
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
      timeline: this.#axis.read(INTERVALS_MAX),
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

/** Converts an analysis to its JSON form. */
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
    temporal_distribution: timeline.intervals.map(([at, count]) => [toRfc3339(at), count]),
    temporal_step_seconds: timeline.stepMs / 1000,
  };
}

/** The start of an interval, and the number of events in it. */
export type Interval = readonly [at: number, count: number];

export interface Timeline {
  readonly stepMs: number;
  /** All intervals from the first to the last event, including empty ones. */
  readonly intervals: readonly Interval[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Interval lengths that are easy to read. */
const STEPS_MS: readonly number[] = [
  ...[1, 5, 10, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 4, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_MS),
];

/** The shortest step that divides the time from first to last into at most `intervalsMax` intervals. */
export function stepFor(firstAt: number, lastAt: number, intervalsMax: number): number {
  const fits = (stepMs: number) => intervalOf(lastAt, stepMs) - intervalOf(firstAt, stepMs) < intervalsMax;
  const step = STEPS_MS.find(fits);
  if (step !== undefined) return step;
  let years = 2 * 364 * DAY_MS;
  while (!fits(years)) years *= 2;
  return years;
}

function intervalOf(at: number, stepMs: number): number {
  return Math.floor(at / stepMs);
}

const KEPT_MAX = 4096;

/** Counts events per interval in bounded memory: when there are too many intervals, they are joined into longer ones. */
export class TimeAxis {
  #stepMs: number;
  #counts = new Map<number, number>();

  /** `stepMs` is the time resolution of the events. Default: a minute. */
  constructor(stepMs = MINUTE_MS) {
    this.#stepMs = stepMs;
  }

  add(at: number, count = 1): void {
    const interval = intervalOf(at, this.#stepMs);
    this.#counts.set(interval, (this.#counts.get(interval) ?? 0) + count);
    while (this.#counts.size > KEPT_MAX) this.#join();
  }

  read(intervalsMax: number): Timeline {
    const times = [...this.#counts.keys()].map((interval) => interval * this.#stepMs).sort((a, b) => a - b);
    const [first, last] = [times[0], times.at(-1)];
    if (first === undefined || last === undefined) return { stepMs: this.#stepMs, intervals: [] };
    const stepMs = Math.max(stepFor(first, last, intervalsMax), this.#stepMs);
    const sums = this.#joined(stepMs);
    const from = intervalOf(first, stepMs);
    const length = intervalOf(last, stepMs) - from + 1;
    const intervals = Array.from({ length }, (_, index): Interval => {
      return [(from + index) * stepMs, sums.get(from + index) ?? 0];
    });
    return { stepMs, intervals };
  }

  /** Joins intervals to the next longer step. Each step up to a day is a multiple of the previous, so no count is split. */
  #join(): void {
    const longerMs = STEPS_MS.find((step) => step > this.#stepMs && step <= DAY_MS) ?? this.#stepMs * 2;
    this.#counts = this.#joined(longerMs);
    this.#stepMs = longerMs;
  }

  #joined(stepMs: number): Map<number, number> {
    const sums = new Map<number, number>();
    for (const [interval, count] of this.#counts) {
      const joined = intervalOf(interval * this.#stepMs, stepMs);
      sums.set(joined, (sums.get(joined) ?? 0) + count);
    }
    return sums;
  }
}
