/** `redrive jobs …`: lists, dismisses and deletes jobs (runs of maps and workflows). */
import type { Engine } from "../../engine.ts";
import { ENDING_KINDS, type Job } from "../../item/job.ts";
import { commandText, folderOf, requireJob } from "../../queue/find-job.ts";
import { type JobSummary, summarise } from "../../queue/job-summary.ts";
import {
  deleteJob,
  dismissJob,
  isDismissed,
  type JobDeletion,
  previewDeletion,
  refuseUnforced,
} from "../../service/delete-job.ts";
import { jobToJson } from "../../service/job-json.ts";
import { formatDuration } from "../../std/duration.ts";
import type { JsonObject } from "../../std/json.ts";
import { interruptible } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { dryRun, flag, limit, yes } from "../options.ts";
import { table } from "../render/layout.ts";
import { counted, lettersText, listed, minuteText, type Tint } from "../render/text.ts";
import { costText } from "../render/usage.ts";

const names = argument("<jobs...>", "job ids or names");

interface Row extends JobSummary {
  readonly job: Job;
  readonly shownStatus: string;
}

const list = command({
  isDefault: true,
  summary: "List jobs, newest first.",
  examples: ["redrive jobs", "redrive jobs list --limit 5 --json"],
  options: { limit },
  run: async (context, { limit: wanted }) => {
    const { rows, hasQueues } = await context.withStore(async (engine) => {
      const found: Row[] = [];
      for (const job of await engine.listJobs({ limit: wanted, kinds: ENDING_KINDS })) {
        const summary = await summarise(engine, job);
        found.push({ ...summary, job, shownStatus: shownStatus(summary, job) });
      }
      const queues = await engine.listJobs({ limit: 1, kinds: ["queue"] });
      return { rows: found, hasQueues: queues.length > 0 };
    });
    context.answer({ jobs: rows.map(({ job, ...summary }) => jobToJson(job, summary)) }, () =>
      jobsText(context, rows),
    );
    if (hasQueues && !context.isJson) context.note("To list queues: redrive queue list");
    return EXIT.done;
  },
});

function shownStatus({ status }: JobSummary, job: Job): string {
  if (job.kind === "deleting") return "deleting";
  return isDismissed(job) && status !== "completed" ? "dismissed" : status;
}

function jobsText({ paint, columns, terminal }: Context, rows: readonly Row[]): string {
  if (rows.length === 0) return "No jobs. To run one: redrive demo\n";
  const { cyan: running, green: completed, yellow: interrupted, red: failed } = paint;
  const tints: Readonly<Record<string, Tint>> = { running, completed, interrupted, failed, stopped: failed };
  const status = (cell: string, row: Row) => (tints[row.shownStatus] ?? paint.dim)(cell);
  const folder = ({ job }: Row) => shortFolder(folderOf(job), terminal.env.HOME);
  return table(
    rows,
    [
      { title: "JOB", value: (row) => row.jobId, cutTo: 12 },
      { title: "STATUS", value: (row) => row.shownStatus, paint: status },
      { title: "DONE", value: (row) => `${row.succeeded}/${row.total}`, align: "right" },
      {
        title: "DEAD",
        value: ({ dead }) => dead,
        paint: (cell, { dead }) => (dead > 0 ? paint.red(cell) : cell),
      },
      { title: "LEFT", value: (row) => row.remaining, giveUp: 3 },
      { title: "STARTED", value: (row) => minuteText(row.startedAt), giveUp: 2 },
      { title: "TOOK", value: (row) => formatDuration(row.durationMs), align: "right", giveUp: 4 },
      ...(rows.some(({ usage }) => usage !== undefined)
        ? [{ title: "COST", value: (row: Row) => costText(row.usage), align: "right", giveUp: 6 } as const]
        : []),
      { title: "COMMAND", value: (row) => commandText(row.job), cutTo: 12, giveUp: 1 },
      { title: "FOLDER", value: folder, cutTo: 12, giveUp: 5 },
    ],
    columns,
  );
}

/** Abbreviates a folder in the user's home directory to `~/…`. */
function shortFolder(folder: string | undefined, home: string | undefined): string {
  if (folder === undefined) return "";
  if (!home || home === "/") return folder;
  if (folder === home) return "~";
  return folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

const dismiss = command({
  summary: "Dismiss jobs that should not be resumed.",
  description: "`redrive resume` without a job skips them.",
  examples: ["redrive jobs dismiss nightly-7h2k9m4x"],
  arguments: { names },
  run: async (context, { names: given }) => {
    const dismissed = await context.withStore(async (engine) => {
      const jobs = await findJobs(engine, given);
      for (const job of jobs) await dismissJob(engine, job, context.author);
      return jobs.map(({ id }) => id);
    });
    return context.answer({ dismissed }, () =>
      dismissed.map((id) => `Dismissed ${id}. To resume it anyway: redrive resume ${id}\n`).join(""),
    );
  },
});

/** Finds all jobs before the first one is changed, so that an unknown name changes nothing. */
async function findJobs(engine: Engine, given: readonly string[]): Promise<readonly Job[]> {
  const jobs = new Map<string, Job>();
  for (const name of given) {
    const job = await requireJob(engine, name);
    jobs.set(job.id, job);
  }
  return [...jobs.values()];
}

const remove = command({
  summary: "Delete jobs with their items, logs and worktrees; letters are archived first.",
  examples: ["redrive jobs delete nightly-7h2k9m4x --dry-run", "redrive jobs delete nightly-7h2k9m4x --yes"],
  arguments: { names },
  options: {
    force: flag("--force", "also delete jobs that have dead letters or worktrees with unmerged work"),
    dryRun,
    yes,
  },
  run: async (context, { names: given, force, dryRun: isPreview, yes: isAgreed }) => {
    const { dlq } = await context.config();
    const { home, author } = context;
    const { jobs, plans } = await context.withStore(async (engine) => {
      const found = await findJobs(engine, given);
      const previews: JobDeletion[] = [];
      for (const job of found) previews.push(await previewDeletion(engine, job, { home }));
      return { jobs: found, plans: previews };
    });
    if (isPreview) {
      return context.answer({ jobs: plans.map(deletionToJson), dry_run: true }, () =>
        plans.map((plan) => planText(plan, force)).join(""),
      );
    }
    if (!force) for (const plan of plans) refuseUnforced(plan); // refuses all before any job is deleted
    if (!isAgreed) await context.confirm(questionFor(plans));
    const { result, interrupted } = await interruptible(context, async (engine, signal) => {
      const dlqDir = dlq.dlqDir === undefined ? {} : { dlqDir: dlq.dlqDir };
      const deleted: JobDeletion[] = [];
      for (const job of jobs)
        if (!signal.aborted)
          deleted.push(await deleteJob(engine, job, { home, force, author, ...dlqDir, signal }));
      return deleted;
    });
    const text = () => result.map(deletedText).join("");
    return context.answer({ jobs: result.map(deletionToJson) }, text, interrupted ?? EXIT.done);
  },
});

function deletionToJson(deletion: JobDeletion): JsonObject {
  const { jobId, items, waiting, closed, worktrees, branchesLeft, reasons, archive } = deletion;
  const counts = { items, letters: waiting + closed, waiting, worktrees };
  const left = { branches_left: branchesLeft, needs_force: reasons };
  return { job_id: jobId, ...counts, ...left, archive: archive ?? null };
}

function questionFor(plans: readonly JobDeletion[]): string {
  const [only] = plans;
  const items = plans.reduce((sum, plan) => sum + plan.items, 0);
  const letters = plans.reduce((sum, { waiting, closed }) => sum + waiting + closed, 0);
  const what = plans.length === 1 && only ? only.jobId : counted(plans.length, "job");
  const archived = letters === 0 ? "" : ` ${lettersText(letters)} will be archived first.`;
  return `Delete ${what} with ${counted(items, "item")}, logs and worktrees?${archived}`;
}

function planText(plan: JobDeletion, force: boolean): string {
  const { jobId, items, waiting, closed, worktrees, reasons } = plan;
  const letters = waiting + closed;
  const parts = listed([
    counted(items, "item"),
    letters > 0 && `${lettersText(letters)} (archived first)`,
    worktrees > 0 && counted(worktrees, "worktree"),
    "its logs",
  ]);
  const refused = force ? "" : reasons.map((reason) => `  needs --force: ${reason}\n`).join("");
  return `Would delete ${jobId}: ${parts}.\n${refused}`;
}

function deletedText({ jobId, items, archive, branchesLeft }: JobDeletion): string {
  const letters = archive === undefined ? "" : `  Its letters are archived in ${archive}\n`;
  const branches = branchesLeft.map((branch) => `  Kept branch ${branch}: it is not merged.\n`).join("");
  return `Deleted ${jobId} with ${counted(items, "item")} and its logs.\n${letters}${branches}`;
}

export const commands = { list, dismiss, delete: remove };
