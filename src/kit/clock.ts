/** Time, injected everywhere so that tests decide what time it is. Milliseconds since the epoch. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. It never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, TIMER_MS_MAX));
      signal?.addEventListener("abort", done, { once: true });
    }),
};

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
