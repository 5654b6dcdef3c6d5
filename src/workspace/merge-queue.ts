/** Adds finished agents' work to the job's branch, one at a time. After a crash, trailers show which items are merged. */
import { tryTo } from "../std/try-to.ts";
import { takingTurns } from "../std/turns.ts";
import { type Branch, branchGone, commitTree, isAncestor, mergeTrees } from "./branch.ts";
import type { Git } from "./git.ts";

export interface MergeRequest {
  readonly head: string;
  readonly base: string;
  readonly itemId: string;
  readonly attempt: number;
  readonly jobId: string;
  /** The subject of the commit, optionally with a body. */
  readonly message: string;
  /** True to add one ordinary commit instead of a merge commit with the agent's own commits. */
  readonly isSquashed?: boolean;
}

export type Merged =
  /**
   * `commit` contains the item's work, and `base` is the commit that it was added to. On the job's branch,
   * `commit` is the new tip.
   */
  | { readonly kind: "merged"; readonly commit: string; readonly base: string; readonly branch?: string }
  /** The branch already contains everything. */
  | { readonly kind: "empty" }
  /** The branch was not changed. `tip` is the commit with which the work conflicts. */
  | {
      readonly kind: "conflict";
      readonly files: readonly string[];
      readonly detail: string;
      readonly tip: string;
    };

/** The commits with the work of items, by item id. */
export type MergedItems = Pick<ReadonlyMap<string, string>, "get" | "has">;

/** A commit that would merge the request, not yet on any branch. */
export interface Built {
  readonly kind: "built";
  readonly commit: string;
  readonly tree: string;
}

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
        if (await this.isDone(tip, request)) return { kind: "empty" };
        const built = await this.build(tip, request);
        if (built.kind !== "built") return built;
        if (!(await this.#branch.move(tip, built.commit, `merge ${request.itemId}`))) continue; // it has moved
        this.#own = { tip: built.commit, tree: built.tree };
        return { kind: "merged", commit: built.commit, base: tip };
      }
    });
  }

  /** Creates the commit that adds the request to `tip`, whose tree the caller may pass. Moves no branch. */
  async build(
    tip: string,
    request: MergeRequest,
    tipTree = this.#own?.tip === tip ? this.#own.tree : undefined,
  ): Promise<Built | Exclude<Merged, { kind: "merged" }>> {
    const { head, isSquashed = false } = request;
    if (head === tip) return { kind: "empty" };
    const result = await mergeTrees(this.#git, tip, head);
    if (result.kind === "conflict") return { ...result, tip };
    const { tree } = result;
    // Work that changes the tree cannot be on the branch yet, so git need not be called.
    const known = tipTree ?? (isSquashed ? await this.#git.must(["rev-parse", `${tip}^{tree}`]) : undefined);
    const isNew = known !== undefined && known !== tree;
    if (!isNew && (isSquashed || (await isAncestor(this.#git, head, tip)))) return { kind: "empty" };
    const commit = await commitTree(this.#git, {
      tree,
      parents: isSquashed ? [tip] : [tip, head],
      message: messageOf(request),
      env: this.#env,
    });
    return { kind: "built", commit, tree };
  }

  /** A runner that was suspended while another took over its leases must not merge the same item again. */
  async isDone(tip: string, { base, itemId, jobId }: MergeRequest): Promise<boolean> {
    if (tip === this.#own?.tip || tip === base) return false;
    return (await readMergedItems(this.#git, `${base}..${tip}`, jobId)).has(itemId);
  }
}

const ITEM = "Redrive-Item";
const ATTEMPT = "Redrive-Attempt";
const JOB = "Redrive-Job";

/** Ids are written as JSON, which contains no line ends. */
export function messageOf({
  message,
  itemId,
  attempt,
  jobId,
}: Pick<MergeRequest, "message" | "itemId" | "attempt" | "jobId">): string {
  const [item, job] = [JSON.stringify(itemId), JSON.stringify(jobId)];
  const trailers = `${ITEM}: ${item}\n${ATTEMPT}: ${attempt}\n${JOB}: ${job}\n`;
  return `${message.trim() || "Merge an agent's work"}\n\n${trailers}`;
}

/** Reads the commits of merged items from their trailers, including commits that came with a merge of the job's branch. */
export async function readMergedItems(git: Git, range: string, jobId: string): Promise<Map<string, string>> {
  const field = (key: string) => `%(trailers:key=${key},valueonly,separator=%x1f)`;
  const format = `--format=%H%x1e${field(JOB)}%x1e${field(ITEM)}%x00`;
  const log = await git.must(["log", format, range]);
  const items = new Map<string, string>();
  for (const line of log.split("\0")) {
    const [commit = "", job = "", item = ""] = line.replace(/^\n/, "").split("\x1e");
    const id = tryTo(() => JSON.parse(item) as unknown); // fails for commits that Redrive did not create
    if (typeof id === "string" && tryTo(() => JSON.parse(job)) === jobId) items.set(id, commit);
  }
  return items;
}
