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

  /** Starts at a round moment of 2026 unless told otherwise. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  readonly now = (): number => this.#now + this.#steppedMs;
  readonly monotonicNow = (): number => this.#now;
  readonly uptimeNow = (): number => this.#now;

  /** Moves the wall clock alone, as a person or a time server does: no time passes. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }

  /** Moves the time, also back when negative, and calls what is due, in order. */
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

  /** How many timers are waiting, so that a test knows when there is something to wait for. */
  get sleeping(): number {
    return this.#timers.length;
  }
}
