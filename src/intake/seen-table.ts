/**
 * Counts how often each content occurs, for millions of contents in little memory: a hash table with open
 * addressing over typed arrays, 11 bytes per slot. The key is the full hash of an id, so contents share a
 * count only if they would share an id.
 */
import { assert } from "../std/assert.ts";

/** The length of a key in bytes: 80 bits, 16 characters in base 32. */
export const KEY_BYTES = 10;

const SLOTS_AT_FIRST = 1024;
const LOAD_MAX = 0.75;
const GROWTH = 1.6;
/** Higher counts are stored in a map, because few contents repeat this often. */
const COUNT_IN_SLOT_MAX = 255;

export class SeenTable {
  #keys = new Uint8Array(SLOTS_AT_FIRST * KEY_BYTES);
  /** The count in each slot; 0 means that the slot is empty. */
  #counts = new Uint8Array(SLOTS_AT_FIRST);
  #used = 0;
  readonly #manyCounts = new Map<string, number>();

  get size(): number {
    return this.#used;
  }

  /** Counts the key and returns how often it occurred, including this time. */
  count(key: Uint8Array): number {
    assert(key.length === KEY_BYTES, "a key is 80 bits");
    const slot = this.#slotOf(key, 0);
    const seen = this.#counts[slot] ?? 0;
    if (seen === 0) return this.#insert(key, slot);
    if (seen === COUNT_IN_SLOT_MAX) return this.#countMany(key);
    this.#counts[slot] = seen + 1;
    return seen + 1;
  }

  #insert(key: Uint8Array, slot: number): number {
    this.#keys.set(key, slot * KEY_BYTES);
    this.#counts[slot] = 1;
    this.#used++;
    if (this.#used > this.#counts.length * LOAD_MAX) this.#grow();
    return 1;
  }

  #countMany(key: Uint8Array): number {
    const name = key.join();
    const count = (this.#manyCounts.get(name) ?? COUNT_IN_SLOT_MAX) + 1;
    this.#manyCounts.set(name, count);
    return count;
  }

  /** Returns the slot that contains the key at this offset, or the empty slot for it. */
  #slotOf(bytes: Uint8Array, at: number): number {
    const slots = this.#counts.length;
    // The key is a hash, so its leading bits are evenly distributed and can be scaled to a slot number.
    let slot = Math.floor((leadingBits(bytes, at) / 2 ** 32) * slots);
    while (this.#counts[slot] !== 0 && !this.#holds(slot, bytes, at))
      slot = slot + 1 === slots ? 0 : slot + 1;
    return slot;
  }

  #holds(slot: number, bytes: Uint8Array, at: number): boolean {
    const start = slot * KEY_BYTES;
    for (let index = 0; index < KEY_BYTES; index++) {
      if (this.#keys[start + index] !== bytes[at + index]) return false;
    }
    return true;
  }

  #grow(): void {
    const keys = this.#keys;
    const counts = this.#counts;
    const slots = Math.ceil(counts.length * GROWTH);
    this.#keys = new Uint8Array(slots * KEY_BYTES);
    this.#counts = new Uint8Array(slots);
    for (let old = 0; old < counts.length; old++) {
      if (counts[old] === 0) continue;
      const slot = this.#slotOf(keys, old * KEY_BYTES);
      this.#keys.set(keys.subarray(old * KEY_BYTES, (old + 1) * KEY_BYTES), slot * KEY_BYTES);
      this.#counts[slot] = counts[old] ?? 0;
    }
  }
}

function leadingBits(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}
