/** Lets the runner's loop sleep until something happens. Notifies in the same turn of the event loop become one. */
import type { Clock } from "../std/clock.ts";

export class WakeSignal {
  #notified = false;
  #answer: (() => void) | null = null;

  notify(): void {
    this.#notified = true;
    const answer = this.#answer;
    if (answer === null) return;
    this.#answer = null;
    setImmediate(answer);
  }

  /** Resolves at the next notification, at once when there was one since the last wait, or after `ms`. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (!this.#notified) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(Math.max(1, ms), () => {
          this.#answer = null;
          resolve();
        });
        this.#answer = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#notified = false;
  }
}
