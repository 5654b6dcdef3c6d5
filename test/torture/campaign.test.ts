/** The short forms of what a campaign does besides: launchers, imports, exports, copies and upgrades, and its report. */
import { appendFileSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { appendReport, type CampaignResult } from "../../bench/torture/campaign-report.mjs";
import { chaos } from "../../bench/torture/chaos.mjs";
import { tortureCopies } from "../../bench/torture/copies.mjs";
import { tortureImportExport } from "../../bench/torture/import-export.mjs";
import { PostgresPair } from "../../bench/torture/postgres-pair.mjs";
import { type TortureReport, torture } from "../../bench/torture/torture.mjs";
import { tortureUpgrade } from "../../bench/torture/upgrade.mjs";
import { seeds } from "../support/seeds.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

/** Other tests run at the same time. */
const RECOVERY_MS_MAX = 60_000;
const TEST_MS_MAX = 240_000;

function expectClean(report: TortureReport, seed: number): void {
  expect(report.violations, `seed ${seed}; everything is kept in ${report.home}`).toEqual([]);
  expect(report.figures.strikes).toBeGreaterThan(0);
}

describe.runIf(process.platform === "linux")("what is struck several times a second", () => {
  it.each(seeds(403))(
    "a map whose runners and launchers are killed loses nothing and leaves no process, seed %i",
    async (seed) => expectClean(await torture({ seed, isSteady: true, kills: 8 }), seed),
    TEST_MS_MAX,
  );

  it.each(seeds(20_264))(
    "a queue on SQLite is processed completely, seed %i",
    async (seed) => {
      const options = { seed, engine: "sqlite", isSteady: true, kills: 8 } as const;
      expectClean(await chaos({ ...options, recoveryMsMax: RECOVERY_MS_MAX }), seed);
    },
    TEST_MS_MAX,
  );
});

describe.runIf(process.platform === "linux")("what is killed in its middle and run again", () => {
  it.each(seeds(1_822_189_900))(
    "an import or an export has every letter once, seed %i",
    async (seed) => expectClean(await tortureImportExport({ seed, letters: 150, kills: 2 }), seed),
    TEST_MS_MAX,
  );

  it.each(seeds(485_078_569))(
    "a copy equals its source, seed %i",
    async (seed) => expectClean(await tortureCopies({ seed, letters: 150, kills: 2 }), seed),
    TEST_MS_MAX,
  );
});

describe.runIf(process.platform === "linux")("what changes under running workers", () => {
  it.each(seeds(20_265))(
    "the schema: old workers end, new ones finish the work, seed %i",
    async (seed) => {
      const report = await tortureUpgrade({ seed, items: 12, strikes: 4, kills: 1 });
      expectClean(report, seed);
      expect(report.figures).toMatchObject({ items: 12 });
    },
    TEST_MS_MAX,
  );
});

describe.runIf(process.platform === "linux")("a primary that is lost, and its standby", () => {
  it.each(seeds(20_266))(
    "hand over the work: nothing is lost or done twice, seed %i",
    async (seed) => {
      const options = { seed, engine: "postgres", isSteady: true, kills: 10, failOverShare: 0.25 } as const;
      const server = await PostgresPair.make();
      const report = await chaos({ ...options, server, recoveryMsMax: RECOVERY_MS_MAX });
      expectClean(report, seed);
    },
    TEST_MS_MAX,
  );
});

describe("the report of a campaign", () => {
  const round: CampaignResult = {
    kind: "map",
    strikes: 3,
    violations: [],
    figures: { items: 10, attempts: 20 },
    faults: { killServer: 2, freeze: 1 },
  };

  it("appends a row for each kind and adds up all rows", () => {
    const directory = new TemporaryDirectory();
    onTestFinished(() => directory.remove());
    const path = directory.file("TORTURE.md");
    const common = { seed: 7, commit: "abc1234", date: new Date(0) };
    appendReport(path, {
      ...common,
      results: [round, round, { ...round, kind: "copy", violations: ["lost"] }],
    });
    appendFileSync(path, "\n## Notes\n\n| seed |\n| --- |\n| 7 |\n");
    appendReport(path, { ...common, results: [round] });
    const text = readFileSync(path, "utf8");
    expect(text).toContain(
      "| 1970-01-01 00:00 | abc1234 | 7 | map | 2 | 6 | 20 | 40 | 0 | killServer 4, freeze 2 |",
    );
    expect(text).toContain("| map | 3 | 9 | 30 | 60 | 0 |");
    expect(text.endsWith("| 0 | killServer 2, freeze 1 |\n\n## Notes\n\n| seed |\n| --- |\n| 7 |\n")).toBe(
      true,
    );
    expect(text).toContain("| **all** | 4 | 12 | 40 | 80 | 1 |");
  });
});
