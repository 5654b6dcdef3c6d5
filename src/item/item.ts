/** Items and their records: leases, attempts, verdicts and settlements; also file names for items. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { toRfc3339 } from "../std/clock.ts";
import { asText, compact, type Json, type JsonObject } from "../std/json.ts";
import type { AgentUsage } from "./agent-usage.ts";
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import { type Failure, failureToJson } from "./failure.ts";
import type { ItemOptions } from "./item-options.ts";
import type { WorktreeArtifacts } from "./letter.ts";
import type { ItemState } from "./state.ts";

/** An item before it is stored. */
export interface NewItem extends ItemOptions {
  /** Unique in the queue. Derived from the content or a key, never from the position in the input. */
  readonly itemId: string;
  readonly data: Json;
  /** A display name. */
  readonly name?: string;
  /** Default `normal`. */
  readonly priority?: Priority;
  /** The earliest time to run the item, in milliseconds since the epoch. Default: now. */
  readonly dueAt?: number;
  /** After this time the item fails permanently without being run. Default: never. */
  readonly expiresAt?: number;
  /**
   * Items with the same ordering key run one at a time, oldest first: an item is not leased while an older
   * one with its key is ready, leased or held. Dead, skipped and discarded items do not block the key.
   * Default: no ordering key.
   */
  readonly orderingKey?: string;
}

/** One unit of work, as stored. */
export interface Item extends ItemOptions {
  /** The item's number in the store. Older items have lower numbers. */
  readonly ref: number;
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly state: ItemState;
  /** The earliest time to run the item. A ready item that is not yet due is delayed. */
  readonly dueAt: number;
  /** The number of attempts that were ever started. */
  readonly attempts: number;
  /** The number of attempts that count against the policy since the item was added or redriven. */
  readonly attemptsCounted: number;
  /** How often a worker was lost while it ran this item, since the item was added or redriven. */
  readonly lostCount: number;
  readonly revision: number;
  readonly redriveCount: number;
  readonly name?: string;
  readonly priority: Priority;
  /** A redrive removes the expiry, because the item was explicitly requested. */
  readonly expiresAt?: number;
  readonly orderingKey?: string;
  /** The id of the letter that "requeue as new" copied to create this item. */
  readonly requeuedFrom?: string;
  /** The ids of the items that were copied from this one, oldest first. */
  readonly requeuedAs?: readonly string[];
  /** The last progress that an attempt has reported. */
  readonly progress?: Progress;
}

/** The progress of an attempt, in any form that the handler chooses. */
export interface Progress {
  readonly attempt: number;
  readonly at: number;
  readonly value: Json;
}

/** The right to run an item. Each lease starts a new attempt, whose number is the fencing token. */
export interface Lease {
  readonly ref: number;
  readonly attempt: number;
}

/** An item as a worker receives it. */
export interface LeasedItem extends Lease, ItemOptions {
  readonly queue: string;
  readonly itemId: string;
  readonly data: Json;
  readonly attemptsCounted: number;
  readonly lostCount: number;
  readonly revision: number;
  readonly redriveCount: number;
  /** The item's position in the queue when it was added, from 0. For display only. */
  readonly index: number;
  /** When the attempt started, by the store's clock. */
  readonly startedAt: number;
  readonly name?: string;
  readonly expiresAt?: number;
}

export const ATTEMPT_OUTCOMES = ["running", "succeeded", "failed", "released", "lost"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** The record of one attempt, created when the attempt starts. */
export interface Attempt {
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Present if the attempt failed or was lost, unless an imported letter only counted the attempt. */
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

/** The decision about an item, as `decide` returns it. Delays are relative to the store's clock. */
export type Verdict =
  | { readonly kind: "done" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "park"; readonly delayMs: number }
  | { readonly kind: "release" }
  | { readonly kind: "bury"; readonly reason: string }
  | { readonly kind: "skip"; readonly reason: string }
  | { readonly kind: "stop"; readonly reason: string };

/** The fields that are used to find and group a letter and to decide about its retry. */
export interface DeathRecord {
  readonly reason: string;
  readonly errorType: ErrorTypeName;
  readonly errorClass: ErrorClass;
  readonly signature: string;
  readonly pattern: string;
  /** The version of the algorithm that computed the signature and the pattern. */
  readonly algorithm: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  /** The item failed again after too many redrives. */
  readonly poison?: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
  /** The signature that another program assigned to an imported letter. */
  readonly sourceSignature?: string;
}

/** The end of one attempt, written in one step. */
export interface Settlement {
  readonly lease: Lease;
  readonly outcome: Exclude<AttemptOutcome, "running">;
  readonly verdict: Verdict;
  readonly failure?: Failure;
  readonly log?: string;
  /** The result of a successful attempt. */
  readonly result?: Json;
  /** The merge commit of a successful attempt in the job's branch. */
  readonly mergedCommit?: string;
  /** What the agents of the attempt used, for its event. */
  readonly usage?: AgentUsage;
  /** Present if and only if the verdict buries the item (`bury` and `stop`). */
  readonly death?: DeathRecord;
  /** Notes of the worker, stored for every outcome unless the lease is stale. */
  readonly notes?: readonly NewNote[];
  /** Counters of the queue to increment in addition to the store's own. */
  readonly counts?: readonly string[];
  /** Why the runner could not make the attempt. Only for a released attempt. Event: `runner_failed`. */
  readonly fault?: string;
  /** Set when the handler of `on_item_failure: custom` failed. Event: `handler_failed`. */
  readonly handlerProblem?: HandlerProblem;
}

export interface HandlerProblem {
  readonly message: string;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The end of stderr, or of stdout if stderr is empty. */
  readonly output?: string;
  /** Path of the file with the whole output. */
  readonly log?: string;
}

export interface NewNote {
  readonly author: string;
  readonly text: string;
}

/** Every priority, highest first. Items with the same priority are ordered by due time, then by age. */
export const PRIORITIES = ["high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The rank by which stores order items; lower ranks run first. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

export function priorityOf(rank: number): Priority {
  return PRIORITIES[rank] ?? "normal";
}

/**
 * Returns the display name: the id if it occurs in the data, otherwise the data, because a generated id means
 * nothing to people.
 */
export function itemName({ itemId, data }: { readonly itemId: string; readonly data: Json }): string {
  const text = asText(data);
  return typeof data !== "string" && text.includes(itemId) ? itemId : text;
}

const NAME_BYTES_MAX = 160;
const HASH_DIGITS = 16;

/** Encodes an id as a unique file name. Bytes other than letters, digits, `-`, `_` and `.` become `%XX`. */
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
  /** Replaces the data of existing items that have not run yet. Default: the stored data is kept. */
  readonly replace?: { readonly author: string };
  /** The caller expects all ids to be new, so a store may skip the check until an insert conflicts. Default: false. */
  readonly expectNew?: boolean;
  /**
   * The ids were generated for this call, so an existing one proves that the call has already succeeded. A store that lost
   * the response may then repeat the call. Default: false.
   */
  readonly generatedIds?: boolean;
  /** Whether the report lists `existingIds`. Default: false. */
  readonly listsExisting?: boolean;
  /**
   * The queue settings that the items were checked against, as returned by `findJob`. If they have changed,
   * nothing is added and a `job_changed` error is thrown. Default: no check.
   */
  readonly spec?: JsonObject;
}

/** The result of adding a batch of items. */
export interface AddReport {
  readonly added: number;
  /** Items that existed with the same data. */
  readonly existing: number;
  /** Items that existed with other data, which was kept. `changedIds` has at most 10 ids. */
  readonly changed: number;
  readonly changedIds: readonly string[];
  /** Items that existed with other data, which was replaced. They do not count as changed. */
  readonly replaced: number;
  /** The ids of all items that existed, in the given order; an id that was given twice existed at its second time. */
  readonly existingIds?: readonly string[];
}

export interface HoldBy {
  readonly author: string;
  readonly reason?: string;
}

export interface HoldReport {
  readonly moved: number;
  /** The refused items with their current states; null for an item that does not exist. */
  readonly refused: readonly { readonly itemId: string; readonly state: ItemState | null }[];
}
