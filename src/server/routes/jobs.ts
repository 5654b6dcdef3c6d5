/** Handlers of the routes of jobs. */
import { ENDING_KINDS } from "../../item/job.ts";
import { requireJob } from "../../queue/find-job.ts";
import { summarise } from "../../queue/job-summary.ts";
import { jobToJson } from "../../service/job-json.ts";
import type { Handler } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { jobRoutes } from "../contract/jobs.ts";

type Routes = typeof jobRoutes;

export const jobHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /jobs": async ({ engine }, { query: { limit = PAGE_DEFAULT, cursor } }) => {
    const before = cursor === undefined ? {} : { before: Number(cursor) };
    const jobs = await engine.listJobs({ limit, kinds: ENDING_KINDS, ...before });
    const documents: object[] = [];
    for (const job of jobs) documents.push(jobToJson(job, await summarise(engine, job)));
    const last = jobs.at(-1);
    return { jobs: documents, next: last && jobs.length === limit ? String(last.createdAt) : null };
  },

  "GET /jobs/{job}": async ({ engine }, { params }) => {
    const job = await requireJob(engine, params.job);
    return jobToJson(job, await summarise(engine, job));
  },
};
