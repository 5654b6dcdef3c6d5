/**
 * Measures how long this runner has waited through an outage of the service that its items need. An outage begins with the
 * first failure of the class `throttled` or `outage`, and ends with the next success. Times are those of the store's clock.
 */
import type { Attempt } from "../item/item.ts";
import type { OutageSoFar } from "../retry/decide.ts";

/** A failure that comes so long after the queue could be worked again starts a new outage. */
const GAP_MS_MAX = 3_600_000;

interface Outage {
  readonly since: number;
  /** How often the queue was parked. */
  readonly rounds: number;
  /** Until when it is parked, or the time of the last failure. */
  readonly until: number;
}

export class OutageClock {
  #outage: Outage | null = null;

  /** How far the outage has come for an item that has failed because of it since the given time. */
  soFar(now: number, itemSince = now): OutageSoFar {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    const waitedMs = Math.max(0, now - Math.min(since, itemSince));
    return { waitedMs, round: Math.max(1, rounds + (now >= until ? 1 : 0)) };
  }

  /** An attempt failed because of the outage. */
  failed(now: number): void {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    this.#outage = { since, rounds, until: Math.max(until, now) };
  }

  /** The queue waits. `isReset`: until a known time, after which a failure is another outage. */
  parked(now: number, until: number, isReset: boolean): void {
    const { since = now, until: before = now } = this.#current(now) ?? {};
    this.#outage = isReset
      ? { since: until, rounds: 0, until }
      : { since, rounds: this.soFar(now).round, until: Math.max(before, until) };
  }

  /** An attempt succeeded. */
  over(): void {
    this.#outage = null;
  }

  #current(now: number): Outage | null {
    const outage = this.#outage;
    return outage !== null && now - outage.until <= GAP_MS_MAX ? outage : null;
  }
}

/** Since when the item itself has failed because of an outage: from its last attempts, without a long gap between them. */
export function failingSince(attempts: readonly Attempt[], now: number): number {
  let since = now;
  for (const { failure, outcome, startedAt, endedAt = startedAt } of attempts.toReversed()) {
    if (outcome === "running" || outcome === "released") continue;
    const isOutage = failure?.errorClass === "throttled" || failure?.errorClass === "outage";
    if (!isOutage || since - endedAt > GAP_MS_MAX) return since;
    since = Math.min(since, endedAt);
  }
  return since;
}
