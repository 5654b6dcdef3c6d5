/** The store of `redrive demo --console`: a day of failures, something that helped, and a map that runs. */
import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { openDemoStore } from "../../src/cli/demo/demo-store.ts";
import { listGroups } from "../../src/redrive/groups.ts";
import { readRunningItems } from "../../src/run/running-items.ts";

test("the demo has causes of several ages, of which one came back, and a map whose output can be watched", async () => {
  const { engine, home, close } = await openDemoStore();
  onTestFinished(async () => {
    await close();
    expect(existsSync(home)).toBe(false);
  });
  const { groups } = await listGroups(engine, { states: ["open"] });
  const causes = groups.map(({ pattern }) => pattern);
  for (const cause of ["502 Bad Gateway", "VAT id", "toFixed", "Recipient", "ETIMEDOUT", "does not exist"])
    expect(
      causes.some((pattern) => pattern.includes(cause)),
      cause,
    ).toBe(true);
  const hours = groups.map(({ firstAt = Number.NaN }) => Math.round((Date.now() - firstAt) / 3_600_000));
  expect(Math.max(...hours)).toBeGreaterThan(20);
  expect(Math.min(...hours)).toBeLessThan(2);
  expect(groups.filter(({ isRegression }) => isRegression)).toHaveLength(1);

  const lastLines = async () => {
    const [job] = (await engine.listJobs({ limit: 10 })).filter(({ name }) => name === "thumbnails");
    if (job === undefined) return [];
    const running = await readRunningItems(engine, { queue: job.id, home, limit: 5, hidesOutput: false });
    return running.map(({ last_line: line }) => line);
  };
  // The command writes to one of its two streams only.
  await expect
    .poll(lastLines, { timeout: 30_000 })
    .toContainEqual(expect.stringMatching(/^(?:reading|scaled)/u));
});
