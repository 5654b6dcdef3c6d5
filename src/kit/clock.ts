/** Time, injected everywhere so that tests decide what time it is. Milliseconds since the epoch. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls the action once after `ms`, unless the function that it returns is called before. */
  after(ms: number, action: () => void): () => void;
  /** Resolves after `ms`, or at once when the signal is aborted. It never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

/** `sleep` for a clock that has `after`. */
export function sleepOn(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(ms, wake);
    signal?.addEventListener("abort", wake, { once: true });
  });
}

/** Node's timers overflow past this and fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** RFC 3339 in UTC with milliseconds, the form of every time that leaves the process. */
export function toRfc3339(ms: number): string {
  return new Date(ms).toISOString();
}

/** Reads an RFC 3339 time; undefined when it is none. */
export function fromRfc3339(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
