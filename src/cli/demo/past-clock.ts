/**
 * A clock that runs behind the system clock, so that the demo's failures are spread over a day. Timers run at
 * their real speed.
 */
import { type Clock, sleepOn, systemClock } from "../../std/clock.ts";

const HOUR_MS = 3_600_000;

/** Added to uptimes, which would be negative on a machine that was started less than a day ago. */
const AHEAD_MS = 48 * HOUR_MS;

export interface PastClock extends Clock {
  /**
   * Moves the clock to this many hours before now. Uptimes move with it, so that this looks like elapsed
   * time, not a clock change.
   */
  moveTo(hoursAgo: number): void;
}

export function pastClock(): PastClock {
  let behindMs = 0;
  const { after } = systemClock;
  return {
    now: () => systemClock.now() - behindMs,
    monotonicNow: () => systemClock.monotonicNow() + AHEAD_MS - behindMs,
    uptimeNow: () => systemClock.uptimeNow() + AHEAD_MS - behindMs,
    after,
    sleep: (ms, signal) => sleepOn({ after }, ms, signal),
    moveTo: (hoursAgo) => {
      behindMs = Math.round(hoursAgo * HOUR_MS);
    },
  };
}
