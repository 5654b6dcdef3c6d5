/** Ten kinds of processes at one store at the same time, through the real CLI. */
import { describe, expect, it } from "vitest";
import { crowd } from "../../bench/torture/crowd.mjs";

describe.runIf(process.platform === "linux")("many processes at one store", () => {
  it("adding, looking, retrying, editing, discarding and purging at once show no error, and the books balance", async () => {
    const report = await crowd({ rounds: 2, itemsPerJob: 40 });
    expect(report.violations, `everything is kept in ${report.home}`).toEqual([]);
    expect(report.figures.processes).toBeGreaterThanOrEqual(20);
  });
});
