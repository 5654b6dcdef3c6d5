/** Reports the number of finished items after each second. */
import { expect, test } from "vitest";
import { RateMeter } from "../../src/cli/render/progress-state.ts";
import { rateText, thousands } from "../../src/cli/render/text.ts";
import { fc } from "../support/properties.ts";

function meterOf(...finishedAtSecond: number[]): RateMeter {
  const meter = new RateMeter();
  for (const [second, finished] of finishedAtSecond.entries()) meter.add(second * 1000, finished);
  return meter;
}

test("there is no rate before something has finished in a second", () => {
  expect(meterOf().rate()).toBeNull();
  expect(meterOf(400).rate()).toBeNull();
  expect(meterOf(400, 400, 400).rate()).toBeNull();
});

test("items that finished before the run do not count", () => {
  expect(meterOf(1000, 1020).rate()).toEqual({ perSecond: 20, isSteady: false });
});

test("a rate is steady after some seconds and items", () => {
  expect(meterOf(0, 1, 2, 3).rate()?.isSteady).toBe(false);
  expect(meterOf(0, 2, 4, 6).rate()?.isSteady).toBe(true);
});

test("after the window only the new pace counts", () => {
  const fast = Array.from({ length: 31 }, (_, second) => second * 100);
  const slow = Array.from({ length: 11 }, (_, second) => 3000 + (second + 1) * 5);
  expect(meterOf(...fast, ...slow).rate()?.perSecond).toBeCloseTo(5);
});

test("the rate decreases while nothing finishes", () => {
  const fast = Array.from({ length: 31 }, (_, second) => second * 100);
  const meter = meterOf(...fast);
  meter.add(130_000, 3000);
  expect(meter.rate()?.perSecond).toBeLessThan(2);
});

test("slow items are measured over the last ten of them", () => {
  const meter = new RateMeter();
  for (let items = 0; items <= 40; items += 1) meter.add(items * 60_000, items);
  expect(meter.rate()).toEqual({ perSecond: 1 / 60, isSteady: true });
});

test("a redrive restarts the measurement", () => {
  expect(meterOf(0, 50, 100, 60).rate()).toBeNull();
  expect(meterOf(0, 50, 100, 60, 61).rate()?.perSecond).toBe(1);
});

test("the rate is shown in the unit in which it is at least one", () => {
  expect([1181.2, 181, 9.97, 3.24, 3, 0.25, 0.001].map(rateText)).toEqual([
    "1,181/s",
    "181/s",
    "10/s",
    "3.2/s",
    "3/s",
    "15/min",
    "3.6/h",
  ]);
});

test("thousands are separated, and nothing else is changed", () => {
  expect([0, 999, 1000, 1_234_567].map(thousands)).toEqual(["0", "999", "1,000", "1,234,567"]);
  fc.assert(fc.property(fc.nat(), (value) => thousands(value) === value.toLocaleString("en-US")));
});
