/** `redrive resume`: goes on with a job that was interrupted, stopped or has letters worth another try. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { beginRedrive, redriveAll } from "../redrive/operation.ts";
import type { Feed } from "../runner/runner.ts";
import { inputFeed, type MapOptions, type MapResult } from "./map.ts";
import { specOf } from "./map-spec.ts";
import { type RunDeps, runJob } from "./run-job.ts";
import { statusOf, summarise } from "./summary.ts";

/** Which job goes on, and how. */
export interface ResumeOptions extends Pick<MapOptions, "onJob" | "onNotice"> {
  /** Id or name. Default: the latest job that did not come to its end. */
  readonly job?: string;
  /** Redrive the eligible letters too. */
  readonly withLetters: boolean;
  readonly slots?: number;
}

/** Goes on with a job and runs it to its end. */
export async function resumeJob(deps: RunDeps, options: ResumeOptions): Promise<MapResult> {
  const { engine } = deps;
  const found =
    options.job === undefined ? await latestUnfinished(engine) : await requireJob(engine, options.job);
  const job = await engine.changeJob(found.id, {
    status: "running",
    restarted: true,
    event: { type: "job_resumed", data: { with_letters: options.withLetters } },
  });
  options.onJob?.(job);
  const result = await runJob(deps, {
    job,
    feed: feedOf(deps, job, options),
    ...(options.slots !== undefined && { slots: options.slots }),
  });
  const summary = await summarise(engine, await requireJob(engine, job.id));
  return { summary, ...(result.reason !== undefined && { stopReason: result.reason }) };
}

/** First what was begun and not finished, then the letters, then the rest of the input. */
function feedOf(deps: RunDeps, job: Job, options: ResumeOptions): Feed {
  return async function* (patience) {
    for (const operation of await deps.engine.listOperations({ queue: job.id, open: true })) {
      yield* redriveAll(deps.engine, operation, patience);
    }
    if (options.withLetters) {
      const operation = await beginRedrive(deps.engine, job.id, { eligible: true }, false);
      yield* redriveAll(deps.engine, operation, patience);
    }
    if (job.intakeComplete) return;
    if (specOf(job).input.path !== "-") yield* inputFeed(deps, job, options)(patience);
    else
      options.onNotice?.(
        `Standard input was not read to its end. Run the map again with --name ${job.name} to add the rest.`,
      );
  };
}

async function latestUnfinished(engine: Engine): Promise<Job> {
  for (const job of await engine.listJobs({ limit: 100 })) {
    const status = await statusOf(engine, job);
    if (status === "interrupted" || status === "stopped" || status === "failed") return job;
  }
  throw new WorkError("job_not_found", "There is no interrupted job.", {
    hint: "`redrive jobs` lists all; `redrive resume JOB` goes on with any of them.",
  });
}

/** The job with that id or name, or a `job_not_found` error. */
export async function requireJob(engine: Engine, idOrName: string): Promise<Job> {
  const job = await engine.findJob(idOrName);
  if (job !== null) return job;
  throw new WorkError("job_not_found", `There is no job ${idOrName}.`, { hint: "`redrive jobs` lists all." });
}
