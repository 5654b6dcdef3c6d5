/**
 * The place where the steps of a workflow run: the project's folder itself, or worktrees of its repository.
 */
import type { Failure } from "../item/failure.ts";
import type { WorktreeArtifacts } from "../item/letter.ts";
import type { JsonObject } from "../std/json.ts";
import type { ReadChanges } from "../workflow/git-variables.ts";
import type { Diffstat } from "./changes.ts";
import type { MergedItems } from "./merge-queue.ts";
import type { MergeWait, VerifyOptions, VerifyQueue } from "./verify-queue.ts";

export interface Workspace {
  readonly root: string;
  /** The job's branch, and the branch that it is merged into if the run started on one. */
  readonly branches?: { readonly source: string; readonly target?: string };
  /** Returns the commit of `root`. Absent if git is not used. */
  readonly head?: () => Promise<string>;
  /** Reads the changes in `root`, by default since the start of the run. Absent if git is not used. */
  readonly changes?: ReadChanges;
  readonly env: Readonly<Record<string, string>>;
  /** Notices for the user before the run, e.g. that agents do not see uncommitted changes. */
  readonly notes: readonly string[];
  /** Returns a checkout for one attempt. `name` is the item's display name. */
  acquire(itemId: string, attempt: number, name: string): Promise<Checkout>;
  /** Like `acquire`, but returns the kept checkout of the item's last attempt unchanged, if there is one. */
  acquireAgain(itemId: string, attempt: number, name: string): Promise<Checkout>;
  /** Gives up the kept checkout of the item's last attempt if its work is not continued. */
  dropKept(itemId: string, attempt: number): Promise<void>;
  /**
   * Returns `root` as the checkout for items that run one after another. Uncommitted changes are kept for the
   * next item.
   */
  own(): Checkout;
  /** The file for the progress of the steps in `root`. It is removed with the worktree. Absent if git is not used. */
  readonly progressFile?: string;
  /** Returns the items whose work is already merged, regardless of what the store has recorded. */
  mergedItems(): Promise<MergedItems>;
  /** Describes the merge of an earlier attempt by its commit. */
  mergeOf(commit: string): Promise<MergedWork>;
  /** Verifies the work of items before it is merged, from now on. Absent if git is not used. */
  readonly verifyWith?: (options: VerifyOptions) => VerifyQueue;
  /** Returns a clean checkout of a commit, without a branch. Absent if git is not used. */
  readonly checkoutAt?: (commit: string) => Promise<DetachedCheckout>;
  /**
   * Returns work that an earlier attempt has completed but that was not verified. Absent if git is not used.
   */
  readonly takeWaiting?: (itemId: string, name: string) => { checkout: Checkout; result: JsonObject } | null;
  /** Adds commits made at `root` to the job's branch. Called after setup, reduce and merge. */
  commitPhase(): Promise<void>;
  /** Adds the commits made at `root` so far to the job's branch, while a phase runs. Absent if git is not used. */
  readonly advance?: () => Promise<void>;
  /** Updates `root` with the agents' commits. Called before reduce. */
  refresh(): Promise<void>;
  /** Merges the job's branch into the branch from which the run started, or returns why it was not merged. */
  finish(mode?: FinishMode): Promise<Finish>;
  /** Removes everything that the job no longer needs. `acquire` must not be called afterwards. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `configured` (default) follows the job's merge mode, `merge` always merges, `leave` only reports where the
 * work is.
 */
export type FinishMode = "configured" | "merge" | "leave";

export interface Checkout {
  readonly root: string;
  /** The name of the worktree. Absent if git is not used. */
  readonly name?: string;
  /** False if the checkout is new and therefore lacks the changes of earlier attempts. */
  readonly isContinued?: boolean;
  readonly head?: () => Promise<string>;
  /** Absent if git is not used. */
  readonly changes?: ReadChanges;
  /**
   * `message` is the commit message. Default: one that contains the item's name. With `waiting`, the work is
   * verified first.
   */
  merge(message?: string, waiting?: Waiting): Promise<Merge>;
  /** Merges the job's branch into the checkout, so that conflicts can be resolved there. */
  beginMerge(): Promise<ConflictToResolve>;
  artifacts(): Promise<WorktreeArtifacts | undefined>;
  release(): Promise<void>;
  /** Keeps the checkout for inspection. A later `release` cancels this. */
  keep(why: string): Promise<void>;
}

export interface Waiting {
  readonly wait: MergeWait;
  /** The results of the steps, stored while the work waits, in case this process crashes. */
  readonly result: JsonObject;
}

export type DetachedCheckout = Pick<Checkout, "root" | "head" | "changes" | "release">;

export interface KeptCheckout {
  readonly itemId?: string | undefined;
  readonly branch: string | null;
}

/** A merge in a checkout that stopped with conflicts. */
export interface ConflictToResolve {
  /** The files with conflicts. Empty if the merge is complete. */
  readonly files: readonly string[];
  /** Completes the merge, or undoes it and returns the reason, e.g. that conflict markers remain. */
  end(): Promise<string | null>;
  abort(): Promise<void>;
}

export const NO_CONFLICT: ConflictToResolve = {
  files: [],
  end: async () => null,
  abort: async () => undefined,
};

/** The changes that an item has contributed. */
export interface MergedWork {
  readonly commit: string;
  /** The item's branch, with `merge.strategy: branch-per-item`. */
  readonly branch?: string;
  readonly changes?: Diffstat;
}

export type Merge =
  | ({ readonly kind: "merged" } & MergedWork)
  | { readonly kind: "empty" }
  | { readonly kind: "conflict"; readonly files: readonly string[] }
  /** A hook or a setting of the user prevented the commit of uncommitted changes. */
  | { readonly kind: "refused"; readonly detail: string }
  /** `verify` fails with this work, and passes with the work of the other items. */
  | {
      readonly kind: "rejected";
      readonly failure: Failure;
      readonly passedWith: readonly string[];
      /** The log of the run of `verify` that failed. */
      readonly output?: Buffer;
    }
  /** The runner stopped, or `verify` could not run. The next attempt of the item continues with this work. */
  | { readonly kind: "stopped"; readonly why?: string };

export interface Finish {
  readonly note?: string;
  readonly branch?: string;
  /** Set if the work should have been merged but was not. */
  readonly isRefused?: true;
  /** The question to ask the user before merging. */
  readonly question?: string;
}

export function finishToJson({ note, branch }: Finish): JsonObject {
  if (branch === undefined) return { merged: true, ...(note !== undefined && { message: note }) };
  return { merged: false, branch, message: note ?? "" };
}

/** The workspace for `isolation: none`: the project's folder itself. */
export function openPlainWorkspace(root: string): Workspace {
  const checkout: Checkout = {
    root,
    merge: async () => ({ kind: "empty" }),
    beginMerge: async () => NO_CONFLICT,
    artifacts: async () => undefined,
    release: async () => undefined,
    keep: async () => undefined,
  };
  return {
    root,
    env: {},
    notes: [],
    acquire: async () => checkout,
    acquireAgain: async () => checkout,
    dropKept: async () => undefined,
    own: () => checkout,
    mergedItems: async () => new Map(),
    mergeOf: async (commit) => ({ commit }),
    commitPhase: async () => undefined,
    refresh: async () => undefined,
    finish: async () => ({}),
    tidy: async () => undefined,
    close: async () => undefined,
  };
}
