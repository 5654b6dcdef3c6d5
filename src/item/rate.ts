/** The rate limit that all workers of a queue share. The store keeps one integer per queue, which this file computes. */

export interface Rate {
  /** A positive number, possibly a fraction. */
  readonly perSecond: number;
}

export interface Allowance {
  /** How many items may be leased now. */
  readonly granted: number;
  /** When the next item may be leased; null if all requested items were granted. */
  readonly nextAt: number | null;
}

/** The burst size: unused allowance accumulates up to a tenth of a second, or one item if that is more. */
const BURST_SECONDS = 0.1;

/** Tolerates the rounding error between stored microseconds and computed milliseconds. */
const ROUNDING_MS = 0.002;
const PER_MS = 1000;

/**
 * Computes the allowance without using it; `spend` returns the number to store after a lease. `spentUntil` is
 * the time until which the rate is used up, in microseconds since the epoch in every store; 0 for a queue
 * that was never processed.
 */
export function allow(spentUntil: number, now: number, rate: Rate, wanted: number): Allowance {
  const periodMs = 1000 / rate.perSecond;
  const from = startOf(spentUntil, now, rate);
  const free = Math.floor((now - from + ROUNDING_MS) / periodMs);
  const granted = Math.max(0, Math.min(wanted, free));
  if (granted === wanted) return { granted, nextAt: null };
  return { granted, nextAt: Math.max(now + 1, Math.ceil(from + (granted + 1) * periodMs)) };
}

/** Returns the `spentUntil` to store after `taken` items were leased. */
export function spend(spentUntil: number, now: number, rate: Rate, taken: number): number {
  return Math.round((startOf(spentUntil, now, rate) + (taken * 1000) / rate.perSecond) * PER_MS);
}

/**
 * Drops unused allowance beyond the burst. A time in the future, stored before the clock was set back, must
 * not block the queue.
 */
function startOf(spentUntil: number, now: number, rate: Rate): number {
  const savedMs = Math.max(1000 / rate.perSecond, BURST_SECONDS * 1000);
  return Math.min(now, Math.max(spentUntil / PER_MS, now - savedMs));
}
