/**
 * Runs an action repeatedly in the background, never twice at a time: shortly after each wake-up, and at the times that the
 * action itself returns. Errors never reach the caller; consecutive equal errors are reported once.
 */
import { isStoreTrouble } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { messageOf } from "./thrown.ts";

export interface BackgroundTaskOptions {
  readonly clock: Clock;
  /** Runs one round. Returns the delay until the next one, or undefined to wait for a wake-up. */
  readonly run: (round: { readonly isLast: boolean }) => Promise<number | undefined>;
  /** The delay after a wake-up, so that many wake-ups share one round. Also the delay after a failed round. */
  readonly wakeMs: () => number;
  readonly onNotice: (notice: string) => void;
  readonly errorText: (reason: string) => string;
}

export class BackgroundTask {
  readonly #options: BackgroundTaskOptions;
  #cancelTimer: () => void = () => undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #round: Promise<void> | undefined;
  #wasWoken = false;
  #isStopped = false;
  #reported = "";

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
  }

  /** Schedules a round, unless one is due earlier. During a round, another one is scheduled after it. */
  wake(afterMs = this.#options.wakeMs()): void {
    this.#wasWoken = true;
    const { clock } = this.#options;
    const at = clock.now() + afterMs;
    if (this.#isStopped || this.#round !== undefined || this.#dueAt <= at) return;
    this.#cancelTimer();
    this.#dueAt = at;
    this.#cancelTimer = clock.after(afterMs, () => this.#begin());
  }

  /** Waits for the current round, then runs the last one. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#round;
    await this.#attempt({ isLast: true });
  }

  #begin(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#wasWoken = false;
    this.#round = this.#attempt({ isLast: false }).then((nextMs) => {
      this.#round = undefined;
      const wakeMs = this.#wasWoken ? this.#options.wakeMs() : Number.POSITIVE_INFINITY;
      const waitMs = Math.min(nextMs ?? Number.POSITIVE_INFINITY, wakeMs);
      if (Number.isFinite(waitMs)) this.wake(waitMs);
    });
  }

  async #attempt(round: { readonly isLast: boolean }): Promise<number | undefined> {
    try {
      const nextMs = await this.#options.run(round);
      this.#reported = "";
      return nextMs;
    } catch (error) {
      this.#report(error, round);
      return this.#options.wakeMs();
    }
  }

  /** Skips store errors except in the last round, because the runner reports them. */
  #report(error: unknown, { isLast }: { isLast: boolean }): void {
    const reason = messageOf(error);
    if (reason === this.#reported || (isStoreTrouble(error) && !isLast)) return;
    this.#reported = reason;
    this.#options.onNotice(this.#options.errorText(reason));
  }
}
