/**
 * Brings receipts into the store: those that come while one step is being written go in together with the next one, so that
 * many cost hardly more than one. Nothing is answered before it is durable.
 */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { NewItem } from "../item/item.ts";

/** Small enough that other writers get their turn. */
const BATCH_MAX = 500;

/** Whether a receipt is new or was sent before. */
export type Kept = "added" | "existing";

interface Entry {
  readonly item: NewItem;
  readonly resolve: (kept: Kept) => void;
  readonly reject: (error: unknown) => void;
}

export class Outbox {
  readonly #engine: Engine;
  readonly #queue: string;
  #waiting: Entry[] = [];
  #writing: Promise<void> | null = null;

  constructor(engine: Engine, queue: string) {
    this.#engine = engine;
    this.#queue = queue;
  }

  /** Rejects with `receipt_conflict` when the key has another body, and with the store's error when nothing was written. */
  add(item: NewItem): Promise<Kept> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  /** Resolves when nothing is being written any more. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await Promise.resolve(); // those that are sent in the same turn go together
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      await this.#write(batch);
    }
  }

  /** When not all are new, each is asked for by itself, which writes nothing twice: the store knows what it has. */
  async #write(batch: readonly Entry[]): Promise<void> {
    try {
      const { added } = await this.#engine.add(
        this.#queue,
        batch.map(({ item }) => item),
      );
      if (added === batch.length) for (const { resolve } of batch) resolve("added");
      else for (const entry of batch) await this.#meet(entry, batch.length === 1 && added === 1);
    } catch (error) {
      for (const { reject } of batch) reject(error); // those that were told before are not told again
    }
  }

  async #meet({ item, resolve, reject }: Entry, isNew: boolean): Promise<void> {
    const { changed } = await this.#engine.add(this.#queue, [item]);
    if (changed > 0) reject(conflict(this.#queue, item.itemId));
    else resolve(isNew ? "added" : "existing");
  }
}

function conflict(target: string, key: string): WorkError {
  return new WorkError(
    "receipt_conflict",
    `A receipt with the key ${key} and another body was sent to ${target} before.`,
    {
      hint: "The first one counts. If this is another receipt, send it under a key of its own.",
    },
  );
}
