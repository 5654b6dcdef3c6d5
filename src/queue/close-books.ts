/**
 * Closes the books of redrives whose letters a worker has brought to an end: a while after one of them has ended, once for
 * many, and when the worker leaves. The work never waits for it; what it cannot do now is done by the next one.
 */
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Clock } from "../kit/clock.ts";

const LOOK_MS = 1000;

export class BookCloser {
  readonly #engine: Engine;
  readonly #queue: string;
  readonly #clock: Clock;
  #cancelTimer: (() => void) | undefined;
  #closing: Promise<void> = Promise.resolve();
  #hasNews = false;

  constructor(engine: Engine, queue: string, clock: Clock) {
    this.#engine = engine;
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Told after the store has it. */
  settled({ redriveCount }: Pick<LeasedItem, "redriveCount">): void {
    if (redriveCount === 0) return;
    this.#hasNews = true;
    this.#cancelTimer ??= this.#clock.after(LOOK_MS, () => {
      this.#cancelTimer = undefined;
      this.#closing = this.#closing.then(() => this.#close());
    });
  }

  async stop(): Promise<void> {
    this.#cancelTimer?.();
    await this.#closing;
    await this.#close();
  }

  /** A store that does not answer is the worker's concern; the books are closed later, by whoever looks at them. */
  async #close(): Promise<void> {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    try {
      const open = await this.#engine.listOperations({ queue: this.#queue, open: true });
      for (const { id, kind } of open) if (kind === "redrive") await this.#engine.closeOperation(id);
    } catch (error) {
      if (!isStoreError(error)) throw error;
      this.#hasNews = true;
    }
  }
}
