/** Gathers records into batches of items and counts them. A record that throws ends the batches, after the good ones. */
import type { NewItem } from "../item/item.ts";
import type { Identity } from "./identity.ts";
import type { IntakeRecord } from "./record.ts";

export interface IntakeBatch {
  /** May be empty in the last batch, when everything after the one before was dropped. */
  readonly items: readonly NewItem[];
  /** Records read so far, the dropped ones included. */
  readonly read: number;
  /** Records dropped by `distinct` so far. */
  readonly duplicates: number;
}

export class Batcher {
  readonly #identity: Identity;
  readonly #batchMax: number;
  #read = 0;
  #duplicates = 0;
  #readTold = 0;

  constructor(identity: Identity, batchMax: number) {
    this.#identity = identity;
    this.#batchMax = batchMax;
  }

  /** Delivers what is good, also when the records then throw. */
  *batchesOf(records: Iterable<IntakeRecord>): Generator<IntakeBatch> {
    const rest = records[Symbol.iterator]();
    for (;;) {
      const { items, ended, failure } = this.#collect(rest);
      if (items.length > 0) yield this.#batch(items);
      if (failure !== undefined) throw failure.error;
      if (ended) return;
    }
  }

  /** Tells the final counts when the last records were all dropped. */
  *rest(): Generator<IntakeBatch> {
    if (this.#read > this.#readTold) yield this.#batch([]);
  }

  #collect(records: Iterator<IntakeRecord>): Collected {
    const items: NewItem[] = [];
    try {
      while (items.length < this.#batchMax) {
        const next = records.next();
        if (next.done) return { items, ended: true };
        this.#read++;
        const item = this.#identity.itemOf(next.value);
        if (item === undefined) this.#duplicates++;
        else items.push(item);
      }
    } catch (error) {
      return { items, ended: true, failure: { error } };
    }
    return { items, ended: false };
  }

  #batch(items: readonly NewItem[]): IntakeBatch {
    this.#readTold = this.#read;
    return { items, read: this.#read, duplicates: this.#duplicates };
  }
}

interface Collected {
  readonly items: readonly NewItem[];
  readonly ended: boolean;
  readonly failure?: { readonly error: unknown };
}
