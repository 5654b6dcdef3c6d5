/**
 * The storage contract. One method is one step that is atomic and durable before it resolves. Delays and verdicts are passed
 * in; an engine adds its own clock. An error of the store is a `WorkError` with a code that starts with `store_`; nothing of
 * the call was written then. `test/conformance/` is the suite that all implementations pass.
 */

import type { ErrorEntry, ErrorQuery } from "./item/error-log.ts";
import type { Event } from "./item/event.ts";
import type { Correction, GroupChange, GroupMark, GroupState } from "./item/group.ts";
import type {
  AddOptions,
  AddReport,
  Attempt,
  HoldBy,
  HoldReport,
  Item,
  LeasedItem,
  NewItem,
  NewNote,
} from "./item/item.ts";
import type { DeleteJobStep, Job, JobChange, JobKind, NewJob } from "./item/job.ts";
import type { Amendment, Letter, LetterNote } from "./item/letter.ts";
import type {
  Arrival,
  ArrivalQuery,
  ImportReport,
  LetterGroup,
  LetterPage,
  LetterQuery,
  Regrouped,
  StoredLetter,
} from "./item/letter-query.ts";
import type {
  NewOperation,
  Operation,
  OperationChange,
  OperationStep,
  SelectedLetter,
} from "./item/operation.ts";
import type { Holder, NewHolder, SettleAndLease, SettleAndLeaseResult } from "./item/settle-and-lease.ts";
import type {
  Counter,
  EventQuery,
  ItemQuery,
  ItemResult,
  Problem,
  QueueCounts,
  RowPage,
  SharedDocument,
  StoreInfo,
} from "./item/store-queries.ts";
import type { Json, JsonObject } from "./std/json.ts";

export type { AddOptions, AddReport, HoldBy, HoldReport } from "./item/item.ts";
export type { DeleteJobStep, JobChange } from "./item/job.ts";
export * from "./item/letter-query.ts";
export type * from "./item/settle-and-lease.ts";
export type * from "./item/store-queries.ts";

/** A store. Every engine passes the one suite of this contract. */
export interface Engine {
  readonly url: string;
  readonly can: Capabilities;

  /** The store's clock, which times leases and due times. */
  now(): Promise<number>;
  /** Reports each step of the store's clock that this process finds. The answer ends it. */
  watchClock(report: (stepMs: number) => void): () => void;
  /** Rejects when the opened store is gone, was replaced or changed, or cannot be read. */
  requireUsable(): Promise<void>;

  // Jobs

  /**
   * Creates a running job and its queue. `job_changed` when the id or name is taken. Event: `job_started`;
   * for `STANDING_KINDS` `queue_created`.
   */
  createJob(job: NewJob): Promise<Job>;
  findJob(idOrName: string): Promise<Job | null>;
  /** Newest first; of all kinds, unless some are named. */
  listJobs(page: {
    readonly limit: number;
    readonly before?: number;
    readonly kinds?: readonly JobKind[];
  }): Promise<readonly Job[]>;
  /**
   * Changes what is given and writes the event. `job_not_found` when there is no such job. A pause or its end that changes
   * something first writes `queue_paused` (with `author` and `reason`) or `queue_resumed`.
   */
  changeJob(id: string, change: JobChange): Promise<Job>;
  /**
   * Deletes a job that ends, with at most so many of its items; true when nothing of it is left. The first step writes
   * `job_deleted` (with `name`, `author` and its counts), deletes its other events, operations and counters, and makes its
   * kind `deleting`. Groups, their records and arrivals stay. `job_running` while a holder is alive or an item is leased;
   * `illegal_move` while it has letters, waiting or resolved, and for `STANDING_KINDS`.
   */
  deleteJob(id: string, step: DeleteJobStep): Promise<boolean>;

  // Intake

  /**
   * Adds the items that the queue does not have, ready, in order, and notifies watchers. Event each: `item_queued`. With
   * `replace`, an existing item with other data that is ready or held gets the new data as a new revision, with its new name,
   * priority, due time and expiry (the lane stays); event `item_replaced` with `revision` and `author`.
   */
  add(queue: string, items: readonly NewItem[], options?: AddOptions): Promise<AddReport>;
  /**
   * Holds ready items; others are refused. Event each: `item_held` with `author` and `reason`. A redriven letter can be
   * held too; a cancelled operation does not take it back before it is released.
   */
  hold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;
  /** Makes held items ready again, due when they were. Event each: `item_released` with `author` and `reason`. */
  unhold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;

  // Lease, attempt, settle

  /** Registers a holder of leases. It has to send a `heartbeat` before `ttlMs` has passed. Once more with the same id is the same. */
  registerHolder(holder: NewHolder): Promise<Holder>;
  /** Extends the expiry. False when the holder is unknown: its leases are lost. */
  heartbeat(holderId: string): Promise<boolean>;
  /**
   * Ends the right of an expired or dead holder to heartbeat and lease, so that its leases can be settled as lost. False,
   * and nothing is changed, when it has not expired or is unknown.
   */
  revoke(holderId: string, options: { readonly isProcessDead: boolean }): Promise<boolean>;
  /** Removes the holder. False, and nothing is changed, while it holds a lease. */
  unregisterHolder(holderId: string): Promise<boolean>;
  listHolders(): Promise<readonly Holder[]>;
  /** The leases of a holder, for the reaper to settle as lost. */
  listLeases(holderId: string): Promise<readonly LeasedItem[]>;
  /**
   * The runner's one durable step: settles what has ended, then leases up to `lease.max` due items, each with a new
   * attempt record. A settlement whose lease is lost changes nothing and is returned in `stale`; its outcome is kept as a
   * late result. The holder may be null when nothing is leased.
   *
   * A letter whose item is done is resolved by the operation that redrove it: as `auto_fix` or `manual_fix` when its data
   * has a revision that it did not have when it was buried, else as `requeue`. A letter that is buried again gets a new number.
   *
   * Items are leased by priority, then due time, then age, one at a time per lane (`NewItem.lane`); none of a paused queue,
   * within `lease.rate` (item/rate.ts), and none unless `gate.seen` is the version of the queue's gate. Counters:
   * `countersOf` (item/settlement.ts).
   */
  settleAndLease(holderId: string | null, settleAndLease: SettleAndLease): Promise<SettleAndLeaseResult>;
  /**
   * Notifies when items of the queue may have become leasable; perhaps for nothing, and never where `can.wakes` is false.
   * The answer ends it.
   */
  watch(queue: string, notify: () => void): Promise<() => Promise<void>>;

  // Look

  /** How many items of the queue are in each state, and how many attempts were started. */
  count(queue: string): Promise<QueueCounts>;
  /** The items with this id or prefix, at most `limit`; of one queue, or of all. */
  findItems(
    idOrPrefix: string,
    options: { readonly queue?: string; readonly limit: number },
  ): Promise<readonly Item[]>;
  /** Items of one queue, oldest first; of all states, unless some are named. */
  listItems(query: ItemQuery): Promise<readonly Item[]>;
  /** The notes on an item or its letter, oldest first. */
  listNotes(ref: number): Promise<readonly LetterNote[]>;
  /** The error log, newest first: see item/error-log.ts. */
  listErrors(query: ErrorQuery): Promise<readonly ErrorEntry[]>;
  /**
   * Every counter that is not 0. They only go up, and survive purges and restarts. The store's own, of each queue:
   * `attempts.OUTCOME`, `retries`, `parks`, `dead.ERROR_TYPE`, `redrives.succeeded`, `redrives.failed`, `store_write_failed`.
   */
  listCounters(): Promise<readonly Counter[]>;
  /** The results of the done items of a queue, oldest item first; null for an item without one. */
  listResults(
    queue: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly ItemResult[]>;
  /** Every attempt of an item, oldest first. */
  listAttempts(ref: number): Promise<readonly Attempt[]>;
  listLetters(query: LetterQuery): Promise<LetterPage>;
  /** The letter of an item, also a resolved or discarded one. */
  readLetter(ref: number): Promise<StoredLetter | null>;
  /** Groups of the waiting letters, largest first. Kept incrementally: no scan. */
  listGroups(filter: {
    readonly queue?: string;
    readonly states?: readonly GroupState[];
  }): Promise<readonly LetterGroup[]>;
  /**
   * When letters failed last, in intervals of `bucketMs` counted from the epoch, oldest first, without empty ones. An
   * imported letter counts at its own time. Kept incrementally by the minute: no scan.
   */
  listArrivals(query: ArrivalQuery): Promise<readonly Arrival[]>;
  /** The time of the earliest first failure among the waiting letters of the queue. No scan. */
  earliestFailure(queue: string): Promise<number | null>;
  /** Events after a cursor, oldest first. */
  listEvents(query: EventQuery): Promise<readonly Event[]>;
  /** The id of the newest event of the store, 0 when there is none. */
  newestEvent(): Promise<number>;

  // Groups

  /**
   * The record of a signature; null when the store never saw it. Records change in the step that is the reason: the first
   * burial opens the group (event `group_opened`); a burial reopens a resolved group as a regression, and an ignored one when
   * its condition is met (event `group_reopened` with `why`). A redriven letter that succeeds is counted into the fixes; when it
   * was the last waiting one of its signature in all queues, the group is resolved (event `group_resolved`) unless it is
   * ignored. The pattern is that of the first letter. A letter that is imported as resolved opens only an unknown group.
   */
  readGroup(signature: string): Promise<GroupMark | null>;
  /**
   * The records in one of the states whose signature or pattern begins with the text, in order of their signatures by code
   * points.
   */
  listMarks(filter: {
    readonly states?: readonly GroupState[];
    readonly prefix?: string;
  }): Promise<readonly GroupMark[]>;
  /**
   * Records a person's decision. `item_not_found` for an unknown signature. Event `group_changed`. A given state starts now,
   * also when it is the same, and ends a regression.
   */
  markGroup(signature: string, change: GroupChange): Promise<GroupMark>;
  /**
   * Later burials follow it (`corrected` in item/group.ts); existing letters move with `regroup`. It replaces one with the same
   * `from` and `text`, in any case.
   */
  correct(correction: Omit<Correction, "at">): Promise<void>;
  /** False when there is no such correction. */
  removeCorrection(from: string, text?: string): Promise<boolean>;
  /** Oldest first. */
  listCorrections(): Promise<readonly Correction[]>;
  /**
   * Gives letters, by their numbers and in any state, the groups that they would get if they were buried with these
   * signatures now. Returns how many changed their group. Letters that are gone are skipped; of duplicates the first counts.
   * It is no burial: it opens unknown signatures only. The group then has the given algorithm.
   */
  regroup(letters: readonly Regrouped[]): Promise<number>;

  // Letters from elsewhere, and notes

  /**
   * Imports letters into an existing queue (`importedLetter` in item/imported-letter.ts). A letter whose item is unknown or
   * was purged is added as `dead`, or resolved when it has a resolution. A dead letter with fewer attempts gets the missing
   * ones and the new death record. All others are left unchanged. Each has a new number, the times of its own failures, and
   * arrived now. Event each: `dlq_item_added` with the reason `imported`; one for all that changed: `dlq_items_imported`.
   */
  importLetters(queue: string, letters: readonly Letter[]): Promise<ImportReport>;
  /** Writes a note on an item and its letter. False when there is no such item, or it was purged. */
  addNote(ref: number, note: NewNote): Promise<boolean>;
  /** The changes of an item's data, oldest first. */
  listAmendments(ref: number): Promise<readonly Amendment[]>;

  // Operations

  /**
   * Creates an operation on the letters of its queue that match now, and no later ones. With the selection `enlisted` it is
   * empty, and the status is `selecting`; with `undoes` it has the letters that the other operation changed. A state that the
   * filter names is selected even when the kind refuses it later.
   */
  beginOperation(operation: NewOperation): Promise<Operation>;
  /**
   * Adds letters by their numbers to an operation that is `selecting`, and stores the cursor of the search. Letters that
   * are gone, of another queue or buried later are left out, duplicates too. A cursor of null completes the selection and
   * opens the operation. Changes nothing when it is not `selecting`.
   */
  enlist(
    operationId: string,
    found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
  ): Promise<Operation>;
  /** Part of an operation's selection, oldest burial first. */
  listSelected(
    operationId: string,
    query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
  ): Promise<readonly SelectedLetter[]>;
  /** The reasons of refusals with their counts; the most frequent first, then by text. */
  listRefusals(operationId: string): Promise<readonly { readonly reason: string; readonly count: number }[]>;
  /**
   * Works on the next letters of the selection, or on the named ones, and counts it in the same step. A letter that has
   * changed since it was selected, or is in no state that the kind works on, is refused; so is one that is not eligible for a
   * redrive without force. Does nothing unless the operation is open, and nothing twice.
   * `redrive`: ready again with new attempts, without its expiry. `requeue`: adds an item with its data (or the step's), name,
   * priority and lane under the first free id of `~2`, `~3` …, and discards the letter; both items name each other. `edit`:
   * makes an amendment. `discard`, `restore`: with the operation's reason. `purge`, `evict`, `clear`: delete the letter with
   * data, attempts and notes; the item's bare row stays, discarded and `purged`, so that it is not added again. The item of a
   * resolved letter keeps what it has.
   */
  advance(operationId: string, step: OperationStep): Promise<Operation>;
  /**
   * Pauses, opens or cancels; keeps progress; refuses pending letters. Cancelling refuses the pending letters, and those that
   * are ready and not leased, which are dead again. One that has ended stays as it is; one that was paused while `selecting`
   * continues so. Event, when the status changes: `operation_changed` with `operation_id` and `status`.
   */
  changeOperation(id: string, change: OperationChange): Promise<Operation>;
  findOperation(id: string): Promise<Operation | null>;
  /** Oldest first; of one queue or of all, with `open` only those that have not ended (or have). */
  listOperations(filter: { readonly queue?: string; readonly open?: boolean }): Promise<readonly Operation[]>;
  /**
   * Ends the operation when all its letters have ended. Of a cancelled one it first takes back what was leased then and is
   * ready now. A redrive that is not cancelled ends by itself, with its last letter.
   */
  closeOperation(id: string): Promise<Operation>;

  // Documents

  readDocument(name: string): Promise<SharedDocument | null>;
  /** Writes it if it still has the version `seen` (0: there was none). False, and nothing changed, if not. */
  writeDocument(name: string, document: { readonly seen: number; readonly body: Json }): Promise<boolean>;

  // Keep

  /**
   * Rows of one of `TABLES` (item/tables.ts), in the order of their keys, for a copy into another store; equal in every
   * engine. `next` is null at the end. Only where `can.copy` is true, as the next two.
   */
  readRows(table: string, page: { readonly after: Json; readonly limit: number }): Promise<RowPage>;
  /**
   * Adds rows of another store; existing ones are left alone. Writes no event. `copy_differs` when they refer to missing
   * rows.
   */
  writeRows(table: string, rows: readonly JsonObject[]): Promise<void>;
  /** Deletes every row of every table, for a copy that starts again. */
  deleteRows(): Promise<void>;

  /**
   * Spends about `forMs` on work that makes later answers faster; no answer depends on it. True when there is more. At most
   * `leaveMax` letters may be left (default 0).
   */
  catchUp(pace: { readonly forMs: number; readonly leaveMax?: number }): Promise<boolean>;
  /** Verifies integrity and every invariant. */
  check(): Promise<readonly Problem[]>;
  info(): Promise<StoreInfo>;
  close(): Promise<void>;
}

/** What an engine can do beyond the contract. Code asks for these, never for an engine's name. */
export interface Capabilities {
  /** Several processes may open the same store. */
  readonly sharedByProcesses: boolean;
  /** Several machines may. */
  readonly sharedByMachines: boolean;
  /** `watch` notifies of what other processes do. */
  readonly wakes: boolean;
  /** Its rows can be read and written as they are. */
  readonly copy: boolean;
  /** The events of one item at a known time are found without a look at those of others. */
  readonly findItemEvents: boolean;
}
