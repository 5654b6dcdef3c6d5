/** The counters of receipts: what is written with each try is what metrics read. */
import { describe, expect, it } from "vitest";
import { receiptCounts, receiptLatencyOf } from "../../src/item/receipt.ts";
import { fc } from "../support/properties.ts";

const read = (...names: readonly (readonly string[])[]) =>
  receiptLatencyOf(names.flat().map((name) => ({ name, value: 1 })));

describe("the counters of a delivery attempt", () => {
  it("contain its status, and the bucket of its duration", () => {
    expect(receiptCounts("delivered", 0)).toEqual(["receipt.delivered", "receipt_seconds.le.0.005"]);
    expect(receiptCounts("unknown", 5)).toContain("receipt_seconds.le.0.005");
    expect(receiptCounts("unknown", 6)).toContain("receipt_seconds.le.0.01");
    expect(receiptCounts("unknown", 30_001)).toContain("receipt_seconds.le.inf");
  });

  it("return the number of attempts and their total duration", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 30 }), (times) => {
        const latency = read(...times.map((ms) => receiptCounts("delivered", ms)));
        expect(latency.count).toBe(times.length);
        expect(latency.sumSeconds).toBeCloseTo(times.reduce((sum, ms) => sum + ms, 0) / 1000, 6);
        for (const { le, count } of latency.buckets)
          expect(count).toBe(times.filter((ms) => ms <= le * 1000).length);
      }),
    );
  });

  it("do not include other counters", () => {
    expect(receiptLatencyOf([{ name: "attempts.succeeded", value: 9 }])).toMatchObject({
      count: 0,
      sumSeconds: 0,
    });
  });
});
