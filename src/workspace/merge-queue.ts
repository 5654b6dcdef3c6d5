/** Merges finished agents' commits into the job's branch one at a time. After a crash, trailers show which items are merged. */
import { tryTo } from "../std/try-to.ts";
import { takingTurns } from "../std/turns.ts";
import { type Branch, branchGone, commitTree, isAncestor, mergeTrees } from "./branch.ts";
import type { Git } from "./git.ts";

interface MergeRequest {
  readonly head: string;
  readonly base: string;
  readonly itemId: string;
  readonly attempt: number;
  readonly jobId: string;
  /** The subject of the merge commit, optionally with a body. */
  readonly message: string;
}

export type Merged =
  /** `commit` is the new tip of the branch. */
  | { readonly kind: "merged"; readonly commit: string }
  /** The branch already contains everything. */
  | { readonly kind: "empty" }
  /** The branch was not changed. */
  | { readonly kind: "conflict"; readonly files: readonly string[]; readonly detail: string };

export class MergeQueue {
  readonly #git: Git;
  readonly #branch: Branch;
  readonly #env: Readonly<Record<string, string>>;
  /** Runs the action while no merge of this process is running. */
  readonly alone = takingTurns();
  /** The tip to which this queue last moved the branch, and its tree. */
  #own: { readonly tip: string; readonly tree: string } | undefined;

  /** `env` has the identity of the committer. */
  constructor(git: Git, branch: Branch, env: Readonly<Record<string, string>>) {
    this.#git = git;
    this.#branch = branch;
    this.#env = env;
  }

  merge(request: MergeRequest): Promise<Merged> {
    return this.alone(async () => {
      for (;;) {
        const tip = await this.#branch.read();
        if (tip === null) throw branchGone(this.#branch.name);
        const merged = await this.#mergeInto(tip, request);
        if (merged !== "moved") return merged;
      }
    });
  }

  async #mergeInto(tip: string, request: MergeRequest): Promise<Merged | "moved"> {
    const { head } = request;
    if (head === tip || (await this.#isDone(tip, request))) return { kind: "empty" };
    const result = await mergeTrees(this.#git, tip, head);
    if (result.kind === "conflict") return result;
    if (await this.#isThere(tip, head, result.tree)) return { kind: "empty" };
    const commit = await commitTree(this.#git, {
      tree: result.tree,
      parents: [tip, head],
      message: messageOf(request),
      env: this.#env,
    });
    if (!(await this.#branch.move(tip, commit, `merge ${request.itemId}`))) return "moved";
    this.#own = { tip: commit, tree: result.tree };
    return { kind: "merged", commit };
  }

  /** A merge that changes the tree is not in the branch yet, so git need not be called. */
  async #isThere(tip: string, head: string, tree: string): Promise<boolean> {
    if (this.#own?.tip === tip && this.#own.tree !== tree) return false;
    return isAncestor(this.#git, head, tip);
  }

  /** A runner that was suspended while another took over its leases must not merge the same item again. */
  async #isDone(tip: string, { base, itemId, jobId }: MergeRequest): Promise<boolean> {
    if (tip === this.#own?.tip || tip === base) return false;
    return (await readMergedItems(this.#git, `${base}..${tip}`, jobId)).has(itemId);
  }
}

const ITEM = "Redrive-Item";
const ATTEMPT = "Redrive-Attempt";
const JOB = "Redrive-Job";

/** Ids are written as JSON, which contains no line ends. */
function messageOf({ message, itemId, attempt, jobId }: MergeRequest): string {
  const [item, job] = [JSON.stringify(itemId), JSON.stringify(jobId)];
  const trailers = `${ITEM}: ${item}\n${ATTEMPT}: ${attempt}\n${JOB}: ${job}\n`;
  return `${message.trim() || "Merge an agent's work"}\n\n${trailers}`;
}

/** Reads the ids of merged items from the trailers of merge commits, including nested ones. */
export async function readMergedItems(git: Git, range: string, jobId: string): Promise<Set<string>> {
  const field = (key: string) => `%(trailers:key=${key},valueonly,separator=%x1f)`;
  const format = `--format=${field(JOB)}%x1e${field(ITEM)}%x00`;
  const log = await git.must(["log", "--merges", format, range]);
  const items = new Set<string>();
  for (const line of log.split("\0")) {
    const [job = "", item = ""] = line.replace(/^\n/, "").split("\x1e");
    const id = tryTo(() => JSON.parse(item) as unknown); // fails for commits that Redrive has not made
    if (typeof id === "string" && tryTo(() => JSON.parse(job)) === jobId) items.add(id);
  }
  return items;
}
