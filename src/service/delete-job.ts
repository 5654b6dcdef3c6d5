/** `redrive jobs delete`: deletes a job with its items, logs, worktrees and letter directory. Archives its letters first. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { endOrphans } from "../attempt/process-tree.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { fileNameOf } from "../item/item.ts";
import { isStanding, type Job } from "../item/job.ts";
import { reap } from "../lease/reap.ts";
import { refuseStanding } from "../queue/find-job.ts";
import { hasRunner, statusOf } from "../queue/job-summary.ts";
import { cancelOperation } from "../redrive/change-operation.ts";
import { archiveOf, purgeLetters } from "../redrive/purge.ts";
import { DEFAULT_POLICY } from "../retry/policy.ts";
import { jobLogs } from "../store/home.ts";
import { directoryRoot } from "./letter-directory.ts";

export interface DeleteJobOptions {
  readonly home: string;
  readonly author: string;
  /** The folder of the letter directories, if it is not in the home folder. */
  readonly dlqDir?: string;
  /** Whether to delete waiting letters and unmerged commits too. */
  readonly force?: boolean;
  /** Stops the deletion between two steps. It can be resumed. */
  readonly signal?: AbortSignal;
}

export interface JobDeletion {
  readonly jobId: string;
  readonly items: number;
  readonly waiting: number;
  readonly closed: number;
  readonly worktrees: number;
  /** Branches that are kept because their commits are not merged. */
  readonly branchesLeft: readonly string[];
  /** Why the deletion requires `force`; empty when it does not. */
  readonly reasons: readonly string[];
  readonly archive?: string;
}

/** Returns what a deletion would remove. Throws for queues, targets and jobs that another process runs. */
export async function previewDeletion(
  engine: Engine,
  job: Job,
  { home }: { home: string },
): Promise<JobDeletion> {
  refuseActive(job, await hasRunner(engine, job.id));
  const counts = await engine.count(job.id);
  const discarded = await engine.listLetters({ queue: job.id, states: ["discarded"], limit: 1 });
  const worktrees = await cleanOf(home, job, { dryRun: true });
  const waiting = counts.letters === 1 ? "1 letter" : `${counts.letters} letters`;
  const verb = counts.letters === 1 ? "waits" : "wait";
  return {
    jobId: job.id,
    items: counts.total,
    waiting: counts.letters,
    closed: counts.resolved + discarded.total,
    worktrees: worktrees.removed.length + worktrees.left.length,
    branchesLeft: worktrees.branchesLeft.map(({ branch }) => branch),
    reasons: [
      ...(counts.letters > 0 ? [`${waiting} of ${job.id} ${verb}`] : []),
      ...worktrees.left.map(({ entry, why }) => `worktree ${entry.path}: ${why}`),
    ],
  };
}

/** Items are deleted in steps of this size, so that other writers are not blocked for long. */
const STEP_ITEMS = 500;

/** Deletes the job from the store before its files, so that a job that still exists can be resumed. */
export async function deleteJob(engine: Engine, job: Job, options: DeleteJobOptions): Promise<JobDeletion> {
  const planned = await previewDeletion(engine, job, options);
  const { home, author, force = false, signal } = options;
  if (!force) refuseUnforced(planned);
  await reap({ engine, queue: job.id, policy: DEFAULT_POLICY, random: Math.random, selfId: "", endOrphans });
  for (const operation of await engine.listOperations({ queue: job.id, open: true })) {
    await cancelOperation(engine, operation);
  }
  const archive = await purgeAll(engine, job, options);
  while (!(await engine.deleteJob(job.id, { author, itemsMax: STEP_ITEMS }))) {
    if (signal?.aborted) throw stillDeleting(job);
  }
  const { removed } = await cleanOf(home, job, { force });
  removeFiles(job, options);
  return { ...planned, worktrees: removed.length, ...(archive !== undefined && { archive }) };
}

function refuseActive(job: Job, isRunning: boolean): void {
  if (isStanding(job)) refuseStanding(job);
  if (!isRunning) return;
  throw new RedriveError("job_running", `Another process is running the job ${job.id}.`, {
    hint: "Stop it first, or wait until it has ended.",
  });
}

export function refuseUnforced({ jobId, reasons }: JobDeletion): void {
  if (reasons.length === 0) return;
  throw new RedriveError("illegal_move", `The job ${jobId} cannot be deleted: ${reasons.join("; ")}.`, {
    hint: "Use --force to archive and delete the letters, and to delete the worktrees.",
  });
}

function stillDeleting({ id }: Pick<Job, "id">): RedriveError {
  return new RedriveError("interrupted", `The deletion of ${id} was interrupted.`, {
    hint: `Run \`redrive jobs delete ${id}\` to finish it.`,
  });
}

async function purgeAll(engine: Engine, { id }: Job, options: DeleteJobOptions): Promise<string | undefined> {
  const { home, author, signal } = options;
  const filter = { states: ["dead", "discarded", "done"] } as const;
  const { total } = await engine.listLetters({ queue: id, ...filter, limit: 1 });
  if (total === 0) return undefined;
  const request = { kind: "purge", queue: id, selection: { filter }, author, home, signal } as const;
  const purged = await purgeLetters(engine, { ...request, reason: "the job is deleted" });
  if (signal?.aborted && purged.status !== "ended") throw stillDeleting({ id });
  return archiveOf(purged)?.path;
}

/**
 * Cleans up the worktrees. They are no longer needed, because the job has ended and its letters are deleted
 * with it.
 */
async function cleanOf(home: string, { id }: Job, how: { dryRun?: boolean; force?: boolean }) {
  const { cleanWorktrees } = await import("../workspace/clean.ts");
  const unused = { isNeeded: () => false, hasEnded: () => true, hasLetters: () => false };
  return cleanWorktrees(home, { job: id, ...unused, ...how });
}

function removeFiles(job: Job, { home, dlqDir }: DeleteJobOptions): void {
  rmSync(jobLogs(home, job.id).folder, { recursive: true, force: true });
  const root = directoryRoot(job, { home, ...(dlqDir !== undefined && { dlqDir }) });
  // In the home folder, the parent folders also belong to the job; in `dlqDir`, only the innermost folder does.
  const folder = dlqDir === undefined ? dirname(dirname(root)) : `${root}/${fileNameOf(job.id)}`;
  rmSync(folder, { recursive: true, force: true });
}

/** Whether the job is dismissed. A new run ends the dismissal. */
export function isDismissed({ progress, startedAt }: Pick<Job, "progress" | "startedAt">): boolean {
  const { dismissed_at: at } = progress;
  return typeof at === "number" && at >= startedAt;
}

/** Dismisses a job that is not running. Does nothing if it is already dismissed. */
export async function dismissJob(engine: Engine, job: Job, author: string): Promise<Job> {
  refuseActive(job, (await statusOf(engine, job)) === "running");
  if (isDismissed(job)) return job;
  return engine.changeJob(job.id, {
    ...(job.status === "running" && { status: "interrupted" }),
    progress: { ...job.progress, dismissed_at: await engine.now() },
    event: { type: "job_dismissed", data: { author } },
  });
}
