/** Removes worktrees and branches that are no longer needed. Keeps unmerged work and letters unless forced. */
import { readdirSync, rmSync } from "node:fs";
import { thisOwner } from "../std/process-identity.ts";
import { Branch } from "./branch.ts";
import { removeCheckout, removeTree } from "./checkout.ts";
import { type Git, listGitWorktrees } from "./git.ts";
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
  /** Whether the job has letters, whose redrive needs its branch. Default: never. */
  readonly hasLetters?: (jobId: string) => boolean | Promise<boolean>;
}

export interface CleanReport {
  readonly removed: readonly WorktreeEntry[];
  readonly left: readonly { readonly entry: WorktreeEntry; readonly why: string }[];
  readonly branchesRemoved: readonly string[];
  readonly branchesLeft: readonly { readonly branch: string; readonly why: string }[];
}

export async function cleanWorktrees(home: string, options: CleanOptions = {}): Promise<CleanReport> {
  const report = new Report();
  for (const inventory of await takeInventory(home, options)) await cleanJob(inventory, options, report);
  return report;
}

class Report implements CleanReport {
  readonly removed: WorktreeEntry[] = [];
  readonly left: { entry: WorktreeEntry; why: string }[] = [];
  readonly branchesRemoved: string[] = [];
  readonly branchesLeft: { branch: string; why: string }[] = [];
}

async function cleanJob(inventory: JobInventory, options: CleanOptions, report: Report): Promise<void> {
  const { jobId, registry, git } = inventory;
  const hasEnded = (await options.hasEnded?.(jobId)) ?? false;
  const leftBefore = report.left.length;
  for (const entry of inventory.entries) {
    const why = await whyLeft(inventory, entry, { ...options, hasEnded });
    if (why !== null) report.left.push({ entry, why });
    else if (options.dryRun || (await removeEntry(inventory, entry))) report.removed.push(entry);
    else report.left.push({ entry, why: "another process has just taken it" });
  }
  const isEmpty = report.left.length === leftBefore;
  const isOver = hasEnded && isEmpty && !((await options.hasLetters?.(jobId)) ?? false);
  if (git !== null) await cleanBranches(git, inventory, { ...options, hasEnded, isOver }, report);
  const isForgotten = isOver || (options.force && isEmpty);
  if (isForgotten && !options.dryRun && !(await hasBranch(inventory))) removeIfBare(registry.folder);
}

/** The job record stays as long as the branch, because it names the branch to merge into. */
async function hasBranch({ git, jobId }: JobInventory): Promise<boolean> {
  return git !== null && (await new Branch(git, jobBranch(jobId)).read()) !== null;
}

type Judging = Omit<CleanOptions, "hasEnded"> & { readonly hasEnded: boolean };

async function whyLeft(
  inventory: JobInventory,
  entry: WorktreeEntry,
  options: Judging,
): Promise<string | null> {
  if (entry.isOwnerHere) return `process ${entry.pid} uses it`;
  if (entry.state !== "missing" && hasProcessIn(entry.path)) return "a process works in it";
  if (options.force) return null;
  if (entry.pid !== null) return `process ${entry.pid} of another machine may use it`;
  const isNeeded = options.isNeeded ?? (({ state }: WorktreeEntry) => state === "kept");
  if (await isNeeded(entry)) return "a letter needs it";
  if (entry.name === MAIN_NAME && !options.hasEnded) return "its job has not ended";
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

type BranchJudging = Judging & { readonly isOver: boolean };

async function cleanBranches(
  git: Git,
  inventory: JobInventory,
  options: BranchJudging,
  report: Report,
): Promise<void> {
  const { jobId } = inventory;
  const inUse = new Set((await listGitWorktrees(git)).map(({ branch }) => branch));
  const gone = new Set(options.dryRun ? report.removed.map(({ branch }) => `refs/heads/${branch}`) : []);
  const agents = `refs/heads/${agentBranches(jobId)}/`;
  const refs = (await git.must(["for-each-ref", "--format=%(refname)", agents])).split("\n");
  for (const ref of refs.filter((name) => name !== "" && (!inUse.has(name) || gone.has(name)))) {
    const isWanted = !options.force && !(await isInside(git, ref, homesOf(inventory)));
    await removeBranch(git, ref, isWanted ? "it has commits that are not merged" : null, options, report);
  }
  if (options.isOver) await cleanJobBranch(git, inventory, options, report);
}

/** Never forced: a job's branch is removed only when the branch that it started from contains its work. */
async function cleanJobBranch(
  git: Git,
  { jobId, job, registry }: JobInventory,
  options: Judging,
  report: Report,
): Promise<void> {
  const branch = new Branch(git, jobBranch(jobId));
  const tip = await branch.read();
  if (tip === null) return;
  const isUnchanged = tip === job?.startCommit;
  const start = job?.startBranch ?? null;
  const isMerged = start !== null && (await isInside(git, tip, [start]));
  const why = isUnchanged || isMerged ? null : `it is not merged into ${start ?? "a branch"}`;
  if (why === null && !options.dryRun) registry.removeJob(); // removed first, because a record without a branch means lost work
  await removeBranch(git, branch.ref, why, options, report);
}

async function removeBranch(
  git: Git,
  ref: string,
  why: string | null,
  { dryRun = false }: Pick<CleanOptions, "dryRun">,
  report: Report,
): Promise<void> {
  const name = ref.replace("refs/heads/", "");
  const branch = new Branch(git, name);
  const head = await branch.read();
  if (why !== null) report.branchesLeft.push({ branch: name, why });
  else if (head !== null && (dryRun || (await branch.remove(head)))) report.branchesRemoved.push(name);
}

function removeIfBare(folder: string): void {
  const others = readdirSync(folder).filter((name) => name !== "job.json" && !name.startsWith("."));
  if (others.length === 0) rmSync(folder, { recursive: true, force: true });
}
