/** Retries store operations while the store is unusable: a full disk, a lock or an outage. */
import { hostname } from "node:os";
import type { Engine } from "../engine.ts";
import { isStoreTrouble, type RedriveError } from "../errors.ts";
import type { Clock } from "../std/clock.ts";

/** How long a runner waits for its store by default. */
export const STORE_WAIT_MS = 30_000;
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 1000;
/** The wait limit of a runner that is about to end. */
const ENDING_WAIT_MS = 30_000;

export interface StoreRetryObserver {
  /** Called at the first failure of an operation. */
  trouble?(error: RedriveError): void;
  recovered?(): void;
  /** Whether the runner is about to end. Default false. */
  isEnding?(): boolean;
  /** How long operations are retried while the runner is ending. Default 30 s, so that results can still be written. */
  readonly endingWaitMs?: number;
}

export class StoreRetry {
  readonly #waitMsMax: number;
  readonly #clock: Clock;
  readonly #observer: StoreRetryObserver | undefined;

  constructor(waitMsMax: number, clock: Clock, observer?: StoreRetryObserver) {
    this.#waitMsMax = waitMsMax;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Retries the action with backoff and jitter until it succeeds or the time is over; then throws its error. */
  async run<T>(action: () => Promise<T>): Promise<T> {
    let giveUpAt = this.#clock.monotonicNow() + this.#waitMsMax;
    let pauseMs = PAUSE_MS_MIN;
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await action();
        if (tries > 1) this.#observer?.recovered?.();
        return result;
      } catch (error) {
        const { isEnding, endingWaitMs = ENDING_WAIT_MS } = this.#observer ?? {};
        const now = this.#clock.monotonicNow();
        if (isEnding?.()) giveUpAt = Math.min(giveUpAt, now + endingWaitMs);
        if (!isStoreTrouble(error) || isHopeless(error) || now >= giveUpAt) throw error;
        // Waiting without a limit makes sense if the store is busy or full, but not if its file was removed.
        if (error.isStoreGone && this.#waitMsMax === Number.POSITIVE_INFINITY) throw error;
        if (tries === 1) this.#observer?.trouble?.(error);
        await this.#clock.sleep(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
      }
    }
  }
}

function isHopeless(error: RedriveError): boolean {
  return error.code === "store_corrupt" || error.code === "store_readonly";
}

/** Records an event of the queue when the store works again after a failure. The work never waits for it. */
export class OutageLog {
  readonly #engine: Engine;
  readonly #queue: string;
  #message = "";
  #writing: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, queue: string) {
    this.#engine = engine;
    this.#queue = queue;
  }

  failed(error: RedriveError): void {
    this.#message = error.message;
  }

  recovered(storeRetry: StoreRetry): void {
    const data = { message: this.#message, machine: hostname() };
    const event = { type: "store_write_failed", data } as const;
    const written = storeRetry.run(() => this.#engine.changeJob(this.#queue, { event }));
    this.#writing = Promise.all([this.#writing, written]).then(() => undefined);
    this.#writing.catch(() => undefined); // `flush` reports the error
  }

  /** Resolves when all events are written, and rejects when one could not be. */
  async flush(): Promise<void> {
    await this.#writing;
  }
}
