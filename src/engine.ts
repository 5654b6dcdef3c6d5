/**
 * The storage contract. One method is one step that must be atomic and durable before it resolves; the verbs are
 * those of an item's life. Delays and verdicts are computed above and passed in; an engine adds its own clock.
 * `engines/` holds the implementations, `test/conformance/` the one suite that all of them pass.
 *
 * Every failure that comes from the store itself is a `WorkError` whose code starts with `store_`; when one is
 * thrown, nothing of the call was written.
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
export type { LetterFilter } from "./item/letter-query.ts";
export {
  type Arrival,
  type ArrivalQuery,
  type ImportReport,
  LETTER_ORDERS,
  LETTER_PARTS,
  type LetterGroup,
  type LetterOrder,
  type LetterPage,
  type LetterPart,
  type LetterQuery,
  type Regrouped,
  type StoredLetter,
} from "./item/letter-query.ts";
export type { Holder, NewHolder, SettleAndLease, SettleAndLeaseResult } from "./item/settle-and-lease.ts";
export type {
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

/** A store. Every engine passes the one suite of this contract. */
export interface Engine {
  /** The URL it was opened with. */
  readonly url: string;
  readonly can: Capabilities;

  /** The store's clock, which times leases and due times. */
  now(): Promise<number>;
  /** Reports each step of the store's clock that this process finds: waits are moved by it, once. The answer ends it. */
  watchClock(report: (stepMs: number) => void): () => void;
  /** Rejects when the store that was opened is not there any more, was replaced or changed, or cannot be read. */
  requireUsable(): Promise<void>;

  // Jobs -----------------------------------------------------------------------------------------------------

  /**
   * Makes a job and its queue, running. `job_changed` when the id or name is taken. Event: `job_started`; of the kinds
   * that stand (`STANDING_KINDS`) `queue_created`.
   */
  createJob(job: NewJob): Promise<Job>;
  /** By id or name. */
  findJob(idOrName: string): Promise<Job | null>;
  /** Newest first; of all kinds, unless some are named. */
  listJobs(page: {
    readonly limit: number;
    readonly before?: number;
    readonly kinds?: readonly JobKind[];
  }): Promise<readonly Job[]>;
  /**
   * Changes what is given and writes the event. `job_not_found` when there is no such job. A pause or its end writes
   * `queue_paused` (with `author` and `reason`) or `queue_resumed` by itself, when it changes something, before that event.
   */
  changeJob(id: string, change: JobChange): Promise<Job>;
  /**
   * Deletes a job that ends, by id, with at most so many of its items; true when nothing of it is left. The first step writes
   * `job_deleted` (with `name`, `author` and what it had), deletes its other events, its operations and its counters, and
   * makes its kind `deleting`: nobody can work it any more. Groups, marks and arrivals stay. Its id and name can be used again
   * when it is gone. `job_running` while a holder of it is alive or an item is leased; `illegal_move` while it has letters,
   * waiting or closed, and for the kinds that stand.
   */
  deleteJob(id: string, step: DeleteJobStep): Promise<boolean>;

  // Intake ---------------------------------------------------------------------------------------------------

  /**
   * Adds the items that the queue does not have, ready, in order, and wakes who watches the queue. Event each:
   * `item_queued`. With `replace`, one that is there with other data and waits (ready or held) gets the new data as a new
   * revision, the old one kept as an amendment by `author`, with its new name, priority, due time and expiry (what is not
   * given has its default; the lane stays); event `item_replaced` with `revision` and `author`. What it has now is compared
   * then. Any other keeps what it has.
   */
  add(queue: string, items: readonly NewItem[], options?: AddOptions): Promise<AddReport>;
  /**
   * Takes ready items out of the line. Those in another state, or not there, are refused. Event each: `item_held` with
   * `author` and `reason`. A letter on its way can be held too; an operation that is cancelled does not take it back
   * before it is released.
   */
  hold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;
  /** Puts held items back, due when they were. Event each: `item_released` with `author` and `reason`. */
  unhold(queue: string, itemIds: readonly string[], by: HoldBy): Promise<HoldReport>;

  // Lease, attempt, settle -----------------------------------------------------------------------------------

  /** Announces a holder of leases. It has to send a `heartbeat` before `ttlMs` has passed. */
  registerHolder(holder: NewHolder): Promise<Holder>;
  /** Puts off the expiry. False when the holder is not known any more: its leases are lost. */
  heartbeat(holderId: string): Promise<boolean>;
  /**
   * Ends an expired holder's right to heartbeat and lease, so that its leases can be settled as lost. A holder whose process
   * is dead need not have expired. False, and nothing is changed, when it is not expired (any more) or not known.
   */
  revoke(holderId: string, options: { readonly isProcessDead: boolean }): Promise<boolean>;
  /** Takes the holder away. False, and nothing is changed, while it holds a lease. */
  unregisterHolder(holderId: string): Promise<boolean>;
  listHolders(): Promise<readonly Holder[]>;
  /** What the holder holds, for the reaper to settle as lost. */
  listLeases(holderId: string): Promise<readonly LeasedItem[]>;
  /**
   * The heart of the runner, one durable step: settles what has ended, then leases up to `lease.max` due items,
   * each with a new attempt record that says `running`. A settlement whose lease is not held any more changes
   * nothing; it is answered in `stale`, and what a late worker said (outcome `succeeded` or `failed`) is kept as
   * evidence. The holder may be null when nothing is to be leased.
   *
   * A letter whose item is done is closed, by the operation that sent it and its author: as `auto_fix` or `manual_fix`
   * when its data has a revision that it did not have when it was buried, by who made the last one (a rule, a person),
   * else as `requeue`. One that is buried again is the same letter with a new number.
   *
   * Items are leased by priority, then due time, then age, lane by lane (`NewItem.lane`; none while another one of its lane
   * is leased, also a younger one, which happens when the older was redriven); of a paused queue none, within `lease.rate`
   * (item/rate.ts), and none when `gate.seen` is not the version of the queue's gate. No request switches one of these off.
   * What is counted: `countersOf` (item/counter.ts).
   */
  settleAndLease(holderId: string | null, settleAndLease: SettleAndLease): Promise<SettleAndLeaseResult>;
  /**
   * Notifies whenever something of the queue may have become leasable: items added, redriven, released, resumed. A notification may
   * come for nothing, and where `can.wakes` is false none comes. The answer ends it.
   */
  watch(queue: string, notify: () => void): Promise<() => Promise<void>>;

  // Look -----------------------------------------------------------------------------------------------------

  /** How many items of the queue are in each state, and how many attempts were started. */
  count(queue: string): Promise<QueueCounts>;
  /** The items whose id is the given one or starts with it, at most `limit`; of one queue, or of all. */
  findItems(
    idOrPrefix: string,
    options: { readonly queue?: string; readonly limit: number },
  ): Promise<readonly Item[]>;
  /** Items of one queue, oldest first, from the one after the given number on; of all states, unless some are named. */
  listItems(query: ItemQuery): Promise<readonly Item[]>;
  /** What was written on an item, oldest first; on its letter, too. */
  listNotes(ref: number): Promise<readonly LetterNote[]>;
  /** The error log, newest first: see item/error-log.ts. */
  listErrors(query: ErrorQuery): Promise<readonly ErrorEntry[]>;
  /**
   * Every counter that is not 0. They only go up, and survive purges and restarts. The store's own, of each queue:
   * `attempts.OUTCOME` for ended attempts, `retries` (verdicts `retry`), `parks`, `dead.ERROR_TYPE` (burials by an
   * attempt), `redrives.succeeded` and `redrives.failed` (the ends of redriven items), `store_write_failed` (events).
   */
  listCounters(): Promise<readonly Counter[]>;
  /** What the done items of a queue left, oldest item first; those that left nothing have null. */
  listResults(
    queue: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly ItemResult[]>;
  /** Every attempt of an item, oldest first. */
  listAttempts(ref: number): Promise<readonly Attempt[]>;
  /** A page of letters with the exact total of the query. */
  listLetters(query: LetterQuery): Promise<LetterPage>;
  /** The letter of an item, also a resolved or discarded one; null if it has none. */
  readLetter(ref: number): Promise<StoredLetter | null>;
  /** Groups of the letters that wait (dead, or on their way), largest first. Kept incrementally: no scan. */
  listGroups(filter: {
    readonly queue?: string;
    readonly states?: readonly GroupState[];
  }): Promise<readonly LetterGroup[]>;
  /**
   * When letters failed last, in stretches of `bucketMs` counted from the epoch, oldest first; stretches without a
   * burial are left out. An imported letter counts at its own time. Kept incrementally by the minute: no scan.
   */
  listArrivals(query: ArrivalQuery): Promise<readonly Arrival[]>;
  /** The time of the earliest first failure among the queue's letters that wait; null when none waits. No scan. */
  earliestFailure(queue: string): Promise<number | null>;
  /** Events after a cursor, oldest first. */
  listEvents(query: EventQuery): Promise<readonly Event[]>;
  /** The id of the newest event of the store, 0 when there is none: where somebody begins who wants only what comes. */
  newestEvent(): Promise<number>;

  // Groups ---------------------------------------------------------------------------------------------------------

  /**
   * What is known of a signature beyond its letters; null when the store never saw it. Marks change by themselves, in the
   * step that is the reason: the first burial of a signature opens its group (event `group_opened`). A burial into a
   * resolved group opens it as a regression, and one into an ignored group opens it when what it was ignored until has
   * come (event `group_reopened` with `why`: `regression`, `time`, `count` or `rate`). When a redriven letter succeeds, the
   * success is counted into the group's fixes, one for each redrive and kind; when it was the last of its signature that
   * waits, in all queues, which is asked at the end of the step, the group is resolved (event `group_resolved`), unless it
   * is ignored. A signature has one pattern: that of its first letter. A letter that comes in closed opens only a group
   * that was never seen; one that is restored opens none.
   */
  readGroup(signature: string): Promise<GroupMark | null>;
  /**
   * The marks of the signatures that have one of the states, and that begin with the text, or whose pattern does; all that
   * is given must hold. In the order of their signatures, by code points.
   */
  listMarks(filter: {
    readonly states?: readonly GroupState[];
    readonly prefix?: string;
  }): Promise<readonly GroupMark[]>;
  /**
   * Writes down what a person decided. `item_not_found` when the store never saw the signature. Event `group_changed`. A
   * state that is given counts from now, also when it is the one that it had, and ends a regression.
   */
  markGroup(signature: string, change: GroupChange): Promise<GroupMark>;
  /**
   * Later burials obey it from now on (`corrected` in item/group.ts says how); letters that are there move with
   * `regroup`. The same `from` and `text`, in any case of letters, again replaces it, and is the newest then.
   */
  correct(correction: Omit<Correction, "at">): Promise<void>;
  /** False when there is no such correction. */
  removeCorrection(from: string, text?: string): Promise<boolean>;
  /** Oldest first. */
  listCorrections(): Promise<readonly Correction[]>;
  /**
   * Gives letters, known by their burials, waiting or closed, the groups that they would get if they were buried with
   * these signatures now: corrections are applied, counters and arrivals follow, nothing else of the letter changes. Answers how
   * many changed their group. Letters that are gone are passed over; of one that is named twice, the first naming counts.
   * It is no burial: a signature that was never seen is opened, any other mark stays as it is. The group that a letter has
   * or gets is then one of the given algorithm.
   */
  regroup(letters: readonly Regrouped[]): Promise<number>;

  // Letters from elsewhere, and notes --------------------------------------------------------------------------

  /**
   * Takes letters into a queue that is there. One whose item the queue does not have comes in with its state: `dead`,
   * or closed when it has a resolution (`discarded`, `done`); a letter on its way comes in dead. Attempts whose
   * numbers its history leaves out are recorded as released. An item that is dead here, with fewer attempts than the
   * given letter has, gets those it lacks, and the new death record. A purged item comes back, and keeps the number of
   * attempts that it had. Any other is left alone. `importedLetter` (item/imported-letter.ts) makes what is written.
   * Each is buried with a new number, at the times of its own first and last failure; it arrived now. Failures that it
   * counts and does not describe are failed attempts without a failure.
   * Event each: `dlq_item_added` with the reason `imported` and the signature; one for all, when any came in or was
   * extended: `dlq_items_imported` with the report.
   */
  importLetters(queue: string, letters: readonly Letter[]): Promise<ImportReport>;
  /** Writes a note on an item, and so on its letter. False when there is no such item, or it was purged. */
  addNote(ref: number, note: NewNote): Promise<boolean>;
  /** What was changed in an item's data, oldest first. */
  listAmendments(ref: number): Promise<readonly Amendment[]>;

  // Operations -------------------------------------------------------------------------------------------------

  /**
   * Makes the record of an operation. It selects the letters of its queue that match now, and no later ones: what is
   * buried afterwards is never touched by it. When the selection is `enlisted`, it is empty and the status is
   * `selecting`; when `undoes` is given, it is what that operation did, whatever became of it since, and the filter is
   * not asked. A state that the filter names is selected even when the kind refuses it later.
   */
  beginOperation(operation: NewOperation): Promise<Operation>;
  /**
   * Adds letters, by the number of their burial, to an operation that is `selecting`, and keeps the cursor at which
   * the search goes on. Letters that are gone, of another queue, or were buried after it began, are left out; the same
   * one twice counts once. The filter is not asked again. With a cursor of null the selection is complete, and the
   * operation `open`. Nothing is changed when it is not `selecting`.
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
  /** Why letters were refused, and how many for each reason; the most frequent first, then by the reason's text. */
  listRefusals(operationId: string): Promise<readonly { readonly reason: string; readonly count: number }[]>;
  /**
   * Does the operation's work on the next letters of its selection, or on the ones that the step names, and counts it
   * in the same step. A letter that is not where it was when it was selected (it left, was buried anew, is in another
   * state, or in none that the kind works on) is refused, and so is one that is not eligible for a redrive that is not
   * forced. Nothing is done, and no progress kept, unless the operation is open, and nothing ever twice. What each does:
   * `redrive` sends it back to ready, attempts anew, history kept, without its expiry · `requeue` adds another item with its
   * data (or the step's), name, priority and lane, under its id with `~2`, `~3` … at the end, the first that is free, and
   * discards the letter with the reason `sent anew as ID`; the two items name each other · `edit` makes an amendment · `discard` closes it with
   * the operation's reason · `restore` makes it dead again · `purge`, `evict` and `clear` delete the letter with data,
   * attempts and notes; the item's bare row stays, discarded and `purged`, without name, lane and expiry, so that it is not
   * taken in again. A resolved letter (`done`) loses only its record: its item keeps what it has.
   */
  advance(operationId: string, step: OperationStep): Promise<Operation>;
  /**
   * Pauses, opens again or cancels; keeps progress; refuses what is pending. Cancelling refuses what is pending and
   * takes back what is ready and not leased: those letters are dead again, and refused. One that has ended or was
   * cancelled stays as it is; one that was paused while it was selecting goes on `selecting` when it is opened.
   * Event, when the status changes: `operation_changed` with `operation_id` and `status`.
   */
  changeOperation(id: string, change: OperationChange): Promise<Operation>;
  findOperation(id: string): Promise<Operation | null>;
  /** Oldest first; of one queue or of all, those that have not ended (`open`), have (`open: false`), or both. */
  listOperations(filter: { readonly queue?: string; readonly open?: boolean }): Promise<readonly Operation[]>;
  /**
   * Ends it when everything selected was worked on and has come to an end; returns how it stands. Of a cancelled one it
   * first takes back what was leased then and is ready now. A redrive that is not cancelled needs no call: the step that
   * settles or refuses its last letter ends it.
   */
  closeOperation(id: string): Promise<Operation>;

  // Documents ------------------------------------------------------------------------------------------------------

  /** A small document that processes share under a name; null when there is none. */
  readDocument(name: string): Promise<SharedDocument | null>;
  /** Writes it if it still has the version that was seen (0: there was none). False, and nothing changed, if not. */
  writeDocument(name: string, document: { readonly seen: number; readonly body: Json }): Promise<boolean>;

  // Keep -----------------------------------------------------------------------------------------------------

  /**
   * Rows of one of `TABLES` (item/tables.ts) as plain JSON, in the order of their keys, for a copy into another store; the
   * first page is after null, and `next` is null at the end. Every engine that can be copied gives the same rows for the
   * same store. Only where `can.copy` is true, as the next two.
   */
  readRows(table: string, page: { readonly after: Json; readonly limit: number }): Promise<RowPage>;
  /**
   * Takes rows of another store in, as they are; those that are there already are left alone. No event is written.
   * `copy_differs` when they point at rows that are not there.
   */
  writeRows(table: string, rows: readonly JsonObject[]): Promise<void>;
  /** Deletes every row of every table, for a copy that has to begin anew. Nobody else asks for it. */
  deleteRows(): Promise<void>;

  /**
   * Does for about so long what makes later answers quicker and may wait, if the store has any such work: no answer
   * depends on it. So many letters may be left (default 0). True when there are more.
   */
  catchUp(pace: { readonly forMs: number; readonly leaveMax?: number }): Promise<boolean>;
  /** Verifies integrity and every invariant. An empty list is a clean bill. */
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
