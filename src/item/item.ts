/** An item and the records of its life: leases, attempts, verdicts, settlements; also its names. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { toRfc3339 } from "../std/clock.ts";
import { asText, compact, type Json, type JsonObject } from "../std/json.ts";
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import { type Failure, failureToJson } from "./failure.ts";
import type { WorktreeArtifacts } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** An item before it is stored. */
export interface NewItem {
  /** Derived from content or a key, never from the position. Unique in its queue. */
  readonly itemId: string;
  readonly data: Json;
  /** A name for people. */
  readonly name?: string;
  /** Default `normal`. */
  readonly priority?: Priority;
  /** Not before this time, in milliseconds since the epoch. Default: now. */
  readonly dueAt?: number;
  /** An item that is leased after this time fails permanently without being worked. Default: never. */
  readonly expiresAt?: number;
  /**
   * Items of one lane are worked one at a time, oldest first: none is leased while an older one of the lane is ready,
   * leased or held. One that died, was skipped or discarded is out of the way. Default: no lane.
   */
  readonly lane?: string;
}

/** One unit of work, as stored. */
export interface Item {
  /** The number of the item in the store; it orders items by age. */
  readonly ref: number;
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly state: ItemState;
  /** A ready item that is not due yet is delayed. */
  readonly dueAt: number;
  /** How many attempts were ever started. */
  readonly attempts: number;
  /** How many attempts count against the policy since the item was added or redriven. */
  readonly spent: number;
  /** How often the worker of this item vanished since the item was added or redriven. */
  readonly losses: number;
  readonly revision: number;
  readonly redriveCount: number;
  readonly name?: string;
  readonly priority: Priority;
  /** A redrive removes it, because a redriven item is wanted. */
  readonly expiresAt?: number;
  readonly lane?: string;
  /** The letter that this item was created from by "requeue as new". */
  readonly requeuedFrom?: string;
  /** The items that were created from this one, oldest first. */
  readonly requeuedAs?: readonly string[];
}

/** A fenced claim. Each lease starts a new attempt, whose number is the fence. */
export interface Lease {
  readonly ref: number;
  readonly attempt: number;
}

/** An item as a worker receives it. */
export interface LeasedItem extends Lease {
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
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

/** The record of one attempt. It exists from the start of the attempt. */
export interface Attempt {
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Also absent when an imported letter only counted the attempt. */
  readonly failure?: Failure;
  /** Path of the file with the whole output. */
  readonly log?: string;
  readonly result?: Json;
}

export function attemptToJson(attempt: Attempt): JsonObject {
  const { number, outcome, holder, startedAt, endedAt, failure, log, result } = attempt;
  return compact({
    attempt_number: number,
    outcome,
    holder,
    started_at: toRfc3339(startedAt),
    ended_at: endedAt === undefined ? undefined : toRfc3339(endedAt),
    failure: failure && failureToJson(failure),
    log,
    result,
  });
}

/** What happens to the item, as `decide` returns it. Delays are relative to the store's clock. */
export type Verdict =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "park"; readonly delayMs: number }
  | { readonly kind: "release" }
  | { readonly kind: "bury"; readonly reason: string }
  | { readonly kind: "skip"; readonly reason: string }
  | { readonly kind: "stop"; readonly reason: string };

/** What goes onto the death record: how the letter is found, grouped and judged. */
export interface DeathRecord {
  readonly reason: string;
  readonly errorType: ErrorTypeName;
  readonly errorClass: ErrorClass;
  readonly signature: string;
  readonly pattern: string;
  /** The version of the algorithm that made the two. */
  readonly algorithm: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  /** It failed again after too many redrives. */
  readonly poison?: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
  /** The signature that another program gave an imported letter. */
  readonly sourceSignature?: string;
}

/** The end of one attempt, written in one step. */
export interface Settlement {
  readonly lease: Lease;
  readonly outcome: Exclude<AttemptOutcome, "running">;
  readonly verdict: Verdict;
  readonly failure?: Failure;
  readonly log?: string;
  /** Only for a success. */
  readonly result?: Json;
  /** The commit that merged a success into its job's branch. */
  readonly mergedCommit?: string;
  /** Present exactly when the verdict buries the item (`bury` and `stop`). */
  readonly death?: DeathRecord;
  /** Notes of the worker. Kept whatever the outcome, except for a stale lease. */
  readonly notes?: readonly NewNote[];
  /** Counters of the queue to increment, besides the store's own. */
  readonly counts?: readonly string[];
  /** Why the runner itself could not make the attempt; only for a released one. Event: `runner_failed`. */
  readonly fault?: string;
  /** Set when the handler of `on_item_failure: custom` failed. Event: `handler_failed`. */
  readonly handlerProblem?: HandlerProblem;
}

export interface HandlerProblem {
  readonly message: string;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The end of its error output, else of its output. */
  readonly output?: string;
  /** The file with all of its output. */
  readonly log?: string;
}

export interface NewNote {
  readonly author: string;
  readonly text: string;
}

/** Every priority, highest first. Within a priority the due time decides, then the age. */
export const PRIORITIES = ["high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The number by which stores order items; lower is sooner. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

export function priorityOf(rank: number): Priority {
  return PRIORITIES[rank] ?? "normal";
}

/** The name for people: an id that occurs in the data, otherwise the data, because a generated id means nothing to them. */
export function itemName({ itemId, data }: { readonly itemId: string; readonly data: Json }): string {
  const text = asText(data);
  return typeof data !== "string" && text.includes(itemId) ? itemId : text;
}

const NAME_BYTES_MAX = 160;
const HASH_DIGITS = 16;

/** A unique file name for an id, never a path. Bytes other than letters, digits, `-`, `_` and `.` become `%XX`. */
export function fileNameOf(itemId: string): string {
  const safe = itemId.replace(/^\.|[^A-Za-z0-9._-]/gu, encodeBytes);
  if (safe.length <= NAME_BYTES_MAX) return safe;
  const hash = createHash("sha256").update(itemId).digest("hex").slice(0, HASH_DIGITS);
  return `${safe.slice(0, NAME_BYTES_MAX - HASH_DIGITS - 1)}~${hash}`;
}

export function jobLogsFolder(home: string, jobId: string): string {
  return join(home, "logs", fileNameOf(jobId));
}

export function itemLogsFolder(home: string, jobId: string, itemId: string): string {
  return join(jobLogsFolder(home, jobId), fileNameOf(itemId));
}

function encodeBytes(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

export interface AddOptions {
  /** Replaces the data of an existing item that is not worked yet. Default: the stored data is kept. */
  readonly replace?: { readonly author: string };
  /** Whether they are new, as far as anybody knows: a store may look for them only when one is there after all. Default no. */
  readonly areNew?: boolean;
  /**
   * Whether their ids were made up for this call, so that one which is there already can only have come in by it: a store whose
   * answer was lost on the way may then simply do it again. Default no.
   */
  readonly areMadeUp?: boolean;
  /**
   * The settings of the queue that they obey, as `findJob` gave them. When it has others by now, nothing is added: a
   * `job_changed` error. Default: any.
   */
  readonly spec?: JsonObject;
}

/** The result of adding a batch of items. */
export interface AddReport {
  readonly added: number;
  /** Existed with the same data. */
  readonly existing: number;
  /** Existed with other data, which was kept. At most 10 ids. */
  readonly changed: number;
  readonly changedIds: readonly string[];
  /** Existed with other data, which was replaced. Not counted as changed. */
  readonly replaced: number;
}

export interface HoldBy {
  readonly author: string;
  readonly reason?: string;
}

export interface HoldReport {
  readonly moved: number;
  /** With the current state; null for an item that does not exist. */
  readonly refused: readonly { readonly itemId: string; readonly state: ItemState | null }[];
}
