/** Jobs: runs of maps and workflows. */
import * as z from "zod";
import { ENDING_KINDS, type Job as StoredJob } from "../item/job.ts";
import { requireJob } from "../queue/find-job.ts";
import { type JobSummary, statusOf, summarise } from "../queue/job-summary.ts";
import * as t from "../std/check-input.ts";
import type { Context } from "./context.ts";

/** A run of a map or a workflow. */
export interface Job {
  readonly id: string;
  readonly name: string;
  readonly kind: StoredJob["kind"];
  /** A job whose process has died is `interrupted`. */
  readonly status: StoredJob["status"];
  readonly createdAt: Date;
  readonly startedAt: Date;
  readonly endedAt?: Date;
}

const listOptions = z.strictObject({ limit: t.wholeNumber(1, 10_000).optional() });
const JOBS_MAX = 100;

/** The jobs of a store. A job is named by its id or its name. */
export class Jobs {
  readonly #context: Context;

  /** @internal */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Lists jobs, newest first; at most 100 by default. */
  async list(options: { readonly limit?: number } = {}): Promise<readonly Job[]> {
    const { limit = JOBS_MAX } = t.parseInput(listOptions, options, { caller: "jobs.list", name: "options" });
    const { engine } = this.#context;
    const jobs = await engine.listJobs({ limit, kinds: ENDING_KINDS });
    return Promise.all(jobs.map(async (job) => jobOf(job, await statusOf(engine, job))));
  }

  /** The status, the totals and the groups of a job. Throws `job_not_found`. */
  async get(job: string): Promise<JobSummary> {
    return summarise(this.#context.engine, await this.#require(job, "jobs.get"));
  }

  async #require(job: string, caller: string): Promise<StoredJob> {
    t.checkInput(t.name, job, { caller, name: "job" });
    return requireJob(this.#context.engine, job);
  }
}

function jobOf(job: StoredJob, status: StoredJob["status"]): Job {
  const { id, name, kind, createdAt, startedAt, endedAt } = job;
  return {
    ...{ id, name, kind, status, createdAt: new Date(createdAt), startedAt: new Date(startedAt) },
    ...(endedAt !== undefined && { endedAt: new Date(endedAt) }),
  };
}
