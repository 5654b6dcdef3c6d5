/** Tells that a queue of letters is nearly full, once each time that it becomes so: before the oldest have to go. */
import type { Engine, QueueCounts } from "../engine.ts";
import { fullnessOf, type LetterLimits } from "./limits.ts";

/** Remembers, for one queue, whether it was told. */
export class FullnessWarning {
  readonly #queue: string;
  /** Null before the first look. */
  #isTold: boolean | null = null;

  constructor(queue: string) {
    this.#queue = queue;
  }

  /** Writes the event when the queue has become nearly full, and returns what a person is told then; else null. */
  async look(engine: Engine, counts: QueueCounts, limits: LetterLimits): Promise<string | null> {
    const { itemsMax } = limits;
    if (itemsMax === null || !fullnessOf(counts, limits).isNearlyFull) {
      this.#isTold = false;
      return null;
    }
    this.#isTold ??= await this.#wasToldBefore(engine);
    if (this.#isTold) return null;
    this.#isTold = true;
    const { letters } = counts;
    const event = { type: "dlq_nearly_full", data: { letters, max_items: itemsMax } } as const;
    await engine.changeJob(this.#queue, { event });
    const how = letters < itemsMax ? "nearly full" : letters === itemsMax ? "full" : "over its limit";
    return `The dead letter queue of ${this.#queue} is ${how}: ${letters} letters, and it keeps ${itemsMax}. The oldest are archived then; \`redrive dlq analyze ${this.#queue}\` says what they died of.`;
  }

  /** A queue that was nearly full when we came has become so earlier, and whoever was there has told it. */
  async #wasToldBefore(engine: Engine): Promise<boolean> {
    const query = { queue: this.#queue, types: ["dlq_nearly_full"], after: 0, limit: 1 } as const;
    return (await engine.listEvents(query)).length > 0;
  }
}
