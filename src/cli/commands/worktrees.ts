/** `redrive worktrees list|clean`: lists and removes the git worktrees of agents. */
import type { Engine } from "../../engine.ts";
import { isError } from "../../errors.ts";
import { requireJob } from "../../queue/find-job.ts";
import { hasLetters, statusOf } from "../../queue/job-summary.ts";
import type { JsonObject } from "../../std/json.ts";
import { type CleanReport, cleanWorktrees } from "../../workspace/clean.ts";
import { listWorktrees, takeInventory, type WorktreeEntry } from "../../workspace/inventory.ts";
import { MAIN_NAME } from "../../workspace/registry.ts";
import { command } from "../command.ts";
import type { Context } from "../context.ts";
import { dryRun, flag, word, yes } from "../options.ts";
import { table } from "../render/layout.ts";
import { counted } from "../render/text.ts";

const list = command({
  summary: "List worktrees with their job, item, state and process.",
  examples: ["redrive worktrees list", "redrive worktrees list --job nightly"],
  options: { job: word("--job <job>", "only worktrees of this job") },
  run: async (context, { job: name }) => {
    const job = await context.withStore((engine) => jobIdOf(context, engine, name));
    const entries = await listWorktrees(context.home, { ...(job !== undefined && { job }) });
    return context.answer({ worktrees: entries.map(entryToJson) }, () => listText(context, entries));
  },
});

const clean = command({
  summary: "Remove worktrees that are no longer needed.",
  description: "Worktrees with unmerged work are kept and listed.",
  examples: ["redrive worktrees clean --dry-run", "redrive worktrees clean --job nightly --yes"],
  options: {
    job: word("--job <job>", "only worktrees of this job"),
    force: flag("--force", "also remove worktrees with unmerged or uncommitted work"),
    dryRun,
    yes,
  },
  run: async (context, { job, force, dryRun: isPreview, yes: isAgreed }) => {
    const report = await context.withStore(async (engine) => {
      const id = await jobIdOf(context, engine, job);
      const options = {
        ...(id !== undefined && { job: id }),
        force,
        isNeeded: (entry: WorktreeEntry) => isNeeded(engine, entry),
        hasEnded: (jobId: string) => hasEnded(engine, jobId),
        hasLetters: (jobId: string) => hasLetters(engine, jobId),
      };
      const plan = await cleanWorktrees(context.home, { ...options, dryRun: true });
      const things = plan.removed.length + plan.branchesRemoved.length;
      if (isPreview || things === 0) return plan;
      if (!isAgreed) await context.confirm(`${removedText(plan, "Remove")}?`);
      const done = await cleanWorktrees(context.home, options);
      const details = { worktrees: done.removed.length, branches: done.branchesRemoved.length };
      await engine.recordChange({ action: "worktrees_removed", details });
      return done;
    });
    const document = { ...reportToJson(report), dry_run: isPreview };
    return context.answer(document, () => reportText(report, { isPreview, force }));
  },
});

export const commands = { list, clean };

/** Resolves a job name. Also accepts ids of jobs in other stores, because they may have worktrees here. */
async function jobIdOf({ home }: Context, engine: Engine, idOrName: string | undefined) {
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

function entryToJson(entry: WorktreeEntry): JsonObject {
  const { path, repo, jobId, state, branch, itemId = null, attempt = null, why = null, pid } = entry;
  return { path, repo, job_id: jobId, state, branch, item_id: itemId, attempt, why, pid };
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
      { title: "PROCESS", value: ({ pid }) => (pid === null ? null : String(pid)), align: "right" },
      { title: "PATH", value: (entry) => entry.path },
    ],
    Math.max(columns, ...entries.map(({ path }) => path.length + 80)), // never cut a path, because it could not be copied
  );
}

/** Names the state for display. A worktree `in_use` without a process is idle until a resume. */
function stateWord({ state, pid }: WorktreeEntry): string {
  return state === "in_use" ? (pid === null ? "idle" : "in use") : state;
}

function reportText(report: CleanReport, { isPreview, force }: { isPreview: boolean; force: boolean }) {
  const { left, branchesLeft } = report;
  const lines = [`${removedText(report, isPreview ? "Would remove" : "Removed")}.`];
  lines.push(...left.map(({ entry, why }) => `Left ${entry.path}: ${why}.`));
  lines.push(...branchesLeft.map(({ branch, why }) => `Left branch ${branch}: ${why}.`));
  if (!force && left.length > 0) lines.push("To remove unused ones, too: redrive worktrees clean --force");
  return `${lines.join("\n")}\n`;
}

function removedText({ removed, branchesRemoved }: CleanReport, verb: string): string {
  return `${verb} ${counted(removed.length, "worktree")} and ${counted(branchesRemoved.length, "branch", "branches")}`;
}
