/** The arithmetic of a rate that many share: never too much, never for long too little, whatever the clock does. */
import { describe, expect, it } from "vitest";
import { allow, type Rate, spend } from "../../src/item/rate.ts";
import { fc } from "../support/properties.ts";

const NOW = Date.UTC(2026, 0, 1);

/** Asks for `wanted` at each of the times, and takes all that is granted. */
function takeAt(times: readonly number[], rate: Rate, wanted = 1_000_000): readonly number[] {
  let spentUntil = 0;
  return times.map((now) => {
    const { granted } = allow(spentUntil, now, rate, wanted);
    spentUntil = spend(spentUntil, now, rate, granted);
    return granted;
  });
}

describe("a rate", () => {
  it("admits one at once, even if it is less than one per second", () => {
    expect(allow(0, NOW, { perSecond: 0.1 }, 5)).toEqual({ granted: 1, nextAt: NOW + 10_000 });
  });

  it("admits a tenth of a second's worth at once, and no more after a long pause", () => {
    expect(takeAt([NOW, NOW, NOW + 3_600_000], { perSecond: 50 })).toEqual([5, 0, 5]);
  });

  it("returns the time of the next one only if fewer were granted than requested", () => {
    expect(allow(0, NOW, { perSecond: 2 }, 1)).toEqual({ granted: 1, nextAt: null });
    expect(allow(0, NOW, { perSecond: 2 }, 2)).toEqual({ granted: 1, nextAt: NOW + 500 });
  });

  it("spends nothing if nothing is taken", () => {
    const rate = { perSecond: 4 };
    const spent = spend(0, NOW, rate, 1);
    expect(allow(spend(spent, NOW, rate, 0), NOW + 250, rate, 1).granted).toBe(1);
  });

  it("does not stop the queue when the clock is set back", () => {
    const rate = { perSecond: 2 };
    const spent = spend(0, NOW, rate, 1);
    const back = NOW - 3_600_000;
    expect(allow(spent, back, rate, 1)).toEqual({ granted: 0, nextAt: back + 500 });
    expect(allow(spent, back + 500, rate, 1).granted).toBe(0); // asking alone does not make it know
    expect(takeAt([NOW, back, back + 500, back + 1000], rate).slice(2)).toEqual([1, 1]);
  });

  const perSecond = fc.oneof(
    fc.constantFrom(0.3, 3, 7, 10, 1000 / 7, 33_333),
    fc.double({ min: 0.01, max: 1e5, noNaN: true }),
  );

  it("grants one at the time that it returned", () => {
    fc.assert(
      fc.property(perSecond, fc.integer({ min: 1, max: 50 }), (rate, steps) => {
        let [spentUntil, now] = [0, NOW];
        for (let step = 0; step < steps; step += 1) {
          const { granted, nextAt } = allow(spentUntil, now, { perSecond: rate }, 1_000_000);
          if (step > 0) expect(granted).toBeGreaterThan(0);
          spentUntil = spend(spentUntil, now, { perSecond: rate }, granted);
          expect(nextAt).toBeGreaterThan(now);
          now = nextAt ?? now;
        }
      }),
      { examples: [[312 / 3, 4]] },
    );
  });

  it("never grants more than the rate and the saved part, however often it is called", () => {
    fc.assert(
      fc.property(
        perSecond,
        fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 60 }),
        (rate, waits) => {
          let now = NOW;
          const times = waits.map((wait) => {
            now += wait;
            return now;
          });
          const granted = takeAt(times, { perSecond: rate }).reduce((sum, one) => sum + one, 0);
          const seconds = (now - (times[0] ?? now)) / 1000;
          const saved = Math.max(1, rate / 10);
          expect(granted).toBeLessThanOrEqual(Math.floor((seconds + 1e-4) * rate + saved + 1e-6) + 1);
        },
      ),
    );
  });
});
