/**
 * When things happened, in stretches of equal length counted from the epoch. However many there are and however far
 * apart: when the stretches become too many, they are joined into longer ones. Nothing is lost but the exact minute.
 */

/** The start of a stretch, and how many fell into it. */
export type Stretch = readonly [at: number, count: number];

export interface Timeline {
  /** How long a stretch is. */
  readonly stepMs: number;
  /** From the first to the last that has something, those between them too. */
  readonly stretches: readonly Stretch[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Lengths that people think in. */
const STEPS_MS: readonly number[] = [
  ...[1, 5, 10, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 4, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_MS),
];

/** The shortest step with which the time from the first to the last takes at most so many stretches. */
export function stepFor(firstAt: number, lastAt: number, stretchesMax: number): number {
  const fits = (stepMs: number) => stretchOf(lastAt, stepMs) - stretchOf(firstAt, stepMs) < stretchesMax;
  const step = STEPS_MS.find(fits);
  if (step !== undefined) return step;
  let years = 2 * 364 * DAY_MS;
  while (!fits(years)) years *= 2;
  return years;
}

function stretchOf(at: number, stepMs: number): number {
  return Math.floor(at / stepMs);
}

/** How many stretches are kept apart at most. */
const KEPT_MAX = 4096;

/** Counts what happens, in bounded memory. */
export class TimeAxis {
  #stepMs: number;
  #counts = new Map<number, number>();

  /** The step of what it will be given, when that comes in stretches already. */
  constructor(stepMs = MINUTE_MS) {
    this.#stepMs = stepMs;
  }

  add(at: number, count = 1): void {
    const stretch = stretchOf(at, this.#stepMs);
    this.#counts.set(stretch, (this.#counts.get(stretch) ?? 0) + count);
    while (this.#counts.size > KEPT_MAX) this.#join();
  }

  /** At most so many stretches. */
  read(stretchesMax: number): Timeline {
    const times = [...this.#counts.keys()].map((stretch) => stretch * this.#stepMs).sort((a, b) => a - b);
    const [first, last] = [times[0], times.at(-1)];
    if (first === undefined || last === undefined) return { stepMs: this.#stepMs, stretches: [] };
    const stepMs = Math.max(stepFor(first, last, stretchesMax), this.#stepMs);
    const sums = new Map<number, number>();
    for (const [stretch, count] of this.#counts) {
      const joined = stretchOf(stretch * this.#stepMs, stepMs);
      sums.set(joined, (sums.get(joined) ?? 0) + count);
    }
    const from = stretchOf(first, stepMs);
    const length = stretchOf(last, stepMs) - from + 1;
    const stretches = Array.from({ length }, (_, index): Stretch => {
      return [(from + index) * stepMs, sums.get(from + index) ?? 0];
    });
    return { stepMs, stretches };
  }

  /** The steps up to a day are made of each other, so that joining twice is the same as joining once. */
  #join(): void {
    const longerMs = STEPS_MS.find((step) => step > this.#stepMs && step <= DAY_MS) ?? this.#stepMs * 2;
    const joined = new Map<number, number>();
    for (const [stretch, count] of this.#counts) {
      const longer = stretchOf(stretch * this.#stepMs, longerMs);
      joined.set(longer, (joined.get(longer) ?? 0) + count);
    }
    this.#counts = joined;
    this.#stepMs = longerMs;
  }
}
