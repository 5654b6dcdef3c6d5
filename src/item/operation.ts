/**
 * A tracked operation on many letters and its books: a redrive, a bulk edit, a discard, a purge. The selection is fixed
 * when it begins; each letter of it is pending, done or refused, and the numbers always add up.
 */
import { toRfc3339 } from "../kit/clock.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import type { EventType } from "./event.ts";
import { compact } from "./failure.ts";
import type { LetterFilter } from "./letter-filter.ts";
import type { Priority } from "./priority.ts";
import type { ItemState } from "./state.ts";

/** What an operation does to its letters. */
export const OPERATION_KINDS = [
  "redrive",
  "requeue",
  "edit",
  "discard",
  "restore",
  "purge",
  "clear",
  "evict",
] as const;
/** One of `OPERATION_KINDS`. */
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** The states of the letters that each kind works on. When the filter names none, the first is what it selects. */
export const STATES_OF_KIND: Readonly<Record<OperationKind, readonly ItemState[]>> = {
  redrive: ["dead"],
  requeue: ["dead"],
  edit: ["dead"],
  discard: ["dead"],
  restore: ["discarded"],
  purge: ["dead", "discarded", "done"],
  clear: ["done", "discarded"],
  evict: ["dead", "discarded", "done"],
};

/**
 * The event of a step that did or refused something, with `operation_id`, `count` (of a redrive: `redriven`) and
 * `refused`. An edit has one for each letter instead, with `operation_id`, `revision`, `author` and `rule`.
 * Besides, each letter that is discarded or deleted has its `dlq_item_removed`, whose `why` is `discarded`, `purged`,
 * `cleared`, `evicted` or `requeued` (with `requeued_as`, and after the `item_queued` of the other item), and one that comes back its `dlq_item_added` with the reason `restored`. The drafts are made
 * by operation-event.ts; the letters' own events come before that of the step, in the order of their burials.
 */
export const EVENT_OF_KIND: Readonly<Record<OperationKind, EventType>> = {
  redrive: "dlq_items_reprocessed",
  requeue: "dlq_items_requeued",
  edit: "dlq_item_amended",
  discard: "dlq_items_discarded",
  restore: "dlq_items_restored",
  purge: "dlq_items_purged",
  clear: "dlq_items_cleared",
  evict: "dlq_items_evicted",
};

/** `selecting` while its letters are being searched for; `open` until all have come to an end. */
export const OPERATION_STATUSES = ["selecting", "open", "paused", "ended", "cancelled"] as const;
/** One of `OPERATION_STATUSES`. */
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Why the store itself refuses a letter. Other reasons come from above. */
export const REFUSAL = {
  gone: "it changed or left after it was selected",
  ineligible: "not eligible: it needs a person, cannot go well, or came back too often",
  cancelled: "the operation was cancelled",
} as const;

export interface NewOperation {
  readonly id: string;
  readonly kind: OperationKind;
  /** The queue whose letters it works on. */
  readonly queue: string;
  readonly filter: LetterFilter;
  /** `filter` (default): the store selects. `enlisted`: what the filter finds is looked at above, and enlisted. */
  readonly selection?: "filter" | "enlisted";
  /** The operation that this one undoes: its selection is what that one did. */
  readonly undoes?: string;
  /** Redrive letters that are not eligible too. */
  readonly force: boolean;
  readonly author: string;
  /** Of a discard: kept with each letter. */
  readonly reason?: string;
  /** What it needs to go on after a crash: an edit's change, a redrive's pace. The engine only keeps it. */
  readonly plan: JsonObject;
}

/** An operation and its books. */
export interface Operation extends NewOperation {
  readonly status: OperationStatus;
  readonly createdAt: number;
  readonly endedAt?: number;
  /** The newest burial when it began. */
  readonly bound: number;
  /** Where the search for its letters goes on. */
  readonly cursor?: string;
  /** How far it has come, in the words of its kind. */
  readonly progress: JsonObject;
  /** selected = done + refused + pending. */
  readonly selected: number;
  readonly done: number;
  readonly refused: number;
  /** Of a redrive: done = succeeded + failed + the ones still at work. */
  readonly succeeded: number;
  readonly failed: number;
  /** Of those that failed: how many with the signature that they had before. */
  readonly returned: number;
}

/** What to do next, in one atomic step. */
export interface OperationStep {
  /** So many pending letters, oldest burial first; those that are refused are among them. Never of an edit. */
  readonly max?: number;
  /** Or just these, oldest burial first too. One that is not pending, or not selected, is passed over. */
  readonly letters?: readonly LetterStep[];
  /** Of a redrive: when its letters are due. */
  readonly due?: {
    /** From now. */
    readonly delayMs: number;
    /** And not before this long after its burial: entry n is for a letter that was redriven n times; the last goes on. */
    readonly sinceBurialMs: readonly number[];
  };
  /** Of a redrive: the priority that its items get. Default: the one that they have. */
  readonly priority?: Priority;
  /** Replaces the operation's progress. */
  readonly progress?: JsonObject;
}

/** What becomes of one letter of the selection. */
export interface LetterStep {
  readonly burial: number;
  /** Refused for this reason; nothing else happens to it. */
  readonly refuse?: string;
  /** Only while its data has this revision; after a change by somebody else it is refused as gone. */
  readonly revision?: number;
  /** Of an edit: the new data. Data that equals the old makes no revision, and counts as done. Of a requeue: that of the other item. */
  readonly data?: Json;
  /** Of a requeue: the priority of the other item. Default: that of the letter's. */
  readonly priority?: Priority;
  /** Of an edit: the automatic rule that made it. */
  readonly rule?: string;
  readonly note?: string;
}

export interface OperationChange {
  readonly status?: "open" | "paused" | "cancelled";
  readonly progress?: JsonObject;
  /** Refuses all that is pending, for this reason. */
  readonly refuseRest?: string;
}

/** One letter of a selection. */
export interface SelectedLetter {
  readonly burial: number;
  readonly ref: number;
  readonly itemId: string;
  /** When it was selected. */
  readonly signature: string;
  readonly status: "pending" | "done" | "refused";
  readonly reason?: string;
}

/** How many were neither brought to an end nor refused. */
export function leftOf({ kind, selected, done, refused, succeeded, failed }: Operation): number {
  return kind === "redrive" ? selected - refused - succeeded - failed : selected - done - refused;
}

/** The document that every bulk command answers with. */
export function operationToJson(operation: Operation): JsonObject {
  const { kind, selected, done, refused } = operation;
  const isRedrive = kind === "redrive";
  return compact({
    operation_id: operation.id,
    kind,
    job_id: operation.queue,
    status: operation.status,
    selected,
    done,
    redriven: isRedrive ? done : 0,
    refused,
    succeeded: isRedrive ? operation.succeeded : done,
    failed: operation.failed,
    remaining: leftOf(operation),
    created_at: toRfc3339(operation.createdAt),
    ended_at: operation.endedAt === undefined ? undefined : toRfc3339(operation.endedAt),
    author: operation.author,
    reason: operation.reason,
    undoes: operation.undoes,
  });
}
