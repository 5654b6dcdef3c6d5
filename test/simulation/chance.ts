/** Random choices from a seed: the same seed makes the same choices on every machine. */
import { assert } from "../../src/std/assert.ts";
import type { Random } from "../../src/std/random.ts";
import { seededRandom } from "../support/seeded-random.ts";

export class Chance {
  #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  happens(probability: number): boolean {
    return this.#random() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const choice = list[this.below(list.length)];
    assert(choice !== undefined, "there is nothing to choose from");
    return choice;
  }

  /** Each element with an even chance, in the order of the list or reversed. */
  some<T>(list: readonly T[]): readonly T[] {
    const chosen = list.filter(() => this.happens(0.5));
    return this.happens(0.5) ? chosen : chosen.toReversed();
  }
}
