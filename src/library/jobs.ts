/** Jobs: runs of maps and workflows. */
import * as z from "zod";
import { ENDING_KINDS, type Job as StoredJob } from "../item/job.ts";
import type { ItemState } from "../item/state.ts";
import { requireJob } from "../queue/find-job.ts";
import { type JobSummary, statusOf, summarise } from "../queue/job-summary.ts";
import { cancelJob, continueJob, pauseJob, skipItem, stopJob } from "../service/control-job.ts";
import * as t from "../std/check-input.ts";
import type { Json } from "../std/json.ts";
import type { Context } from "./context.ts";
import { resultsOf } from "./map.ts";

/** A run of a map or a workflow. */
export interface Job {
  readonly id: string;
  readonly name: string;
  readonly kind: StoredJob["kind"];
  /** `interrupted` if the job's process has died. */
  readonly status: StoredJob["status"];
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly startedAt: Date;
  readonly endedAt?: Date;
}

const pauseOptions = z.strictObject({ reason: t.text.optional() });
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
    return Promise.all(jobs.map((job) => this.#seen(job)));
  }

  /** The status, the totals and the groups of a job. Throws `job_not_found`. */
  async get(job: string): Promise<JobSummary> {
    return summarise(this.#context.engine, await this.#require(job, "jobs.get"));
  }

  /** The results of all items that succeeded, in the order in which the items were added. */
  async *results(
    job: string,
  ): AsyncIterable<{ readonly id: string; readonly data: Json; readonly result: Json }> {
    const { id } = await this.#require(job, "jobs.results");
    yield* resultsOf<Json, Json>(this.#context.engine, id);
  }

  /** Pauses a job: nothing more is started, running items finish. */
  async pause(job: string, options: { readonly reason?: string } = {}): Promise<Job> {
    const { reason = "" } = t.parseInput(pauseOptions, options, { caller: "jobs.pause", name: "options" });
    return this.#seen(await pauseJob(this.#context, nameOf(job, "jobs.pause"), reason));
  }

  /** Ends a pause. */
  async continue(job: string): Promise<Job> {
    return this.#seen(await continueJob(this.#context, nameOf(job, "jobs.continue")));
  }

  /** Stops a running job, whichever process runs it. Running attempts are ended and do not count. */
  async stop(job: string): Promise<Job> {
    return this.#seen(await stopJob(this.#context, nameOf(job, "jobs.stop")));
  }

  /** Stops a job if it is running, and dismisses it. Throws `illegal_move` if it has completed. */
  async cancel(job: string): Promise<Job> {
    return this.#seen(await cancelJob(this.#context, nameOf(job, "jobs.cancel")));
  }

  /** Skips an item of a job: its running attempt is ended, and it does not run again. Returns its state. */
  async skip(job: string, item: string): Promise<ItemState> {
    t.checkInput(t.name, item, { caller: "jobs.skip", name: "item" });
    return (await skipItem(this.#context, nameOf(job, "jobs.skip"), item)).state;
  }

  async #seen(job: StoredJob): Promise<Job> {
    return jobOf(job, await statusOf(this.#context.engine, job));
  }

  async #require(job: string, caller: string): Promise<StoredJob> {
    return requireJob(this.#context.engine, nameOf(job, caller));
  }
}

function nameOf(job: string, caller: string): string {
  return t.parseInput(t.name, job, { caller, name: "job" });
}

function jobOf(job: StoredJob, status: StoredJob["status"]): Job {
  const { id, name, kind, createdAt, startedAt, endedAt } = job;
  return {
    ...{ id, name, kind, status, isPaused: job.pause !== undefined },
    ...{ createdAt: new Date(createdAt), startedAt: new Date(startedAt) },
    ...(endedAt !== undefined && { endedAt: new Date(endedAt) }),
  };
}
