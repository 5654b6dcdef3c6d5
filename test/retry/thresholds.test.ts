import { describe, expect, test } from "vitest";
import { shouldStop } from "../../src/retry/decide.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/retry/policy.ts";

const stops = (change: Partial<Policy>, finished: number, dead: number) =>
  shouldStop({ ...DEFAULT_POLICY, ...change }, { finished, dead });

test("without thresholds a job continues even if everything dies", () => {
  expect(stops({}, 1000, 1000)).toBeNull();
});

describe("max_failures", () => {
  test("it stops the job at that many dead items, not before", () => {
    expect(stops({ maxFailures: 3 }, 100, 2)).toBeNull();
    expect(stops({ maxFailures: 3 }, 100, 3)).toBe("3 items died, and max_failures is 3");
  });

  test("0 means that none may die, and does not stop a job in which none did", () => {
    expect(stops({ maxFailures: 0 }, 5, 0)).toBeNull();
    expect(stops({ maxFailures: 0 }, 5, 1)).toBe("1 item died, and max_failures is 0");
  });
});

describe("failure_threshold", () => {
  test("it stops the job above the rate, not at it", () => {
    expect(stops({ failureThreshold: 0.5 }, 20, 10)).toBeNull();
    expect(stops({ failureThreshold: 0.5 }, 20, 11)).toContain("11 of 20 finished items died");
  });

  test("it has no effect before ten items have finished", () => {
    expect(stops({ failureThreshold: 0.5 }, 9, 9)).toBeNull();
    expect(stops({ failureThreshold: 0.5 }, 10, 10)).not.toBeNull();
  });
});

test("without continue_on_failure the first dead item stops the job", () => {
  expect(stops({ continueOnFailure: false }, 5, 0)).toBeNull();
  expect(stops({ continueOnFailure: false }, 1, 1)).toContain("continue_on_failure");
});
