/** Finds a job by what a person calls it. */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { ENDING_KINDS, type Job } from "../item/job.ts";
import { slugOf } from "./slug.ts";

/** The job with that id or name, else the latest whose id was made from that name; or a `job_not_found` error. */
export async function requireJob(engine: Engine, idOrName: string): Promise<Job> {
  const job = (await engine.findJob(idOrName)) ?? (await latestOf(engine, slugOf(idOrName)));
  if (job !== undefined) return job;
  throw new WorkError("job_not_found", `There is no job ${idOrName}.`, { hint: "`redrive jobs` lists all." });
}

const LOOK_AT_MAX = 200;

/** `fix-lint` is the latest of `fix-lint-7h2k9m4x` and the like. */
async function latestOf(engine: Engine, slug: string): Promise<Job | undefined> {
  const jobs = await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ENDING_KINDS });
  return jobs.find(({ id }) => id.startsWith(`${slug}-`) && /^-[a-z0-9]{8}$/.test(id.slice(slug.length)));
}
