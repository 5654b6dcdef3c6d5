/** A clock for tests, which moves only when the test moves it. The store and its workers use it. */

import { parseInput } from "../../std/check-input.ts";
import { type Clock, sleepOn, systemClock, toRfc3339 } from "../../std/clock.ts";
import { type Duration, duration, type Time, time } from "../values.ts";

interface Timer {
  readonly dueAt: number;
  readonly action: () => void;
}

/**
 * A clock that moves only when told to. Timers fire when the clock reaches their time, or after their real
 * duration has passed, so that workers make progress while the clock is stopped.
 */
export class TestClock implements Clock {
  #now: number;
  #activity = 0;
  readonly #timers = new Set<Timer>();

  /** Default: the current time. */
  constructor(start: Time = systemClock.now()) {
    this.#now = parseInput(time, start, { caller: "TestClock", name: "start" });
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#now;
  }

  /** The current time of the clock as a `Date`. */
  date(): Date {
    return new Date(this.#now);
  }

  /** Moves the clock forward. */
  advance(by: Duration): void {
    this.#moveTo(this.#now + parseInput(duration, by, { caller: "clock.advance", name: "by" }));
  }

  /** Moves the clock forward to a time. */
  set(to: Time): void {
    const ms = parseInput(time, to, { caller: "clock.set", name: "to" });
    if (ms < this.#now) {
      const [from, wanted] = [toRfc3339(this.#now), toRfc3339(ms)];
      throw new RangeError(`The clock only moves forward: it is ${from}, and ${wanted} is earlier.`);
    }
    this.#moveTo(ms);
  }

  monotonicNow(): number {
    return this.#now;
  }

  uptimeNow(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    this.#activity += 1;
    const end = () => {
      this.#timers.delete(timer);
      cancel();
    };
    const timer: Timer = {
      dueAt: this.#now + ms,
      action: () => {
        this.#activity += 1;
        end();
        action();
      },
    };
    const cancel = systemClock.after(ms, timer.action);
    this.#timers.add(timer);
    return end;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** @internal Changes whenever a timer starts or ends, which every worker does in each poll. */
  get activity(): number {
    return this.#activity;
  }

  #moveTo(ms: number): void {
    this.#now = ms;
    const due = [...this.#timers].filter(({ dueAt }) => dueAt <= ms);
    for (const timer of due.sort((a, b) => a.dueAt - b.dueAt)) if (this.#timers.has(timer)) timer.action();
  }
}
