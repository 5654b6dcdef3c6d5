/** `redrive worktrees list` and `clean`: the checkouts that agents work in, and how they go away. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { requireJob } from "../../job/find-job.ts";
import { hasLetters } from "../../job/letter-needs.ts";
import { statusOf } from "../../job/summary.ts";
import type { JsonObject } from "../../kit/json.ts";
import { type CleanOptions, type CleanReport, cleanWorktrees } from "../../worktree/clean.ts";
import { listWorktrees, takeInventory, type WorktreeEntry } from "../../worktree/inventory.ts";
import { MAIN_NAME } from "../../worktree/registry.ts";
import { askFirst } from "../ask.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { table } from "../table.ts";

export interface WorktreesListFlags {
  readonly job?: string;
}

export async function worktreesList(context: Context, flags: WorktreesListFlags): Promise<number> {
  const job = await context.withStore((engine) => jobIdOf(context, engine, flags.job));
  const entries = await listWorktrees(context.home, { ...(job !== undefined && { job }) });
  context.answer({ worktrees: entries.map(entryToJson) }, () => listText(context, entries));
  return EXIT.done;
}

export interface WorktreesCleanFlags {
  readonly job?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function worktreesClean(context: Context, flags: WorktreesCleanFlags): Promise<number> {
  const report = await context.withStore(async (engine) => {
    const options = await optionsFrom(context, engine, flags);
    const plan = await cleanWorktrees(context.home, { ...options, dryRun: true });
    const things = plan.removed.length + plan.branchesRemoved.length;
    if (flags.dryRun || things === 0) return plan;
    if (!flags.yes) await askFirst(context, `${sayRemoved(plan, "Remove")}?`);
    return cleanWorktrees(context.home, options);
  });
  context.answer({ ...reportToJson(report), dry_run: flags.dryRun ?? false }, () =>
    reportText(report, flags),
  );
  return EXIT.done;
}

/** A job that the store does not have, e.g. of another store, may still have worktrees: then its id is accepted. */
async function jobIdOf(
  { home }: Context,
  engine: Engine,
  idOrName: string | undefined,
): Promise<string | undefined> {
  if (idOrName === undefined) return undefined;
  try {
    return (await requireJob(engine, idOrName)).id;
  } catch (error) {
    const isMissing = error instanceof WorkError && error.code === "job_not_found";
    if (!isMissing || (await takeInventory(home, { job: idOrName })).length === 0) throw error;
    return idOrName;
  }
}

async function optionsFrom(
  context: Context,
  engine: Engine,
  flags: WorktreesCleanFlags,
): Promise<CleanOptions> {
  const job = await jobIdOf(context, engine, flags.job);
  return {
    ...(job !== undefined && { job }),
    force: flags.force ?? false,
    isNeeded: (entry) => isNeeded(engine, entry),
    hasEnded: (jobId) => hasEnded(engine, jobId),
    hasLetters: (jobId) => hasLetters(engine, jobId),
  };
}

/** A job of another store may have a letter for it. */
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

function entryToJson(entry: WorktreeEntry): JsonObject {
  const { path, repo, jobId, state, branch, itemId, attempt, why, pid } = entry;
  return {
    path,
    repo,
    job_id: jobId,
    state,
    branch,
    item_id: itemId ?? null,
    attempt: attempt ?? null,
    why: why ?? null,
    pid,
  };
}

function reportToJson({ removed, left, branchesRemoved, branchesLeft }: CleanReport): JsonObject {
  return {
    removed: removed.map(entryToJson),
    left: left.map(({ entry, why }) => ({ ...entryToJson(entry), left_because: why })),
    branches_removed: branchesRemoved,
    branches_left: branchesLeft.map(({ branch, why }) => ({ branch, left_because: why })),
  };
}

function listText({ columns }: Context, entries: readonly WorktreeEntry[]): string {
  if (entries.length === 0) return "No worktrees.\n";
  return table(
    entries,
    [
      { title: "JOB", value: (entry) => entry.jobId },
      { title: "STATE", value: stateWord },
      { title: "ITEM", value: (entry) => entry.itemId ?? (entry.name === MAIN_NAME ? "(the job)" : "") },
      { title: "PROCESS", value: (entry) => (entry.pid === null ? "" : String(entry.pid)), align: "right" },
      { title: "PATH", value: (entry) => entry.path },
    ],
    Math.max(columns, ...entries.map(({ path }) => path.length + 80)), // a path that is cut is of no use
  );
}

/** What says it is in use, but by no process, waits for one that goes on. */
function stateWord({ state, pid }: WorktreeEntry): string {
  return state === "in_use" ? (pid === null ? "idle" : "in use") : state;
}

function reportText(report: CleanReport, { dryRun = false, force = false }: WorktreesCleanFlags): string {
  const { left, branchesLeft } = report;
  const lines = [`${sayRemoved(report, dryRun ? "Would remove" : "Removed")}.`];
  lines.push(...left.map(({ entry, why }) => `Left ${entry.path}: ${why}.`));
  lines.push(...branchesLeft.map(({ branch, why }) => `Left branch ${branch}: ${why}.`));
  if (!force && left.length > 0) lines.push("--force removes those too that no process uses.");
  return `${lines.join("\n")}\n`;
}

function sayRemoved({ removed, branchesRemoved }: CleanReport, verb: string): string {
  return `${verb} ${count(removed.length, "worktree", "worktrees")} and ${count(branchesRemoved.length, "branch", "branches")}`;
}

function count(number: number, one: string, several: string): string {
  return number === 1 ? `1 ${one}` : `${number} ${several}`;
}
