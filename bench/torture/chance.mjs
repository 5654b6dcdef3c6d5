/** Seeded chance: the same seed makes the same items and the same faults, though not the same moments. */

/** A source of chances from a number; small and good enough to choose faults with. */
export function chanceOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** From 0 to 1. */
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
