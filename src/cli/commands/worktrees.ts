/** `redrive worktrees list|clean`: lists and removes the git worktrees of agents. */
import {
  type CleanReport,
  cleanReportToJson,
  listJobWorktrees,
  removeWorktrees,
  worktreeToJson,
} from "../../service/clean-worktrees.ts";
import { compact } from "../../std/json.ts";
import type { WorktreeEntry } from "../../workspace/inventory.ts";
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
    const { home } = context;
    const entries = await context.withStore((engine) => listJobWorktrees(engine, home, name));
    return context.answer({ worktrees: entries.map(worktreeToJson) }, () => listText(context, entries));
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
    const confirm = async (plan: CleanReport) => {
      if (!isPreview && !isAgreed) await context.confirm(`${removedText(plan, "Remove")}?`);
      return !isPreview;
    };
    const { home } = context;
    const report = await context.withStore((engine) =>
      removeWorktrees(engine, { home, force, confirm, ...compact({ job }) }),
    );
    const document = { ...cleanReportToJson(report), dry_run: isPreview };
    return context.answer(document, () => reportText(report, { isPreview, force }));
  },
});

export const commands = { list, clean };

function listText({ columns }: Context, entries: readonly WorktreeEntry[]): string {
  if (entries.length === 0) return "No worktrees.\n";
  return table(
    entries,
    [
      { title: "JOB", value: (entry) => entry.jobId },
      { title: "STATE", value: stateWord },
      { title: "ITEM", value: (entry) => entry.itemId ?? ownerOf(entry) },
      { title: "PROCESS", value: ({ pid }) => (pid === null ? null : String(pid)), align: "right" },
      { title: "PATH", value: (entry) => entry.path },
    ],
    Math.max(columns, ...entries.map(({ path }) => path.length + 80)), // never cut a path, because it could not be copied
  );
}

function ownerOf({ name, state }: WorktreeEntry): string {
  if (name === MAIN_NAME) return "(the job)";
  return state === "in_use" ? "(verify)" : "";
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
