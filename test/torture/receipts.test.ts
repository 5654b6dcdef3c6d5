/** A service that sends receipts and is killed, again and again, while the other side behaves badly. */
import { describe, expect, it } from "vitest";
import { judgeLedger, tortureReceipts } from "../../bench/torture/receipts.mjs";

describe("receipts of a service that is killed", () => {
  it("each arrives at least once, repeats have the same key, none is lost, and the numbers are right after a restart", async () => {
    const report = await tortureReceipts({ receipts: 1000, kills: 8, seed: 7 });
    expect(report.violations, `everything is kept in ${report.home}`).toEqual([]);
    expect(report.figures.kills).toBeGreaterThan(2);
    expect(report.figures.repeats).toBeGreaterThan(0);
  }, 300_000);
});

describe("the judge of receipts", () => {
  const entry = (n: number, key = `k-${n}`, more = {}) => ({ key, body: JSON.stringify({ n, ...more }) });

  it.each([
    ["one that was lost", [entry(1)], /^2 was taken, and never arrived$/],
    [
      "a repeat with another key",
      [entry(1), entry(2), entry(2, "k-9")],
      /^2 arrived under the keys k-2, k-9$/,
    ],
    [
      "a key with two bodies",
      [entry(1), entry(2), entry(2, "k-2", { a: 1 })],
      /^the key k-2 came with two bodies$/,
    ],
  ])("finds %s", (_, ledger, violation) => {
    expect(judgeLedger(ledger, new Set([1, 2]))).toEqual([expect.stringMatching(violation)]);
  });

  it("accepts repeats with the same key", () => {
    expect(judgeLedger([entry(1), entry(2), entry(1)], new Set([1, 2]))).toEqual([]);
  });
});
