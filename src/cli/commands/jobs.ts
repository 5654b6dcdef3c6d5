/** `redrive jobs`: every job and how it stands. */
import { ENDING_KINDS } from "../../item/job.ts";
import { type JobSummary, summarise, summaryToJson } from "../../job/summary.ts";
import { toRfc3339 } from "../../kit/clock.ts";
import { formatDuration } from "../../kit/duration.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { countOption } from "../option.ts";
import { table } from "../table.ts";

export async function jobs(context: Context, flags: { limit: string }): Promise<number> {
  const limit = countOption("--limit", flags.limit, 1) ?? 20;
  const { summaries, hasQueues } = await context.withStore(async (engine) => {
    const found: JobSummary[] = [];
    for (const job of await engine.listJobs({ limit, kinds: ENDING_KINDS }))
      found.push(await summarise(engine, job));
    const queues = await engine.listJobs({ limit: 1, kinds: ["queue"] });
    return { summaries: found, hasQueues: queues.length > 0 };
  });
  context.answer({ jobs: summaries.map(summaryToJson) }, () => jobsText(context, summaries));
  if (hasQueues && !context.isJson) context.note("Queues are listed by `redrive queue list`.");
  return EXIT.done;
}

function jobsText({ paint, columns }: Context, summaries: readonly JobSummary[]): string {
  if (summaries.length === 0) return "No jobs yet. `redrive demo` runs one.\n";
  const colour = {
    running: paint.cyan,
    completed: paint.green,
    failed: paint.red,
    stopped: paint.red,
    interrupted: paint.yellow,
  };
  return table(
    summaries,
    [
      { title: "JOB", value: (job) => job.jobId },
      { title: "STATUS", value: (job) => job.status, paint: (cell, job) => colour[job.status](cell) },
      { title: "TOTAL", value: (job) => String(job.total), align: "right" },
      { title: "DONE", value: (job) => String(job.succeeded), align: "right" },
      {
        title: "DEAD",
        value: (job) => String(job.dead),
        align: "right",
        paint: (cell, job) => (job.dead > 0 ? paint.red(cell) : cell),
      },
      { title: "LEFT", value: (job) => String(job.remaining), align: "right" },
      { title: "STARTED", value: (job) => toRfc3339(job.startedAt).slice(0, 19).replace("T", " ") },
      { title: "TOOK", value: (job) => formatDuration(job.durationMs), align: "right" },
      { title: "NAME", value: (job) => (job.name === job.jobId ? "" : job.name) },
    ],
    columns,
  );
}
