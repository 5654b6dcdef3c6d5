/** The contract of jobs. */
import { expect } from "vitest";
import { type Declare, QUEUE } from "./workbench.ts";

export function jobTests(test: Declare): void {
  const spec = { command: ["echo", "${item}"], policy: { maxAttempts: 3 } };

  test("a new job is running, has an empty queue and keeps its spec", async ({ engine, clock }) => {
    const made = await engine.createJob({ id: "job-2", name: "nightly", kind: "map", spec });
    expect(made).toEqual({
      id: "job-2",
      name: "nightly",
      kind: "map",
      spec,
      status: "running",
      progress: {},
      intakeComplete: false,
      createdAt: clock.now(),
      startedAt: clock.now(),
    });
    expect(await engine.count("job-2")).toMatchObject({ total: 0, attempts: 0, letters: 0 });
    const [started] = await engine.listEvents({ queue: "job-2", after: 0, limit: 10 });
    expect(started).toMatchObject({ type: "job_started", queue: "job-2", data: { name: "nightly" } });
  });

  test("a job is found by its complete id or name only", async ({ engine }) => {
    const made = await engine.createJob({ id: "job-2", name: "nightly", kind: "map", spec });
    expect(await engine.findJob("job-2")).toEqual(made);
    expect(await engine.findJob("nightly")).toEqual(made);
    expect(await engine.findJob("night")).toBeNull();
  });

  test("the progress of a job is kept until it is replaced", async ({ engine }) => {
    await engine.createJob({ id: "job-2", name: "nightly", kind: "workflow", spec: {} });
    await engine.changeJob("job-2", { progress: { phase: "setup", next: 2 } });
    await engine.changeJob("job-2", { status: "interrupted" });
    expect(await engine.findJob("job-2")).toMatchObject({
      kind: "workflow",
      progress: { phase: "setup", next: 2 },
    });
    await engine.changeJob("job-2", { progress: { phase: "map" } });
    expect((await engine.findJob("job-2"))?.progress).toEqual({ phase: "map" });
  });

  test("a used id or name is refused, and the first job is unchanged", async ({ engine }) => {
    const first = await engine.createJob({ id: "job-2", name: "nightly", kind: "map", spec });
    const sameId = engine.createJob({ id: "job-2", name: "other", kind: "map", spec: {} });
    await expect(sameId).rejects.toMatchObject({ name: "RedriveError", code: "job_changed" });
    const sameName = engine.createJob({ id: "job-3", name: "nightly", kind: "map", spec: {} });
    await expect(sameName).rejects.toMatchObject({ name: "RedriveError", code: "job_changed" });
    expect(await engine.listJobs({ limit: 10 })).toHaveLength(2);
    expect(await engine.findJob("nightly")).toEqual(first);
  });

  test("jobs are listed newest first, page by page", async ({ engine, clock }) => {
    for (const id of ["job-2", "job-3"]) {
      clock.advance(1000);
      await engine.createJob({ id, name: id, kind: "map", spec: {} });
    }
    const [newest, next] = await engine.listJobs({ limit: 2 });
    expect([newest?.id, next?.id]).toEqual(["job-3", "job-2"]);
    const rest = await engine.listJobs({ limit: 2, before: next?.createdAt ?? 0 });
    expect(rest.map(({ id }) => id)).toEqual([QUEUE]);
  });

  test("a change affects only the given fields", async ({ engine, clock }) => {
    const before = await engine.findJob(QUEUE);
    clock.advance(5000);
    const changed = await engine.changeJob(QUEUE, { intakeComplete: true });
    expect(changed).toEqual({ ...before, intakeComplete: true });
    expect(await engine.findJob(QUEUE)).toEqual(changed);
  });

  test("a job of imported letters can be given a workflow", async ({ engine }) => {
    await engine.createJob({ id: "job-2", name: "imported", kind: "imported", spec: {} });
    expect(await engine.findJob("job-2")).toMatchObject({ kind: "imported" });
    await engine.changeJob("job-2", { kind: "workflow", spec });
    expect(await engine.findJob("job-2")).toMatchObject({ kind: "workflow", spec, name: "imported" });
  });

  test("an ended job has an end time, and a restart clears it", async ({ engine, clock }) => {
    clock.advance(5000);
    const ended = await engine.changeJob(QUEUE, { status: "failed" });
    expect(ended).toMatchObject({ status: "failed", endedAt: clock.now() });
    clock.advance(5000);
    const again = await engine.changeJob(QUEUE, { status: "running", restarted: true, spec });
    expect(again).toMatchObject({ status: "running", startedAt: clock.now(), spec });
    expect(again.endedAt).toBeUndefined();
    expect(again.createdAt).toBe(clock.now() - 10_000);
  });

  test("a change is written together with its event", async ({ engine, clock }) => {
    const event = { type: "job_completed", data: { total: 3 } } as const;
    await engine.changeJob(QUEUE, { status: "completed", event });
    const events = await engine.listEvents({ after: 0, types: ["job_completed"], limit: 10 });
    expect(events).toMatchObject([{ ...event, queue: QUEUE, at: clock.now() }]);
  });

  test("an unknown job cannot be changed or counted", async ({ engine }) => {
    await expect(engine.changeJob("job-9", {})).rejects.toMatchObject({ code: "job_not_found" });
    await expect(engine.count("job-9")).rejects.toMatchObject({ code: "job_not_found" });
    expect(await engine.findJob("job-9")).toBeNull();
  });
}
