/** Seeded random numbers: the same seed gives the same items and faults, though not at the same moments. */

/** A small random number generator, good enough to choose faults. */
export function chanceOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** A number from 0 to 1. */
    random: next,
    /** A whole number, both ends included. */
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    /** One of the entries `[weight, value]`. */
    pick(entries) {
      let left = next() * entries.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of entries) {
        left -= weight;
        if (left < 0) return value;
      }
      return entries.at(-1)[1];
    },
  };
}
