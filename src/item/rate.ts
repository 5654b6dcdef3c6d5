/** The rate limit that all workers of a queue share. The store keeps one integer per queue; this is its arithmetic. */

export interface Rate {
  /** More than 0; may be a fraction. */
  readonly perSecond: number;
}

export interface Allowance {
  /** How many items may be leased now. */
  readonly granted: number;
  /** When the next one may be leased; null when all were granted. */
  readonly nextAt: number | null;
}

/** The allowance that can accumulate while nothing is leased: a tenth of a second, and at least one item. */
const BURST_SECONDS = 0.1;

/** The error of storing microseconds and computing in milliseconds. */
const ROUNDING_MS = 0.002;
const PER_MS = 1000;

/**
 * `spentUntil` is the time up to which the rate is used up, in microseconds since the epoch, equal in every store; 0 for
 * a queue that was never worked. Asking changes nothing; `spend` returns the number after items were leased.
 */
export function allow(spentUntil: number, now: number, rate: Rate, wanted: number): Allowance {
  const periodMs = 1000 / rate.perSecond;
  const from = startOf(spentUntil, now, rate);
  const free = Math.floor((now - from + ROUNDING_MS) / periodMs);
  const granted = Math.max(0, Math.min(wanted, free));
  if (granted === wanted) return { granted, nextAt: null };
  return { granted, nextAt: Math.max(now + 1, Math.ceil(from + (granted + 1) * periodMs)) };
}

/** The number to store after `taken` items were leased. */
export function spend(spentUntil: number, now: number, rate: Rate, taken: number): number {
  return Math.round((startOf(spentUntil, now, rate) + (taken * 1000) / rate.perSecond) * PER_MS);
}

/**
 * Unused allowance beyond the burst is lost. A number in the future was written before the clock was set back: it must
 * not block the queue until then.
 */
function startOf(spentUntil: number, now: number, rate: Rate): number {
  const savedMs = Math.max(1000 / rate.perSecond, BURST_SECONDS * 1000);
  return Math.min(now, Math.max(spentUntil / PER_MS, now - savedMs));
}
