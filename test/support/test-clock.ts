/** A clock that stands still until the test moves it. */
import { type Clock, sleepOn } from "../../src/std/clock.ts";

interface Timer {
  readonly dueAt: number;
  readonly action: () => void;
}

export class TestClock implements Clock {
  #now: number;
  #steppedMs = 0;
  #timers: readonly Timer[] = [];

  /** Starts at the beginning of 2026 by default. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  readonly now = (): number => this.#now + this.#steppedMs;
  readonly monotonicNow = (): number => this.#now;
  readonly uptimeNow = (): number => this.#now;

  /** Moves only the wall clock, as a person or a time server does: no time passes. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }

  /** Moves the time, backwards if negative, and calls due timers in order. */
  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ dueAt }) => dueAt <= this.#now);
    this.#timers = this.#timers.filter(({ dueAt }) => dueAt > this.#now);
    for (const { action } of [...due].sort((a, b) => a.dueAt - b.dueAt)) action();
  }

  after(ms: number, action: () => void): () => void {
    const timer = { dueAt: this.#now + ms, action };
    this.#timers = [...this.#timers, timer];
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms <= 0 ? Promise.resolve() : sleepOn(this, ms, signal);
  }

  /** The number of pending timers, so that a test knows when code is waiting. */
  get sleeping(): number {
    return this.#timers.length;
  }
}
