/** A site made of git worktrees: a branch for the job, a worktree for its phases, one from a pool for each attempt. */
import type { Job } from "../item/job.ts";
import { JobWorktrees } from "../worktree/job-worktrees.ts";
import type { AgentWorktree } from "../worktree/pool.ts";
import { openRepository } from "../worktree/repository.ts";
import type { Finish, Merge, Place, Site } from "./site.ts";
import type { Workshop } from "./work.ts";
import type { WorkflowSpec } from "./workflow-spec.ts";

export async function openGitSite(job: Job, spec: WorkflowSpec, workshop: Workshop): Promise<Site> {
  const repository = await openRepository(spec.cwd);
  const worktrees = await JobWorktrees.open(repository, job.id, {
    home: workshop.home,
    keep: spec.workflow.map.keep,
  });
  const root = await worktrees.jobWorktree();
  await worktrees.adopt({ isNeeded: workshop.isKeptForLetter });
  return {
    root,
    head: () => worktrees.headOf(root),
    notes: repository.notes,
    enter: async (itemId, attempt) => placeOf(worktrees, await worktrees.acquire(itemId, attempt)),
    mergedItems: () => worktrees.mergedItems(),
    commitPhase: async () => {
      await worktrees.commitAll({ path: root }, "Changes of a phase that no step committed");
      await worktrees.commitPhase();
    },
    refresh: async () => void (await worktrees.refreshJobWorktree()),
    finish: () => finish(worktrees, spec),
    close: () => worktrees.close(),
  };
}

function placeOf(worktrees: JobWorktrees, worktree: AgentWorktree): Place {
  let isMerged = false;
  return {
    root: worktree.path,
    head: () => worktrees.head(worktree),
    merge: async () => {
      const merge = await mergeAll(worktrees, worktree);
      isMerged = merge.kind === "merged" || merge.kind === "empty";
      return merge;
    },
    artifacts: async () => {
      const { head: _, ...artifacts } = await worktrees.artifacts(worktree);
      return artifacts;
    },
    // What an attempt that failed or was stopped has committed is not wanted: its item is done anew.
    leave: () => worktrees.release(worktree, { discard: !isMerged }),
    keep: async (why) => worktrees.keep(worktree, why),
  };
}

/** Changes that no step committed are work too: they are committed as the user would, and hooks run. */
async function mergeAll(worktrees: JobWorktrees, worktree: AgentWorktree): Promise<Merge> {
  const title = `redrive: ${worktree.itemId.slice(0, 60).replace(/\s+/g, " ")}`;
  const committed = await worktrees.commitAll(worktree, title);
  if (committed.kind === "refused") return { kind: "refused", detail: committed.detail };
  const merged = await worktrees.merge(worktree, title);
  return merged.kind === "conflict" ? { kind: "conflict", files: merged.files } : merged;
}

async function finish(worktrees: JobWorktrees, { mergeMode }: WorkflowSpec): Promise<Finish> {
  const end = await worktrees.finishInto({ mode: mergeMode === "auto" ? "merge" : "leave" });
  if (end.kind === "merged") return { note: `Merged into ${end.into} (${end.commit.slice(0, 10)}).` };
  if (end.kind === "nothing") return {};
  return { note: `${end.detail}\nTo merge it: ${end.command}`, branch: worktrees.branchName };
}
