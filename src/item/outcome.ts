/** How one try ended, as a value. A handler's failure is data that `decide` looks at, not an exception that travels. */
import type { Json } from "../kit/json.ts";
import type { Failure } from "./failure.ts";
import type { WorktreeArtifacts } from "./letter.ts";

/** How one try ended. */
export type Outcome =
  | {
      readonly kind: "succeeded";
      readonly stdout?: StandardOutput;
      readonly log?: string;
      /** What is left for those who come after, such as captured values. */
      readonly result?: Json;
      /** The commit that brought it into the job's branch. */
      readonly mergedCommit?: string;
      /** Counters of the queue that go up by one, besides the store's own. */
      readonly counts?: readonly string[];
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The other side said when to come back. */
      readonly retryAfterMs?: number;
      /** An agent step failed: a limit of its account or an overload is waited for unless the policy says otherwise. */
      readonly isAgent?: true;
      readonly log?: string;
      /** Where the work was done, if it is to be kept with the letter. */
      readonly artifacts?: WorktreeArtifacts;
      /** Counters of the queue that go up by one, besides the store's own. */
      readonly counts?: readonly string[];
    }
  /**
   * Stopped by the runner, or by a fault that is not the item's. Not spent. When nobody stopped the attempt, it is such a
   * fault, and goes into the error log as the runner's own.
   */
  | {
      readonly kind: "released";
      readonly why: string;
      readonly log?: string;
      /** Counters of the queue that go up by one, besides the store's own. */
      readonly counts?: readonly string[];
    }
  /** The worker vanished. */
  | { readonly kind: "lost"; readonly failure: Failure };

/** What a successful command printed: in memory when it was small, in its log, or in a file when the log keeps only parts. */
export interface StandardOutput {
  readonly bytes: number;
  readonly inline?: Uint8Array;
  /** An open file with all of it, which has no name any more. Whoever prints it closes it. */
  readonly fd?: number;
  /** Why some of it is missing, also from the log. */
  readonly lost?: string;
}
