/**
 * Decides when a runner polls its queue: immediately while more items are due, otherwise at the next due time
 * or notification.
 */
import type { SettleAndLeaseResult } from "../engine.ts";
import { allow, type Rate, spend } from "../item/rate.ts";
import type { Clock } from "../std/clock.ts";

/** The poll interval when the store sends no notifications. */
const POLL_MS = 500;
/** The poll interval when the store sends notifications, in case one was missed. */
const NOTIFIED_POLL_MS = 5000;
/** With a rate limit, waits at least this long between polls, so that several items are leased together. */
const RATE_GATHER_MS = 20;

interface PollScheduleOptions {
  readonly clock: Clock;
  readonly ownRate: Rate | undefined;
  /** Whether the store notifies about changes by other processes. */
  readonly isNotified: boolean;
}

/** A lease request, and whether this runner's state of the shared breaker was current. */
interface LeaseRequest {
  readonly wanted: number;
  readonly isCurrent: boolean;
  /** Whether the requested items are probes of a half-open breaker. */
  readonly isProbe: boolean;
  readonly rate: Rate | undefined;
}

export class PollSchedule {
  readonly #clock: Clock;
  readonly #ownRate: Rate | undefined;
  readonly pollMs: number;
  #leaseAt = 0;
  #restUntil = 0;
  #notifications = 0;
  #storeAheadMs = 0;
  #spentUntil = 0;
  #nextDueAt: number | null = null;

  constructor({ clock, ownRate, isNotified }: PollScheduleOptions) {
    this.#clock = clock;
    this.#ownRate = ownRate;
    this.pollMs = isNotified ? NOTIFIED_POLL_MS : POLL_MS;
  }

  /** The store's clock, estimated from its last answer. */
  get storeNow(): number {
    return this.#clock.now() + this.#storeAheadMs;
  }

  /**
   * If the remaining wait is longer than `pollMs`, the clock was set back, so the runner polls immediately.
   */
  get leaseInMs(): number {
    const leftMs = Math.max(this.#leaseAt, this.#restUntil) - this.#clock.now();
    return leftMs > this.pollMs ? 0 : Math.max(0, leftMs);
  }

  get nextDueAt(): number | null {
    return this.#nextDueAt;
  }

  /**
   * Returns how many of the wanted items this runner's own rate allows. If it allows none, schedules the next
   * poll.
   */
  allowed(wanted: number): number {
    if (this.#ownRate === undefined) return wanted;
    const now = this.#clock.now();
    const { granted, nextAt } = allow(this.#spentUntil, now, this.#ownRate, wanted);
    if (granted === 0) this.#nextDueAt = null;
    if (granted === 0 && nextAt !== null) this.#plan(Math.max(RATE_GATHER_MS, nextAt - now));
    return granted;
  }

  pollNow(): void {
    this.#notifications += 1;
    this.#leaseAt = 0;
    this.#nextDueAt = null;
  }

  /** The item of an ended attempt may be ready again and due before the others. */
  attemptEnded(): void {
    this.#nextDueAt = null;
  }

  dueIn(ms: number): void {
    this.#leaseAt = Math.min(this.#leaseAt, this.#clock.now() + ms);
  }

  /** Schedules the next poll when nothing was admitted. Another worker may change that earlier, so it polls regularly. */
  retryAt(storeTime: number | null): void {
    this.#nextDueAt = storeTime;
    this.#plan(Math.min(POLL_MS, storeTime === null ? POLL_MS : storeTime - this.storeNow));
  }

  /** Returns a value for `answered`, to detect notifications that arrive during the request. */
  beginRequest(): number {
    return this.#notifications;
  }

  /** If fewer items than wanted were leased, the next poll waits until an item is due or a notification arrives. */
  answered(begun: number, { leased, nextDueAt, now }: SettleAndLeaseResult, request: LeaseRequest): void {
    const { wanted, isCurrent, isProbe, rate } = request;
    this.#storeAheadMs = now - this.#clock.now();
    if (wanted === 0) return;
    this.#nextDueAt = null;
    // Writing the breaker notifies all workers. Without a pause, probes that find nothing would notify each other forever.
    if (isProbe && isCurrent && leased.length === 0) this.#restUntil = this.#clock.now() + POLL_MS;
    if (!isCurrent) this.#leaseAt = 0;
    if (this.#ownRate)
      this.#spentUntil = spend(this.#spentUntil, this.#clock.now(), this.#ownRate, leased.length);
    if (!isCurrent || leased.length === wanted || this.#notifications !== begun) return;
    this.#nextDueAt = nextDueAt;
    const dueInMs = nextDueAt === null ? this.pollMs : nextDueAt - now;
    this.#plan(rate === undefined ? dueInMs : Math.max(RATE_GATHER_MS, dueInMs));
  }

  #plan(ms: number): void {
    this.#leaseAt = this.#clock.now() + Math.min(this.pollMs, Math.max(0, ms));
  }
}

export class WakeSignal {
  #notified = false;
  #answer: (() => void) | null = null;

  notify(): void {
    this.#notified = true;
    const answer = this.#answer;
    if (answer === null) return;
    this.#answer = null;
    setImmediate(answer);
  }

  /** Resolves at the next notification, immediately if there was one since the last wait, or after `ms`. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (!this.#notified) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(Math.max(1, ms), () => {
          this.#answer = null;
          resolve();
        });
        this.#answer = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#notified = false;
  }
}
