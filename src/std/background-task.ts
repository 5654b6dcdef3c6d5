/**
 * Runs an action in the background again and again, never twice at a time: a while after it was woken, and at the times that the
 * action itself asks for. Its errors never reach the caller; each reason is reported once.
 */
import { isStoreTrouble } from "../errors.ts";
import type { Clock } from "./clock.ts";

export interface BackgroundTaskOptions {
  readonly clock: Clock;
  /** One round. Returns after how many milliseconds the next one is due; undefined: when the task is woken. */
  readonly run: (round: { readonly isLast: boolean }) => Promise<number | undefined>;
  /** How long a wake waits, so that many of them cost one round. Also how long a failed round waits for the next. */
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

  /** Plans a round, unless one is due earlier. A round that is running is followed by another. */
  wake(afterMs = this.#options.wakeMs()): void {
    this.#wasWoken = true;
    const { clock } = this.#options;
    const at = clock.now() + afterMs;
    if (this.#isStopped || this.#round !== undefined || this.#dueAt <= at) return;
    this.#cancelTimer();
    this.#dueAt = at;
    this.#cancelTimer = clock.after(afterMs, () => this.#begin());
  }

  /** Waits for the round that is running, then makes the last one. Never rejects. */
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

  /** While the work goes on, the runner reports a store that cannot be used. */
  #report(error: unknown, { isLast }: { readonly isLast: boolean }): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.#reported || (isStoreTrouble(error) && !isLast)) return;
    this.#reported = reason;
    this.#options.onNotice(this.#options.errorText(reason));
  }
}
