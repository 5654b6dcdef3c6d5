/** Where the steps of a workflow run: the project's folder as it is, or worktrees of its repository. */
import type { WorktreeArtifacts } from "../item/letter.ts";
import type { JsonObject } from "../std/json.ts";

export interface Workspace {
  readonly root: string;
  /** The commit that `root` is at; absent where there is no git. */
  readonly head?: () => Promise<string>;
  readonly env: Readonly<Record<string, string>>;
  /** What a person should know before the run, e.g. that uncommitted changes are not seen. */
  readonly notes: readonly string[];
  /** A checkout for one attempt; `name` is what people call the item. */
  acquire(itemId: string, attempt: number, name: string): Promise<Checkout>;
  /** Items that are merged into the job's branch already, whatever the store says. */
  mergedItems(): Promise<ReadonlySet<string>>;
  /** After setup, reduce or merge: what was committed at `root` becomes part of the job. */
  commitPhase(): Promise<void>;
  /** Before reduce: brings the agents' work to `root`. */
  refresh(): Promise<void>;
  /** Merges the job's work into the branch that the run started from, or returns why it is left where it is. */
  finish(mode?: FinishMode): Promise<Finish>;
  /** Removes what the job no longer needs. Nothing can be acquired afterwards. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** `configured` (default): as the job's merge mode says. `merge`: a person agreed. `leave`: only returns where the work is. */
export type FinishMode = "configured" | "merge" | "leave";

export interface Checkout {
  readonly root: string;
  /** The name of the worktree; absent where there is none. */
  readonly name?: string;
  readonly head?: () => Promise<string>;
  merge(): Promise<Merge>;
  artifacts(): Promise<WorktreeArtifacts | undefined>;
  release(): Promise<void>;
  /** Keeps the checkout for a person, unless it is released after all. */
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
  /** A hook or a setting of the user refused the commit of what no step had committed. */
  | { readonly kind: "refused"; readonly detail: string };

export interface Finish {
  readonly note?: string;
  readonly branch?: string;
  /** The work was to be merged, and was not. */
  readonly isRefused?: true;
  /** What to ask a person before the work is merged. */
  readonly question?: string;
}

export function finishToJson({ note, branch }: Finish): JsonObject {
  if (branch === undefined) return { merged: true, ...(note !== undefined && { message: note }) };
  return { merged: false, branch, message: note ?? "" };
}

/** The project's folder itself: `isolation: none`. */
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
    mergedItems: async () => new Set(),
    commitPhase: async () => undefined,
    refresh: async () => undefined,
    finish: async () => ({}),
    tidy: async () => undefined,
    close: async () => undefined,
  };
}
