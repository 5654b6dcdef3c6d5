/** When a runner asks its queue for more: at once while there is more, else when something is due, rings, or may have changed. */
import type { Exchanged } from "../engine.ts";
import { allow, type Rate, spend } from "../item/rate.ts";
import type { Clock } from "../kit/clock.ts";

/** How often other processes' changes are looked for when nothing tells of them. */
const POLL_MS = 500;
/** And when something does, in case that it was missed. */
const WOKEN_POLL_MS = 5000;
/** A rate is asked for a few items at a time; what was not used meanwhile is not lost. */
const RATE_GATHER_MS = 20;

export interface LeaseTimesOptions {
  readonly clock: Clock;
  /** What this runner alone may begin. */
  readonly ownRate?: Rate;
  /** Whether the store rings for what other processes do. */
  readonly isWoken: boolean;
}

/** What was asked for, and whether the queue's gate let it through. */
interface Asked {
  readonly wanted: number;
  readonly isThrough: boolean;
  /** Whether they were probes of a half-open breaker. */
  readonly isProbe: boolean;
  readonly rate: Rate | undefined;
}

export class LeaseTimes {
  readonly #clock: Clock;
  readonly #ownRate: Rate | undefined;
  readonly pollMs: number;
  #leaseAt = 0;
  #restUntil = 0;
  #rings = 0;
  #storeAheadMs = 0;
  #spentUntil = 0;
  #nextDueAt: number | null = null;

  constructor({ clock, ownRate, isWoken }: LeaseTimesOptions) {
    this.#clock = clock;
    this.#ownRate = ownRate;
    this.pollMs = isWoken ? WOKEN_POLL_MS : POLL_MS;
  }

  /** The store's clock, as far as we know it. */
  get storeNow(): number {
    return this.#clock.now() + this.#storeAheadMs;
  }

  /** A longer wait than was ever planned means that the clock was put back. */
  get leaseInMs(): number {
    const leftMs = Math.max(this.#leaseAt, this.#restUntil) - this.#clock.now();
    return leftMs > this.pollMs ? 0 : Math.max(0, leftMs);
  }

  /** When something may be begun, by the store's clock; null unless the store or the gate has said so and nothing came since. */
  get nextDueAt(): number | null {
    return this.#nextDueAt;
  }

  /** How many of the wanted this runner's own rate allows; when none, it is asked again in time. */
  allowed(wanted: number): number {
    if (this.#ownRate === undefined) return wanted;
    const now = this.#clock.now();
    const { granted, nextAt } = allow(this.#spentUntil, now, this.#ownRate, wanted);
    if (granted === 0) this.#nextDueAt = null;
    if (granted === 0 && nextAt !== null) this.#plan(Math.max(RATE_GATHER_MS, nextAt - now));
    return granted;
  }

  now(): void {
    this.#rings += 1;
    this.#leaseAt = 0;
    this.#nextDueAt = null;
  }

  /** An attempt has ended: its item may be in line again, and due before the others. */
  ended(): void {
    this.#nextDueAt = null;
  }

  /** Something will be due then. */
  dueIn(ms: number): void {
    this.#leaseAt = Math.min(this.#leaseAt, this.#clock.now() + ms);
  }

  /** The gate is closed until then, by the store's clock, or until somebody else opens it. */
  againAt(storeTime: number | null): void {
    this.#nextDueAt = storeTime;
    this.#plan(Math.min(POLL_MS, storeTime === null ? POLL_MS : storeTime - this.storeNow));
  }

  /** To be handed to `answered`: what rings meanwhile is not lost. */
  asked(): number {
    return this.#rings;
  }

  /** When fewer came than were wanted, there is no use in asking before something is due or has changed. */
  answered(asked: number, { leased, nextDueAt, now }: Exchanged, request: Asked): void {
    const { wanted, isThrough, isProbe, rate } = request;
    this.#storeAheadMs = now - this.#clock.now();
    if (wanted === 0) return;
    this.#nextDueAt = null;
    // A gate that is written rings. Without a rest, probes that find nothing would ring for one another for ever.
    if (isProbe && isThrough && leased.length === 0) this.#restUntil = this.#clock.now() + POLL_MS;
    if (!isThrough) this.#leaseAt = 0;
    if (this.#ownRate)
      this.#spentUntil = spend(this.#spentUntil, this.#clock.now(), this.#ownRate, leased.length);
    if (!isThrough || leased.length === wanted || this.#rings !== asked) return;
    this.#nextDueAt = nextDueAt;
    const dueInMs = nextDueAt === null ? this.pollMs : nextDueAt - now;
    this.#plan(rate === undefined ? dueInMs : Math.max(RATE_GATHER_MS, dueInMs));
  }

  #plan(ms: number): void {
    this.#leaseAt = this.#clock.now() + Math.min(this.pollMs, Math.max(0, ms));
  }
}
