/**
 * Removes worktrees that no job and no letter of the store needs, and records the removal. Used by the
 * command and by the API.
 */
import type { Engine } from "../engine.ts";
import { isError } from "../errors.ts";
import { requireJob } from "../queue/find-job.ts";
import { hasLetters, statusOf } from "../queue/job-summary.ts";
import type { JsonObject } from "../std/json.ts";
import { type CleanReport, cleanWorktrees } from "../workspace/clean.ts";
import { listWorktrees, takeInventory, type WorktreeEntry } from "../workspace/inventory.ts";

export type { CleanReport } from "../workspace/clean.ts";

export interface CleanWorktreesOptions {
  readonly home: string;
  /** Default: the worktrees of all jobs. */
  readonly job?: string;
  /** Also removes worktrees with unmerged or uncommitted work. */
  readonly force: boolean;
  /** Called with what would be removed; nothing is removed unless it returns true. */
  readonly confirm: (plan: CleanReport) => Promise<boolean>;
}

/** Returns what was removed, or what would be removed if that was not confirmed. */
export async function removeWorktrees(
  engine: Engine,
  { home, job, force, confirm }: CleanWorktreesOptions,
): Promise<CleanReport> {
  const id = await worktreeJobId(engine, home, job);
  const options = {
    ...(id !== undefined && { job: id }),
    force,
    isNeeded: (entry: WorktreeEntry) => isNeeded(engine, entry),
    hasEnded: (jobId: string) => hasEnded(engine, jobId),
    hasLetters: (jobId: string) => hasLetters(engine, jobId),
  };
  const plan = await cleanWorktrees(home, { ...options, dryRun: true });
  if (plan.removed.length + plan.branchesRemoved.length === 0 || !(await confirm(plan))) return plan;
  const done = await cleanWorktrees(home, options);
  const details = { worktrees: done.removed.length, branches: done.branchesRemoved.length };
  await engine.recordChange({ action: "worktrees_removed", details });
  return done;
}

/** Lists the worktrees of one job or of all. */
export async function listJobWorktrees(
  engine: Engine,
  home: string,
  idOrName?: string,
): Promise<readonly WorktreeEntry[]> {
  const job = await worktreeJobId(engine, home, idOrName);
  return listWorktrees(home, { ...(job !== undefined && { job }) });
}

/** Resolves a job name. Also accepts ids of jobs in other stores, because they may have worktrees here. */
async function worktreeJobId(engine: Engine, home: string, idOrName: string | undefined) {
  if (idOrName === undefined) return undefined;
  try {
    return (await requireJob(engine, idOrName)).id;
  } catch (error) {
    const hasWorktrees = async () => (await takeInventory(home, { job: idOrName })).length > 0;
    if (isError(error, "job_not_found") && (await hasWorktrees())) return idOrName;
    throw error;
  }
}

/** Whether a letter needs the worktree. Assumes so for jobs of other stores, whose letters cannot be read. */
async function isNeeded(engine: Engine, { state, jobId, itemId }: WorktreeEntry): Promise<boolean> {
  if (state !== "kept" || itemId === undefined) return false;
  if ((await engine.findJob(jobId)) === null) return true;
  const { total } = await engine.listLetters({ queue: jobId, itemIds: [itemId], limit: 1 });
  return total > 0;
}

async function hasEnded(engine: Engine, jobId: string): Promise<boolean> {
  const job = await engine.findJob(jobId);
  return job !== null && !["running", "interrupted"].includes(await statusOf(engine, job));
}

export function worktreeToJson(entry: WorktreeEntry): JsonObject {
  const { path, repo, jobId, state, branch, itemId = null, attempt = null, why = null, pid } = entry;
  return { path, repo, job_id: jobId, state, branch, item_id: itemId, attempt, why, pid };
}

export function cleanReportToJson(report: CleanReport): JsonObject {
  const { removed, left, branchesRemoved, branchesLeft } = report;
  return {
    removed: removed.map(worktreeToJson),
    left: left.map(({ entry, why }) => ({ ...worktreeToJson(entry), left_because: why })),
    branches_removed: branchesRemoved,
    branches_left: branchesLeft.map(({ branch, why }) => ({ branch, left_because: why })),
  };
}
