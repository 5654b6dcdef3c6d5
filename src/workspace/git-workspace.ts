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
import { JobWorktrees, type TidyOptions } from "./job-worktrees.ts";
import type { AgentWorktree } from "./pool.ts";
import { openRepository } from "./repository.ts";
import type { Checkout, Finish, FinishMode, KeptCheckout, Workspace } from "./workspace.ts";

/** The parts of a job's runtime that a workspace uses. */
interface GitWorkspaceNeeds {
  readonly home: string;
  readonly isKeptForLetter: (kept: KeptCheckout) => Promise<boolean>;
  readonly hasLetters: () => Promise<boolean>;
  readonly hasOtherRunner: () => Promise<boolean>;
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
  });
  const top = await worktrees.jobWorktree();
  const { prefix } = repository;
  const root = folderIn(top, prefix);
  // Letters need their worktrees. With `keep_worktrees: always`, every kept one stays until `redrive worktrees clean`.
  const isNeeded: TidyOptions["isNeeded"] = async (kept) =>
    (keepWorktreesOf(spec) === "always" && kept.state === "kept") || needs.isKeptForLetter(kept);
  await worktrees.adopt({ isNeeded });
  return {
    root,
    head: () => worktrees.head({ path: top }),
    branches: {
      source: worktrees.branchName,
      ...(worktrees.start.startBranch !== null && { target: worktrees.start.startBranch }),
    },
    env: agentEnvironment(process.env),
    notes: repository.notes,
    acquire: async (itemId, attempt, name) => {
      const title = `redrive: ${oneLine(name, TITLE_CHARS_MAX)}`;
      return checkoutOf(worktrees, await worktrees.acquire(itemId, attempt), prefix, title);
    },
    own: () => ownCheckout(worktrees, top, root),
    progressFile: join(gitDirOf(top), "redrive-steps.json"),
    mergedItems: () => worktrees.mergedItems(),
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

function checkoutOf(
  worktrees: JobWorktrees,
  worktree: AgentWorktree,
  prefix: string,
  title: string,
): Checkout {
  let isMerged = false;
  return {
    root: folderIn(worktree.path, prefix),
    name: worktree.name,
    head: () => worktrees.head(worktree),
    // Commits uncommitted changes with the user's hooks first.
    merge: async () => {
      const committed = await worktrees.commitAll(worktree, title);
      if (committed.kind === "refused") return committed;
      const merge = await worktrees.merge(worktree, title, { isClean: true });
      isMerged = merge.kind !== "conflict";
      return merge;
    },
    artifacts: () => worktrees.artifacts(worktree),
    // Commits of a failed or stopped attempt are dropped, because its item runs again.
    release: () => worktrees.release(worktree, { discard: !isMerged }),
    keep: async (why) => worktrees.keep(worktree, why),
  };
}

/** The job's worktree as a checkout. It belongs to the job, so it is neither released nor marked as kept. */
function ownCheckout(worktrees: JobWorktrees, top: string, root: string): Checkout {
  const path = { path: top };
  return {
    root,
    head: () => worktrees.head(path),
    merge: async () => {
      const committed = await worktrees.commitAll(path, "redrive: uncommitted changes of the steps");
      if (committed.kind === "refused") return committed;
      const { kind, commit } = await worktrees.commitPhase();
      return kind === "unchanged" ? { kind: "empty" } : { kind: "merged", commit };
    },
    artifacts: () => worktrees.ownArtifacts(top),
    release: async () => undefined,
    keep: async () => undefined,
  };
}

async function finish(
  worktrees: JobWorktrees,
  { mergeMode }: WorkflowSpec,
  how: FinishMode,
): Promise<Finish> {
  const isMerging = how === "merge" || (how === "configured" && mergeMode === "auto");
  const end = await worktrees.finishInto({ mode: isMerging ? "merge" : "leave" });
  if (end.kind === "merged") return { note: `Merged into ${end.into} (${end.commit.slice(0, 10)}).` };
  if (end.kind === "nothing") return {};
  const { branchName: branch, start } = worktrees;
  const question = `Merge ${branch} into ${start.startBranch}?`;
  return {
    note: `${end.detail}\nTo merge it: ${end.command}`,
    branch,
    ...(isMerging && { isRefused: true }),
    ...(mergeMode === "ask" && end.why === "asked" && { question }),
  };
}
