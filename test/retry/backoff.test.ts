import { describe, expect, test } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import { backoffMs, clampDelayMs, DELAY_MS_MAX, parseBackoff } from "../../src/retry/backoff.ts";
import { type Backoff, DEFAULT_BACKOFF } from "../../src/retry/policy.ts";
import { fc } from "../support/properties.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { backoffs } from "./arbitraries.ts";

const firstSix = (backoff: Backoff) =>
  [1, 2, 3, 4, 5, 6].map((number) => backoffMs(backoff, number, () => 0.5));

describe("the curves without jitter", () => {
  test("exponential doubles up to its maximum", () => {
    expect(firstSix({ ...DEFAULT_BACKOFF, jitter: false })).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000]);
  });

  test("linear adds a step up to its maximum", () => {
    const linear = { kind: "linear", initialMs: 10, stepMs: 5, maxMs: 28, jitter: false } as const;
    expect(firstSix(linear)).toEqual([10, 15, 20, 25, 28, 28]);
  });

  test("fibonacci adds the two before up to its maximum", () => {
    const fibonacci = { kind: "fibonacci", initialMs: 10, maxMs: 70, jitter: false } as const;
    expect(firstSix(fibonacci)).toEqual([10, 10, 20, 30, 50, 70]);
  });

  test("fixed stays, and a list repeats its last delay", () => {
    expect(firstSix({ kind: "fixed", delayMs: 7, jitter: false })).toEqual([7, 7, 7, 7, 7, 7]);
    expect(firstSix({ kind: "list", delaysMs: [1, 5, 30], jitter: false })).toEqual([1, 5, 30, 30, 30, 30]);
    expect(firstSix({ kind: "list", delaysMs: [], jitter: false })).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe("jitter", () => {
  test("it is spread over [0, wait]", () => {
    const random = seededRandom(3);
    const delays = Array.from({ length: 500 }, () => backoffMs(DEFAULT_BACKOFF, 3, random));
    expect(Math.min(...delays)).toBeLessThan(200);
    expect(Math.max(...delays)).toBeGreaterThan(3800);
    expect(Math.max(...delays)).toBeLessThanOrEqual(4000);
  });
});

test("no delay is negative, NaN, fractional or above its maximum, whatever the numbers are", () => {
  fc.assert(
    fc.property(backoffs, fc.oneof(fc.nat(20), fc.constant(10_000)), fc.nat(), (backoff, number, seed) => {
      const delay = backoffMs(backoff, number, seededRandom(seed));
      const cap = "maxMs" in backoff ? Math.max(0, backoff.maxMs) : DELAY_MS_MAX;
      expect(Number.isInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(delay).toBeLessThanOrEqual(cap);
    }),
  );
});

test("a delay that is not a number is 0, and an infinite one is a year", () => {
  expect([Number.NaN, -1, Number.POSITIVE_INFINITY].map((ms) => clampDelayMs(ms))).toEqual([
    0,
    0,
    DELAY_MS_MAX,
  ]);
});

describe("a backoff on the command line", () => {
  const exponential = { kind: "exponential", initialMs: 1000, factor: 2, maxMs: 30_000, jitter: true };
  test.each([
    ["exponential", exponential],
    ["exponential:2s", { ...exponential, initialMs: 2000 }],
    ["exponential:5m", { ...exponential, initialMs: 300_000, maxMs: 300_000 }],
    ["exponential:250ms:1m", { ...exponential, initialMs: 250, maxMs: 60_000 }],
    ["exponential:1s:30s:3", { ...exponential, factor: 3 }],
    ["exponential:1s:30s:1.5:nojitter", { ...exponential, factor: 1.5, jitter: false }],
    ["exponential:nojitter", { ...exponential, jitter: false }],
    ["linear:2s:30s", { kind: "linear", initialMs: 2000, stepMs: 2000, maxMs: 30_000, jitter: true }],
    ["fibonacci:1s:30s:nojitter", { kind: "fibonacci", initialMs: 1000, maxMs: 30_000, jitter: false }],
    ["fixed:5s", { kind: "fixed", delayMs: 5000, jitter: false }],
    ["fixed:5s:nojitter", { kind: "fixed", delayMs: 5000, jitter: false }],
    ["list:1s,5s,30s", { kind: "list", delaysMs: [1000, 5000, 30_000], jitter: false }],
    ["none", { kind: "fixed", delayMs: 0, jitter: false }],
  ])("%s", (text, backoff) => {
    expect(parseBackoff(text)).toEqual(backoff);
  });

  test("the default is that of `exponential`", () => {
    expect(parseBackoff("exponential")).toEqual(DEFAULT_BACKOFF);
  });

  test.each([
    "",
    "quadratic",
    "constructor",
    "nojitter",
    "exponential:1s:30s:3:4",
    "exponential:1s:30s:0.5",
    "exponential:1s:30s:x",
    "exponential:1m:1s",
    "linear:1s:30s:2",
    "fixed",
    "fixed:1s:2s",
    "fixed:999999d",
    "list",
    "none:1s",
  ])("%j is a usage error that lists the forms", (text) => {
    const error = thrownBy(() => parseBackoff(text));
    expect(error.code).toBe("usage");
    expect(error.message).toContain(`backoff "${text}"`);
    expect(error.hint).toContain("list:DELAY");
  });

  test.each(["fixed:", "list:1s,,2s", "linear:soon"])("%j has a part that is no duration", (text) => {
    expect(thrownBy(() => parseBackoff(text)).message).toContain("is not a duration");
  });
});

function thrownBy(run: () => unknown): RedriveError {
  try {
    run();
  } catch (error) {
    if (error instanceof RedriveError) return error;
    throw error;
  }
  throw new Error("it did not throw");
}
