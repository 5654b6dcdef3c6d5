/** The short form of `npm run torture -- --agents`: what agents reported is counted, whatever happens to them and the runner. */
import { expect, it } from "vitest";
import { tortureAgents } from "../../bench/torture/agents.mjs";

it.runIf(process.platform === "linux")(
  "the totals are the sum of what 20 agents reported, after three kill -9 of the runner",
  async () => {
    const report = await tortureAgents({ items: 20, kills: 3 });
    expect(report.violations, `everything is kept in ${report.home}`).toEqual([]);
    expect(report.figures).toMatchObject({ items: 20, dead: 4, strikes: 3 });
  },
  300_000,
);
