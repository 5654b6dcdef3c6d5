/** Merges a job's branch into the branch from which the run started, or returns the command to merge by hand. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../std/clock.ts";
import { takeLock } from "../std/file-lock.ts";
import { tryTo } from "../std/try-to.ts";
import { Branch, commitTree, isAncestor, mergeTrees } from "./branch.ts";
import { type Git, identityEnvironment, listGitWorktrees } from "./git.ts";

type LeftWhy =
  | "asked" // the caller chose not to merge
  | "detached" // the run did not start from a branch
  | "branch_gone" // the start branch no longer exists
  | "conflict"
  | "dirty" // uncommitted changes prevent the merge
  | "hook" // a hook rejected the merge
  | "refused"; // git failed for another reason

export type FinalMerge =
  | {
      readonly kind: "merged";
      readonly into: string;
      readonly commit: string;
      readonly checkout: string | null;
    }
  /** The start branch already contains everything. */
  | { readonly kind: "nothing"; readonly into: string }
  | {
      readonly kind: "left";
      readonly why: LeftWhy;
      readonly detail: string;
      readonly files: readonly string[];
      readonly command: string;
    };

export interface FinalMergeRequest {
  readonly jobId: string;
  readonly jobBranch: string;
  /** Null if the run started from a detached HEAD. */
  readonly startBranch: string | null;
  /** `leave` only returns how to merge. */
  readonly mode: "merge" | "leave";
  /** True to fast-forward an unchanged start branch instead of adding a merge commit. Default false. */
  readonly isLinear?: boolean;
}

const TRIES_MAX = 5;

/**
 * Merges, or returns why the merge is not possible. Retries while another git process is working in the
 * repository.
 */
export async function finalMerge(git: Git, request: FinalMergeRequest): Promise<FinalMerge> {
  for (let tries = 1; ; tries += 1) {
    const end = await tryMerge(git, request, tries === TRIES_MAX);
    if (end !== "again") return end;
  }
}

async function tryMerge(
  git: Git,
  request: FinalMergeRequest,
  isLast: boolean,
): Promise<FinalMerge | "again"> {
  const { jobBranch, startBranch, mode } = request;
  const left = leaver(request);
  if (startBranch === null)
    return left("detached", "The run started from a detached HEAD, not from a branch.");
  const start = new Branch(git, startBranch);
  const tip = await start.read();
  if (tip === null) return left("branch_gone", `The branch ${startBranch} no longer exists.`);
  if (await isAncestor(git, `refs/heads/${jobBranch}`, tip)) return { kind: "nothing", into: startBranch };
  if (mode === "leave") return left("asked", `The work is in the branch ${jobBranch}.`);
  const merged = await mergeTrees(git, tip, `refs/heads/${jobBranch}`);
  if (merged.kind === "conflict") return left("conflict", merged.detail, merged.files);
  const isLinear = request.isLinear === true && (await isAncestor(git, tip, `refs/heads/${jobBranch}`));
  const worktree = (await listGitWorktrees(git)).find(({ branch }) => branch === start.ref);
  if (worktree !== undefined)
    return mergeInCheckout(git.in(worktree.path), { ...request, startBranch, isLinear }, isLast);
  return mergeWithoutCheckout(git, { ...request, isLinear }, { start, tip, tree: merged.tree });
}

type Leave = (why: LeftWhy, detail: string, files?: readonly string[]) => FinalMerge;

function leaver({ jobBranch, startBranch }: FinalMergeRequest): Leave {
  const there = startBranch === null ? "" : `git switch ${quoted(startBranch)} && `;
  const command = `${there}git merge --no-ff ${quoted(jobBranch)}`;
  return (why, detail, files = []) => ({ kind: "left", why, detail, files, command });
}

function quoted(name: string): string {
  return /^[A-Za-z0-9._/%-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}

/** Does not fast-forward by default: hooks see the merge commit, and one `git revert -m 1` undoes the job. */
async function mergeInCheckout(
  git: Git,
  request: FinalMergeRequest & { readonly startBranch: string },
  isLast: boolean,
): Promise<FinalMerge | "again"> {
  const { jobId, jobBranch, startBranch, isLinear } = request;
  const left = leaver(request);
  const gitDir = await git.must(["rev-parse", "--absolute-git-dir"]);
  const head = await git.must(["rev-parse", `refs/heads/${jobBranch}^{commit}`]);
  const busy = busyFile(gitDir);
  if (busy !== null && !isLast && (await isFreeSoon(gitDir))) return "again";
  if (busy !== null) return left("refused", `Another git process is working in ${git.cwd}: ${busy} exists.`);
  const env = await identityEnvironment(git);
  const result = await git.asUser(
    [
      "merge",
      isLinear ? "--ff-only" : "--no-ff",
      "--no-edit",
      "--no-autostash",
      "-m",
      subject(jobId, jobBranch),
      jobBranch,
    ],
    { env },
  );
  if (result.exitCode === 0) {
    const commit = await git.must(["rev-parse", "HEAD"]);
    return { kind: "merged", into: startBranch, commit, checkout: git.cwd };
  }
  const said = `${result.stderr.trim()}\n${result.stdout.trim()}`.trim();
  if (!isLast && LOCKED.test(result.stderr)) return "again";
  // Only a merge that was started here may be aborted.
  if (tryTo(() => readFileSync(join(gitDir, "MERGE_HEAD"), "utf8").trim()) !== head) {
    const isDirty = (await git.must(["status", "--porcelain"])) !== "";
    return left(isDirty ? "dirty" : "refused", said);
  }
  const unmerged = await git.must(["diff", "--name-only", "--diff-filter=U", "-z"]);
  const files = unmerged.split("\0").filter(Boolean);
  const aborted = await git.ask(["merge", "--abort"]);
  if (aborted.exitCode !== 0) {
    const why = `The merge could not be undone; run \`git merge --abort\` in ${git.cwd}`;
    return left("refused", `${said}\n${why}: ${aborted.stderr.trim()}`);
  }
  return files.length > 0 ? left("conflict", said, files) : left("hook", said);
}

/** Another git process held a lock, and this one changed nothing. */
const LOCKED = /Unable to create '.*\.lock': File exists|cannot lock ref/;

/** Returns a file that shows a running git process, or a merge that a person has started. */
function busyFile(gitDir: string): string | null {
  const paths = ["MERGE_HEAD", "index.lock"].map((name) => join(gitDir, name));
  return paths.find((path) => existsSync(path)) ?? null;
}

const BUSY_MS_MAX = 3000;
const LOOK_MS = 20;

async function isFreeSoon(gitDir: string): Promise<boolean> {
  for (let waitedMs = 0; busyFile(gitDir) !== null; waitedMs += LOOK_MS) {
    if (waitedMs >= BUSY_MS_MAX) return false;
    await systemClock.sleep(LOOK_MS);
  }
  return true;
}

async function mergeWithoutCheckout(
  git: Git,
  { jobId, jobBranch, isLinear }: FinalMergeRequest,
  { start, tip, tree }: { readonly start: Branch; readonly tip: string; readonly tree: string },
): Promise<FinalMerge | "again"> {
  const head = await git.must(["rev-parse", `refs/heads/${jobBranch}^{commit}`]);
  const commit = isLinear
    ? head
    : await commitTree(git, {
        tree,
        parents: [tip, head],
        message: `${subject(jobId, jobBranch)}\n`,
        env: await identityEnvironment(git),
      });
  if (!(await start.move(tip, commit, `merge ${jobBranch}`))) return "again"; // the branch has moved
  return { kind: "merged", into: start.name, commit, checkout: null };
}

function subject(jobId: string, jobBranch: string): string {
  return `Merge ${jobBranch}: the work of job ${jobId}`;
}

const LOCK_POLL_MS = 25;
/** A user's hooks may take long. After this time the merge relies on git's own locks. */
const WAIT_MS_MAX = 10 * 60_000;

/** Runs the action while no other merge into a branch of the repository is running, in this or another process. */
export async function mergingAlone<T>(commonDir: string, action: () => Promise<T>): Promise<T> {
  const path = join(commonDir, "redrive-merge.lock");
  let giveBack = takeLock(path);
  for (let waitedMs = 0; giveBack === null && waitedMs < WAIT_MS_MAX; waitedMs += LOCK_POLL_MS) {
    await systemClock.sleep(LOCK_POLL_MS);
    giveBack = takeLock(path);
  }
  try {
    return await action();
  } finally {
    giveBack?.();
  }
}
