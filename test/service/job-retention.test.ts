/** The retention of jobs: which of them are deleted when they are old, and which wait for a person. */
import { afterAll, beforeEach, expect, test } from "vitest";
import { dismissJob } from "../../src/service/delete-job.ts";
import { jobLimitsOf, jobRetention, tidyJobs } from "../../src/service/job-retention.ts";
import { AUTHOR, QUEUE, type Workbench } from "../conformance/workbench.ts";
import { openBench } from "../redrive/fix-kit.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

const DAY_MS = 86_400_000;
const limits = jobLimitsOf({ retentionDays: 30, logRetentionDays: null });

let bench: Workbench;

beforeEach(async () => {
  bench = await openBench();
});

async function endAll(status: "completed" | "failed", ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await bench.job(id);
    await bench.engine.changeJob(id, { status });
  }
}

function tidy(change: { readonly isPreview?: boolean } = {}) {
  return tidyJobs(bench.engine, { home: temporary.path, limits, author: AUTHOR, ...change });
}

test("a completed or dismissed job is deleted after its days; one that failed or is younger stays", async () => {
  await endAll("completed", "done");
  await endAll("failed", "failed", "dismissed");
  const dismissed = await bench.engine.findJob("dismissed");
  if (dismissed) await dismissJob(bench.engine, dismissed, AUTHOR);
  bench.clock.advance(29 * DAY_MS);
  expect((await tidy()).jobs).toEqual([]);
  await endAll("completed", "younger");
  bench.clock.advance(2 * DAY_MS);
  expect((await tidy({ isPreview: true })).jobs).toEqual(["dismissed", "done"]);
  expect((await tidy()).jobs).toEqual(["dismissed", "done"]);
  const left = (await bench.engine.listJobs({ limit: 10 })).map(({ id }) => id);
  expect(left).toEqual(["younger", "failed", QUEUE]);
});

test("a job with waiting letters is kept, and deleted with an archive when they are resolved", async () => {
  await bench.bury(["a"]);
  await bench.engine.unregisterHolder("holder-1");
  await bench.engine.changeJob(QUEUE, { status: "completed" });
  bench.clock.advance(31 * DAY_MS);
  expect((await tidy()).jobs).toEqual([]);
  await bench.operate("discard");
  expect((await tidy()).jobs).toEqual([QUEUE]);
  expect(await bench.engine.check()).toEqual([]);
});

test("a run that has ended applies it to the others and keeps its own job", async () => {
  await endAll("completed", "old", "own");
  bench.clock.advance(31 * DAY_MS);
  const own = await bench.engine.findJob("own");
  if (own === null) throw new Error("the job was made");
  const notices: string[] = [];
  const onNotice = (notice: string) => notices.push(notice);
  const surroundings = { engine: bench.engine, home: temporary.path, clock: bench.clock, onNotice };
  await jobRetention({ limits, author: AUTHOR })(own, surroundings).stop();
  expect(await bench.engine.findJob("old")).toBeNull();
  expect(await bench.engine.findJob("own")).not.toBeNull();
  expect(notices).toEqual(["Retention deleted old."]);
});
