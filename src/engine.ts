/**
 * The storage contract. Each method is one atomic step that is durable when it resolves. Callers pass delays
 * and verdicts; the engine adds its clock. If a call fails with a `RedriveError` whose code starts with
 * `store_`, it wrote nothing. All implementations pass the suite in `test/conformance/`.
 */

import type { AgentRun, AgentRunQuery, UsageQuery, UsageSum } from "./item/agent-run.ts";
import type { ErrorEntry, ErrorQuery } from "./item/error-log.ts";
import type { Event } from "./item/event.ts";
import type { Correction, GroupChange, GroupRecord, GroupState } from "./item/group.ts";
import type {
  AddOptions,
  AddReport,
  Attempt,
  HoldBy,
  HoldReport,
  Item,
  Lease,
  LeasedItem,
  NewItem,
  NewNote,
} from "./item/item.ts";
import type { DeleteJobStep, Job, JobChange, JobKind, NewJob } from "./item/job.ts";
import type { Amendment, Letter, LetterNote } from "./item/letter.ts";
import type {
  Arrival,
  ArrivalQuery,
  GroupPage,
  GroupQuery,
  ImportReport,
  LetterAddress,
  LetterGroup,
  LetterPage,
  LetterQuery,
  LetterRecords,
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
  ItemEventQuery,
  ItemQuery,
  ItemResult,
  Problem,
  QueueCounts,
  RecordedChange,
  RowPage,
  SharedDocument,
  StoreInfo,
} from "./item/store-queries.ts";
import type { TransactionConnection } from "./item/transaction.ts";
import type { Json, JsonObject } from "./std/json.ts";

export type { AddOptions, AddReport, HoldBy, HoldReport } from "./item/item.ts";
export type { DeleteJobStep, JobChange } from "./item/job.ts";
export * from "./item/letter-query.ts";
export type * from "./item/settle-and-lease.ts";
export type * from "./item/store-queries.ts";
export type { TransactionConnection } from "./item/transaction.ts";

/** A store. All engines pass the same conformance suite. */
export interface Engine {
  readonly url: string;
  readonly can: Capabilities;

  /** Returns the time of the store's clock, which determines lease expiry and due times. */
  now(): Promise<number>;
  /** Reports each step of the store's clock that this process detects. Returns a function that stops reporting. */
  watchClock(report: (stepMs: number) => void): () => void;
  /** Rejects if the opened store was removed, replaced or changed, or cannot be read. */
  requireUsable(): Promise<void>;

  // Jobs

  /**
   * Creates a running job and its queue. Throws `job_changed` if the id or name is already used. Event:
   * `job_started`, or `queue_created` for `STANDING_KINDS`.
   */
  createJob(job: NewJob): Promise<Job>;
  findJob(idOrName: string): Promise<Job | null>;
  /** Lists jobs, newest first, of the given kinds or of all. */
  listJobs(page: {
    readonly limit: number;
    readonly before?: number;
    readonly kinds?: readonly JobKind[];
  }): Promise<readonly Job[]>;
  /**
   * Changes the given fields and writes the given event. Throws `job_not_found` for an unknown job. If the
   * pause changes, `queue_paused` (with `author` and `reason`) or `queue_resumed` is written first.
   */
  changeJob(id: string, change: JobChange): Promise<Job>;
  /**
   * Deletes at most `itemsMax` items of a job; returns true once the job is completely deleted. The first step writes
   * `job_deleted` (with `name`, `author` and counts), deletes the job's other events, operations and counters, and sets its
   * kind to `deleting`. Groups, their records and arrivals remain. Throws `job_running` while a holder is alive or an item
   * is leased, and `illegal_move` for `STANDING_KINDS` and for a job that has letters, waiting or resolved.
   */
  deleteJob(id: string, step: DeleteJobStep): Promise<boolean>;

  // Intake

  /**
   * Adds items that are not yet in the queue as ready, in order, and notifies watchers. Event for each: `item_queued`. With
   * `replace`, an existing ready or held item with other data gets a new revision with the new data, name, priority, due
   * time and expiry, but keeps its ordering key; event `item_replaced` with `revision` and `author`.
   */
  add(queue: string, items: readonly NewItem[], options?: AddOptions): Promise<AddReport>;
  /**
   * Returns methods that add items inside the caller's transaction, over the caller's own connection to the
   * store's database. The items become visible and wake workers when the caller commits; a rollback discards
   * them. Throws `usage` if the connection leads to another database or has no open transaction. After a
   * database error the transaction is aborted.
   */
  within(connection: TransactionConnection): EngineWithin;
  /**
   * Holds ready items and refuses others. Event for each: `item_held` with `author` and `reason`. A redriven letter can be
   * held too; cancelling its operation does not affect it until it is released.
   */
  hold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;
  /** Makes held items ready again with their old due times. Event for each: `item_released` with `author` and `reason`. */
  unhold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;

  // Lease, attempt, settle

  /** Registers a lease holder, which must call `heartbeat` within `ttlMs`. Registering the same id again is harmless. */
  registerHolder(holder: NewHolder): Promise<Holder>;
  /** Extends the expiry. Returns false if the holder is unknown, which means that its leases are lost. */
  heartbeat(holderId: string): Promise<boolean>;
  /**
   * Prevents an expired or dead holder from renewing and leasing, so that its leases can be settled as lost. Returns false
   * without a change if the holder is unknown or has not expired.
   */
  revoke(holderId: string, options: { readonly isProcessDead: boolean }): Promise<boolean>;
  /** Removes the holder. Returns false without a change while it holds a lease. */
  unregisterHolder(holderId: string): Promise<boolean>;
  /** Lists the registered holders of one queue or of all, in the order of their registration. */
  listHolders(filter?: { readonly queue?: string }): Promise<readonly Holder[]>;
  /** Lists the leases of a holder, for the reaper to settle as lost. */
  listLeases(holderId: string): Promise<readonly LeasedItem[]>;
  /**
   * The runner's only durable step: settles ended attempts, then leases up to `lease.max` due items, each with a new attempt
   * record. A settlement whose lease is lost changes nothing but is returned in `stale` and recorded as a late result. The
   * holder may be null if nothing is leased.
   *
   * When a redriven item is done, its letter is resolved as `auto_fix` or `manual_fix` if its data was amended after the
   * burial, else as `requeue`. A letter that is buried again gets a new number.
   *
   * Items are leased by priority, then due time, then age, one at a time per ordering key (`NewItem.orderingKey`), within `lease.rate`
   * (item/rate.ts). Nothing is leased if the queue is paused or `gate.seen` is not the version of the queue's gate.
   * `countersOf` (item/settlement.ts) lists the counters.
   */
  settleAndLease(holderId: string | null, settleAndLease: SettleAndLease): Promise<SettleAndLeaseResult>;
  /** Stores the progress of a running attempt in place of the previous one. Returns false if the lease was lost. */
  writeProgress(lease: Lease, value: Json): Promise<boolean>;
  /**
   * Stores the usage of agents so far, replacing earlier records with the same ids. Also accepted after the
   * lease was lost, because the cost was incurred anyway.
   */
  writeAgentRuns(queue: string, runs: readonly AgentRun[]): Promise<void>;
  /**
   * Notifies when items of the queue may have become leasable. Notifications may be spurious, and are never sent if
   * `can.wakes` is false. The returned function stops them.
   */
  watch(queue: string, notify: () => void): Promise<() => Promise<void>>;

  // Queries

  /** Counts the items of the queue in each state, and the started attempts. */
  count(queue: string): Promise<QueueCounts>;
  /** Finds up to `limit` items with this id or prefix, in one queue or in all. */
  findItems(
    idOrPrefix: string,
    options: { readonly queue?: string; readonly limit: number },
  ): Promise<readonly Item[]>;
  /** Lists items of one queue, oldest first, in the given states or in all states. */
  listItems(query: ItemQuery): Promise<readonly Item[]>;
  /** Lists the notes on an item or its letter, oldest first. */
  listNotes(ref: number): Promise<readonly LetterNote[]>;
  /** Lists entries of the error log, newest first; see item/error-log.ts. */
  listErrors(query: ErrorQuery): Promise<readonly ErrorEntry[]>;
  /**
   * Lists all counters that are not 0. They only increase, and survive purges and restarts. The store's own per queue:
   * `attempts.OUTCOME`, `retries`, `parks`, `dead.ERROR_TYPE`, `redrives.succeeded`, `redrives.failed`,
   * `store_write_failed`.
   */
  listCounters(): Promise<readonly Counter[]>;
  /** Lists the results of done items of a queue, oldest item first; null for an item without a result. */
  listResults(
    queue: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly ItemResult[]>;
  /** Lists the agents that ran for a queue, an item or a session, oldest first. */
  listAgentRuns(query: AgentRunQuery): Promise<readonly AgentRun[]>;
  /** Sums the usage of agents, including failed, released and lost attempts. Without agents there is no sum. */
  sumAgentUsage(query: UsageQuery): Promise<readonly UsageSum[]>;
  /** Lists all attempts of an item, oldest first. */
  listAttempts(ref: number): Promise<readonly Attempt[]>;
  listLetters(query: LetterQuery): Promise<LetterPage>;
  /** Reads the letter of an item, including a resolved or discarded one. */
  readLetter(ref: number): Promise<StoredLetter | null>;
  /** Reads a letter with its related records; null if the item does not exist or is not a letter. */
  readLetterRecords(address: LetterAddress): Promise<LetterRecords | null>;
  /** Lists the groups of waiting letters, largest first. Uses maintained counters, not a scan. */
  listGroups(filter: {
    readonly queue?: string;
    readonly signatures?: readonly string[];
    readonly states?: readonly GroupState[];
  }): Promise<readonly LetterGroup[]>;
  /**
   * Returns a page of signatures, in one of `GROUP_ORDERS` and then by letters, latest failure and signature. Without a queue, resolved and ignored signatures without letters come last.
   */
  pageGroups(query: GroupQuery): Promise<GroupPage>;
  /**
   * Counts letters by their last failure, in intervals of `bucketMs` from the epoch, oldest first, without
   * empty intervals. Imported letters count at their original time. Uses counters that are maintained per
   * minute, not a scan.
   */
  listArrivals(query: ArrivalQuery): Promise<readonly Arrival[]>;
  /** Returns the earliest first failure among the waiting letters of the queue, without a scan. */
  earliestFailure(queue: string): Promise<number | null>;
  /** Lists events after a cursor, oldest first. */
  listEvents(query: EventQuery): Promise<readonly Event[]>;
  /** Returns the id of the newest event of the store, or 0. */
  newestEvent(): Promise<number>;
  /** Finds events of one item without reading those of other times. */
  listItemEvents(query: ItemEventQuery): Promise<readonly Event[]>;

  /** Writes the event `change_recorded` with the given fields. */
  recordChange(change: RecordedChange): Promise<void>;

  // Groups

  /**
   * Reads the record of a signature; null if the store never saw it. Records change in the same step as their cause: the
   * first burial opens the group (event `group_opened`); a burial reopens a resolved group as a regression, and an ignored
   * group if its condition is met (event `group_reopened` with `why`). The success of a redriven letter counts as a fix; if
   * it was the last waiting letter of its signature in all queues, the group is resolved (event `group_resolved`) unless it
   * is ignored. The pattern is that of the first letter. A letter imported as resolved can only open an unknown group.
   */
  readGroup(signature: string): Promise<GroupRecord | null>;
  /** Lists records in these states whose signature or pattern begins with the text, by signature in code point order. */
  listGroupRecords(filter: {
    readonly states?: readonly GroupState[];
    readonly prefix?: string;
  }): Promise<readonly GroupRecord[]>;
  /**
   * Records a person's decision. Throws `item_not_found` for an unknown signature. Event: `group_changed`. A given state
   * starts now, even if it is the current one, and ends a regression.
   */
  changeGroup(signature: string, change: GroupChange): Promise<GroupRecord>;
  /**
   * Adds a correction for later burials (`corrected` in item/group.ts); `regroup` moves existing letters. Replaces a
   * correction with the same `from` and `text`, ignoring case.
   */
  correct(correction: Omit<Correction, "at">): Promise<void>;
  /** Returns false if there is no such correction. */
  removeCorrection(from: string, text?: string): Promise<boolean>;
  /** Lists all corrections, oldest first. */
  listCorrections(): Promise<readonly Correction[]>;
  /**
   * Moves letters in any state to the groups that a burial with these signatures would select now. Returns
   * the number of moved letters. Deleted letters are skipped; if a letter is listed twice, the first entry
   * counts. Regrouping is not a burial: it opens only unknown signatures. The group then has the given
   * algorithm.
   */
  regroup(letters: readonly Regrouped[]): Promise<number>;

  // Imported letters and notes

  /**
   * Imports letters into an existing queue (`importedLetter` in item/imported-letter.ts). A letter whose item is unknown or
   * purged is added as `dead`, or as resolved if it has a resolution. A stored dead letter with fewer attempts than the
   * imported one gets the missing ones and the new death record. Others are unchanged. Imported letters get new numbers and
   * keep their failure times; they count as arrived now. Event for each: `dlq_item_added` with reason `imported`; one for all: `dlq_items_imported`.
   */
  importLetters(queue: string, letters: readonly Letter[]): Promise<ImportReport>;
  /**
   * Adds a note to an item and its letter. Returns false if the item does not exist or was purged. Event: `change_recorded`
   * with the action `note_added`.
   */
  addNote(ref: number, note: NewNote): Promise<boolean>;
  /** Lists the changes of an item's data, oldest first. */
  listAmendments(ref: number): Promise<readonly Amendment[]>;

  // Operations

  /**
   * Creates an operation on the letters of its queue that match now; later letters are not included. With the selection
   * `enlisted` it starts empty in the status `selecting`; with `undoes` it has the letters that the other operation changed.
   * Letters in a state that the filter names are selected even if this kind of operation refuses them later.
   */
  beginOperation(operation: NewOperation): Promise<Operation>;
  /**
   * Adds letters by their numbers to an operation that is `selecting`, and stores the cursor of the search. Skips duplicates
   * and letters that are deleted, in another queue or buried later. A null cursor completes the selection and opens the
   * operation. Changes nothing if the operation is not `selecting`.
   */
  enlist(
    operationId: string,
    found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
  ): Promise<Operation>;
  /** Lists part of an operation's selection, oldest burial first. */
  listSelected(
    operationId: string,
    query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
  ): Promise<readonly SelectedLetter[]>;
  /** Lists the reasons for refusals with their counts, most frequent first, then by text. */
  listRefusals(operationId: string): Promise<readonly { readonly reason: string; readonly count: number }[]>;
  /**
   * Processes the next or the named letters of the selection and counts them in the same step. Refuses a letter that changed
   * since its selection, that is in a state which the kind does not accept, or that is not eligible for a redrive without
   * force. Does nothing unless the operation is open, and never processes a letter twice. `redrive`: makes the item ready
   * with new attempts and without expiry. `requeue`: adds an item with the letter's (or the step's) data, name, priority and
   * ordering key under the first free id of `~2`, `~3` …, and discards the letter; both items refer to each other. `edit`: adds an
   * amendment. `discard`, `restore`: use the operation's reason. `purge`, `evict`, `clear`: delete the letter with its data,
   * attempts and notes; the item's row remains as discarded and `purged`, so that the item is not added again. The item of a
   * resolved letter keeps its data.
   */
  advance(operationId: string, step: OperationStep): Promise<Operation>;
  /**
   * Pauses, opens or cancels an operation, stores progress, or refuses pending letters. Cancelling refuses pending letters,
   * and ready letters that are not leased, which become dead again. An ended operation does not change; one that was paused
   * while `selecting` resumes selecting. Event on a status change: `operation_changed` with `operation_id` and `status`.
   */
  changeOperation(id: string, change: OperationChange): Promise<Operation>;
  findOperation(id: string): Promise<Operation | null>;
  /**
   * Lists operations of one queue or of all queues, oldest first. `open: true` selects unfinished operations,
   * `open: false` ended ones.
   */
  listOperations(filter: { readonly queue?: string; readonly open?: boolean }): Promise<readonly Operation[]>;
  /**
   * Ends the operation if all its letters have ended. For a cancelled operation, first recalls letters that
   * were leased when it was cancelled and are ready now. A redrive that is not cancelled ends automatically
   * with its last letter.
   */
  closeOperation(id: string): Promise<Operation>;

  // Documents

  readDocument(name: string): Promise<SharedDocument | null>;
  /**
   * Writes a document if its version is still `seen` (0: it does not exist), and records the given change with it.
   * Otherwise returns false without a change.
   */
  writeDocument(
    name: string,
    document: { readonly seen: number; readonly body: Json; readonly change?: RecordedChange },
  ): Promise<boolean>;

  // Copies and maintenance

  /**
   * Reads rows of one of `TABLES` (item/tables.ts) in key order, for a copy into another store; all engines return the same
   * form. `next` is null at the end. This and the next two methods require `can.copy`.
   */
  readRows(table: string, page: { readonly after: Json; readonly limit: number }): Promise<RowPage>;
  /** Adds rows of another store and keeps existing ones. Writes no event. `copy_differs` if a referenced row is missing. */
  writeRows(table: string, rows: readonly JsonObject[]): Promise<void>;
  /** Deletes all rows of all tables, for a copy that starts again. */
  deleteRows(): Promise<void>;

  /**
   * Spends about `forMs` on deferred work that speeds up later queries; results never depend on it. Returns
   * true if work remains for more than `leaveMax` letters (default 0).
   */
  catchUp(pace: { readonly forMs: number; readonly leaveMax?: number }): Promise<boolean>;
  /** Verifies integrity and every invariant. */
  check(): Promise<readonly Problem[]>;
  info(): Promise<StoreInfo>;
  close(): Promise<void>;
}

/** The methods that are available inside a caller's transaction; see `Engine.within`. */
export type EngineWithin = Pick<Engine, "add" | "listItems" | "findJob" | "now">;

/** Optional features of an engine. Code checks these, never the name of an engine. */
export interface Capabilities {
  /** Several processes may open the same store. */
  readonly sharedByProcesses: boolean;
  /** Processes on several machines may open the same store. */
  readonly sharedByMachines: boolean;
  /** `watch` also notifies of changes by other processes. */
  readonly wakes: boolean;
  /** `readRows`, `writeRows` and `deleteRows` are available. */
  readonly copy: boolean;
}
