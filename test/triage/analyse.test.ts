/** Why letters died: pure counting. */
import { describe, expect, it, test } from "vitest";
import type { ErrorTypeName } from "../../src/item/error-type.ts";
import type { Letter } from "../../src/item/letter.ts";
import {
  Analyst,
  analysisToJson,
  INTERVALS_MAX,
  SAMPLES_MAX,
  stepFor,
  TimeAxis,
} from "../../src/triage/analyse.ts";
import { fc } from "../support/properties.ts";
import { failureOf } from "../support/settlements.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function letter(itemId: string, signature: string, at: number, type: ErrorTypeName = "Timeout"): Letter {
  return {
    ...{ itemId, itemData: itemId, firstAttempt: at - 1000, lastAttempt: at, failureCount: 1 },
    failureHistory: [failureOf({ ref: 1, attempt: 1 }, { errorType: { name: type } })],
    ...{ errorSignature: signature, errorPattern: `pattern of ${signature}` },
    ...{ reprocessEligible: true, manualReviewRequired: false, jobId: "job-1", queue: "job-1" },
    ...{ state: "dead", reason: "out of retries", revision: 1, redriveCount: 0 },
  };
}

function analysed(...letters: readonly Letter[]) {
  const analyst = new Analyst();
  for (const one of letters) analyst.addLetter(one);
  return analyst.result();
}

describe("an analysis", () => {
  const result = analysed(
    letter("a", "s1", NOON),
    letter("b", "s2", NOON + 5 * MINUTE, "CommandFailed"),
    letter("c", "s1", NOON + 2 * MINUTE),
    letter("d", "s1", NOON + 2 * MINUTE),
    letter("e", "s1", NOON + 2 * MINUTE),
  );

  it("counts groups, largest first, with their first and last time and a few samples", () => {
    expect(result.totalItems).toBe(5);
    expect(result.patternGroups.map(({ signature, count }) => [signature, count])).toEqual([
      ["s1", 4],
      ["s2", 1],
    ]);
    expect(result.patternGroups[0]).toMatchObject({
      firstOccurrence: NOON - 1000, // of the first failure
      lastOccurrence: NOON + 2 * MINUTE,
    });
    expect(result.patternGroups[0]?.sampleItems.map(({ itemId }) => itemId)).toEqual(["a", "c", "d"]);
  });

  it("counts error types and times of death, with the empty intervals between", () => {
    expect([...result.errorDistribution]).toEqual([
      ["Timeout", 4],
      ["CommandFailed", 1],
    ]);
    expect(result.timeline.intervals.map(([, count]) => count)).toEqual([1, 0, 3, 0, 0, 1]);
  });

  it("has the JSON form of the contract", () => {
    const json = analysisToJson(result);
    expect(json).toMatchObject({
      total_items: 5,
      error_distribution: { Timeout: 4, CommandFailed: 1 },
      pattern_groups: [
        {
          signature: "s1",
          pattern: "pattern of s1",
          count: 4,
          first_occurrence: "2026-01-01T11:59:59.000Z",
          last_occurrence: "2026-01-01T12:02:00.000Z",
        },
        { signature: "s2", sample_items: [{ item_id: "b", job_id: "job-1" }] },
      ],
    });
    expect(json.temporal_distribution).toContainEqual(["2026-01-01T12:02:00.000Z", 3]);
  });

  test("of no letters has no groups and no times", () => {
    expect(analysed()).toMatchObject({ totalItems: 0, patternGroups: [], timeline: { intervals: [] } });
  });

  test("the same signature in two jobs is one group", () => {
    const analyst = new Analyst();
    const group = { signature: "s", pattern: "p", errorType: "Timeout", lastOccurrence: NOON };
    analyst.addGroup({ ...group, count: 2, firstOccurrence: NOON });
    analyst.addGroup({ ...group, count: 3, firstOccurrence: NOON - DAY });
    expect(analyst.result().patternGroups).toMatchObject([{ count: 5, firstOccurrence: NOON - DAY }]);
  });
});

describe("the time axis", () => {
  const times = fc.array(fc.integer({ min: 0, max: 40 * 365 * DAY }), { minLength: 1, maxLength: 200 });

  test("loses nothing and never has too many intervals, however far apart the times are", () => {
    fc.assert(
      fc.property(times, (all) => {
        const axis = new TimeAxis();
        for (const at of all) axis.add(at);
        const { intervals, stepMs } = axis.read(INTERVALS_MAX);
        expect(intervals.reduce((sum, [, count]) => sum + count, 0)).toBe(all.length);
        expect(intervals.length).toBeLessThanOrEqual(INTERVALS_MAX);
        expect(intervals[0]?.[0]).toBeLessThanOrEqual(Math.min(...all));
        expect((intervals.at(-1)?.[0] ?? 0) + stepMs).toBeGreaterThan(Math.max(...all));
      }),
    );
  });

  test("joins many different minutes without a loss, and evenly", () => {
    const axis = new TimeAxis();
    for (let minute = 0; minute < 20 * 24 * 60; minute++) axis.add(NOON + minute * MINUTE);
    const { intervals, stepMs } = axis.read(INTERVALS_MAX);
    expect(intervals.reduce((sum, [, count]) => sum + count, 0)).toBe(20 * 24 * 60);
    expect(new Set(intervals.slice(1, -1).map(([, count]) => count))).toEqual(new Set([stepMs / MINUTE]));
  });

  test("has steps that people use", () => {
    expect(stepFor(NOON, NOON + 10 * MINUTE, 48)).toBe(MINUTE);
    expect(stepFor(NOON, NOON + DAY, 48)).toBe(60 * MINUTE);
    expect(stepFor(NOON, NOON + 30 * DAY, 48)).toBe(DAY);
  });

  test("has few samples", () => {
    expect(
      analysed(...Array.from({ length: 50 }, (_, n) => letter(`${n}`, "s", NOON))).patternGroups[0]
        ?.sampleItems,
    ).toHaveLength(SAMPLES_MAX);
  });
});
