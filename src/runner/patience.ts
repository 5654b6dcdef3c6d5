/** Waits out a store that cannot be used for a while: a full disk, a lock. Said once, tried again with jitter. */
import { isStoreTrouble, type WorkError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 1000;

export class Patience {
  readonly #waitMsMax: number;
  readonly #clock: Clock;
  readonly #observer: { trouble?(error: WorkError): void; recovered?(): void } | undefined;

  constructor(
    waitMsMax: number,
    clock: Clock,
    observer?: { trouble?(error: WorkError): void; recovered?(): void },
  ) {
    this.#waitMsMax = waitMsMax;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Tries again until it works or the time is over; then the error is the caller's. */
  async through<T>(action: () => Promise<T>): Promise<T> {
    const giveUpAt = this.#clock.now() + this.#waitMsMax;
    let pauseMs = PAUSE_MS_MIN;
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await action();
        if (tries > 1) this.#observer?.recovered?.();
        return result;
      } catch (error) {
        if (!isStoreTrouble(error) || isHopeless(error) || this.#clock.now() >= giveUpAt) throw error;
        if (tries === 1) this.#observer?.trouble?.(error);
        await this.#clock.sleep(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
      }
    }
  }
}

/** Waiting does not mend these. */
function isHopeless(error: WorkError): boolean {
  return error.code === "store_corrupt" || error.code === "store_readonly";
}
