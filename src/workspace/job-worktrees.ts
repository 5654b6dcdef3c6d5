/** A job's part of a repository: its branch, worktrees and merge queue. After a crash, refs and registry restore everything. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { WorkError } from "../errors.ts";
import type { WorktreeArtifacts } from "../item/letter.ts";
import { ownerState, thisOwner } from "../std/process-identity.ts";
import { Branch, branchGone, isAncestor } from "./branch.ts";
import { addCheckout, gitDirOf, isFinished, removeCheckout } from "./checkout.ts";
import { type CleanOptions, type CleanReport, cleanWorktrees } from "./clean.ts";
import { type FinalMerge, finalMerge, mergingAlone } from "./final-merge.ts";
import { type Git, identityEnvironment } from "./git.ts";
import { artifactsOf, type Committed, changesIn, commitAll, readHead } from "./inventory.ts";
import { type Merged, MergeQueue, readMergedItems } from "./merge-queue.ts";
import { jobBranch, type KeepPaths, keepPaths } from "./names.ts";
import { type Adopted, type AdoptOptions, type AgentWorktree, Pool } from "./pool.ts";
import { type JobRecord, JobRegistry, MAIN_NAME, type WorktreeRecord } from "./registry.ts";
import type { Repository } from "./repository.ts";

export interface JobWorktreesOptions {
  /** `REDRIVE_HOME`. */
  readonly home: string;
  /** Paths that one item leaves for the next, from the top of the worktree, such as `node_modules`. Default: none. */
  readonly keep?: readonly string[];
}

export type MergeEnd = Merged & {
  /** The agent changed files and did not commit them; they are not in the merge. */
  readonly uncommitted: boolean;
};

export type PhaseEnd = {
  readonly kind: "advanced" | "unchanged";
  readonly commit: string;
  readonly uncommitted: boolean;
};

export class JobWorktrees {
  readonly repository: Repository;
  readonly jobId: string;
  /** Where the job started from, when it was new. */
  readonly start: JobRecord;
  /** `redrive/<job>`. */
  readonly branchName: string;
  readonly #git: Git;
  readonly #home: string;
  readonly #registry: JobRegistry;
  readonly #branch: Branch;
  readonly #keep: KeepPaths;
  readonly #env: Readonly<Record<string, string>>;
  readonly #pool: Pool;
  readonly #queue: MergeQueue;
  #main: Promise<string> | undefined;

  private constructor(parts: Parts) {
    const { repository, jobId, start, home, registry, branch, keep, env } = parts;
    this.repository = repository;
    this.jobId = jobId;
    this.start = start;
    this.branchName = branch.name;
    this.#git = repository.git;
    this.#home = home;
    this.#registry = registry;
    this.#branch = branch;
    this.#keep = keep;
    this.#env = env;
    this.#pool = new Pool({ git: this.#git, registry, jobId, commonDir: repository.commonDir, branch, keep });
    this.#queue = new MergeQueue(this.#git, branch, env);
  }

  /** Begins the job at the start commit, or continues it. A job that was cleaned after its merge begins at the merged work. */
  static async open(
    repository: Repository,
    jobId: string,
    options: JobWorktreesOptions,
  ): Promise<JobWorktrees> {
    const keep = keepPaths(options.keep ?? []);
    const registry = JobRegistry.of(options.home, repository, jobId);
    const branch = new Branch(repository.git, jobBranch(jobId), repository.commonDir);
    const start = await beginJob(repository, jobId, registry, branch);
    const env = await identityEnvironment(repository.git);
    return new JobWorktrees({ repository, jobId, start, home: options.home, registry, branch, keep, env });
  }

  /** The commit that the job's branch points at. */
  async tip(): Promise<string> {
    const tip = await this.#branch.read();
    if (tip === null) throw branchGone(this.branchName);
    return tip;
  }

  // The phases -------------------------------------------------------------------------------------------------

  /** The worktree of setup, reduce and merge, with HEAD detached; made when it is first asked for. */
  async jobWorktree(): Promise<string> {
    this.#main ??= this.#openMain();
    return this.#main;
  }

  /** Moves the job's branch to what the phase committed. The phase must have built on the branch. */
  async commitPhase(): Promise<PhaseEnd> {
    const inside = this.#git.in(await this.jobWorktree());
    const uncommitted = (await changesIn(inside, this.#keep)) !== "";
    return this.#queue.alone(async () => {
      const [tip, head] = await Promise.all([this.tip(), readHead(inside)]);
      if (head === tip || (await isAncestor(this.#git, head, tip)))
        return { kind: "unchanged", commit: tip, uncommitted };
      if (!(await isAncestor(this.#git, tip, head)) || !(await this.#branch.move(tip, head, "phase"))) {
        throw new WorkError(
          "git_refused",
          `HEAD of ${inside.cwd} does not build on ${this.branchName}; the branch was not moved.`,
          {
            hint: "A step must add commits to what it finds, not rewrite it.",
          },
        );
      }
      return { kind: "advanced", commit: head, uncommitted };
    });
  }

  /** Moves the job's worktree to the tip of the branch. Untracked files stay; changed ones too, or git refuses. */
  async refreshJobWorktree(): Promise<string> {
    const path = await this.jobWorktree();
    await this.#git.in(path).must(["checkout", "-q", "--detach", await this.tip()]);
    return path;
  }

  // Agents -----------------------------------------------------------------------------------------------------

  /** A clean worktree at the tip, on a branch of its own. */
  acquire(itemId: string, attempt: number): Promise<AgentWorktree> {
    return this.#pool.acquire(itemId, attempt);
  }

  /** Gives it back; see `Pool.release`. */
  release(worktree: AgentWorktree, options?: { readonly discard?: boolean }): Promise<void> {
    return this.#pool.release(worktree, options);
  }

  /** Takes it out of the pool for a letter. To be called before the letter is stored. */
  keep(worktree: AgentWorktree, why: string): void {
    this.#pool.keep(worktree, why);
  }

  /** What the letter says of it. */
  artifacts(worktree: AgentWorktree): Promise<WorktreeArtifacts> {
    return artifactsOf(this.#git.in(worktree.path), worktree.branch, this.#keep);
  }

  /** Where the agent's HEAD is now. */
  head(worktree: AgentWorktree): Promise<string> {
    return readHead(this.#git.in(worktree.path));
  }

  /** Where HEAD of any worktree is, such as that of the phases. */
  headOf(path: string): Promise<string> {
    return readHead(this.#git.in(path));
  }

  /** Commits what an agent changed and did not commit; hooks run. */
  commitAll(worktree: Pick<AgentWorktree, "path">, message: string): Promise<Committed> {
    return commitAll(this.#git.in(worktree.path), { message, keep: this.#keep, env: this.#env });
  }

  /** Brings the agent's commits into the job's branch, when its turn comes. `isClean`: `commitAll` has just been called. */
  async merge(
    worktree: AgentWorktree,
    message: string,
    { isClean = false }: { readonly isClean?: boolean } = {},
  ): Promise<MergeEnd> {
    const inside = this.#git.in(worktree.path);
    const [head, changes] = await Promise.all([
      readHead(inside),
      isClean ? "" : changesIn(inside, this.#keep),
    ]);
    const uncommitted = changes !== "";
    if (head === worktree.base) return { kind: "empty", uncommitted };
    const { base, itemId, attempt } = worktree;
    const merged = await this.#queue.merge({ head, base, itemId, attempt, jobId: this.jobId, message });
    return { ...merged, uncommitted };
  }

  /** The items whose work is in the branch, whatever the store knows of it. */
  mergedItems(): Promise<Set<string>> {
    return readMergedItems(this.#git, `${this.start.startCommit}..${this.#branch.ref}`, this.jobId);
  }

  // Ends -------------------------------------------------------------------------------------------------------

  /** Puts the worktrees of runners that are gone into the pool. */
  adopt(options?: AdoptOptions): Promise<Adopted> {
    return this.#pool.adopt(options);
  }

  /** Merges the job's branch into the branch that the run started from, or says why not and how. */
  finishInto({
    startBranch = this.start.startBranch,
    mode = "merge",
  }: {
    readonly startBranch?: string | null;
    readonly mode?: "merge" | "leave";
  } = {}): Promise<FinalMerge> {
    const { jobId, branchName } = this;
    const request = { jobId, jobBranch: branchName, startBranch, mode };
    return mergingAlone(this.repository.commonDir, () => finalMerge(this.#git, request));
  }

  /** The job is over: removes its worktrees and branches, except what letters need and what is merged nowhere. */
  async tidy({ isNeeded, hasLetters }: TidyOptions): Promise<CleanReport> {
    await this.adopt({ isNeeded });
    await this.close();
    const options = { job: this.jobId, isNeeded, hasLetters, hasEnded: () => true };
    return cleanWorktrees(this.#home, options);
  }

  /** Lets go of everything, so that another runner can pick it up. */
  async close(): Promise<void> {
    this.#pool.close();
    if (this.#main === undefined) return;
    await this.#main.catch(() => undefined);
    const record = this.#registry.read(MAIN_NAME);
    if (record?.owner?.pid === process.pid) this.#registry.write({ ...record, owner: null });
  }

  /** One that a runner of the same job has open may be shared; one that it is still making may not. */
  async #openMain(): Promise<string> {
    const path = this.#registry.path(MAIN_NAME);
    const record = await this.#mainRecord();
    const isOurs = this.#takeMain(record);
    const isUsable = isWhole(path) && (await this.headOf(path).catch(() => null)) !== null;
    if (isOurs && isUsable) rmSync(join(gitDirOf(path), "index.lock"), { force: true }); // of a git that was killed
    if (isUsable) return path;
    if (!isOurs) throw new WorkError("git_refused", `Another process is making ${path}; try again.`);
    await removeCheckout(this.#git, path);
    await addCheckout(this.#git, { path, commit: record.base, branch: null });
    return path;
  }

  #takeMain(record: WorktreeRecord): boolean {
    const found = this.#registry.read(MAIN_NAME);
    if (found === null) return this.#registry.add(record);
    const isFree = found.owner === null || ownerState(found.owner) !== "here";
    return isFree && this.#registry.claim(found, record);
  }

  async #mainRecord(): Promise<WorktreeRecord> {
    return {
      name: MAIN_NAME,
      jobId: this.jobId,
      commonDir: this.repository.commonDir,
      state: "in_use",
      owner: thisOwner(),
      branch: null,
      base: await this.tip(),
    };
  }
}

/** A checkout that a crash left half made is not: the files that are missing would count as removed. */
function isWhole(path: string): boolean {
  return existsSync(join(path, ".git")) && isFinished(gitDirOf(path));
}

export interface TidyOptions {
  /** True while a letter needs the worktree. */
  readonly isNeeded: (kept: Kept) => Promise<boolean>;
  readonly hasLetters: NonNullable<CleanOptions["hasLetters"]>;
}

/** What a worktree's record and its entry in the inventory both know. */
export type Kept = Pick<WorktreeRecord, "itemId" | "branch"> & { readonly state: string };

interface Parts {
  readonly repository: Repository;
  readonly jobId: string;
  readonly start: JobRecord;
  readonly home: string;
  readonly registry: JobRegistry;
  readonly branch: Branch;
  readonly keep: KeepPaths;
  readonly env: Readonly<Record<string, string>>;
}

/** The branch comes first: a record without one means that somebody removed the work. */
async function beginJob(
  repository: Repository,
  jobId: string,
  registry: JobRegistry,
  branch: Branch,
): Promise<JobRecord> {
  const { commonDir, top, startBranch, startCommit, git } = repository;
  const known = registry.readJob();
  const tip = await branch.read();
  if (known !== null) {
    if (tip === null) await restoreBranch(repository, known, branch);
    return known;
  }
  if (tip === null) await branch.create(startCommit);
  // A branch without a record: a crash between the two, or a home that was removed.
  const base = tip === null ? startCommit : await git.must(["merge-base", tip, startCommit]);
  const record = { jobId, commonDir, top, startBranch, startCommit: base };
  registry.writeJob(record);
  return record;
}

/** A user may remove the branch once its work is merged; the branch that it was merged into has it then. */
async function restoreBranch({ git }: Repository, known: JobRecord, branch: Branch): Promise<void> {
  const { jobId, startBranch, startCommit } = known;
  const tip = startBranch === null ? null : await new Branch(git, startBranch).read();
  if (tip === null) throw branchGone(branch.name);
  const merged = await readMergedItems(git, `${startCommit}..${tip}`, jobId);
  if (merged.size === 0) throw branchGone(branch.name);
  await branch.create(tip);
}
