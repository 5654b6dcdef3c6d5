/** Removes worktrees and branches that are no longer needed. Keeps unmerged work and letters unless forced. */
import { readdirSync, rmSync } from "node:fs";
import { thisOwner } from "../std/process-identity.ts";
import { Branch } from "./branch.ts";
import { removeCheckout, removeTree } from "./checkout.ts";
import { Git, listGitWorktrees } from "./git.ts";
import {
  homesOf,
  isInside,
  type JobInventory,
  lossOf,
  takeInventory,
  type WorktreeEntry,
} from "./inventory.ts";
import { agentBranches, jobBranch } from "./names.ts";
import { hasProcessIn, MAIN_NAME } from "./registry.ts";

export interface CleanOptions {
  readonly job?: string;
  /** Also remove unmerged work and worktrees of letters. */
  readonly force?: boolean;
  readonly dryRun?: boolean;
  /** Whether a letter needs the worktree. Default: every kept worktree is needed. */
  readonly isNeeded?: (entry: WorktreeEntry) => boolean | Promise<boolean>;
  /** Whether the job has ended and will not be resumed. Default: never. */
  readonly hasEnded?: (jobId: string) => boolean | Promise<boolean>;
  /** Returns whether the job has letters. Its branch is then kept, because a redrive needs it. Default: always false. */
  readonly hasLetters?: (jobId: string) => boolean | Promise<boolean>;
}

/** The removed worktrees and branches, and those that remain with the reason. */
export class CleanReport {
  readonly removed: WorktreeEntry[] = [];
  readonly left: { readonly entry: WorktreeEntry; readonly why: string }[] = [];
  readonly branchesRemoved: string[] = [];
  readonly branchesLeft: { readonly branch: string; readonly why: string }[] = [];
}

export async function cleanWorktrees(home: string, options: CleanOptions = {}): Promise<CleanReport> {
  const report = new CleanReport();
  for (const inventory of await takeInventory(home, options)) await cleanJob(inventory, options, report);
  return report;
}

async function cleanJob(inventory: JobInventory, options: CleanOptions, report: CleanReport): Promise<void> {
  const { jobId, registry, git } = inventory;
  const hasEnded = (await options.hasEnded?.(jobId)) ?? false;
  const leftBefore = report.left.length;
  for (const entry of inventory.entries) {
    const why = await whyLeft(inventory, entry, options, hasEnded);
    if (why !== null) report.left.push({ entry, why });
    else if (options.dryRun || (await removeEntry(inventory, entry))) report.removed.push(entry);
    else report.left.push({ entry, why: "another process has just taken it" });
  }
  const isEmpty = report.left.length === leftBefore;
  const isOver = hasEnded && isEmpty && !((await options.hasLetters?.(jobId)) ?? false);
  const job = new Branch(git ?? new Git(registry.folder), jobBranch(jobId));
  if (git !== null) await cleanAgentBranches(git, inventory, options, report);
  if (git !== null && isOver) await cleanJobBranch(git, inventory, job, options, report);
  if (options.dryRun || !(isOver || (options.force && isEmpty))) return;
  // The job record stays as long as the branch, because it names the branch to merge into.
  if (git === null || (await job.read()) === null) removeIfBare(registry.folder);
}

async function whyLeft(
  inventory: JobInventory,
  entry: WorktreeEntry,
  { force, isNeeded = ({ state }) => state === "kept" }: CleanOptions,
  hasEnded: boolean,
): Promise<string | null> {
  if (entry.isOwnerHere) return `process ${entry.pid} is using it`;
  if (entry.state !== "missing" && hasProcessIn(entry.path)) return "a process is working in it";
  if (force) return null;
  if (entry.pid !== null) return `process ${entry.pid} on another machine may be using it`;
  if (await isNeeded(entry)) return "a letter needs it";
  if (entry.name === MAIN_NAME && !hasEnded) return "its job has not ended";
  return lossOf(inventory, entry);
}

/** Returns false when the record has changed since it was read, which means that another process uses the worktree. */
async function removeEntry({ registry, git }: JobInventory, entry: WorktreeEntry): Promise<boolean> {
  const record = registry.read(entry.name);
  const isSame =
    record === null ? ["orphan", "missing"].includes(entry.state) : record.branch === entry.branch;
  if (!isSame) return false;
  if (record !== null && !registry.claim(record, { ...record, owner: thisOwner() })) return false;
  if (git === null) removeTree(entry.path);
  else await removeCheckout(git, entry.path);
  registry.remove(entry.name);
  return true;
}

async function cleanAgentBranches(
  git: Git,
  inventory: JobInventory,
  options: CleanOptions,
  report: CleanReport,
): Promise<void> {
  const inUse = new Set((await listGitWorktrees(git)).map(({ branch }) => branch));
  const gone = new Set(options.dryRun ? report.removed.map(({ branch }) => `refs/heads/${branch}`) : []);
  const agents = `refs/heads/${agentBranches(inventory.jobId)}/`;
  const refs = (await git.must(["for-each-ref", "--format=%(refname)", agents])).split("\n");
  for (const ref of refs.filter((name) => name !== "" && (!inUse.has(name) || gone.has(name)))) {
    const isWanted = !options.force && !(await isInside(git, ref, homesOf(inventory)));
    const branch = new Branch(git, ref.replace("refs/heads/", ""));
    await removeBranch(branch, isWanted ? "it has commits that are not merged" : null, options, report);
  }
}

/** Never forced: a job's branch is removed only if the branch that it started from contains its work. */
async function cleanJobBranch(
  git: Git,
  { job, registry }: JobInventory,
  branch: Branch,
  options: CleanOptions,
  report: CleanReport,
): Promise<void> {
  const tip = await branch.read();
  if (tip === null) return;
  const start = job?.startBranch ?? null;
  const isMerged = tip === job?.startCommit || (start !== null && (await isInside(git, tip, [start])));
  const why = isMerged ? null : `it is not merged into ${start ?? "a branch"}`;
  if (why === null && !options.dryRun) registry.removeJob(); // removed first, because a record without a branch means lost work
  await removeBranch(branch, why, options, report);
}

async function removeBranch(
  branch: Branch,
  why: string | null,
  { dryRun }: CleanOptions,
  report: CleanReport,
): Promise<void> {
  const head = await branch.read();
  if (why !== null) report.branchesLeft.push({ branch: branch.name, why });
  else if (head !== null && (dryRun || (await branch.remove(head)))) report.branchesRemoved.push(branch.name);
}

function removeIfBare(folder: string): void {
  const others = readdirSync(folder).filter((name) => name !== "job.json" && !name.startsWith("."));
  if (others.length === 0) rmSync(folder, { recursive: true, force: true });
}
