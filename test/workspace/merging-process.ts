/** A runner of its own: eight items, each a commit, merged into the one job; those that are merged are not done again. */
import { MERGE_STRATEGIES } from "../../src/workflow/model.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { commit, put } from "./repo-kit.ts";

const [top = "", home = "", side = "", given = ""] = process.argv.slice(2);
const strategy = MERGE_STRATEGIES.find((one) => one === given);
const job = await JobWorktrees.open(await openRepository(top), "job-1", { home, strategy });
await job.adopt();
const merged = await job.mergedItems();
const items = Array.from({ length: 8 }, (_, index) => `${side} ${index}`).filter((item) => !merged.has(item));
await Promise.all(items.map(work));
await job.close();

async function work(item: string): Promise<void> {
  const worktree = await job.acquire(item, 1);
  put(worktree.path, `out/${item}.txt`, "x");
  commit(worktree.path, "work");
  const end = await job.merge(worktree, "work");
  if (end.kind !== "merged") throw new Error(`not merged: ${end.kind}`);
  await job.release(worktree);
}
