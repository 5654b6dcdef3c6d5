import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { Job } from "../../src/item/job.ts";
import { DEFAULT_POLICY } from "../../src/retry/policy.ts";
import type { MapSpec } from "../../src/run/map-spec.ts";
import { specToJson } from "../../src/run/map-spec.ts";
import { resumeJob } from "../../src/run/resume.ts";
import { retryLetters } from "../../src/run/retry.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

let home: TemporaryDirectory;
let engine: Engine;

beforeEach(() => {
  home = new TemporaryDirectory();
  engine = openMemoryEngine();
});

afterEach(async () => {
  expect(await engine.check()).toEqual([]);
  await engine.close();
  home.remove();
});

it("resume closes the redrive that it began, once its letters have ended", async () => {
  const job = await jobOf(["test", "${item}", "=", "good"], ["good", "bad"]);
  await resume(job);
  expect((await resume(job)).summary).toMatchObject({ succeeded: 1, dead: 1, attempts: 3 });
  expect(await engine.listOperations({ queue: job.id, open: true })).toEqual([]);
  const [, second] = await engine.listOperations({ queue: job.id });
  expect(second).toMatchObject({ selected: 1, done: 1, failed: 1, endedAt: expect.any(Number) });
});

it("resume sends what an interrupted redrive had only begun, and closes it", async () => {
  const job = await jobOf(["test", "-e", "mended"], ["a", "b"]);
  await resume(job);
  await engine.beginOperation({ ...REDRIVE, id: "op-left", queue: job.id });
  writeFileSync(`${home.path}/mended`, "");
  await resume(job, { withLetters: false });
  expect(await engine.findOperation("op-left")).toMatchObject({
    selected: 2,
    done: 2,
    succeeded: 2,
    endedAt: expect.any(Number),
  });
});

it("resume without letters leaves them", async () => {
  const job = await jobOf(["false"], ["a"]);
  await resume(job);
  expect((await resume(job, { withLetters: false })).summary).toMatchObject({ dead: 1, attempts: 1 });
});

it("a job is running while another runner works on it, and ends when the last one unregisters", async () => {
  const job = await jobOf(["true"], ["a"]);
  const other = { id: "other", queue: job.id, host: "elsewhere", pid: 1, processStart: "", ttlMs: 60_000 };
  await engine.registerHolder(other);
  expect((await resume(job)).summary).toMatchObject({ status: "running", succeeded: 1 });
  expect(await engine.findJob(job.id)).toMatchObject({ status: "running" });
  await engine.unregisterHolder("other");
  expect((await resume(job)).summary).toMatchObject({ status: "completed" });
});

it("resume without a name takes the latest unfinished job", async () => {
  const left = await jobOf(["true"], ["a"], "left");
  await resume(await jobOf(["true"], ["b"], "ended"));
  const { summary } = await resumeJob(deps(), { withLetters: true });
  expect(summary).toMatchObject({ jobId: left.id, status: "completed", succeeded: 1 });
  await expect(resumeJob(deps(), { withLetters: true })).rejects.toMatchObject({ code: "job_not_found" });
});

it("a stopped retry leaves its letters, and reports what remains", async () => {
  const job = await jobOf(["false"], ["a", "b"]);
  await resume(job);
  const operation = await retryLetters(
    { ...deps(), stop: AbortSignal.abort() },
    { job, selection: { filter: {} }, author: "ann" },
  );
  expect(operation).toMatchObject({ selected: 2, succeeded: 0, failed: 0 });
  expect(operation.endedAt).toBeUndefined();
  expect(await engine.count(job.id)).toMatchObject({ letters: 2, attempts: 2 });
});

const REDRIVE = { kind: "redrive", filter: {}, force: false, author: "ann", plan: {} } as const;

function resume(job: Job, { withLetters } = { withLetters: true }) {
  return resumeJob(deps(), { job: job.id, withLetters });
}

function deps() {
  return { engine, home: home.path, stop: new AbortController().signal };
}

async function jobOf(command: readonly string[], items: readonly string[], id = "job-1"): Promise<Job> {
  await engine.createJob({ id, name: `name of ${id}`, kind: "map", spec: specToJson(specOf(command)) });
  await engine.add(
    id,
    items.map((itemId) => ({ itemId, data: itemId })),
  );
  return engine.changeJob(id, { intakeComplete: true });
}

function specOf(command: readonly string[]): MapSpec {
  const policy = { ...DEFAULT_POLICY, maxAttempts: 1 };
  return { command, cwd: home.path, input: { path: "-" }, jobs: 2, graceMs: 500, policy };
}
