/** Lists all worktrees that Redrive created, including folders without a record and records without a folder. Read-only. */
import { existsSync, lstatSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WorktreeArtifacts } from "../item/letter.ts";
import { compact } from "../std/json.ts";
import { ownerState } from "../std/process-identity.ts";
import { tryTo } from "../std/try-to.ts";
import { isAncestor, readHeadFile } from "./branch.ts";
import { gitDirOf, isFinished } from "./checkout.ts";
import { Git, listGitWorktrees, refused } from "./git.ts";
import { jobBranch, type KeepPaths, keepPaths } from "./names.ts";
import {
  type JobRecord,
  type JobRegistry,
  listRegistries,
  MAIN_NAME,
  type WorktreeRecord,
} from "./registry.ts";

/** `orphan` is a folder without a record. `missing` is an entry of git or a record whose folder does not exist. */
type EntryState = WorktreeRecord["state"] | "orphan" | "missing";

export interface WorktreeEntry
  extends Pick<WorktreeRecord, "name" | "jobId" | "branch" | "itemId" | "attempt" | "why"> {
  readonly path: string;
  readonly repo: string;
  readonly state: EntryState;
  /** The process that uses the worktree; null when it has ended. */
  readonly pid: number | null;
  /** False when that process is on another machine, where it may have ended. */
  readonly isOwnerHere: boolean;
  /** The git directory shared by all worktrees of the repository; null when unknown. */
  readonly commonDir: string | null;
}

export interface JobInventory {
  readonly registry: JobRegistry;
  readonly jobId: string;
  readonly job: JobRecord | null;
  readonly entries: readonly WorktreeEntry[];
  readonly git: Git | null;
}

interface ListOptions {
  readonly job?: string;
}

export async function takeInventory(home: string, { job }: ListOptions = {}): Promise<JobInventory[]> {
  const jobs = listRegistries(home).map(describeJob);
  const wanted = jobs.filter(({ jobId }) => job === undefined || jobId === job);
  return Promise.all(wanted.map(addMissing));
}

export async function listWorktrees(home: string, options: ListOptions = {}): Promise<WorktreeEntry[]> {
  return (await takeInventory(home, options)).flatMap(({ entries }) => entries);
}

function describeJob(registry: JobRegistry): JobInventory {
  const job = registry.readJob();
  const records = registry.list();
  const jobId = job?.jobId ?? records[0]?.jobId ?? basename(registry.folder);
  const repo = basename(dirname(registry.folder));
  const known = records.map((record) => entryOf(record, registry.path(record.name), repo));
  const orphans = registry.orphans().map((name): WorktreeEntry => {
    const path = registry.path(name);
    const commonDir = commonDirOf(path);
    return { path, name, repo, jobId, state: "orphan", ...NOBODY, branch: null, commonDir };
  });
  const entries = [...known, ...orphans];
  const commonDir = job?.commonDir ?? entries.find((entry) => entry.commonDir !== null)?.commonDir ?? null;
  const git = commonDir !== null && existsSync(commonDir) ? new Git(commonDir) : null;
  return { registry, jobId, job, entries, git };
}

function entryOf({ owner, base: _, ...record }: WorktreeRecord, path: string, repo: string): WorktreeEntry {
  const ownedBy = owner === null ? "gone" : ownerState(owner);
  const pid = owner === null || ownedBy === "gone" ? null : owner.pid;
  const state = existsSync(path) ? record.state : "missing";
  return { ...record, path, repo, state, pid, isOwnerHere: ownedBy === "here" };
}

const NOBODY = { pid: null, isOwnerHere: false };

function commonDirOf(path: string): string | null {
  const commonDir = tryTo(() => dirname(dirname(gitDirOf(path))));
  if (commonDir === undefined) return null;
  return lstatSync(join(commonDir, "HEAD"), { throwIfNoEntry: false })?.isFile() ? commonDir : null;
}

/** Adds worktrees that git lists in the job's folder, but that have neither a folder nor a record. */
async function addMissing(inventory: JobInventory): Promise<JobInventory> {
  const { git, registry, jobId, entries } = inventory;
  if (git === null) return inventory;
  const listed = await listGitWorktrees(git).catch(() => []);
  const missing = listed
    .filter(({ path }) => dirname(path) === registry.folder && !entries.some((entry) => entry.path === path))
    .filter(({ path }) => !existsSync(path))
    .map(({ path, branch: ref }): WorktreeEntry => {
      const [name, repo] = [basename(path), basename(dirname(registry.folder))];
      const branch = ref?.replace("refs/heads/", "") ?? null;
      return { path, name, repo, jobId, state: "missing", branch, ...NOBODY, commonDir: git.cwd };
    });
  return { ...inventory, entries: [...entries, ...missing] };
}

/** Describes what would be lost with the worktree; null when nothing would. If git cannot read it, it counts as lost. */
export async function lossOf(inventory: JobInventory, entry: WorktreeEntry): Promise<string | null> {
  const { git } = inventory;
  if (entry.state === "missing") return null; // its branch is checked separately
  if (git === null) return "its repository no longer exists";
  const isWorkedIn = tryTo(() => isFinished(gitDirOf(entry.path))) ?? true; // an agent may have damaged it
  if (!isWorkedIn) return null;
  const inside = git.in(entry.path);
  try {
    const head = await readHead(inside);
    if (!(await isInside(git, head, homesOf(inventory)))) return "it has commits that are not merged";
    if (entry.state === "free") return null; // uncommitted changes were dropped when it was released
    return (await changesIn(inside, keepPaths([]))) === "" ? null : "it has uncommitted changes";
  } catch (error) {
    return entry.name === MAIN_NAME || entry.state !== "free" ? `git cannot read it: ${String(error)}` : null;
  }
}

/** Whether one of the branches contains the commit. Missing branches are skipped. */
export async function isInside(git: Git, commit: string, branches: readonly string[]): Promise<boolean> {
  for (const name of branches) {
    const ref = `refs/heads/${name}`;
    const isThere = (await git.ask(["rev-parse", "-q", "--verify", ref])).exitCode === 0;
    if (isThere && (await isAncestor(git, commit, ref))) return true;
  }
  return false;
}

/** The branches that may contain the work of agents: the job's branch and the branch it started from. */
export function homesOf({ jobId, job }: JobInventory): string[] {
  const start = job?.startBranch ?? null;
  return start === null ? [jobBranch(jobId)] : [jobBranch(jobId), start];
}

const CHANGES_CHARACTERS_MAX = 8000;

export async function readHead(git: Git): Promise<string> {
  const fromFile = tryTo(() => readHeadFile(gitDirOf(git.cwd))); // for a linked worktree
  return fromFile ?? git.must(["rev-parse", "--verify", "HEAD^{commit}"]);
}

/** Returns one line per changed or new file, without ignored files and kept paths. Empty when there is nothing to commit. */
export async function changesIn(git: Git, keep: KeepPaths): Promise<string> {
  return git.must(["status", "--short", "--untracked-files=normal", "--", ...keep.pathspecs]);
}

/** Describes the worktree for a letter. Never throws: an agent can leave a worktree that git cannot read. */
export async function artifactsOf(git: Git, branch: string, keep: KeepPaths): Promise<WorktreeArtifacts> {
  const [head, changes] = await Promise.all([
    readHead(git).catch(() => null),
    changesIn(git, keep).catch((error: Error) => error.message),
  ]);
  const isTracked = changes.split("\n").some((line) => line !== "" && !line.startsWith("??"));
  const diff = ["diff", "--stat", "--no-ext-diff", "HEAD", "--", ...keep.pathspecs];
  const stat = isTracked ? await git.must(diff).catch(() => "") : "";
  const text = [changes, stat].filter(Boolean).join("\n\n");
  const more = text.length - CHANGES_CHARACTERS_MAX;
  return compact({
    worktreePath: git.cwd,
    branchName: branch,
    head: head ?? undefined,
    uncommittedChanges:
      more > 0 ? `${text.slice(0, CHANGES_CHARACTERS_MAX)}\n… ${more} more characters` : text || undefined,
  });
}

export type Committed =
  | { readonly kind: "committed"; readonly head: string }
  | { readonly kind: "nothing" }
  /** A hook or a setting of the user prevented the commit. All changes remain uncommitted. */
  | { readonly kind: "refused"; readonly detail: string };
/** Commits the agent's uncommitted changes with the user's hooks. */
export async function commitAll(
  git: Git,
  { message, keep, env }: { message: string; keep: KeepPaths; env: Readonly<Record<string, string>> },
): Promise<Committed> {
  rmSync(join(gitDirOf(git.cwd), "index.lock"), { force: true }); // the agent's processes have ended, so the lock is stale
  if ((await changesIn(git, keep)) === "") return { kind: "nothing" };
  const added = await git.ask(["add", "-A", "--", ...keep.pathspecs]);
  if (added.exitCode !== 0) throw refused(["add"], added);
  const result = await git.asUser(["commit", "-q", "-F", "-"], { stdin: message, env });
  if (result.exitCode === 0) return { kind: "committed", head: await readHead(git) };
  if ((await git.ask(["diff", "--cached", "--quiet"])).exitCode === 0) return { kind: "nothing" };
  return { kind: "refused", detail: result.stderr.trim() || result.stdout.trim() };
}
