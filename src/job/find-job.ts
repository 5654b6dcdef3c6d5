/** Finds a job by what a person calls it. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";

/** The job with that id or name, or a `job_not_found` error. */
export async function requireJob(engine: Engine, idOrName: string): Promise<Job> {
  const job = await engine.findJob(idOrName);
  if (job !== null) return job;
  throw new WorkError("job_not_found", `There is no job ${idOrName}.`, { hint: "`redrive jobs` lists all." });
}
