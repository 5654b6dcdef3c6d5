import { expect, test } from "vitest";
import { AssertionError, assert, unreachable } from "../../src/std/assert.ts";
import { fromRfc3339, systemClock, toRfc3339 } from "../../src/std/clock.ts";
import { fc } from "../support/properties.ts";

test("a time is written as RFC 3339 in UTC with milliseconds, and read back", () => {
  expect(toRfc3339(1_736_591_100_007)).toBe("2025-01-11T10:25:00.007Z");
  expect(fromRfc3339("2025-01-11T10:25:00.007Z")).toBe(1_736_591_100_007);
  expect(fromRfc3339("2025-01-11T11:25:00+01:00")).toBe(1_736_591_100_000);
});

test("any time that a Date can represent is written like a Date, and any other is refused", () => {
  const times = fc.oneof(
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.integer({ min: 0, max: 2e12 }),
    fc.double({ min: -1e13, max: 1e13, noNaN: true }),
  );
  fc.assert(fc.property(times, (ms) => toRfc3339(ms) === new Date(ms).toISOString()));
  for (const ms of [0, -1, 86_399_999, 86_400_000, 8.64e15, -8.64e15]) {
    expect(toRfc3339(ms)).toBe(new Date(ms).toISOString());
  }
  for (const ms of [8.64e15 + 1, Number.NaN]) expect(() => toRfc3339(ms)).toThrow(RangeError);
});

test("an invalid time is undefined", () => {
  expect(fromRfc3339("yesterday")).toBeUndefined();
  expect(fromRfc3339("")).toBeUndefined();
});

test("a sleep ends at once when its signal is or gets aborted", async () => {
  const control = new AbortController();
  const sleeping = systemClock.sleep(3_600_000, control.signal);
  control.abort();
  await sleeping;
  await systemClock.sleep(3_600_000, control.signal);
  expect(control.signal.aborted).toBe(true);
});

test("a failed assertion crashes with the broken rule", () => {
  expect(() => assert(false, "an item is in one place")).toThrow(AssertionError);
  expect(() => assert(false, "an item is in one place")).toThrow("an item is in one place");
  expect(() => assert(1, "holds")).not.toThrow();
  expect(() => unreachable("x" as never)).toThrow('unreachable: "x"');
});
