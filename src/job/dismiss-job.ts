/** A job that a person does not want to resume: a bare `redrive resume` passes over it, and retention may delete it. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { isStanding, type Job } from "../item/job.ts";
import { statusOf } from "./summary.ts";
import { refuseStanding } from "./work.ts";

/** It holds until the job is run again. */
export function isDismissed({ progress, startedAt }: Pick<Job, "progress" | "startedAt">): boolean {
  const { dismissed_at: at } = progress;
  return typeof at === "number" && at >= startedAt;
}

/** Dismisses a job that does not run. One that is dismissed stays so. */
export async function dismissJob(engine: Engine, job: Job, author: string): Promise<Job> {
  if (isStanding(job)) refuseStanding(job);
  if ((await statusOf(engine, job)) === "running") {
    throw new WorkError("job_running", `Another process is running the job ${job.id}.`, {
      hint: "Stop it first, or wait until it has ended.",
    });
  }
  if (isDismissed(job)) return job;
  return engine.changeJob(job.id, {
    ...(job.status === "running" && { status: "interrupted" }),
    progress: { ...job.progress, dismissed_at: await engine.now() },
    event: { type: "job_dismissed", data: { author } },
  });
}
