/** A job's branch, worktrees and merge queue in a repository. After a crash, refs and registry restore everything. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RedriveError } from "../errors.ts";
import type { WorktreeArtifacts } from "../item/letter.ts";
import type { JsonObject } from "../std/json.ts";
import { ownerState, thisOwner } from "../std/process-identity.ts";
import type { MergeStrategy } from "../workflow/model.ts";
import { Branch, branchGone, isAncestor } from "./branch.ts";
import { changesSince, diffstat } from "./changes.ts";
import { addCheckout, gitDirOf, isFinished, removeCheckout } from "./checkout.ts";
import { type CleanOptions, type CleanReport, cleanWorktrees } from "./clean.ts";
import { abortMerge, beginMerge, endMerge } from "./conflict.ts";
import { type FinalMerge, type FinalMergeRequest, finalMerge, mergingAlone } from "./final-merge.ts";
import { type Git, identityEnvironment } from "./git.ts";
import { artifactsOf, type Committed, changesIn, commitAll, readHead } from "./inventory.ts";
import { addItemBranch, readItemBranches } from "./item-branches.ts";
import { type MergedItems, MergeQueue, readMergedItems } from "./merge-queue.ts";
import { itemBranch, itemBranches, jobBranch, keepPaths } from "./names.ts";
import { type AgentWorktree, Pool, type PoolOptions } from "./pool.ts";
import { type JobRecord, JobRegistry, MAIN_NAME, type WorktreeRecord } from "./registry.ts";
import type { Repository } from "./repository.ts";
import { requireRemote, SharedBranch } from "./shared-branch.ts";
import { type MergeWait, type Verified, type VerifyOptions, VerifyQueue } from "./verify-queue.ts";
import type { ConflictToResolve, MergedWork } from "./workspace.ts";

export class JobWorktrees extends Pool {
  /** The commit and branch from which the job started. */
  readonly start: JobRecord;
  readonly branchName: string;
  readonly #home: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #queue: MergeQueue;
  readonly #strategy: MergeStrategy;
  readonly #remote: string | undefined;
  #verify: VerifyQueue | undefined;
  #main: Promise<string> | undefined;

  private constructor(
    parts: PoolOptions &
      Pick<JobWorktrees, "start"> &
      Pick<JobWorktreesOptions, "strategy" | "remote"> & {
        home: string;
        env: Readonly<Record<string, string>>;
      },
  ) {
    super(parts);
    const { git, branch, env } = parts;
    this.start = parts.start;
    this.branchName = branch.name;
    this.#home = parts.home;
    this.#env = env;
    this.#strategy = parts.strategy ?? "commit-per-item";
    this.#remote = parts.remote;
    this.#queue = new MergeQueue(git, branch, env);
  }

  /**
   * Starts the job at the start commit, or continues it. A job that was merged and cleaned up continues from
   * the merged work. `keep` lists paths that are preserved between items, relative to the top of the
   * worktree. Default: none.
   */
  static async open(
    repository: Repository,
    jobId: string,
    { home, keep = [], remote, strategy, newBranch }: JobWorktreesOptions,
  ): Promise<JobWorktrees> {
    const { git, commonDir } = repository;
    const registry = JobRegistry.of(home, repository, jobId);
    if (remote !== undefined) await requireRemote(git, remote);
    const branch = openBranch(git, jobBranch(jobId), { commonDir, remote });
    const start = await beginJob(repository, jobId, { registry, branch, newBranch });
    const env = await identityEnvironment(git);
    return new JobWorktrees({
      git,
      commonDir,
      jobId,
      start,
      home,
      registry,
      branch,
      keep: keepPaths(keep),
      env,
      strategy,
      remote,
    });
  }

  /** Makes `merge` verify work from now on. */
  verifyWith(options: VerifyOptions): VerifyQueue {
    this.#verify = new VerifyQueue(this.#queue, this.options.branch, options);
    return this.#verify;
  }

  /** Returns the worktree of setup, reduce and merge, with a detached HEAD. Created on first use. */
  async jobWorktree(): Promise<string> {
    this.#main ??= this.#openMain();
    return this.#main;
  }

  /** Moves the job's branch to the commits of the phase, which must be based on the branch. Returns the tip. */
  async commitPhase() {
    const { git, keep, branch } = this.options;
    const inside = git.in(await this.jobWorktree());
    const uncommitted = (await changesIn(inside, keep)) !== "";
    return this.#queue.alone(async () => {
      const [tip, head] = await Promise.all([this.tip(), readHead(inside)]);
      if (head === tip || (await isAncestor(git, head, tip)))
        return { kind: "unchanged", commit: tip, uncommitted } as const;
      if (!(await isAncestor(git, tip, head)) || !(await branch.move(tip, head, "phase"))) {
        const message = `HEAD of ${inside.cwd} does not contain the tip of ${branch.name}, so the branch was not moved.`;
        const hint = "A step may add commits, but must not rewrite existing ones.";
        throw new RedriveError("git_refused", message, { hint });
      }
      return { kind: "advanced", commit: head, uncommitted } as const;
    });
  }

  /** Moves the job's branch to the commits of a running phase, unless HEAD is temporarily elsewhere. */
  async advance(): Promise<void> {
    const { git, branch } = this.options;
    const inside = git.in(await this.jobWorktree());
    await this.#queue.alone(async () => {
      const [tip, head] = await Promise.all([this.tip(), readHead(inside)]);
      if (head !== tip && (await isAncestor(git, tip, head))) await branch.move(tip, head, "phase");
    });
  }

  /** Moves the job's worktree to the tip of the branch. Git refuses if that would overwrite changed files. */
  async refreshJobWorktree(): Promise<string> {
    const path = await this.jobWorktree();
    await this.options.git.in(path).must(["checkout", "-q", "--detach", await this.tip()]);
    return path;
  }

  artifacts(worktree: AgentWorktree): Promise<WorktreeArtifacts> {
    return artifactsOf(this.options.git.in(worktree.path), worktree.branch, this.options.keep);
  }

  ownArtifacts(path: string): Promise<WorktreeArtifacts> {
    return artifactsOf(this.options.git.in(path), this.branchName, this.options.keep);
  }

  head({ path }: Pick<AgentWorktree, "path">): Promise<string> {
    return readHead(this.options.git.in(path));
  }

  /** Reads the changes in a folder of a worktree, by default since the start of the run. */
  async changes(folder: string, since = this.start.startCommit): Promise<JsonObject> {
    const { git, keep } = this.options;
    return { ...(await changesSince(git.in(folder), since, keep)) };
  }

  /** Commits the agent's uncommitted changes with the user's hooks. */
  commitAll({ path }: Pick<AgentWorktree, "path">, message: string): Promise<Committed> {
    const { git, keep } = this.options;
    return commitAll(git.in(path), { message, keep, env: this.#env });
  }

  /**
   * Merges the agent's commits by the job's strategy, one agent at a time. `isClean` means that `commitAll` was just called.
   * `uncommitted` in the result means that the agent left changes that are not part of the merge. With `wait`, the work is
   * merged after it is verified.
   */
  async merge(
    worktree: AgentWorktree,
    message: string,
    { isClean = false, hasOwnMessage = true, name, wait }: MergeOptions = {},
  ): Promise<Verified & { readonly uncommitted: boolean }> {
    const { git, keep, jobId } = this.options;
    const inside = git.in(worktree.path);
    const [head, changes] = await Promise.all([readHead(inside), isClean ? "" : changesIn(inside, keep)]);
    const uncommitted = changes !== "";
    if (head === worktree.base) return { kind: "empty", uncommitted };
    const { base, itemId, attempt } = worktree;
    const request = { head, base, itemId, attempt, jobId };
    if (this.hasItemBranches) {
      const own = this.#itemBranch(itemId, name);
      const wanted = { ...request, ...(hasOwnMessage && { message }) };
      return { ...(await addItemBranch(git, own, wanted, this.#env)), uncommitted };
    }
    const named = { ...request, message, isSquashed: this.#strategy === "squash" };
    const merged = await ((wait && this.#verify?.merge(named, wait)) ?? this.#queue.merge(named));
    return { ...merged, uncommitted };
  }

  /** Merges the job's branch into the worktree, so that conflicts can be resolved there. */
  async beginMerge(worktree: AgentWorktree): Promise<ConflictToResolve> {
    const { git, keep } = this.options;
    const inside = git.in(worktree.path);
    this.markInUse(worktree); // a runner that dies now leaves a half-done merge, which must not count as complete work
    const [message, env] = [`Merge ${this.branchName}`, this.#env];
    const conflict = await beginMerge(inside, { tip: await this.tip(), message, env });
    return {
      files: conflict.files,
      end: () => endMerge(inside, conflict, { message, keep, env }),
      abort: async () => void (await abortMerge(inside)),
    };
  }

  #itemBranch(itemId: string, itemName: string | undefined): Branch {
    const { git, jobId, commonDir } = this.options;
    return openBranch(git, itemBranch(jobId, itemId, itemName), { commonDir, remote: this.#remote });
  }

  /** Returns the items whose work is merged, regardless of what the store has recorded. */
  async mergedItems(): Promise<MergedItems> {
    const { git, branch, jobId } = this.options;
    if (this.hasItemBranches) return readItemBranches(git, jobId, this.#remote);
    await this.tip(); // copies a branch that is on a remote
    return readMergedItems(git, `${this.start.startCommit}..${branch.ref}`, jobId);
  }

  /** Describes the merge of an item: its commit, its branch if it has one, and the size of its changes. */
  async mergeOf(commit: string): Promise<MergedWork> {
    const { git, branch } = this.options;
    const own = this.hasItemBranches ? await this.#branchAt(commit) : {};
    try {
      const base = this.hasItemBranches ? await git.must(["merge-base", branch.ref, commit]) : `${commit}^`;
      return { commit, ...own, changes: await diffstat(git, base, commit) };
    } catch (error) {
      if (!(error instanceof RedriveError)) throw error;
      return { commit, ...own }; // the work is merged, so missing numbers must not fail the item
    }
  }

  async #branchAt(commit: string): Promise<Pick<MergedWork, "branch">> {
    const refs = `refs/heads/${itemBranches(this.jobId)}/`;
    const found = await this.options.git.must([
      ...["for-each-ref", "--format=%(refname:lstrip=2)", "--points-at", commit, refs],
    ]);
    const [branch = ""] = found.split("\n");
    return branch === "" ? {} : { branch };
  }

  /** The number of items with their own branch; 0 with any other strategy. */
  async countItemBranches(): Promise<number> {
    if (!this.hasItemBranches) return 0;
    return (await readItemBranches(this.options.git, this.jobId, this.#remote)).size;
  }

  get jobId(): string {
    return this.options.jobId;
  }

  /** Whether the agents' own commits become part of the job's branch, so that git sees their branches as merged. */
  get keepsCommits(): boolean {
    return this.#strategy === "commit-per-item";
  }

  get hasItemBranches(): boolean {
    return this.#strategy === "branch-per-item";
  }

  /** Merges the job's branch into the branch from which the run started, or returns the reason and the command. */
  async finishInto({
    startBranch = this.start.startBranch,
    mode = "merge",
  }: Partial<Pick<FinalMergeRequest, "startBranch" | "mode">> = {}): Promise<FinalMerge> {
    const { git, jobId, commonDir } = this.options;
    await this.tip(); // copies a branch that is on a remote
    const isLinear = this.#strategy === "squash" || this.start.isNewBranch === true;
    const request = { jobId, jobBranch: this.branchName, startBranch, mode, isLinear };
    return mergingAlone(commonDir, () => finalMerge(git, request));
  }

  /**
   * Removes the worktrees and branches of an ended job, except unmerged work and worktrees that letters need.
   */
  async tidy({ isNeeded, hasLetters }: TidyOptions): Promise<CleanReport> {
    const { branch } = this.options;
    const start = this.start.startBranch;
    const tip = branch instanceof SharedBranch && start !== null ? await branch.read() : null;
    if (
      branch instanceof SharedBranch &&
      tip !== null &&
      (await isAncestor(this.options.git, tip, `refs/heads/${start}`))
    )
      await branch.removeFromRemote(tip);
    await this.adopt({ isNeeded });
    await this.close();
    const job = this.options.jobId;
    return cleanWorktrees(this.#home, { job, isNeeded, hasLetters, hasEnded: () => true });
  }

  /** Gives up ownership of all worktrees, so that another runner can use them. */
  async close(): Promise<void> {
    this.releaseFree();
    if (this.#main === undefined) return;
    await this.#main.catch(() => undefined);
    const { registry } = this.options;
    const record = registry.read(MAIN_NAME);
    if (record?.owner?.pid === process.pid) registry.write({ ...record, owner: null });
  }

  /** A worktree that another runner of the job has open may be shared, but not one that it is still creating. */
  async #openMain(): Promise<string> {
    const { git, registry, jobId, commonDir } = this.options;
    const path = registry.path(MAIN_NAME);
    const base = await this.tip();
    const owner = thisOwner();
    const common = { name: MAIN_NAME, jobId, commonDir, branch: null, base };
    const isOurs = this.#takeMain({ ...common, state: "in_use", owner });
    // A checkout that a crash interrupted must not be used: its missing files would look like deletions.
    const isWhole = existsSync(join(path, ".git")) && isFinished(gitDirOf(path));
    const isUsable = isWhole && (await this.head({ path }).catch(() => null)) !== null;
    if (isOurs && isUsable) rmSync(join(gitDirOf(path), "index.lock"), { force: true }); // left by a killed git process
    if (isUsable) return path;
    if (!isOurs) throw new RedriveError("git_refused", `Another process is creating ${path}. Try again.`);
    await removeCheckout(git, path);
    await addCheckout(git, { path, commit: base, branch: null });
    return path;
  }

  #takeMain(record: WorktreeRecord): boolean {
    const { registry } = this.options;
    const found = registry.read(MAIN_NAME);
    if (found === null) return registry.add(record);
    const isFree = found.owner === null || ownerState(found.owner) !== "here";
    return isFree && registry.claim(found, record);
  }
}

export interface JobWorktreesOptions {
  readonly home: string;
  readonly keep?: readonly string[];
  /** The git remote with the job's branch, if the job runs on several machines. */
  readonly remote?: string | undefined;
  /** How the work of items is merged. Default `commit-per-item`. */
  readonly strategy?: MergeStrategy | undefined;
  /** The name of a branch to create and merge into. Default: the job is merged into the branch from which it started. */
  readonly newBranch?: string | undefined;
}

interface MergeOptions {
  readonly isClean?: boolean;
  /** The item's display name, for the name of its branch. Default: its id. */
  readonly name?: string | undefined;
  /** False if the message is a default, which does not replace the messages of the agent's own commits. Default true. */
  readonly hasOwnMessage?: boolean;
  readonly wait?: MergeWait | undefined;
}

function openBranch(
  git: Git,
  name: string,
  { commonDir, remote }: { readonly commonDir: string; readonly remote: string | undefined },
): Branch {
  return remote === undefined ? new Branch(git, name, commonDir) : new SharedBranch(git, name, remote);
}

export interface TidyOptions {
  readonly isNeeded: (kept: Kept) => Promise<boolean>;
  readonly hasLetters: NonNullable<CleanOptions["hasLetters"]>;
}

/** The fields that a worktree's record and its inventory entry have in common. */
export type Kept = Pick<WorktreeRecord, "itemId" | "branch"> & { readonly state: string };

/** The branch is created first, because a record without a branch would mean that the work was removed. */
async function beginJob(
  repository: Repository,
  jobId: string,
  {
    registry,
    branch,
    newBranch,
  }: {
    readonly registry: JobRegistry;
    readonly branch: Branch;
    readonly newBranch: string | undefined;
  },
): Promise<JobRecord> {
  const { commonDir, top, startBranch, startCommit, git } = repository;
  const known = registry.readJob();
  const tip = await branch.read();
  if (known !== null) {
    if (tip === null) await restoreBranch(repository, known, branch);
    return known;
  }
  if (tip === null) await branch.create(startCommit);
  // A branch without a record results from a crash between the two, or from a removed home folder.
  const base = tip === null ? startCommit : await git.must(["merge-base", tip, startCommit]);
  if (newBranch !== undefined) await new Branch(git, newBranch).create(base);
  const target =
    newBranch === undefined ? { startBranch } : { startBranch: newBranch, isNewBranch: true as const };
  const record = { jobId, commonDir, top, ...target, startCommit: base };
  registry.writeJob(record);
  return record;
}

/** A user may remove the branch after its work is merged. It is then restored from the branch it was merged into. */
async function restoreBranch({ git }: Repository, known: JobRecord, branch: Branch): Promise<void> {
  const { jobId, startBranch, startCommit } = known;
  const tip = startBranch === null ? null : await new Branch(git, startBranch).read();
  if (tip === null) throw branchGone(branch.name);
  const merged = await readMergedItems(git, `${startCommit}..${tip}`, jobId);
  if (merged.size === 0) throw branchGone(branch.name);
  await branch.create(tip);
}
