/** Ten kinds of processes at one store at the same time, through the real CLI. */
import { describe, expect, it } from "vitest";
import { crowd } from "../../bench/torture/crowd.mjs";

describe.runIf(process.platform === "linux")("many processes at one store", () => {
  it("concurrent adds, reads, retries, edits, discards and purges cause no error, and the totals are right", async () => {
    const report = await crowd({ rounds: 2, itemsPerJob: 40 });
    expect(report.violations, `everything is kept in ${report.home}`).toEqual([]);
    expect(report.figures.processes).toBeGreaterThanOrEqual(20);
  });
});
