/** Handlers of the routes of jobs. */
import type { Engine } from "../../engine.ts";
import { ENDING_KINDS, isStanding, type Job } from "../../item/job.ts";
import { refuseStanding, requireJob } from "../../queue/find-job.ts";
import { summarise } from "../../queue/job-summary.ts";
import { type JobReport, readReport, reportToJson } from "../../report/read-report.ts";
import type { ReportFormat } from "../../report/report-facts.ts";
import { htmlPolicy, reportHtml, reportMarkdown } from "../../report/report-text.ts";
import { readRunningItems } from "../../run/running-items.ts";
import { deleteJob, dismissJob, type JobDeletion, previewDeletion } from "../../service/delete-job.ts";
import { jobToJson } from "../../service/job-json.ts";
import { compact, type JsonObject, stringifyJson } from "../../std/json.ts";
import type { Handler } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { jobRoutes } from "../contract/jobs.ts";
import { RequestError } from "../problem.ts";
import { requireVisible } from "../redact.ts";

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
    return jobDocument(engine, await requireJob(engine, params.job));
  },

  "GET /jobs/{job}/running": async ({ engine, home, redactor }, { params, query }) => {
    const { id: queue } = await requireJob(engine, params.job);
    const { limit = PAGE_DEFAULT } = query;
    const running = await readRunningItems(engine, { queue, home, limit, hidesOutput: redactor !== null });
    return { running: [...running] as never };
  },

  "GET /jobs/{job}/report": async ({ engine, redactor }, { params, query: { format = "md" } }) => {
    if (redactor !== null) requireVisible("a report"); // its text contains item names and messages
    const job = await requireJob(engine, params.job);
    if (isStanding(job)) refuseStanding(job);
    const report = await readReport(engine, job);
    const text = REPORT_TEXTS[format](report);
    const policy = format === "html" ? { "content-security-policy": htmlPolicy() } : undefined;
    return new Response(text, { headers: { "content-type": REPORT_TYPES[format], ...policy } });
  },

  "POST /jobs/{job}/dismiss": async ({ engine, author }, { params }) => {
    const job = await dismissJob(engine, await requireJob(engine, params.job), author);
    return jobToJson(job, await summarise(engine, job));
  },

  "GET /jobs/{job}/deletion": async ({ engine, home }, { params }) =>
    deletionToJson(await previewDeletion(engine, await requireJob(engine, params.job), { home })),

  "DELETE /jobs/{job}": async ({ engine, home, author, config, stopping }, { params, query }) => {
    const job = await requireJob(engine, params.job);
    const seen = deletionToJson(await previewDeletion(engine, job, { home }));
    if (seen.items !== query.items || seen.letters !== query.letters) {
      const message = `${job.id} has ${seen.items} items and ${seen.letters} letters. Nothing was deleted.`;
      throw new RequestError("selection_changed", message, { hint: "Read GET /jobs/{job}/deletion again." });
    }
    const { dlqDir } = (await config()).dlq;
    const options = { home, author, force: query.force ?? false, signal: stopping, ...compact({ dlqDir }) };
    return deletionToJson(await deleteJob(engine, job, options));
  },
};

const REPORT_TYPES: Readonly<Record<ReportFormat, string>> = {
  md: "text/markdown; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json",
};

const REPORT_TEXTS: Readonly<Record<ReportFormat, (report: JobReport) => string>> = {
  md: reportMarkdown,
  html: reportHtml,
  json: (report) => stringifyJson(reportToJson(report), 2),
};

/** The document of a single job. */
export async function jobDocument(engine: Engine, job: Job) {
  return { ...jobToJson(job, await summarise(engine, job)), is_paused: job.pause !== undefined };
}

function deletionToJson(deletion: JobDeletion): JsonObject {
  const { jobId, items, waiting, closed, worktrees, branchesLeft, reasons, archive } = deletion;
  return {
    job_id: jobId,
    items,
    letters: waiting + closed,
    waiting,
    worktrees,
    branches_left: branchesLeft,
    needs_force: reasons,
    archive: archive ?? null,
  };
}
