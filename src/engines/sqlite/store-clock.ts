/** The clock of a SQLite store: the machine's clock, corrected if this process differs from the others that use the store. */
import { type Clock, sleepOn } from "../../std/clock.ts";
import { type ClockSample, ClockWatch, sampleOf } from "../clock-record.ts";

export class StoreClock implements Clock {
  readonly watch = new ClockWatch();
  readonly #machine: Clock;
  /** How far this process is ahead of the others. */
  #aheadMs = 0;

  constructor(machineClock: Clock) {
    this.#machine = machineClock;
  }

  now(): number {
    return this.#machine.now() - this.#aheadMs;
  }

  monotonicNow(): number {
    return this.#machine.monotonicNow();
  }

  uptimeNow(): number {
    return this.#machine.uptimeNow();
  }

  after(ms: number, action: () => void): () => void {
    return this.#machine.after(ms, action);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Whether the clock may have changed since the last check. */
  get isDue(): boolean {
    return this.#aheadMs !== 0 || this.watch.isDue(this.#machine);
  }

  sample(): ClockSample {
    return sampleOf(this.#machine);
  }

  /** Records the sample, and how far this process is ahead of the others. */
  looked(sample: ClockSample, aheadMs: number): void {
    const isNews = aheadMs !== 0 && this.#aheadMs === 0;
    this.#aheadMs = aheadMs;
    this.watch.looked(sample, this.#machine);
    if (isNews) this.watch.report(aheadMs);
  }
}
