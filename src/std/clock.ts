/** The clock, injected everywhere so that tests can control time. All times are milliseconds since the epoch. */
import { uptime } from "node:os";

export interface Clock {
  /** Milliseconds since the epoch. The system time can be set forwards and backwards. */
  now(): number;
  /** Milliseconds since an arbitrary time. Never decreases; may stop while the machine sleeps. */
  monotonicNow(): number;
  /** Milliseconds since the machine started, including sleep. Cannot be set. Reading it is a system call. */
  uptimeNow(): number;
  /** Calls the action once after `ms`, unless the returned function is called before. */
  after(ms: number, action: () => void): () => void;
  /** Resolves after `ms`, or when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
  uptimeNow: () => uptime() * 1000,
  after: (ms, action) => {
    const timer = setTimeout(action, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

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

/** Node's timers overflow beyond this value and fire immediately. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Formats a time as RFC 3339 in UTC with milliseconds, the format of every time in output and files. */
export function toRfc3339(ms: number): string {
  if (!Number.isInteger(ms) || Math.abs(ms) > DATE_MS_MAX) return new Date(ms).toISOString();
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay.number)
    lastDay = { number: day, date: new Date(day * DAY_MS).toISOString().slice(0, -13) };
  const rest = ms - day * DAY_MS;
  const minutes = Math.floor(rest / 60_000);
  const [hour, minute] = [PADDED[Math.floor(minutes / 60)], PADDED[minutes % 60]];
  const second = PADDED[Math.floor(rest / 1000) % 60];
  return `${lastDay.date}${hour}:${minute}:${second}.${`${1000 + (rest % 1000)}`.slice(1)}Z`;
}

/** The last formatted day. Cached, because most times of a batch of letters fall on few days. */
let lastDay = { number: Number.NaN, date: "" };
const DAY_MS = 86_400_000;
const DATE_MS_MAX = 8.64e15;
const PADDED: readonly string[] = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"));

export function fromRfc3339(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
