/**
 * The storage contract. One method is one step that must be atomic and durable before it resolves; the verbs are
 * those of an item's life. Delays and verdicts are computed above and passed in; an engine adds its own clock.
 * `engines/` holds the implementations, `test/conformance/` the one suite that all of them pass.
 *
 * Every failure that comes from the store itself is a `WorkError` whose code starts with `store_`; when one is
 * thrown, nothing of the call was written.
 */
import type { ErrorClass, ErrorTypeName } from "./item/error-type.ts";
import type { Event, EventType } from "./item/event.ts";
import type { Attempt, Item, Lease, LeasedItem, NewItem, Settlement } from "./item/item.ts";
import type { Job, JobStatus, NewJob } from "./item/job.ts";
import type { Letter } from "./item/letter.ts";
import type { ItemState } from "./item/state.ts";
import type { Json, JsonObject } from "./kit/json.ts";

/** A store. Every engine passes the one suite of this contract. */
export interface Engine {
  /** The URL it was opened with. */
  readonly url: string;
  readonly can: Capabilities;

  /** The store's clock, which times leases and due times. */
  now(): Promise<number>;

  // Jobs -----------------------------------------------------------------------------------------------------

  /** Makes a job and its queue, running. `job_changed` when the id or name is taken. Event: `job_started`. */
  createJob(job: NewJob): Promise<Job>;
  /** By id or name. */
  findJob(idOrName: string): Promise<Job | null>;
  /** Newest first. */
  listJobs(page: { readonly limit: number; readonly before?: number }): Promise<readonly Job[]>;
  /** Changes what is given and writes the event. `job_not_found` when there is no such job. */
  changeJob(id: string, change: JobChange): Promise<Job>;

  // Intake ---------------------------------------------------------------------------------------------------

  /** Adds the items that the queue does not have, ready and due now, in order. Event each: `item_queued`. */
  add(queue: string, items: readonly NewItem[]): Promise<AddReport>;

  // Lease, attempt, settle -----------------------------------------------------------------------------------

  /** Announces a holder of leases. It has to `beat` before `ttlMs` has passed. */
  enter(holder: NewHolder): Promise<Holder>;
  /** Puts off the expiry. False when the holder is not known any more: its leases are lost. */
  beat(holderId: string): Promise<boolean>;
  /** Takes the holder away. False, and nothing is changed, while it holds a lease. */
  leave(holderId: string): Promise<boolean>;
  listHolders(): Promise<readonly Holder[]>;
  /** What the holder holds, for the reaper to settle as lost. */
  listLeases(holderId: string): Promise<readonly LeasedItem[]>;
  /**
   * The heart of the runner, one durable step: settles what has ended, then leases up to `lease.max` due items,
   * each with a new attempt record that says `running`. A settlement whose lease is not held any more changes
   * nothing; it is answered in `stale`, and what a late worker said (outcome `succeeded` or `failed`) is kept as
   * evidence. The holder may be null when nothing is to be leased.
   */
  exchange(holderId: string | null, exchange: Exchange): Promise<Exchanged>;

  // Look -----------------------------------------------------------------------------------------------------

  /** How many items of the queue are in each state, and how many attempts were started. */
  count(queue: string): Promise<QueueCounts>;
  /** The items whose id is the given one or starts with it, at most `limit`; of one queue, or of all. */
  findItems(
    idOrPrefix: string,
    options: { readonly queue?: string; readonly limit: number },
  ): Promise<readonly Item[]>;
  /** What the done items of a queue left, oldest item first; those that left nothing have null. */
  listResults(
    queue: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly ItemResult[]>;
  /** Every attempt of an item, oldest first. */
  listAttempts(ref: number): Promise<readonly Attempt[]>;
  /** A page of letters, newest first, with the exact total of the query. */
  listLetters(query: LetterQuery): Promise<LetterPage>;
  /** The letter of an item; null when it has none. */
  readLetter(ref: number): Promise<Letter | null>;
  /** Groups of the letters that are there, largest first. Kept incrementally: reading them costs no scan. */
  listGroups(filter: { readonly queue?: string }): Promise<readonly LetterGroup[]>;
  /** Events after a cursor, oldest first. */
  listEvents(query: EventQuery): Promise<readonly Event[]>;

  // Redrive --------------------------------------------------------------------------------------------------

  /** Makes the record of a redrive. It selects the letters that are there now, and no later ones. */
  beginOperation(operation: NewOperation): Promise<Operation>;
  /**
   * Sends up to `max` more letters of the operation back to ready: attempts start anew, history stays. A letter that
   * is not eligible is refused unless the operation is forced, and stays dead. Counts both in the same step.
   */
  redrive(operationId: string, max: number): Promise<Operation>;
  findOperation(id: string): Promise<Operation | null>;
  /** Oldest first; of one queue or of all, those that have not ended (`open`), have (`open: false`), or both. */
  listOperations(filter: { readonly queue?: string; readonly open?: boolean }): Promise<readonly Operation[]>;
  /** Ends it when everything selected was sent and has come to an end; returns how it stands. */
  closeOperation(id: string): Promise<Operation>;

  // Keep -----------------------------------------------------------------------------------------------------

  /** Verifies integrity and every invariant. An empty list is a clean bill. */
  check(): Promise<readonly Problem[]>;
  info(): Promise<StoreInfo>;
  close(): Promise<void>;
}

/** What an engine can do beyond the contract. Code asks for these, never for an engine's name. */
export interface Capabilities {
  /** Several processes may open the same store. */
  readonly sharedByProcesses: boolean;
}

export interface JobChange {
  readonly status?: JobStatus;
  readonly intakeComplete?: boolean;
  readonly spec?: JsonObject;
  /** Replaces the progress of the phases. */
  readonly progress?: JsonObject;
  /** Sets the start of the run to now and clears the end. */
  readonly restarted?: boolean;
  readonly event?: { readonly type: EventType; readonly data?: JsonObject };
}

/** What became of a batch of items. */
export interface AddReport {
  readonly added: number;
  /** Already there with the same data. */
  readonly existing: number;
  /** Already there with other data; the stored data is kept. The ids, at most 10. */
  readonly changed: number;
  readonly changedIds: readonly string[];
}

export interface NewHolder {
  readonly id: string;
  /** The queue it works. */
  readonly queue: string;
  /** Names the machine (and its boot), so that a dead local process can be told at once. */
  readonly host: string;
  readonly pid: number;
  /** When the process started, in the system's own words; tells a reused pid apart. */
  readonly processStart: string;
  readonly ttlMs: number;
}

/** A holder as the store knows it. */
export interface Holder extends NewHolder {
  readonly expiresAt: number;
  /** By the store's clock, at the time of reading. */
  readonly expired: boolean;
}

/** What a runner hands in and asks for in one step. */
export interface Exchange {
  readonly settle: readonly Settlement[];
  readonly lease?: {
    readonly queue: string;
    readonly max: number;
    /** Lease only the items of this operation. */
    readonly operationId?: string;
  };
}

/** What it gets back. */
export interface Exchanged {
  readonly leased: readonly LeasedItem[];
  /** Leases that were not held any more. */
  readonly stale: readonly Lease[];
  /** The earliest due time of the items that are ready and not due, when fewer were leased than wanted; else null. */
  readonly nextDueAt: number | null;
  /** The store's clock at this step. */
  readonly now: number;
}

/** How many items are in each state. */
export type QueueCounts = { readonly [state in ItemState]: number } & {
  readonly total: number;
  /** Items that are letters: dead, or redriven and not yet done. */
  readonly letters: number;
  readonly attempts: number;
};

export interface ItemResult {
  /** A cursor: the item's number. */
  readonly ref: number;
  readonly itemId: string;
  readonly result: Json;
}

/** Everything that is given must hold (and), any of a list (or). */
export interface LetterFilter {
  readonly queue?: string;
  readonly itemIds?: readonly string[];
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly signature?: string;
  readonly eligible?: boolean;
  /** Buried this long ago or earlier, by the store's clock. */
  readonly olderThanMs?: number;
}

/** A filter and the page of it that is wanted. */
export interface LetterQuery extends LetterFilter {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

/** One page, the exact total of the query, and the cursor of the next page; null on the last. */
export interface LetterPage {
  readonly letters: readonly Letter[];
  readonly total: number;
  readonly next: string | null;
}

/** The letters of one queue that died of the same failure. */
export interface LetterGroup {
  readonly queue: string;
  readonly signature: string;
  readonly pattern: string;
  readonly errorType: ErrorTypeName;
  readonly errorClass: ErrorClass;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Which events are wanted. */
export interface EventQuery {
  readonly queue?: string;
  readonly types?: readonly EventType[];
  /** Only events with a higher id. */
  readonly after: number;
  readonly since?: number;
  readonly limit: number;
}

export interface NewOperation {
  readonly id: string;
  readonly kind: "redrive";
  /** The queue whose letters it redrives. */
  readonly queue: string;
  readonly filter: LetterFilter;
  /** Redrive letters that are not eligible too. */
  readonly force: boolean;
}

/** A redrive and its books. */
export interface Operation extends NewOperation {
  readonly createdAt: number;
  readonly endedAt?: number;
  /** selected = redriven + refused + the ones not yet looked at. */
  readonly selected: number;
  readonly redriven: number;
  readonly refused: number;
  /** redriven = succeeded + failed + the ones still at work. */
  readonly succeeded: number;
  readonly failed: number;
}

/** One thing that `check` found wrong. */
export interface Problem {
  /** Which rule is broken: the name of an invariant, or `integrity`. */
  readonly rule: string;
  readonly detail: string;
}

/** Where a store is and what is in it. */
export interface StoreInfo {
  readonly engine: string;
  readonly location: string;
  readonly schemaVersion: number;
  readonly bytes: number;
  readonly jobs: number;
  readonly items: number;
  readonly letters: number;
  readonly attempts: number;
  readonly events: number;
}
