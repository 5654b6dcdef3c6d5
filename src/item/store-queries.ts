/**
 * Store queries that do not concern letters, and their results: counts, results, counters, documents, rows,
 * damage.
 */
import { assert } from "../std/assert.ts";
import type { Json, JsonObject } from "../std/json.ts";
import type { EventType } from "./event.ts";
import type { ItemState } from "./state.ts";

export interface ItemQuery {
  readonly queue: string;
  readonly states?: readonly ItemState[];
  /** Returns only items with these ids, by direct lookup. Default: all items. */
  readonly itemIds?: readonly string[];
  /** The `ref` of the last item on the previous page. Default 0. */
  readonly after?: number;
  readonly limit: number;
}

/** Selects events. */
export interface EventQuery {
  readonly queue?: string;
  readonly types?: readonly EventType[];
  /** Returns only events with a higher id. */
  readonly after: number;
  /** Returns only events up to this id. Default: all. */
  readonly through?: number;
  readonly since?: number;
  readonly limit: number;
}

/** Selects the events of one item at known times, such as the ends of its attempts. */
export interface ItemEventQuery {
  readonly queue: string;
  readonly itemId: string;
  readonly times: readonly number[];
}

/** How many items are in each state. */
export type QueueCounts = { readonly [state in ItemState]: number } & {
  readonly total: number;
  /** Items that are letters: dead, or redriven and not yet done. */
  readonly letters: number;
  /** Letters whose item is done and whose record still exists. */
  readonly resolved: number;
  /** `purged`: letters deleted by people or by retention; `evicted`: letters deleted because of a capacity limit. */
  readonly purged: number;
  readonly evicted: number;
  readonly attempts: number;
};

export interface ItemResult {
  /** The item's number, which is also the cursor for paging. */
  readonly ref: number;
  readonly itemId: string;
  readonly result: Json;
}

export interface Counter {
  readonly queue: string;
  readonly name: string;
  readonly value: number;
}

export interface SharedDocument {
  /** Starts at 1 and increases by one with every write. */
  readonly version: number;
  readonly body: Json;
}

/** A change that has no event type of its own, such as a new token or a changed queue setting. */
export interface RecordedChange {
  /** Default `redrive`; an engine with an author (store/authored-engine.ts) gives its own. */
  readonly author?: string;
  /** The action in the past tense, like the types of events, e.g. `token_created`. */
  readonly action: string;
  readonly queue?: string;
  readonly item_id?: string;
  /** Facts about the change, without secrets. */
  readonly details?: JsonObject;
}

export interface RowPage {
  readonly rows: readonly JsonObject[];
  /** The `after` value for the next page; null on the last page. */
  readonly next: Json | null;
}

/** A problem that `check` found. */
export interface Problem {
  /** The name of the violated invariant, or `integrity`. */
  readonly rule: string;
  readonly detail: string;
}

/** The location, version and size of a store. */
export interface StoreInfo {
  readonly engine: string;
  readonly location: string;
  readonly schemaVersion: number;
  /** The schema version before opening upgraded it; 0 if the store was created. */
  readonly foundVersion: number;
  readonly bytes: number;
  readonly jobs: number;
  readonly items: number;
  readonly letters: number;
  readonly attempts: number;
  readonly events: number;
}

export interface TableDamage {
  readonly table: string;
  readonly rows: number;
  /** The number of row ranges that could not be read. */
  readonly gaps: number;
}

/** A change that was made because other rows were lost. */
export interface Repair {
  readonly what: string;
  readonly rows: number;
}

/** The damage in a store file, and the rows that can be salvaged. */
export interface DamageReport {
  readonly problems: readonly Problem[];
  /** The state of each table; empty if nothing can be read. */
  readonly tables: readonly TableDamage[];
}

export interface SalvageReport {
  readonly tables: readonly TableDamage[];
  /** The number of lost items according to the queues' counters; undefined if the counters are lost too. */
  readonly lostItems: number | undefined;
  readonly repairs: readonly Repair[];
  readonly problems: readonly Problem[];
}

/**
 * The document that stores the difference between the store's clock and machine uptime. It is not copied with
 * a store.
 */
export const CLOCK_RECORD = "clock";

const GATES = "gate/";

/** The name of the document with the shared breaker of a queue. */
export function gateName(queue: string): string {
  return `${GATES}${queue}`;
}

/** Throws if the name belongs to a shared breaker, because breakers change only together with leases. */
export function assertFreeName(name: string): void {
  assert(!name.startsWith(GATES), `the gate ${name} is written by settleAndLease only`);
}
