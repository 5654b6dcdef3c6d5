import { afterEach, beforeEach, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { Job } from "../../src/item/job.ts";
import { describeSelf } from "../../src/lease/holder.ts";
import { hasRunner, statusOf, summarise, summaryToJson } from "../../src/queue/job-summary.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { deadPid } from "../lease/processes.ts";
import { buried, retried, skipped, succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

let clock: TestClock;
let engine: Engine;
let job: Job;

beforeEach(async () => {
  clock = new TestClock();
  engine = openMemoryEngine({ clock });
  job = await engine.createJob({ id: QUEUE, name: "words", kind: "map", spec: {} });
});

afterEach(() => engine.close());

it("every item is counted in exactly one place", async () => {
  await leaseAll("a", "b", "c", "d", "e", "f").then(([a, b, c, d]) => {
    if (!a || !b || !c || !d) throw new Error("six items were added");
    return engine.settleAndLease(null, { settle: [succeeded(a), buried(b), skipped(c), retried(d, 5000)] });
  });
  await engine.add(QUEUE, [newItem("g")]);
  const summary = await summarise(engine, job);
  expect(summary).toMatchObject({ total: 7, succeeded: 1, dead: 1, skipped: 1, remaining: 4, attempts: 6 });
  expect(summary.succeeded + summary.dead + summary.skipped + summary.remaining).toBe(summary.total);
});

it("the groups of the letters are included, largest first", async () => {
  const [a, b, c] = await leaseAll("a", "b", "c");
  if (!a || !b || !c) throw new Error("three items were added");
  const rare = { signature: "00000000000000cc", pattern: "rare" };
  await engine.settleAndLease(null, { settle: [buried(a, rare), buried(b), buried(c)] });
  const { groups } = await summarise(engine, job);
  expect(groups.map(({ count }) => count)).toEqual([2, 1]);
  expect(groups[1]).toEqual({ ...rare, count: 1 });
});

it("the totals of the dead letter queue are included", async () => {
  const [a, b] = await leaseAll("a", "b");
  if (!a || !b) throw new Error("two items were added");
  await engine.settleAndLease(null, { settle: [buried(a), buried(b)] });
  await engine.beginOperation({
    ...{ id: "op-1", kind: "discard", queue: QUEUE, filter: { itemIds: ["a"] }, force: false },
    ...{ author: "ada", reason: "old", plan: {} },
  });
  await engine.advance("op-1", { max: 1 });
  clock.advance(90_000);
  const summary = await summarise(engine, job);
  expect(summary).toMatchObject({ total: 2, dead: 1, discarded: 1, remaining: 0 });
  expect(summaryToJson(summary).dlq).toMatchObject({
    size: 1,
    discarded: 1,
    oldest_age_seconds: 90,
    arrived_last_hour: 2,
  });
});

it("the duration is that of the latest run: until now while it runs, then until its end", async () => {
  clock.advance(2000);
  expect((await summarise(engine, job)).durationMs).toBe(2000);
  job = await engine.changeJob(QUEUE, { status: "completed" });
  clock.advance(5000);
  expect((await summarise(engine, job)).durationMs).toBe(2000);
  job = await engine.changeJob(QUEUE, { status: "running", restarted: true });
  clock.advance(300);
  expect((await summarise(engine, job)).durationMs).toBe(300);
});

it("a clock that was set back makes no negative duration", async () => {
  clock.advance(-10_000);
  expect((await summarise(engine, job)).durationMs).toBe(0);
});

it("its JSON has the names of the contract", async () => {
  const json = summaryToJson(await summarise(engine, job));
  expect(Object.keys(json)).toEqual([
    "job_id",
    "name",
    "status",
    "total",
    "succeeded",
    "dead",
    "skipped",
    "discarded",
    "remaining",
    "attempts",
    "duration_ms",
    "groups",
    "dlq",
  ]);
});

it("a running job without a runner was interrupted", async () => {
  expect(await statusOf(engine, job)).toBe("interrupted");
  await engine.registerHolder(describeSelf(QUEUE));
  expect(await statusOf(engine, job)).toBe("running");
});

it("a runner that has died or works on another job does not make it running", async () => {
  await engine.createJob({ id: "job-2", name: "other", kind: "map", spec: {} });
  await engine.registerHolder(describeSelf("job-2"));
  await engine.registerHolder({ ...describeSelf(QUEUE), pid: await deadPid() });
  expect(await hasRunner(engine, QUEUE)).toBe(false);
  expect(await statusOf(engine, job)).toBe("interrupted");
  expect(await hasRunner(engine, "job-2")).toBe(true);
});

it.each(["completed", "failed", "stopped", "interrupted"] as const)(
  "a job that ended as %s is that",
  async (status) => {
    job = await engine.changeJob(QUEUE, { status });
    await engine.registerHolder(describeSelf(QUEUE));
    expect(await statusOf(engine, job)).toBe(status);
  },
);

async function leaseAll(...itemIds: readonly string[]) {
  await engine.add(QUEUE, itemIds.map(newItem));
  await engine.registerHolder({ ...describeSelf(QUEUE), id: "holder-1" });
  const { leased } = await engine.settleAndLease("holder-1", {
    settle: [],
    lease: { queue: QUEUE, max: itemIds.length },
  });
  return leased;
}
