/** Redrives of a map whose command is a real one, on the memory engine. */
import { existsSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { Job } from "../../src/item/job.ts";
import { cancelOperation, pauseOperation, reopen } from "../../src/redrive/change-operation.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/retry/policy.ts";
import { specToJson } from "../../src/run/map-spec.ts";
import { resumeJob } from "../../src/run/resume.ts";
import { continueRedrive, detachLetters, type RetryOptions, retryLetters } from "../../src/run/retry.ts";
import type { RunDeps } from "../../src/run/run-job.ts";
import type { StartService } from "../../src/service/service.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

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

it("--max-retries is the number of retries, whatever the policy; 0 is one attempt", async () => {
  const job = await deadJob(["a"]);
  const before = await attempts(job);
  await retry(job, { plan: { maxRetries: 2 } });
  expect((await attempts(job)) - before).toBe(3);
  await retry(job, { plan: { maxRetries: 0 }, force: true });
  expect((await attempts(job)) - before).toBe(4);
});

it("a letter that failed again too often is poison, is refused, and is retried with force", async () => {
  const job = await deadJob(["a"]);
  const poison = { ...deps(), poisonAfter: 1 };
  expect(await retryLetters(poison, optionsOf(job))).toMatchObject({ failed: 1, refused: 0 });
  const { letters } = await engine.listLetters({ queue: job.id, limit: 1 });
  expect(letters[0]).toMatchObject({ poison: true, reprocessEligible: false, redriveCount: 1 });
  expect(await retry(job)).toMatchObject({ refused: 1, done: 0 });
  mend();
  expect(await retry(job, { force: true })).toMatchObject({ succeeded: 1, refused: 0 });
});

it("paused by another process, it starts nothing more and reports that; opened again, it ends well", async () => {
  const job = await deadJob(["a", "b", "c"]);
  const notices: string[] = [];
  const begun = detached(job);
  const operation = await pauseOperation(engine, await begun);
  mend();
  const running = continueRedrive(deps(), operation, { onNotice: (notice) => notices.push(notice) });
  await until("it says that it is paused", () => notices.length > 0);
  expect(notices[0]).toContain(`${operation.id} is paused`);
  expect(await attempts(job)).toBe(3);
  await reopen(engine, await paused(operation.id));
  expect(await running).toMatchObject({ status: "ended", succeeded: 3 });
});

it("cancelled by another process, it ends, and letters that were not started are unchanged", async () => {
  const job = await deadJob(["a", "b", "c"]);
  const operation = await pauseOperation(engine, await detached(job));
  mend();
  const running = continueRedrive(deps(), operation, {});
  await cancelOperation(engine, operation);
  expect(await running).toMatchObject({ status: "cancelled", refused: 3, succeeded: 0 });
  expect(await engine.count(job.id)).toMatchObject({ dead: 3, ready: 0 });
});

it("stopped by the job's policy, it reports why and what remains", async () => {
  const job = await deadJob(["a", "b", "c"], { continueOnFailure: false });
  const notices: string[] = [];
  const onNotice = (notice: string) => notices.push(notice);
  const operation = await retry(job, { plan: { slots: 1 }, onNotice });
  expect(operation).toMatchObject({ status: "open", failed: 1 });
  expect(notices).toEqual([expect.stringMatching(/^Stopped: an item died, and the job stops at the first/)]);
  expect(await engine.findJob(job.id)).toMatchObject({ status: "completed" });
});

it("detached, the letters are ready for the job's own runner, which ends the operation", async () => {
  const job = await deadJob(["a", "b"]);
  const operation = await detached(job);
  expect(operation).toMatchObject({ status: "open", done: 2, succeeded: 0 });
  expect(await engine.count(job.id)).toMatchObject({ ready: 2, letters: 2 });
  mend();
  await resumeJob(deps(), { job: job.id, withLetters: false });
  expect(await engine.findOperation(operation.id)).toMatchObject({ status: "ended", succeeded: 2 });
});

it("resume leaves a paused redrive paused", async () => {
  const job = await deadJob(["a", "b"]);
  const begun = await engine.beginOperation({ ...REDRIVE, id: "op-1", queue: job.id });
  await pauseOperation(engine, begun);
  mend();
  await resumeJob(deps(), { job: job.id, withLetters: false });
  expect(await paused("op-1")).toMatchObject({ status: "paused", done: 0 });
  expect(await engine.count(job.id)).toMatchObject({ dead: 2 });
});

it("imported letters have no work of their own: nothing is started", async () => {
  const job = await engine.createJob({ id: "old", name: "old", kind: "imported", spec: {} });
  const refusal = { code: "usage", message: expect.stringContaining("were imported") };
  await expect(retry(job)).rejects.toMatchObject(refusal);
  await expect(resumeJob(deps(), { job: "old", withLetters: true })).rejects.toMatchObject(refusal);
  expect(await engine.listOperations({})).toEqual([]);
  expect(await engine.findJob("old")).toMatchObject({ status: "running" });
});

it("services are notified of every settlement and stopped at the end, even after an error", async () => {
  const job = await deadJob(["a", "b"]);
  const heard: string[] = [];
  const service: StartService = (opened) => ({
    settled: ({ itemId }, { verdict }) => heard.push(`${opened.id} ${itemId} ${verdict.kind}`),
    stop: async () => void heard.push("stopped"),
  });
  mend();
  await retryLetters({ ...deps(), services: [service] }, optionsOf(job));
  expect(heard.slice(0, 2).sort()).toEqual(["job-1 a done", "job-1 b done"]);
  expect(heard.slice(2)).toEqual(["stopped"]);
  const failing = { ...engine, settleAndLease: () => Promise.reject(new Error("out of order")) };
  const again = { ...deps(), engine: failing, services: [service] };
  await engine.add(job.id, [{ itemId: "c", data: "c" }]);
  await expect(resumeJob(again, { job: job.id, withLetters: false })).rejects.toThrow("out of order");
  expect(heard.slice(3)).toEqual(["stopped"]);
});

it("a failing service never fails the run: it causes a notice", async () => {
  const job = await deadJob(["a"]);
  mend();
  const faulty = (where: string): StartService => {
    const fail = (here: string) => {
      if (here === where) throw new Error(`${where} is broken`);
    };
    return () => {
      fail("open");
      return { settled: () => fail("settled"), stop: async () => fail("stop") };
    };
  };
  const notices: string[] = [];
  const services = ["open", "settled", "stop"].map(faulty);
  const onNotice = (notice: string) => notices.push(notice);
  const operation = await retryLetters({ ...deps(), services }, { ...optionsOf(job), onNotice });
  expect(operation).toMatchObject({ succeeded: 1 });
  expect(notices).toEqual(
    ["open", "settled", "stop"].map((where) => expect.stringContaining(`${where} is broken`)),
  );
});

const REDRIVE = { kind: "redrive", filter: {}, force: false, author: "ann", plan: {} } as const;

function deps(): RunDeps {
  return { engine, home: home.path, stop: new AbortController().signal };
}

function optionsOf(job: Job): RetryOptions {
  return { job, selection: { filter: {} }, author: "ann" };
}

function retry(job: Job, options: Partial<RetryOptions> = {}) {
  return retryLetters(deps(), { ...optionsOf(job), ...options });
}

function detached(job: Job) {
  return detachLetters(engine, optionsOf(job));
}

async function paused(id: string) {
  const operation = await engine.findOperation(id);
  if (operation === null) throw new Error("it is gone");
  return operation;
}

async function attempts({ id }: Job): Promise<number> {
  return (await engine.count(id)).attempts;
}

function mend(): void {
  writeFileSync(`${home.path}/mended`, "");
}

/** A job whose items are all letters until `mend`. */
async function deadJob(items: readonly string[], policy: Partial<Policy> = {}): Promise<Job> {
  const spec = {
    command: ["test", "-e", "mended"],
    cwd: home.path,
    input: { path: "-" },
    jobs: 2,
    graceMs: 500,
    policy: { ...DEFAULT_POLICY, maxAttempts: 1, backoff: { kind: "fixed", delayMs: 0, jitter: false } },
  } as const;
  await engine.createJob({ id: "job-1", name: "job-1", kind: "map", spec: specToJson(spec) });
  await engine.add(
    "job-1",
    items.map((itemId) => ({ itemId, data: itemId })),
  );
  await engine.changeJob("job-1", { intakeComplete: true });
  await resumeJob(deps(), { job: "job-1", withLetters: false });
  const withPolicy = { ...spec, policy: { ...spec.policy, ...policy } };
  const job = await engine.changeJob("job-1", { spec: specToJson(withPolicy) });
  expect(existsSync(`${home.path}/mended`)).toBe(false);
  expect(await engine.count(job.id)).toMatchObject({ dead: items.length });
  return job;
}
