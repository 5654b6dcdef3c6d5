/** Counts in equal intervals, as charts draw them. */
export interface Series {
  readonly counts: readonly number[];
  /** When the first interval begins, in milliseconds since the epoch. */
  readonly since: number;
  readonly stepMs: number;
}

const MINUTE_MS = 60_000;
const STEPS_MS = [1, 5, 15, 60, 360, 1440, 10_080].map((minutes) => minutes * MINUTE_MS);
const BARS_MAX = 40;

/** Counts times in intervals that are short enough for about forty bars; null without times. */
export function seriesOf(times: readonly number[]): Series | null {
  const known = times.filter((time) => !Number.isNaN(time));
  if (known.length === 0) return null;
  const first = known.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  const last = known.reduce((most, time) => Math.max(most, time), 0);
  const stepMs = STEPS_MS.find((step) => (last - first) / step < BARS_MAX) ?? (last - first) / BARS_MAX;
  const since = Math.floor(first / stepMs) * stepMs;
  const counts = Array.from({ length: Math.floor((last - since) / stepMs) + 1 }, () => 0);
  for (const time of known) {
    const index = Math.floor((time - since) / stepMs);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return { counts, since, stepMs };
}
