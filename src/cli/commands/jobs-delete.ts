/** `redrive jobs delete`: deletes jobs with all that belongs to them. */
import type { Engine } from "../../engine.ts";
import type { Job } from "../../item/job.ts";
import { deleteJob, type JobDeletion, previewDeletion, refuseUnforced } from "../../job/delete-job.ts";
import { requireJob } from "../../job/find-job.ts";
import type { JsonObject } from "../../kit/json.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import { interruptible } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export interface JobsDeleteFlags {
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function jobsDelete(
  context: Context,
  names: readonly string[],
  flags: JobsDeleteFlags,
): Promise<number> {
  const { force = false, dryRun = false } = flags;
  const { dlq } = await context.config();
  const { home, terminal } = context;
  const options = {
    home,
    force,
    author: authorOf(terminal.env),
    ...(dlq.dlqDir !== undefined && { dlqDir: dlq.dlqDir }),
  };
  const jobs = await context.withStore((engine) => findJobs(engine, names));
  const plans = await context.withStore(async (engine) => {
    const previews: JobDeletion[] = [];
    for (const job of jobs) previews.push(await previewDeletion(engine, job, { home }));
    return previews;
  });
  if (dryRun) {
    context.answer({ jobs: plans.map(toJson), dry_run: true }, () =>
      plans.map((plan) => planText(plan, force)).join(""),
    );
    return EXIT.done;
  }
  if (!force) for (const plan of plans) refuseUnforced(plan); // before any of them is deleted
  if (!flags.yes) await askFirst(context, questionOf(plans));
  const { result, interrupted } = await interruptible(context, async (engine, signal) => {
    const deleted: JobDeletion[] = [];
    for (const job of jobs) {
      if (!signal.aborted) deleted.push(await deleteJob(engine, job, { ...options, signal }));
    }
    return deleted;
  });
  context.answer({ jobs: result.map(toJson) }, () => result.map(deletedText).join(""));
  return interrupted ?? EXIT.done;
}

async function findJobs(engine: Engine, names: readonly string[]): Promise<readonly Job[]> {
  const jobs = new Map<string, Job>();
  for (const name of names) {
    const job = await requireJob(engine, name);
    jobs.set(job.id, job);
  }
  return [...jobs.values()];
}

function toJson({
  jobId,
  items,
  waiting,
  closed,
  worktrees,
  branchesLeft,
  reasons,
  archive,
}: JobDeletion): JsonObject {
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

function questionOf(plans: readonly JobDeletion[]): string {
  const [only] = plans;
  const items = plans.reduce((sum, plan) => sum + plan.items, 0);
  const letters = plans.reduce((sum, { waiting, closed }) => sum + waiting + closed, 0);
  const what = plans.length === 1 && only ? only.jobId : `${plans.length} jobs`;
  const archived = letters === 0 ? "" : ` ${count(letters, "letter")} will be archived first.`;
  return `Delete ${what} with ${count(items, "item")}, logs and worktrees?${archived}`;
}

function planText(plan: JobDeletion, force: boolean): string {
  const { jobId, items, waiting, closed, worktrees, reasons } = plan;
  const letters = waiting + closed;
  const parts = [
    count(items, "item"),
    ...(letters > 0 ? [`${count(letters, "letter")} (archived first)`] : []),
  ];
  if (worktrees > 0) parts.push(count(worktrees, "worktree"));
  const refused = force ? "" : reasons.map((reason) => `  needs --force: ${reason}\n`).join("");
  return `Would delete ${jobId}: ${parts.join(", ")}, its logs.\n${refused}`;
}

function deletedText({ jobId, items, archive, branchesLeft }: JobDeletion): string {
  const letters = archive === undefined ? "" : `  Its letters are archived in ${archive}\n`;
  const branches = branchesLeft.map((branch) => `  Left branch ${branch}: it is not merged.\n`).join("");
  return `Deleted ${jobId} with ${count(items, "item")} and its logs.\n${letters}${branches}`;
}

function count(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}
