/**
 * Decides how many items a runner leases beyond its slots, so that the launcher can start the next command while the store
 * commits. Only short commands are leased ahead: as many as end in a few milliseconds.
 */

import type { Policy } from "../retry/policy.ts";
import type { Clock } from "../std/clock.ts";
import type { RunOptions } from "./run-options.ts";

/** The work to lease ahead, as time. Longer than gathering results and a commit take together. */
const AHEAD_MS = 50;
export const AHEAD_MAX = 128;
/** If no attempt ends for this long, nothing is leased ahead. */
const STALE_MS = 100;
/** The weight of the last interval in the measured rate. */
const WEIGHT = 0.3;

/** A command that has waited this long is released, because another runner may be free. */
const WAIT_MS_MAX = 500;

interface ReadAheadOptions {
  readonly clock: Clock;
  readonly run: Pick<RunOptions, "operationId" | "ownRate" | "commandQueue">;
  /** The current settings of the queue. */
  readonly settings: () => Pick<RunOptions, "policy" | "rate">;
  /** When the command that has waited longest was leased; null if none waits. */
  readonly waitingSince: () => number | null;
}

export class ReadAhead {
  readonly #options: ReadAheadOptions;
  readonly #clock: Clock;
  #cancelCheck: (() => void) | undefined;
  #since: number;
  #ended = 0;
  /** Ended attempts per millisecond. */
  #rate = 0;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#since = this.#clock.monotonicNow();
  }

  attemptEnded(): void {
    this.#ended += 1;
  }

  /** Returns how many items may be leased ahead now. */
  depth(): number {
    const now = this.#clock.monotonicNow();
    const elapsedMs = now - this.#since;
    if (elapsedMs > 0 && this.#ended > 0) {
      this.#rate += (this.#ended / elapsedMs - this.#rate) * WEIGHT;
      this.#since = now;
      this.#ended = 0;
    } else if (elapsedMs > STALE_MS) {
      this.#rate = 0;
      this.#since = now;
    }
    return this.#isAllowed() ? Math.min(AHEAD_MAX, Math.floor(this.#rate * AHEAD_MS)) : 0;
  }

  /** Releases commands that do not start soon. Call after leasing. */
  limitWaits(): void {
    if (this.#cancelCheck !== undefined || this.#options.waitingSince() === null) return;
    this.#cancelCheck = this.#clock.after(WAIT_MS_MAX / 2, () => {
      this.#cancelCheck = undefined;
      const since = this.#options.waitingSince();
      if (since !== null && Math.abs(this.#clock.now() - since) >= WAIT_MS_MAX) this.recall();
      this.limitWaits();
    });
  }

  /** Releases all commands that have not started. */
  recall(): void {
    this.#options.run.commandQueue?.recall();
  }

  end(): void {
    this.#cancelCheck?.();
  }

  #isAllowed(): boolean {
    const { operationId, ownRate } = this.#options.run;
    const { policy, rate } = this.#options.settings();
    const isLimited = operationId !== undefined || rate !== undefined || ownRate !== undefined;
    return !isLimited && allowsReadAhead(policy);
  }
}

/** Whether items may be leased ahead: not if a failure may stop or pause the queue, because items leased ahead would still run. */
export function allowsReadAhead({ breaker, maxFailures, failureThreshold, ...policy }: Policy): boolean {
  const mayStop = maxFailures !== undefined || failureThreshold !== undefined || !policy.continueOnFailure;
  return breaker === undefined && !mayStop && policy.onItemFailure !== "stop" && policy.onOutage !== "wait";
}
