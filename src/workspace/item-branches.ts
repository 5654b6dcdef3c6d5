/**
 * Leaves the work of each item on its own branch, for `merge.strategy: branch-per-item`. A branch is created
 * with all of the item's work in one step, so after a crash its existence shows that the item is done.
 */
import { type Branch, commitTree } from "./branch.ts";
import { type Git, type GitResult, refused } from "./git.ts";
import { type Merged, type MergedItems, messageOf } from "./merge-queue.ts";
import { itemBranches, itemMark, itemMarks } from "./names.ts";

export interface ItemBranchRequest {
  readonly head: string;
  readonly base: string;
  readonly itemId: string;
  readonly attempt: number;
  readonly jobId: string;
  /** The message of the squashed commit. Default: the branch keeps the agent's own commits. */
  readonly message?: string | undefined;
}

/** Creates the item's branch. An existing branch was created by an earlier runner and is left unchanged. */
export async function addItemBranch(
  git: Git,
  branch: Branch,
  request: ItemBranchRequest,
  env: Readonly<Record<string, string>>,
): Promise<Merged> {
  const { head, base } = request;
  if (head === base) return { kind: "empty" };
  const merged = (commit: string): Merged => ({ kind: "merged", commit, base, branch: branch.name });
  const found = await branch.read();
  if (found !== null) return merged(found);
  const commit = await commitOf(git, request, env);
  if (commit === null) return { kind: "empty" };
  if (await branch.create(commit)) return merged(commit);
  return merged((await branch.read()) ?? commit);
}

/** Null if the agent's commits change nothing. */
async function commitOf(
  git: Git,
  request: ItemBranchRequest,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  const { head, base, message } = request;
  const [tree = "", before] = (await git.must(["rev-parse", `${head}^{tree}`, `${base}^{tree}`])).split("\n");
  if (tree === before) return null;
  if (message === undefined) return head;
  return commitTree(git, { tree, parents: [base], message: messageOf({ ...request, message }), env });
}

/** Reads which items have a branch, in the clone, or on the remote if the job runs on several machines. */
export async function readItemBranches(
  git: Git,
  jobId: string,
  remote: string | undefined,
): Promise<MergedItems & { readonly size: number }> {
  const pattern = `refs/heads/${itemBranches(jobId)}/`;
  const args =
    remote === undefined
      ? ["for-each-ref", "--format=%(objectname) %(refname)", pattern]
      : ["ls-remote", remote, `${pattern}*`];
  const result: GitResult = await git.ask(args, { timeoutMs: CALL_MS_MAX });
  if (result.exitCode !== 0) throw refused(args, result);
  const lines = result.stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(/\s/));
  const commits = new Map(lines.map(([commit = "", ref = ""]) => [itemMark(ref), commit]));
  const get = (itemId: string) =>
    itemMarks(itemId)
      .map((mark) => commits.get(mark))
      .find((commit) => commit !== undefined);
  return { get, has: (itemId) => get(itemId) !== undefined, size: commits.size };
}

/** A remote call on a dead connection is aborted after this time. */
const CALL_MS_MAX = 60_000;
