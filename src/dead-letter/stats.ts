/** Computes statistics of the dead letter queue: its size, age, growth, and the success of redrives. */
import type { Engine } from "../engine.ts";
import type { JsonObject } from "../std/json.ts";

/** The statistics of one queue, or of several together. */
export interface LetterStats {
  /** Waiting letters: dead, or being redriven. */
  readonly size: number;
  /** Redriven letters whose items have not finished. */
  readonly onTheirWay: number;
  /** Letters whose item finally succeeded and whose record is still stored. */
  readonly resolved: number;
  readonly discarded: number;
  /** `purged` counts letters deleted by a person or by retention, `evicted` those deleted by the size limit. */
  readonly purged: number;
  readonly evicted: number;
  /** The time since the first failure of the oldest waiting letter; null if none is waiting. */
  readonly oldestAgeMs: number | null;
  /** Letters that arrived in this period, whatever their current state. */
  readonly arrivedLastHour: number;
  readonly arrivedLastDay: number;
  readonly redriveSucceeded: number;
  readonly redriveFailed: number;
}

export interface JobLetterStats extends LetterStats {
  readonly jobId: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Reads the store's counters; does not scan letters. */
export async function readLetterStats(engine: Engine, queue: string): Promise<JobLetterStats> {
  const counts = await engine.count(queue);
  const now = await engine.now();
  const discarded = await engine.listLetters({ queue, states: ["discarded"], limit: 0 });
  return {
    jobId: queue,
    size: counts.letters,
    onTheirWay: counts.letters - counts.dead,
    resolved: counts.resolved,
    discarded: discarded.total, // not counts.discarded, which includes purged items
    purged: counts.purged,
    evicted: counts.evicted,
    oldestAgeMs: counts.letters === 0 ? null : await readOldestAge(engine, queue, now),
    ...(await readArrivals(engine, queue, now)),
    ...(await readRedrives(engine, queue)),
  };
}

async function readOldestAge(engine: Engine, queue: string, now: number): Promise<number | null> {
  const failedAt = await engine.earliestFailure(queue);
  return failedAt === null ? null : Math.max(0, now - failedAt);
}

async function readArrivals(engine: Engine, queue: string, now: number) {
  const arrivals = await engine.listArrivals({ queue, bucketMs: MINUTE_MS, since: now - DAY_MS });
  const since = (from: number) =>
    arrivals.reduce((sum, { at, ever }) => (at + MINUTE_MS > from ? sum + ever : sum), 0);
  return { arrivedLastHour: since(now - HOUR_MS), arrivedLastDay: since(now - DAY_MS) };
}

async function readRedrives(engine: Engine, queue: string) {
  const redrives = (await engine.listOperations({ queue })).filter(({ kind }) => kind === "redrive");
  return {
    redriveSucceeded: redrives.reduce((sum, { succeeded }) => sum + succeeded, 0),
    redriveFailed: redrives.reduce((sum, { failed }) => sum + failed, 0),
  };
}

export function sumOfStats(all: readonly LetterStats[]): LetterStats {
  const sum: Record<keyof Numbers, number> = { ...NO_NUMBERS };
  for (const one of all) for (const name of NUMBERS) sum[name] += one[name];
  const ages = all.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? []);
  return { ...sum, oldestAgeMs: ages.length === 0 ? null : Math.max(...ages) };
}

type Numbers = Omit<LetterStats, "oldestAgeMs">;

const NO_NUMBERS: Numbers = {
  ...{ size: 0, onTheirWay: 0, resolved: 0, discarded: 0, purged: 0, evicted: 0 },
  ...{ arrivedLastHour: 0, arrivedLastDay: 0, redriveSucceeded: 0, redriveFailed: 0 },
};
const NUMBERS = Object.keys(NO_NUMBERS) as readonly (keyof Numbers)[];

export const NO_LETTERS: LetterStats = { ...NO_NUMBERS, oldestAgeMs: null };

export function hadLetters(stats: LetterStats): boolean {
  return NUMBERS.some((name) => stats[name] > 0);
}

/** The share of finished redrives that succeeded; null if none has finished. */
export function redriveSuccessRate({ redriveSucceeded, redriveFailed }: LetterStats): number | null {
  const ended = redriveSucceeded + redriveFailed;
  return ended === 0 ? null : redriveSucceeded / ended;
}

/** The JSON form. `itemsMax` is the limit for one job; null means no limit. */
export function letterStatsToJson(stats: LetterStats, itemsMax?: number | null): JsonObject {
  return {
    size: stats.size,
    on_their_way: stats.onTheirWay,
    resolved: stats.resolved,
    discarded: stats.discarded,
    purged: stats.purged,
    evicted: stats.evicted,
    oldest_age_seconds: stats.oldestAgeMs === null ? null : Math.floor(stats.oldestAgeMs / 1000),
    arrived_last_hour: stats.arrivedLastHour,
    arrived_last_24_hours: stats.arrivedLastDay,
    redrives_succeeded: stats.redriveSucceeded,
    redrives_failed: stats.redriveFailed,
    redrive_success_rate: redriveSuccessRate(stats),
    ...(itemsMax !== undefined && { max_items: itemsMax, capacity_used_percent: percentOf(stats, itemsMax) }),
  };
}

export function percentOf({ size }: LetterStats, itemsMax: number | null): number | null {
  if (itemsMax === null) return null;
  return itemsMax === 0 ? 100 : Math.round((size / itemsMax) * 1000) / 10;
}
