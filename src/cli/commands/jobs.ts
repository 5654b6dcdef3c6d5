/** `redrive jobs`: every job, how it stands, what it runs and where. */
import { ENDING_KINDS, type Job } from "../../item/job.ts";
import { isDismissed } from "../../job/dismiss-job.ts";
import { commandText, folderOf } from "../../job/job-text.ts";
import { type JobSummary, summarise, summaryToJson } from "../../job/summary.ts";
import { toRfc3339 } from "../../kit/clock.ts";
import { formatDuration } from "../../kit/duration.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { countOption } from "../option.ts";
import type { Tint } from "../paint.ts";
import { table } from "../table.ts";

interface Row extends JobSummary {
  readonly job: Job;
  readonly shownStatus: string;
}

export async function jobs(context: Context, flags: { limit: string }): Promise<number> {
  const limit = countOption("--limit", flags.limit, 1) ?? 20;
  const { rows, hasQueues } = await context.withStore(async (engine) => {
    const found: Row[] = [];
    for (const job of await engine.listJobs({ limit, kinds: ENDING_KINDS })) {
      const summary = await summarise(engine, job);
      found.push({ ...summary, job, shownStatus: shownStatus(summary, job) });
    }
    const queues = await engine.listJobs({ limit: 1, kinds: ["queue"] });
    return { rows: found, hasQueues: queues.length > 0 };
  });
  context.answer({ jobs: rows.map(rowToJson) }, () => jobsText(context, rows));
  if (hasQueues && !context.isJson) context.note("Queues are listed by `redrive queue list`.");
  return EXIT.done;
}

function shownStatus({ status }: JobSummary, job: Job): string {
  if (job.kind === "deleting") return "deleting";
  return isDismissed(job) && status !== "completed" ? "dismissed" : status;
}

function rowToJson({ job, shownStatus: _, ...summary }: Row): JsonObject {
  return {
    ...summaryToJson(summary),
    kind: job.kind,
    command: commandText(job),
    cwd: folderOf(job) ?? null,
    started_at: toRfc3339(job.startedAt),
    dismissed: isDismissed(job),
  };
}

function jobsText({ paint, columns, terminal }: Context, rows: readonly Row[]): string {
  if (rows.length === 0) return "No jobs yet. `redrive demo` runs one.\n";
  const colours: Readonly<Record<string, Tint>> = {
    running: paint.cyan,
    completed: paint.green,
    failed: paint.red,
    stopped: paint.red,
    interrupted: paint.yellow,
  };
  return table(
    rows,
    [
      { title: "JOB", value: (row) => row.jobId, cutTo: 12 },
      {
        title: "STATUS",
        value: (row) => row.shownStatus,
        paint: (cell, row) => (colours[row.shownStatus] ?? paint.dim)(cell),
      },
      { title: "DONE", value: (row) => `${row.succeeded}/${row.total}`, align: "right" },
      {
        title: "DEAD",
        value: (row) => String(row.dead),
        align: "right",
        paint: (cell, row) => (row.dead > 0 ? paint.red(cell) : cell),
      },
      { title: "LEFT", value: (row) => String(row.remaining), align: "right", giveUp: 3 },
      {
        title: "STARTED",
        value: (row) => toRfc3339(row.startedAt).slice(0, 16).replace("T", " "),
        giveUp: 2,
      },
      { title: "TOOK", value: (row) => formatDuration(row.durationMs), align: "right", giveUp: 4 },
      { title: "COMMAND", value: (row) => commandText(row.job), cutTo: 12, giveUp: 1 },
      {
        title: "FOLDER",
        value: (row) => shortFolder(folderOf(row.job), terminal.env.HOME),
        cutTo: 12,
        giveUp: 5,
      },
    ],
    columns,
  );
}

/** Below the user's own folder as `~/…`. */
function shortFolder(folder: string | undefined, home: string | undefined): string {
  if (folder === undefined) return "";
  if (!home || home === "/") return folder;
  if (folder === home) return "~";
  return folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}
