import { describe, expect, it } from "vitest";
import type { Attempt } from "../../src/item/item.ts";
import { failingSince, OutageClock } from "../../src/runner/dispatch-gate.ts";
import { failureOf } from "../support/settlements.ts";

const HOUR_MS = 3_600_000;

/** An outage that began at 0 and parked the queue until 10. */
function parkedClock(): OutageClock {
  const clock = new OutageClock();
  clock.recordFailure(0);
  clock.recordParking(0, 10, false);
  return clock;
}

describe("an outage", () => {
  it("lasts since its first failure, and begins with the first round", () => {
    const clock = new OutageClock();
    expect(clock.soFar(5)).toEqual({ waitedMs: 0, round: 1 });
    clock.recordFailure(5);
    expect(clock.soFar(5)).toEqual({ waitedMs: 0, round: 1 });
    clock.recordParking(5, 15, false);
    expect(clock.soFar(8)).toEqual({ waitedMs: 3, round: 1 }); // one that ran at the same time
    expect(clock.soFar(15)).toEqual({ waitedMs: 10, round: 2 });
  });

  it("ends with a success", () => {
    const clock = parkedClock();
    clock.recordSuccess();
    expect(clock.soFar(20)).toEqual({ waitedMs: 0, round: 1 });
  });

  it("is another one if nothing failed for an hour although the queue could run", () => {
    expect(parkedClock().soFar(10 + HOUR_MS).waitedMs).toBe(10 + HOUR_MS);
    expect(parkedClock().soFar(11 + HOUR_MS).waitedMs).toBe(0);
  });

  it("starts again at a known reset time", () => {
    const clock = parkedClock();
    clock.recordParking(10, 5 * HOUR_MS, true);
    expect(clock.soFar(5 * HOUR_MS + 7)).toEqual({ waitedMs: 7, round: 1 });
  });

  it("counts from the first failure of the item itself, if that is longer ago", () => {
    expect(parkedClock().soFar(20, -100).waitedMs).toBe(120);
  });
});

describe("the start of an item's failures by an outage", () => {
  const attempt = (
    number: number,
    endedAt: number,
    errorClass: "outage" | "unknown" = "outage",
  ): Attempt => ({
    number,
    outcome: "failed",
    holder: "h",
    startedAt: endedAt - 1,
    endedAt,
    failure: failureOf({ ref: 1, attempt: number }, { errorClass }),
  });
  const running: Attempt = { number: 9, outcome: "running", holder: "h", startedAt: 90 };

  it("is the end of the first of its last attempts that failed so", () => {
    expect(failingSince([attempt(1, 10, "unknown"), attempt(2, 20), attempt(3, 30), running], 100)).toBe(20);
    expect(failingSince([attempt(1, 10, "unknown"), running], 100)).toBe(100);
    expect(failingSince([], 100)).toBe(100);
  });

  it("does not extend over a gap of more than an hour", () => {
    const now = 3 * HOUR_MS;
    expect(failingSince([attempt(1, 10), attempt(2, now - 5)], now)).toBe(now - 5);
  });
});
