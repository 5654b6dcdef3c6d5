/** The pool of worktrees for one job's agents. Free ones are cleaned and reused, because a new checkout takes far longer. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RedriveError } from "../errors.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { ownerState, thisOwner } from "../std/process-identity.ts";
import { randomName } from "../std/random.ts";
import { Branch, branchGone, isAncestor, writeHeadFile } from "./branch.ts";
import {
  addCheckout,
  gitDirOf,
  type NewBranch,
  removeCheckout,
  renewCheckout,
  restoreGitDir,
} from "./checkout.ts";
import { abortMerge } from "./conflict.ts";
import type { Git } from "./git.ts";
import { agentBranch, agentBranches, type KeepPaths } from "./names.ts";
import { hasProcessIn, type JobRegistry, MAIN_NAME, type WorktreeRecord } from "./registry.ts";
import { currentBranch } from "./repository.ts";

export type AgentWorktree = Required<Pick<WorktreeRecord, "name" | "base" | "itemId" | "attempt">> & {
  readonly path: string;
  readonly branch: string;
};

/** A worktree with a detached HEAD, which belongs to no item. */
export type DetachedWorktree = Pick<AgentWorktree, "name" | "path" | "base">;

/** Completed work of an earlier attempt, and the result of its steps. */
export interface WaitingWork {
  readonly worktree: AgentWorktree;
  readonly result: JsonObject;
}

/** The commits of an unfinished attempt that were dropped. Its item runs again. */
type Dropped = Pick<WorktreeRecord, "itemId"> & { readonly branch: string; readonly head: string };

export interface PoolOptions {
  readonly git: Git;
  readonly registry: JobRegistry;
  readonly jobId: string;
  readonly commonDir: string;
  readonly branch: Branch;
  readonly keep: KeepPaths;
}
export class Pool {
  protected readonly options: PoolOptions;
  readonly #owner = thisOwner();
  /** Part of the names of new worktrees, so that runners of the same job never use the same name. */
  readonly #tag = randomName(5);
  #made = 0;
  readonly #free: string[] = [];
  readonly #inUse = new Map<string, AgentWorktree>();
  /** Worktrees of attempts that ended while their work waited for `verify`, by item. */
  readonly #waiting = new Map<string, WorktreeRecord>();

  constructor(options: PoolOptions) {
    this.options = options;
  }

  async tip(): Promise<string> {
    const { branch } = this.options;
    const tip = await branch.read();
    if (tip === null) throw branchGone(branch.name);
    return tip;
  }

  /** Returns a clean worktree at the tip of the job's branch, on its own branch. */
  async acquire(itemId: string, attempt: number): Promise<AgentWorktree> {
    for (let name = this.#free.pop(); name !== undefined; name = this.#free.pop()) {
      const worktree = await this.#renew(name, itemId, attempt);
      if (worktree !== null) return worktree;
    }
    this.#made += 1;
    return this.#make(`agent-${this.#made}-${this.#tag}`, itemId, attempt);
  }

  /** Returns a clean worktree at the commit. */
  async acquireAt(commit: string): Promise<DetachedWorktree> {
    const { git, registry, keep } = this.options;
    const record = { state: "in_use", branch: null, base: commit } as const;
    for (let name = this.#free.pop(); name !== undefined; name = this.#free.pop()) {
      const path = registry.path(name);
      try {
        this.#write(name, record);
        await renewCheckout(git, { path, branch: null, commit: Promise.resolve(commit), keep });
        return { name, path, base: commit };
      } catch (error) {
        if (!(await this.#discard(name))) throw error;
      }
    }
    this.#made += 1;
    const name = `agent-${this.#made}-${this.#tag}`;
    const path = registry.path(name);
    try {
      this.#write(name, record);
      await addCheckout(git, { path, commit, branch: null });
      return { name, path, base: commit };
    } catch (error) {
      await this.#discard(name);
      throw error;
    }
  }

  /** Records that the work is complete, so that the next runner continues with it if this one crashes. */
  markWaiting({ name, branch, base, itemId, attempt }: AgentWorktree, result: JsonObject): void {
    this.#write(name, { state: "waiting", branch, base, itemId, attempt, result });
  }

  protected markInUse({ name, branch, base, itemId, attempt }: AgentWorktree): void {
    this.#write(name, { state: "in_use", branch, base, itemId, attempt });
  }

  /** Gives up ownership of a waiting worktree. The next attempt of its item continues with it. */
  leave({ name, itemId }: AgentWorktree): void {
    this.#inUse.delete(name);
    const { registry } = this.options;
    const record = registry.read(name);
    if (record?.state !== "waiting") return;
    const left = { ...record, owner: null };
    registry.write(left);
    this.#waiting.set(itemId, left);
  }

  /** Takes over the completed work of an earlier attempt. */
  takeWaiting(itemId: string): WaitingWork | null {
    const record = this.#waiting.get(itemId);
    this.#waiting.delete(itemId);
    if (record === undefined || record.branch === null) return null;
    const { name, branch, base, attempt = 1, result = {} } = record;
    const { registry } = this.options;
    if (!registry.claim(record, { ...record, owner: this.#owner })) return null;
    const worktree = { name, path: registry.path(name), branch, base, itemId, attempt };
    this.#inUse.set(name, worktree);
    return { worktree, result };
  }

  /** Takes over the kept worktree of the item's last attempt unchanged. Null if there is no usable one. */
  async acquireKept(itemId: string, attempt: number): Promise<AgentWorktree | null> {
    const { git, registry } = this.options;
    const kept = registry
      .list()
      .filter((record) => record.itemId === itemId && record.state === "kept" && record.owner === null)
      .sort((a, b) => (b.attempt ?? 0) - (a.attempt ?? 0));
    for (const record of kept) {
      const { name, branch, base } = record;
      const path = registry.path(name);
      if (branch === null || base === "" || hasProcessIn(path)) continue;
      const inside = git.in(path);
      const isUsable = await inside.ask(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).catch(() => null);
      if (isUsable?.exitCode !== 0) continue; // an agent or a person has damaged or removed it
      const taken = { ...record, state: "in_use" as const, owner: this.#owner, attempt };
      if (!registry.claim(record, taken)) continue;
      rmSync(join(gitDirOf(path), "index.lock"), { force: true }); // left by a killed git process
      await abortMerge(inside);
      return this.#hand({ name, path, branch, base, itemId, attempt });
    }
    return null;
  }

  /** Returns the worktree to the pool. Removes its branch if merged or `discard` is set; uncommitted changes are lost. */
  async release(
    worktree: DetachedWorktree & Partial<Pick<AgentWorktree, "branch">>,
    { discard = false }: { readonly discard?: boolean } = {},
  ): Promise<void> {
    this.#inUse.delete(worktree.name);
    const { git, registry } = this.options;
    const inside = git.in(registry.path(worktree.name));
    try {
      await detach(inside, await restoreGitDir(git, inside.cwd), worktree.base);
      if (worktree.branch !== undefined) await this.#dropBranch(worktree.branch, worktree.base, discard);
    } catch {
      await this.#discard(worktree.name, discard); // an agent damaged it beyond repair
      return;
    }
    this.#write(worktree.name, { state: "free", branch: null, base: worktree.base });
    this.#free.push(worktree.name);
  }

  /** Removes the worktree from the pool for a letter. Must be called before the letter is stored. */
  keep(worktree: AgentWorktree, why: string): void {
    this.#inUse.delete(worktree.name);
    const { name, branch, base, itemId, attempt } = worktree;
    this.#write(name, { state: "kept", owner: null, branch, base, itemId, attempt, why });
  }

  /**
   * Takes over the worktrees of ended runners, except those in which a process is still running. `isNeeded` returns whether a
   * letter refers to a worktree, which is then kept; by default, kept worktrees are needed. With `keepsWaiting`, completed work
   * that waits for `verify` is kept for the next attempt of its item.
   */
  async adopt({
    isNeeded = ({ state }) => state === "kept",
    keepsWaiting = false,
  }: {
    readonly keepsWaiting?: boolean;
    readonly isNeeded?: (record: WorktreeRecord) => boolean | Promise<boolean>;
  } = {}): Promise<{
    readonly names: readonly string[];
    readonly dropped: readonly Dropped[];
  }> {
    const { registry } = this.options;
    const names: string[] = [];
    const dropped: Dropped[] = [];
    registry.recover();
    for (const record of registry.list()) {
      const { name, owner } = record;
      if (name === MAIN_NAME || this.#inUse.has(name) || this.#free.includes(name)) continue;
      if (owner !== null && ownerState(owner) !== "gone") continue;
      if (await isNeeded(record)) {
        if (record.state !== "kept") registry.claim(record, { ...record, state: "kept", owner: null });
        continue;
      }
      if (hasProcessIn(registry.path(name))) continue;
      if (keepsWaiting && record.state === "waiting" && record.itemId !== undefined) {
        this.#waiting.set(record.itemId, record);
        continue;
      }
      // The record contains the branch until the branch is removed, so that a crash in between leaves no
      // orphaned branch.
      if (!registry.claim(record, { ...record, state: "in_use", owner: this.#owner })) continue;
      const lost = await this.#takeOver(record).catch(onlyRefused);
      if (lost === "refused") continue; // its record is unchanged, so the next runner tries again
      if (lost !== null) dropped.push(lost);
      names.push(name);
    }
    return { names, dropped };
  }

  /** Gives up ownership of free worktrees, so that the next runner can use them. */
  protected releaseFree(): void {
    const { registry } = this.options;
    for (const name of this.#free.splice(0)) {
      const record = registry.read(name);
      if (record !== null) registry.write({ ...record, owner: null });
    }
  }

  /**
   * The record contains no branch until the branch is created, because an existing branch of this name may
   * belong to a letter.
   */
  async #renew(name: string, itemId: string, attempt: number): Promise<AgentWorktree | null> {
    const { git, registry, keep } = this.options;
    const path = registry.path(name);
    try {
      this.#write(name, { state: "in_use", branch: null, base: "", itemId, attempt });
      const branch = newBranch(this.options.jobId, itemId, attempt);
      const renewed = await renewCheckout(git, { path, branch, commit: this.tip(), keep });
      return this.#hand({ name, path, ...renewed, itemId, attempt });
    } catch (error) {
      if (!(await this.#discard(name))) throw error;
      return null;
    }
  }

  async #make(name: string, itemId: string, attempt: number): Promise<AgentWorktree> {
    const { git, registry, jobId } = this.options;
    const path = registry.path(name);
    const base = await this.tip();
    try {
      this.#write(name, { state: "in_use", branch: null, base, itemId, attempt });
      const branch = await addCheckout(git, {
        path,
        commit: base,
        branch: newBranch(jobId, itemId, attempt),
      });
      return this.#hand({ name, path, branch, base, itemId, attempt });
    } catch (error) {
      await this.#discard(name);
      throw error;
    }
  }

  #hand(worktree: AgentWorktree): AgentWorktree {
    const { name, branch, base, itemId, attempt } = worktree;
    this.#inUse.set(name, worktree);
    this.#write(name, { state: "in_use", branch, base, itemId, attempt });
    return worktree;
  }

  /** Drops the commits of the attempt, because it never ended and its item runs again. */
  async #takeOver({ name, branch, base, itemId }: WorktreeRecord): Promise<Dropped | null> {
    const { git, registry } = this.options;
    const inside = git.in(registry.path(name));
    const current = branch ?? (await currentBranch(inside).catch(() => null));
    const own = current?.startsWith(`${agentBranches(this.options.jobId)}/`) ? current : null; // created for an attempt
    const head = own === null ? null : await new Branch(git, own, this.options.commonDir).read();
    const isLost = head !== null && !(await this.#isMerged(head, base));
    if (own !== null) await this.#dropBranch(own, base, true);
    try {
      const start = base || (await this.tip());
      await detach(inside, await restoreGitDir(git, inside.cwd), start);
      this.#write(name, { state: "free", branch: null, base: start });
      this.#free.push(name);
    } catch {
      await this.#discard(name);
    }
    return own === null || !isLost ? null : compact({ branch: own, head, itemId });
  }

  async #dropBranch(name: string, base: string, isForced: boolean): Promise<void> {
    const branch = new Branch(this.options.git, name, this.options.commonDir);
    const head = await branch.read();
    if (head === null) return;
    if (isForced || (await this.#isMerged(head, base))) await branch.remove(head);
  }

  async #isMerged(head: string, base: string): Promise<boolean> {
    return head === base || isAncestor(this.options.git, head, this.options.branch.ref);
  }

  /** Removes an unusable worktree. If that fails, returns false and leaves the record for `worktrees clean`. */
  async #discard(name: string, isForced = false): Promise<boolean> {
    const { git, registry } = this.options;
    try {
      const branch = registry.read(name)?.branch ?? null;
      await removeCheckout(git, registry.path(name));
      if (branch !== null) await this.#dropBranch(branch, "", isForced);
      registry.remove(name);
      return true;
    } catch {
      return false;
    }
  }

  #write(
    name: string,
    change: Omit<WorktreeRecord, "name" | "jobId" | "commonDir" | "owner"> & { readonly owner?: null },
  ): void {
    const { jobId, commonDir, registry } = this.options;
    registry.write({ name, jobId, commonDir, owner: this.#owner, ...change });
  }
}

function newBranch(jobId: string, itemId: string, attempt: number): NewBranch {
  return [agentBranch(jobId, itemId, attempt), agentBranch(jobId, itemId, attempt, randomName(5))];
}

function onlyRefused(error: unknown): "refused" {
  if (error instanceof RedriveError && error.code === "git_refused") return "refused";
  throw error;
}

/** Moves only HEAD. The files are updated when the worktree is used again. */
async function detach(inside: Git, gitDir: string, commit: string): Promise<void> {
  if (existsSync(join(gitDir, "reftable"))) await inside.must(["update-ref", "--no-deref", "HEAD", commit]);
  else writeHeadFile(gitDir, commit);
}
