/** Where the steps of a workflow run: in the project's folder itself, or in worktrees of its repository. */
import type { WorktreeArtifacts } from "../item/letter.ts";
import type { JsonObject } from "../std/json.ts";

export interface Workspace {
  readonly root: string;
  /** The branch with the work of the job, and the branch that it is merged into, if the run started on one. */
  readonly branches?: { readonly source: string; readonly target?: string };
  /** Returns the commit of `root`. Absent if git is not used. */
  readonly head?: () => Promise<string>;
  readonly env: Readonly<Record<string, string>>;
  /** Notices for the user before the run, e.g. that agents do not see uncommitted changes. */
  readonly notes: readonly string[];
  /** Returns a checkout for one attempt. `name` is the item's display name. */
  acquire(itemId: string, attempt: number, name: string): Promise<Checkout>;
  /** Returns `root` as the checkout of one item after another. Uncommitted changes stay for the next one. */
  own(): Checkout;
  /** The file for the progress of the steps in `root`. It is removed with the worktree. Absent if git is not used. */
  readonly progressFile?: string;
  /**
   * Returns the items that are already merged into the job's branch, regardless of what the store has
   * recorded.
   */
  mergedItems(): Promise<ReadonlySet<string>>;
  /** Adds commits made at `root` to the job's branch. Called after setup, reduce and merge. */
  commitPhase(): Promise<void>;
  /** Updates `root` with the agents' commits. Called before reduce. */
  refresh(): Promise<void>;
  /** Merges the job's branch into the branch from which the run started, or returns why it was not merged. */
  finish(mode?: FinishMode): Promise<Finish>;
  /** Removes everything that the job no longer needs. `acquire` must not be called afterwards. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** `configured` (default) follows the job's merge mode, `merge` always merges, `leave` only returns where the work is. */
export type FinishMode = "configured" | "merge" | "leave";

export interface Checkout {
  readonly root: string;
  /** The name of the worktree. Absent if git is not used. */
  readonly name?: string;
  readonly head?: () => Promise<string>;
  merge(): Promise<Merge>;
  artifacts(): Promise<WorktreeArtifacts | undefined>;
  release(): Promise<void>;
  /** Keeps the checkout for inspection. A later `release` revokes that. */
  keep(why: string): Promise<void>;
}

export interface KeptCheckout {
  readonly itemId?: string | undefined;
  readonly branch: string | null;
}

export type Merge =
  | { readonly kind: "merged"; readonly commit: string }
  | { readonly kind: "empty" }
  | { readonly kind: "conflict"; readonly files: readonly string[] }
  /** A hook or a setting of the user prevented the commit of uncommitted changes. */
  | { readonly kind: "refused"; readonly detail: string };

export interface Finish {
  readonly note?: string;
  readonly branch?: string;
  /** Set when the work should have been merged, but was not. */
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
    artifacts: async () => undefined,
    release: async () => undefined,
    keep: async () => undefined,
  };
  return {
    root,
    env: {},
    notes: [],
    acquire: async () => checkout,
    own: () => checkout,
    mergedItems: async () => new Set(),
    commitPhase: async () => undefined,
    refresh: async () => undefined,
    finish: async () => ({}),
    tidy: async () => undefined,
    close: async () => undefined,
  };
}
