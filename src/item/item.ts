/** An item and the records that its life leaves: leases, attempts, settlements. Nouns only; nothing here acts. */
import type { Json } from "../kit/json.ts";
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { Failure } from "./failure.ts";
import type { WorktreeArtifacts } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** An item before the store knows it. */
export interface NewItem {
  /** Known by content or key, never by position. Unique in its queue. */
  readonly itemId: string;
  readonly data: Json;
}

/** One unit of work, as the store knows it. */
export interface Item {
  /** The store's own number; it orders items by age. */
  readonly ref: number;
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly state: ItemState;
  /** A ready item that is not due yet is a delayed one. */
  readonly dueAt: number;
  /** How many attempts were started, ever. */
  readonly attempts: number;
  /** How many attempts count against the policy since the item was added or redriven. */
  readonly spent: number;
  /** How many times the worker vanished while it held this item since it was added or redriven. */
  readonly losses: number;
  readonly revision: number;
  readonly redriveCount: number;
}

/** A fenced claim. The number of the attempt is the fence: each lease starts a new one. */
export interface Lease {
  readonly ref: number;
  readonly attempt: number;
}

/** What a worker gets to do. */
export interface LeasedItem extends Lease {
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
  /** How often it was redriven, ever. */
  readonly redriveCount: number;
  /** Its place among the items of its queue when it was added, from 0. For people; nothing is known by it. */
  readonly index: number;
  /** When the attempt started, by the store's clock. */
  readonly startedAt: number;
}

export const ATTEMPT_OUTCOMES = ["running", "succeeded", "failed", "released", "lost"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One try. It is there from the moment the try starts. */
export interface Attempt {
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly failure?: Failure;
  /** Path of the file with the whole output, when there was any. */
  readonly log?: string;
  /** What a success left for those who come after. */
  readonly result?: Json;
}

/** What `decide` says is to happen with the item. Delays are relative: the store's clock adds them. */
export type Verdict =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "park"; readonly delayMs: number }
  | { readonly kind: "release" }
  | { readonly kind: "bury"; readonly reason: string }
  | { readonly kind: "skip"; readonly reason: string }
  | { readonly kind: "stop"; readonly reason: string };

/** What goes onto the gravestone: how the letter is found, grouped and judged. */
export interface Grave {
  readonly reason: string;
  readonly errorType: ErrorTypeName;
  readonly errorClass: ErrorClass;
  readonly signature: string;
  readonly pattern: string;
  /** The version of the algorithm that made the two. */
  readonly algorithm: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  /** It came back too often. */
  readonly toxic?: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
}

/** The end of one attempt, ready to be written in one step. */
export interface Settlement {
  readonly lease: Lease;
  readonly outcome: Exclude<AttemptOutcome, "running">;
  readonly verdict: Verdict;
  readonly failure?: Failure;
  readonly log?: string;
  /** Only of a success. */
  readonly result?: Json;
  /** The commit that brought a success into its job's branch. */
  readonly mergedCommit?: string;
  /** Present exactly when the verdict buries the item (`bury` and `stop`). */
  readonly grave?: Grave;
}
