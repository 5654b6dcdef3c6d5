/** An item and the records that its life leaves: leases, attempts, settlements. Nouns only; nothing here acts. */
import type { Json } from "../kit/json.ts";
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { Failure } from "./failure.ts";
import type { WorktreeArtifacts } from "./letter.ts";
import type { Priority } from "./priority.ts";
import type { ItemState } from "./state.ts";

/** An item before the store knows it. */
export interface NewItem {
  /** Known by content or key, never by position. Unique in its queue. */
  readonly itemId: string;
  readonly data: Json;
  /** What people call it. */
  readonly name?: string;
  /** Default `normal`. */
  readonly priority?: Priority;
  /** Not before this time, in milliseconds since the epoch. Default: now. */
  readonly dueAt?: number;
  /** Not from this time on: an item that is leased later is not worked but fails for good. Default: never. */
  readonly expiresAt?: number;
  /**
   * Items of one lane are worked one at a time, oldest first: none is leased while an older one of the lane is ready,
   * leased or held. One that died, was skipped or discarded is out of the way. Default: no lane.
   */
  readonly lane?: string;
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
  readonly name?: string;
  readonly priority: Priority;
  /** A redrive takes it away: whoever sends an item again wants it done. */
  readonly expiresAt?: number;
  readonly lane?: string;
  /** The item that this one was made from, when a letter was sent anew as another item. */
  readonly requeuedFrom?: string;
  /** The items that were made from this one, oldest first. */
  readonly requeuedAs?: readonly string[];
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
  readonly name?: string;
  readonly expiresAt?: number;
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
  /** Absent also when an attempt failed elsewhere and the imported letter only counted it. */
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
  /** Of an imported letter: the signature that another program gave it. */
  readonly sourceSignature?: string;
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
  /** What the worker wrote on the item. Kept whatever the outcome; of a stale lease nothing is. */
  readonly notes?: readonly NewNote[];
  /** Counters of the queue that go up by one with this settlement, besides the store's own. */
  readonly counts?: readonly string[];
  /** Why the runner itself could not make the attempt; only of one that is released. Event: `runner_failed`. */
  readonly fault?: string;
  /** Set when the handler of `on_item_failure: custom` failed. Event: `handler_failed`. */
  readonly handlerProblem?: HandlerProblem;
}

/** How the handler of `on_item_failure: custom` failed. */
export interface HandlerProblem {
  readonly message: string;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The end of its error output, else of its output. */
  readonly output?: string;
  /** The file with all of its output. */
  readonly log?: string;
}

/** A note before the store has given it its time. */
export interface NewNote {
  readonly author: string;
  readonly text: string;
}
