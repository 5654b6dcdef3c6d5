/**
 * Where the steps of a workflow run: the project's folder as it is, or worktrees of its repository. The phases and the
 * agents ask a site for a place and never know which of the two it is.
 */
import type { WorktreeArtifacts } from "../item/letter.ts";
import type { JsonObject } from "../kit/json.ts";
import type { JobSummary } from "./summary.ts";

export interface Site {
  /** Where setup, reduce and merge run. */
  readonly root: string;
  /** The commit that `root` is at; absent where there is no git. */
  readonly head?: () => Promise<string>;
  /** Added to the environment of every step. */
  readonly env: Readonly<Record<string, string>>;
  /** What a person should know before the run, e.g. that uncommitted changes are not seen. */
  readonly notes: readonly string[];
  /** A place of its own for one attempt; `name` is what people call the item. */
  enter(itemId: string, attempt: number, name: string): Promise<Place>;
  /** Items whose work the job's branch has already, whatever the store says. */
  mergedItems(): Promise<ReadonlySet<string>>;
  /** After setup, reduce or merge: what was committed at `root` becomes part of the job. */
  commitPhase(): Promise<void>;
  /** Before reduce: brings the agents' work to `root`. */
  refresh(): Promise<void>;
  /** Merges the job's work into the branch that the run started from, or returns why it is left where it is. */
  finish(mode?: FinishMode): Promise<Finish>;
  /** Removes what the job needs no more. It is over then; nothing can be entered. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** `configured` (default): as the job's merge mode says. `merge`: a person agreed. `leave`: only looks. */
export type FinishMode = "configured" | "merge" | "leave";

export interface Place {
  readonly root: string;
  /** The name of the worktree; absent where there is none. */
  readonly name?: string;
  readonly head?: () => Promise<string>;
  /** Brings what was changed here into the job. */
  merge(): Promise<Merge>;
  /** What a letter says about the place. */
  artifacts(): Promise<WorktreeArtifacts | undefined>;
  /** The place may be used for another item. */
  leave(): Promise<void>;
  /** The place stays as it is, for a person to look at, unless it is left after all. */
  keep(why: string): Promise<void>;
}

export type Merge =
  | { readonly kind: "merged"; readonly commit: string }
  | { readonly kind: "empty" }
  | { readonly kind: "conflict"; readonly files: readonly string[] }
  /** A hook or a setting of the user refused the commit of what no step had committed. */
  | { readonly kind: "refused"; readonly detail: string };

export interface Finish {
  /** What happened, for a person. */
  readonly note?: string;
  /** The branch that holds the work when it was not merged. */
  readonly branch?: string;
  /** The work was to be merged, and was not. */
  readonly isRefused?: true;
  /** What to ask a person before the work is merged. */
  readonly question?: string;
}

/** True when the person agrees. `summary`: of a job's own run, which is to be seen before. */
export type AskMerge = (question: string, summary?: JobSummary) => Promise<boolean>;

/** The form of a finish outside the process. */
export function finishToJson({ note, branch }: Finish): JsonObject {
  if (branch === undefined) return { merged: true, ...(note !== undefined && { message: note }) };
  return { merged: false, branch, message: note ?? "" };
}

/** The project's folder itself: `isolation: none`. */
export function openPlainSite(root: string): Site {
  const place: Place = {
    root,
    merge: async () => ({ kind: "empty" }),
    artifacts: async () => undefined,
    leave: async () => undefined,
    keep: async () => undefined,
  };
  return {
    root,
    env: {},
    notes: [],
    enter: async () => place,
    mergedItems: async () => new Set(),
    commitPhase: async () => undefined,
    refresh: async () => undefined,
    finish: async () => ({}),
    tidy: async () => undefined,
    close: async () => undefined,
  };
}
