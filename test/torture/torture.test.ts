/** The short form of `npm run torture`: real runners, real signals, a ledger that the commands keep themselves. */
import { describe, expect, it } from "vitest";
import { FAULTS } from "../../bench/torture/faults.mjs";
import { torture } from "../../bench/torture/torture.mjs";
import { seeds } from "../support/seeds.ts";

describe.runIf(process.platform === "linux")("runners that are killed, stopped and doubled", () => {
  it.each(seeds(20_261))(
    "lose nothing, repeat no success and record every attempt, seed %i",
    async (seed) => {
      const report = await torture({ seed, items: 350, kills: 6, faults: FAULTS });
      expect(report.violations, `seed ${seed}; everything is kept in ${report.home}`).toEqual([]);
      expect(report.figures).toMatchObject({ items: 350 });
      expect(report.figures.strikes).toBeGreaterThan(0);
    },
  );
});
