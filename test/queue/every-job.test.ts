import { expect, test } from "vitest";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { everyJob } from "../../src/queue/find-job.ts";
import { TestClock } from "../support/test-clock.ts";

test("every job is listed once, even if many have the same time", async () => {
  const clock = new TestClock();
  const engine = openMemoryEngine({ clock });
  for (let n = 0; n < 650; n++) {
    if (n === 30 || n > 600) clock.advance(1);
    await engine.createJob({ id: `job-${n}`, name: `job ${n}`, kind: "map", spec: {} });
  }
  const ids: string[] = [];
  for await (const { id } of everyJob(engine)) ids.push(id);
  expect(ids).toHaveLength(650);
  expect(new Set(ids).size).toBe(650);
  expect(ids[0]).toBe("job-649");
  await engine.close();
});
