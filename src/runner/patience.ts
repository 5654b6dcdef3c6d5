/** Waits out a store that cannot be used for a while: a full disk, a lock, an outage. Said once, tried again with jitter. */
import { isStoreTrouble, type WorkError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 1000;
/** However patient it is told to be: whoever wants to end does not wait for ever. */
const ENDING_WAIT_MS = 30_000;

export interface PatienceObserver {
  trouble?(error: WorkError): void;
  recovered?(): void;
  /** Whether the runner is about to end. Default: it is not. */
  isEnding?(): boolean;
  /** How long it waits then. Default 30 s, for what has ended is still to be written. */
  readonly endingWaitMs?: number;
}

export class Patience {
  readonly #waitMsMax: number;
  readonly #clock: Clock;
  readonly #observer: PatienceObserver | undefined;

  constructor(waitMsMax: number, clock: Clock, observer?: PatienceObserver) {
    this.#waitMsMax = waitMsMax;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Tries again until it works or the time is over; then the error is the caller's. */
  async through<T>(action: () => Promise<T>): Promise<T> {
    let giveUpAt = this.#clock.now() + this.#waitMsMax;
    let pauseMs = PAUSE_MS_MIN;
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await action();
        if (tries > 1) this.#observer?.recovered?.();
        return result;
      } catch (error) {
        if (this.#observer?.isEnding?.())
          giveUpAt = Math.min(giveUpAt, this.#clock.now() + (this.#observer.endingWaitMs ?? ENDING_WAIT_MS));
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
