/**
 * A map for entries that come and go thousands of times a second. When a `Map` makes room, its old table refers to the new
 * one, so that in a long-lived map the garbage of all of them survives until the next full collection, and each small
 * collection copies it. This map starts a new `Map` instead.
 */
export class BriefMap<Key, Value> {
  #map = new Map<Key, Value>();
  #deleted = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  has(key: Key): boolean {
    return this.#map.has(key);
  }

  set(key: Key, value: Value): this {
    this.#map.set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false;
    this.#deleted += 1;
    if (this.#deleted >= DELETED_MIN && this.#deleted >= this.#map.size) {
      const map = new Map<Key, Value>();
      // A copy by the constructor would allocate an array for each entry.
      this.#map.forEach((value, one) => {
        map.set(one, value);
      });
      this.#map = map;
      this.#deleted = 0;
    }
    return true;
  }

  /** Iterates over the entries of this moment, or of a later one as long as none is deleted. */
  keys(): IterableIterator<Key> {
    return this.#map.keys();
  }

  values(): IterableIterator<Value> {
    return this.#map.values();
  }

  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#map.entries();
  }
}

/** Copying fewer entries at a time costs more than it saves. */
const DELETED_MIN = 32;
