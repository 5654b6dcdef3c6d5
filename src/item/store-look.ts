/** Questions to a store beyond letters, and the form of its answers: counts, results, counters, documents, rows. Nouns only. */
import type { Json, JsonObject } from "../kit/json.ts";
import type { EventType } from "./event.ts";
import type { ItemState } from "./state.ts";

export interface ItemQuery {
  readonly queue: string;
  readonly states?: readonly ItemState[];
  /** Only those of these ids, which are looked up and not walked past. Default: all. */
  readonly itemIds?: readonly string[];
  /** The `ref` of the last one of the page before. Default 0. */
  readonly after?: number;
  readonly limit: number;
}

/** Which events are wanted. */
export interface EventQuery {
  readonly queue?: string;
  readonly types?: readonly EventType[];
  /** Only events with a higher id. */
  readonly after: number;
  readonly since?: number;
  readonly limit: number;
  /** Only events of this item of the queue, up to this time; asked of a store that `can.findItemEvents`. */
  readonly itemId?: string;
  readonly until?: number;
}

/** How many items are in each state. */
export type QueueCounts = { readonly [state in ItemState]: number } & {
  readonly total: number;
  /** Items that are letters: dead, or redriven and not yet done. */
  readonly letters: number;
  /** Letters whose item was done in the end, and whose record is still there. */
  readonly resolved: number;
  /** Letters that a person or the retention rule deleted, and those that the capacity rule deleted; ever. */
  readonly purged: number;
  readonly evicted: number;
  readonly attempts: number;
};

export interface ItemResult {
  /** A cursor: the item's number. */
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
  /** Goes up by one with every writing, from 1. */
  readonly version: number;
  readonly body: Json;
}

export interface RowPage {
  readonly rows: readonly JsonObject[];
  /** The `after` of the next page. */
  readonly next: Json | null;
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
  /** The version that it had when it was opened; 0 when it was made then. Opening brings it to the newest. */
  readonly foundVersion: number;
  readonly bytes: number;
  readonly jobs: number;
  readonly items: number;
  readonly letters: number;
  readonly attempts: number;
  readonly events: number;
}
