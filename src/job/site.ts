/**
 * Where the steps of a workflow run: the project's folder as it is, or worktrees of its repository. The phases and the
 * agents ask a site for a place and never know which of the two it is.
 */
import type { WorktreeArtifacts } from "../item/letter.ts";

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
  /** Brings the job's work to where the user is. `ask` is for a job that is to ask first; without it, nobody says yes. */
  finish(ask?: AskMerge): Promise<Finish>;
  /** Removes what the job needs no more. It is over then; nothing can be entered. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** True when the person says yes. */
export type AskMerge = (question: string) => Promise<boolean>;

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
