/** Lets the runner's loop sleep until something happens. Rings in the same turn of the event loop become one. */
import type { Clock } from "../kit/clock.ts";

export class Wake {
  #rung = false;
  #answer: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    const answer = this.#answer;
    if (answer === null) return;
    this.#answer = null;
    setImmediate(answer);
  }

  /** Resolves at the next ring, at once when there was one since the last wait, or after `ms`. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (!this.#rung) {
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
    this.#rung = false;
  }
}
