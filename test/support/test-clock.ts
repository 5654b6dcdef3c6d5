/** A clock that stands still until the test moves it. */
import type { Clock } from "../../src/kit/clock.ts";

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

export class TestClock implements Clock {
  #now: number;
  #sleepers: readonly Sleeper[] = [];

  /** Starts at a round moment of 2026 unless told otherwise. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Moves the time, also back when negative, and wakes those whose time has come. */
  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter(({ wakeAt }) => wakeAt <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ wakeAt }) => wakeAt > this.#now);
    for (const { wake } of due) wake();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = { wakeAt: this.#now + ms, wake: resolve };
      this.#sleepers = [...this.#sleepers, sleeper];
      signal?.addEventListener("abort", () => this.#rouse(sleeper), { once: true });
    });
  }

  /** How many are asleep, so that a test knows when there is somebody to wake. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  #rouse(sleeper: Sleeper): void {
    this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    sleeper.wake();
  }
}
