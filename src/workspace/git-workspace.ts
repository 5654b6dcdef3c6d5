/** A workspace of git worktrees: one branch and one worktree for the job, and a pool of worktrees for its attempts. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import { oneLine } from "../triage/clean.ts";
import { keepWorktreesOf, type WorkflowSpec } from "../workflow/workflow-spec.ts";
import { gitDirOf } from "./checkout.ts";
import { agentEnvironment, GIT_LOCATION_VARIABLES } from "./git.ts";
import { JobWorktrees, type Kept, type TidyOptions } from "./job-worktrees.ts";
import { itemBranches } from "./names.ts";
import type { AgentWorktree } from "./pool.ts";
import { DETACHED, openRepository } from "./repository.ts";
import {
  type Checkout,
  type Finish,
  type FinishMode,
  type KeptCheckout,
  NO_CONFLICT,
  type Workspace,
} from "./workspace.ts";

/** The parts of a job's runtime that a workspace uses. */
interface GitWorkspaceNeeds {
  readonly home: string;
  readonly isKeptForLetter: (kept: KeptCheckout) => Promise<boolean>;
  readonly hasLetters: () => Promise<boolean>;
  readonly hasOtherRunner: () => Promise<boolean>;
  /** Whether retries reuse the worktree of the previous attempt. */
  readonly continuesSessions: boolean;
}

export async function openGitWorkspace(
  job: Job,
  spec: WorkflowSpec,
  needs: GitWorkspaceNeeds,
): Promise<Workspace> {
  // Git sets these variables for hooks. In a run that a hook started, they would point agents at another repository.
  for (const name of GIT_LOCATION_VARIABLES) delete process.env[name];
  const repository = await openRepository(spec.cwd);
  const worktrees = await JobWorktrees.open(repository, job.id, {
    home: needs.home,
    keep: spec.workflow.map.keep,
    remote: spec.workflow.map.remote,
    strategy: spec.workflow.itemMerge?.strategy,
    newBranch: spec.newBranch,
  });
  const top = await worktrees.jobWorktree();
  const { prefix } = repository;
  const root = folderIn(top, prefix);
  // Letters need their worktrees. With `keep_worktrees: always`, all kept worktrees stay until `redrive
  // worktrees clean`.
  const isNeeded: TidyOptions["isNeeded"] = async (kept) =>
    (keepWorktreesOf(spec) === "always" && kept.state === "kept") || needs.isKeptForLetter(kept);
  // Interrupted attempts are continued in their worktrees. Any that remain at the end are removed.
  const isContinued = ({ itemId, branch, state }: Kept) =>
    needs.continuesSessions && itemId !== undefined && branch !== null && state !== "waiting";
  await worktrees.adopt({
    isNeeded: async (kept) => isContinued(kept) || isNeeded(kept),
    keepsWaiting: spec.workflow.verify !== undefined,
  });
  return {
    root,
    head: () => worktrees.head({ path: top }),
    changes: (since) => worktrees.changes(root, since),
    branches: {
      source: worktrees.branchName,
      ...(worktrees.start.startBranch !== null && { target: worktrees.start.startBranch }),
    },
    env: agentEnvironment(process.env),
    notes: repository.notes.filter((note) => note !== DETACHED || spec.newBranch === undefined),
    acquire: async (itemId, attempt, name) =>
      checkoutOf(worktrees, await worktrees.acquire(itemId, attempt), prefix, name),
    acquireAgain: async (itemId, attempt, name) => {
      const kept = await worktrees.acquireKept(itemId, attempt);
      const worktree = kept ?? (await worktrees.acquire(itemId, attempt));
      return { ...checkoutOf(worktrees, worktree, prefix, name), isContinued: kept !== null };
    },
    verifyWith: (options) => worktrees.verifyWith(options),
    checkoutAt: async (commit) => {
      const worktree = await worktrees.acquireAt(commit);
      const folder = folderIn(worktree.path, prefix);
      return {
        root: folder,
        head: () => worktrees.head(worktree),
        changes: (since) => worktrees.changes(folder, since),
        release: () => worktrees.release(worktree),
      };
    },
    takeWaiting: (itemId, name) => {
      const found = worktrees.takeWaiting(itemId);
      if (found === null) return null;
      const checkout = checkoutOf(worktrees, found.worktree, prefix, name);
      return { checkout, result: found.result };
    },
    dropKept: async (itemId, attempt) => {
      const kept = await worktrees.acquireKept(itemId, attempt);
      if (kept !== null) await worktrees.release(kept, { discard: true });
    },
    own: () => ownCheckout(worktrees, top, root),
    progressFile: join(gitDirOf(top), "redrive-steps.json"),
    mergedItems: () => worktrees.mergedItems(),
    mergeOf: (commit) => worktrees.mergeOf(commit),
    commitPhase: async () => {
      const title = "Uncommitted changes of a phase";
      const committed = await worktrees.commitAll({ path: top }, title);
      if (committed.kind === "refused") {
        const message = `The changes of the phase could not be committed: ${committed.detail}`;
        const hint = `They are in ${top}. Commit them there, then continue with \`redrive resume\`.`;
        throw new RedriveError("git_refused", message, { hint });
      }
      await worktrees.commitPhase();
    },
    advance: () => worktrees.advance(),
    refresh: async () => {
      await worktrees.refreshJobWorktree();
      folderIn(top, prefix);
    },
    finish: (mode = "configured") => finish(worktrees, spec, mode),
    tidy: async () => {
      // Another process that runs the job still needs the worktrees.
      if (await needs.hasOtherRunner()) return;
      await worktrees.tidy({ isNeeded, hasLetters: needs.hasLetters });
    },
    close: () => worktrees.close(),
  };
}

/** Returns the user's subfolder in a worktree. Creates it if no commit contains it. */
function folderIn(top: string, prefix: string): string {
  const folder = resolve(top, prefix);
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  return folder;
}

/** Length limit for the item's name in the subject of commits. */
const TITLE_CHARS_MAX = 60;

function titleOf(name: string): string {
  return `redrive: ${oneLine(name, TITLE_CHARS_MAX)}`;
}

function checkoutOf(
  worktrees: JobWorktrees,
  worktree: AgentWorktree,
  prefix: string,
  name: string,
): Checkout {
  const title = titleOf(name);
  let isMerged = false;
  let isLeft = false;
  return {
    root: folderIn(worktree.path, prefix),
    name: worktree.name,
    head: () => worktrees.head(worktree),
    changes: (since = worktree.base) => worktrees.changes(folderIn(worktree.path, prefix), since),
    // Commits uncommitted changes with the user's hooks first.
    merge: async (message, waiting) => {
      const committed = await worktrees.commitAll(worktree, message ?? title);
      if (committed.kind === "refused") return committed;
      if (waiting !== undefined) worktrees.markWaiting(worktree, waiting.result);
      const options = { isClean: true, hasOwnMessage: message !== undefined, name, wait: waiting?.wait };
      const merge = await worktrees.merge(worktree, message ?? title, options);
      isMerged = merge.kind === "merged" || merge.kind === "empty";
      isLeft = merge.kind === "stopped";
      if (merge.kind !== "merged") return merge;
      return { kind: "merged", ...(await worktrees.mergeOf(merge.commit)) };
    },
    beginMerge: () => worktrees.beginMerge(worktree),
    artifacts: () => worktrees.artifacts(worktree),
    // The commits of a failed or stopped attempt are dropped, because its item runs again. Squashed commits
    // are part of another commit.
    release: async () =>
      isLeft
        ? worktrees.leave(worktree)
        : worktrees.release(worktree, { discard: !isMerged || !worktrees.keepsCommits }),
    keep: async (why) => (isLeft ? worktrees.leave(worktree) : worktrees.keep(worktree, why)),
  };
}

/** The job's worktree as a checkout. It belongs to the job, so it is neither released nor marked as kept. */
function ownCheckout(worktrees: JobWorktrees, top: string, root: string): Checkout {
  const path = { path: top };
  return {
    root,
    head: () => worktrees.head(path),
    changes: (since) => worktrees.changes(root, since),
    merge: async () => {
      const committed = await worktrees.commitAll(path, "redrive: uncommitted changes of the steps");
      if (committed.kind === "refused") return committed;
      const { kind, commit } = await worktrees.commitPhase();
      return kind === "unchanged" ? { kind: "empty" } : { kind: "merged", commit };
    },
    beginMerge: async () => NO_CONFLICT, // the phases advance the branch itself
    artifacts: () => worktrees.ownArtifacts(top),
    release: async () => undefined,
    keep: async () => undefined,
  };
}

async function finish(
  worktrees: JobWorktrees,
  { mergeMode, newBranch }: WorkflowSpec,
  how: FinishMode,
): Promise<Finish> {
  const isConfigured = mergeMode === "auto" || newBranch !== undefined;
  const isMerging = how === "merge" || (how === "configured" && isConfigured);
  const end = await worktrees.finishInto({ mode: isMerging ? "merge" : "leave" });
  const items = await itemBranchNote(worktrees);
  if (end.kind === "merged") return noteOf(mergedNote(worktrees, end.into, end.commit), items);
  if (end.kind === "nothing") return noteOf(items);
  const { branchName: branch, start } = worktrees;
  const question = `Merge ${branch} into ${start.startBranch}?`;
  return {
    ...noteOf(`${end.detail}\nTo merge it: ${end.command}`, items),
    branch,
    ...(isMerging && { isRefused: true }),
    ...(mergeMode === "ask" && end.why === "asked" && { question }),
  };
}

function noteOf(...notes: readonly (string | undefined)[]): Finish {
  const note = notes.filter((one) => one !== undefined).join("\n");
  return note === "" ? {} : { note };
}

function mergedNote({ start }: JobWorktrees, into: string, commit: string): string {
  const short = commit.slice(0, 10);
  if (!start.isNewBranch) return `Merged into ${into} (${short}).`;
  return `The work is in the branch ${into} (${short}). To publish it: git push -u origin ${into}`;
}

/** With `branch-per-item`, the work is in the branches of the items, which are not merged. */
async function itemBranchNote(worktrees: JobWorktrees): Promise<string | undefined> {
  const count = await worktrees.countItemBranches();
  if (count === 0) return undefined;
  const list = `git branch --list '${itemBranches(worktrees.jobId)}/*'`;
  return `${count === 1 ? "1 item has" : `${count} items have`} a branch with its work. To list them: ${list}`;
}
