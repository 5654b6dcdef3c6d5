import { expect, it } from "vitest";
import { Pacer, parseRate, rateToText } from "../../src/redrive/plan.ts";
import { fc } from "../support/properties.ts";
import { TestClock } from "../support/test-clock.ts";

it.each([
  ["5/s", 5, 1000],
  ["100/m", 100, 60_000],
  ["1000 / h", 1000, 3_600_000],
])("%s is a rate", (text, letters, perMs) => {
  expect(parseRate(text, "--rate")).toEqual({ letters, perMs });
  expect(rateToText(parseRate(text, "--rate"))).toBe(text.replaceAll(" ", ""));
});

it.each(["", "5", "0/s", "-1/s", "5/d", "1.5/s", "5/s/s", "all"])("%j is none", (text) => {
  expect(() => parseRate(text, "--rate")).toThrow(/--rate: .* is not a rate/);
});

it("grants one letter after another, evenly", () => {
  const clock = new TestClock();
  const pacer = new Pacer({ letters: 5, perMs: 1000 }, clock);
  expect(pacer.take(10)).toBe(1);
  expect([pacer.take(10), pacer.waitMs]).toEqual([0, 200]);
  clock.advance(199);
  expect(pacer.take(10)).toBe(0);
  clock.advance(1);
  expect(pacer.take(10)).toBe(1);
});

it("grants several at once at a high rate", () => {
  const clock = new TestClock();
  const pacer = new Pacer({ letters: 1000, perMs: 1000 }, clock);
  expect(pacer.take(5000)).toBe(100);
  expect(pacer.waitMs).toBe(100);
});

it("does not save up time in which nothing was sent", () => {
  const clock = new TestClock();
  const pacer = new Pacer({ letters: 5, perMs: 1000 }, clock);
  clock.advance(60_000);
  expect(pacer.take(10)).toBe(1);
  expect(pacer.take(10)).toBe(0);
});

it("is not delayed by a clock that was set back", () => {
  const clock = new TestClock();
  const pacer = new Pacer({ letters: 5, perMs: 1000 }, clock);
  pacer.take(1);
  clock.advance(-3_600_000);
  expect(pacer.waitMs).toBe(0);
});

it("never grants more in a period than the rate allows, whenever it is asked", () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), pauses, (letters, waits) => {
      const clock = new TestClock();
      const pacer = new Pacer({ letters, perMs: 1000 }, clock);
      const sent: { at: number; count: number }[] = [];
      for (const wait of waits) {
        clock.advance(wait);
        sent.push({ at: clock.now(), count: pacer.take(10_000) });
      }
      for (const { at } of sent) {
        const inStretch = sent.filter((one) => one.at >= at && one.at < at + 1000);
        const total = inStretch.reduce((sum, { count }) => sum + count, 0);
        expect(total).toBeLessThanOrEqual(letters + Math.max(1, Math.floor(letters / 10)));
      }
    }),
  );
});
