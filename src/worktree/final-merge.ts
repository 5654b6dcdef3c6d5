/**
 * The end of a job: its branch comes into the branch that the run started from. Where that is checked out, the user's own
 * git merges it, with hooks; else no checkout is needed. Whatever stands in the way leaves everything as it was, and the
 * user is told the command that does it by hand.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Branch } from "./branch.ts";
import type { Git } from "./git.ts";
import { identityEnvironment } from "./identity.ts";
import { commitTree, isAncestor, mergeTrees } from "./merge-tree.ts";
import { listGitWorktrees } from "./worktree-list.ts";

/** Why the job's branch was left. */
export type LeftWhy =
  | "asked" // the caller wanted it so
  | "detached" // the run did not start from a branch
  | "branch_gone" // the branch that it started from is not there any more
  | "conflict"
  | "dirty" // uncommitted changes are in the way
  | "hook" // a hook said no
  | "refused"; // git said no for another reason

export type FinalMerge =
  | {
      readonly kind: "merged";
      readonly into: string;
      readonly commit: string;
      readonly checkout: string | null;
    }
  /** The start branch has everything already. */
  | { readonly kind: "nothing"; readonly into: string }
  | {
      readonly kind: "left";
      readonly why: LeftWhy;
      readonly detail: string;
      readonly files: readonly string[];
      /** What the user can run. */
      readonly command: string;
    };

export interface FinalMergeRequest {
  readonly jobId: string;
  readonly jobBranch: string;
  /** Null: the run started from a detached HEAD. */
  readonly startBranch: string | null;
  /** `leave` only says how to merge. */
  readonly mode: "merge" | "leave";
}

/** Merges, or says why not. */
export async function finalMerge(git: Git, request: FinalMergeRequest): Promise<FinalMerge> {
  const { jobBranch, startBranch, mode } = request;
  const left = leaver(request);
  if (startBranch === null)
    return left("detached", "The run started from a detached HEAD, not from a branch.");
  const start = new Branch(git, startBranch);
  const tip = await start.read();
  if (tip === null) return left("branch_gone", `The branch ${startBranch} is not there any more.`);
  if (await isAncestor(git, `refs/heads/${jobBranch}`, tip)) return { kind: "nothing", into: startBranch };
  if (mode === "leave") return left("asked", `The work is in the branch ${jobBranch}.`);
  const merged = await mergeTrees(git, tip, `refs/heads/${jobBranch}`);
  if (merged.kind === "conflict") return left("conflict", merged.detail, merged.files);
  const place = (await listGitWorktrees(git)).find((worktree) => worktree.branch === start.ref);
  if (place !== undefined) return mergeInCheckout(git.in(place.path), { ...request, startBranch, left });
  return mergeWithoutCheckout(git, { ...request, start, tip, tree: merged.tree });
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

interface InCheckout extends FinalMergeRequest {
  readonly startBranch: string;
  readonly left: Leave;
}

/** A merge commit even where the branch could just move on: hooks see it, and one `git revert -m 1` undoes the job. */
async function mergeInCheckout(
  git: Git,
  { jobId, jobBranch, startBranch, left }: InCheckout,
): Promise<FinalMerge> {
  const before = await git.must(["rev-parse", "HEAD"]);
  const gitDir = await git.must(["rev-parse", "--absolute-git-dir"]);
  if (existsSync(join(gitDir, "MERGE_HEAD"))) return left("refused", `A merge is in progress in ${git.cwd}.`);
  const env = await identityEnvironment(git);
  const result = await git.asUser(
    ["merge", "--no-ff", "--no-edit", "--no-autostash", "-m", subject(jobId, jobBranch), jobBranch],
    { env },
  );
  if (result.exitCode === 0) {
    const commit = await git.must(["rev-parse", "HEAD"]);
    return { kind: "merged", into: startBranch, commit, checkout: git.cwd };
  }
  const said = [result.stderr, result.stdout]
    .map((text) => text.trim())
    .filter(Boolean)
    .join("\n");
  if (!existsSync(join(gitDir, "MERGE_HEAD"))) {
    const isDirty = (await git.must(["status", "--porcelain"])) !== "";
    return left(isDirty ? "dirty" : "refused", said);
  }
  const files = (await git.must(["diff", "--name-only", "--diff-filter=U", "-z"]))
    .split("\0")
    .filter(Boolean);
  await git.must(["merge", "--abort"]);
  const after = await git.must(["rev-parse", "HEAD"]);
  if (after !== before) return left("refused", `${said}\nHEAD of ${git.cwd} has moved meanwhile.`);
  return files.length > 0 ? left("conflict", said, files) : left("hook", said);
}

interface WithoutCheckout extends FinalMergeRequest {
  readonly start: Branch;
  readonly tip: string;
  readonly tree: string;
}

async function mergeWithoutCheckout(git: Git, request: WithoutCheckout): Promise<FinalMerge> {
  const { jobId, jobBranch, start, tip, tree } = request;
  const head = await git.must(["rev-parse", `refs/heads/${jobBranch}^{commit}`]);
  const commit = await commitTree(git, {
    tree,
    parents: [tip, head],
    message: `${subject(jobId, jobBranch)}\n`,
    env: await identityEnvironment(git),
  });
  if (!(await start.move(tip, commit, `merge ${jobBranch}`))) return finalMerge(git, request); // it moved: once more
  return { kind: "merged", into: start.name, commit, checkout: null };
}

function subject(jobId: string, jobBranch: string): string {
  return `Merge ${jobBranch}: the work of job ${jobId}`;
}
