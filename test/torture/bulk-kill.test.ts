/** Bulk operations that are killed in their middle, through the real CLI. */
import { describe, expect, it } from "vitest";
import { bulkKill } from "../../bench/torture/bulk-kill.mjs";

describe.runIf(process.platform === "linux")("bulk operations that are killed", () => {
  it("continue with `ops resume`: selected is done, refused or left, and nothing is done twice", async () => {
    const report = await bulkKill({ letters: 600, kills: 2 });
    expect(report.violations, `everything is kept in ${report.home}`).toEqual([]);
    expect(report.figures.kills).toBeGreaterThan(0);
  });
});
