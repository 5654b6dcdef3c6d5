/** Queries to a store beyond letters, and their results: counts, results, counters, documents, rows, damage. */
import { assert } from "../std/assert.ts";
import type { Json, JsonObject } from "../std/json.ts";
import type { EventType } from "./event.ts";
import type { ItemState } from "./state.ts";

export interface ItemQuery {
  readonly queue: string;
  readonly states?: readonly ItemState[];
  /** Only these ids, which are looked up directly. Default: all. */
  readonly itemIds?: readonly string[];
  /** The `ref` of the last one of the page before. Default 0. */
  readonly after?: number;
  readonly limit: number;
}

/** Which events to read. */
export interface EventQuery {
  readonly queue?: string;
  readonly types?: readonly EventType[];
  /** Only events with a higher id. */
  readonly after: number;
  readonly since?: number;
  readonly limit: number;
  /** Only events of this item up to this time; for stores with `can.findItemEvents`. */
  readonly itemId?: string;
  readonly until?: number;
}

/** How many items are in each state. */
export type QueueCounts = { readonly [state in ItemState]: number } & {
  readonly total: number;
  /** Items that are letters: dead, or redriven and not yet done. */
  readonly letters: number;
  /** Letters whose item is done and whose record is kept. */
  readonly resolved: number;
  /** Letters that a person or the retention rule ever deleted, and those that the capacity rule deleted. */
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
  /** Increases by one with every write, from 1. */
  readonly version: number;
  readonly body: Json;
}

export interface RowPage {
  readonly rows: readonly JsonObject[];
  /** The `after` of the next page. */
  readonly next: Json | null;
}

/** A problem that `check` found. */
export interface Problem {
  /** The name of the violated invariant, or `integrity`. */
  readonly rule: string;
  readonly detail: string;
}

/** Where a store is and what is in it. */
export interface StoreInfo {
  readonly engine: string;
  readonly location: string;
  readonly schemaVersion: number;
  /** The version before opening, which upgrades it; 0 when the store was created. */
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
  /** Ranges of rows that could not be read. */
  readonly gaps: number;
}

/** A change that became necessary because something else was lost. */
export interface Repair {
  readonly what: string;
  readonly rows: number;
}

/** The damage of a file, and what can be salvaged. */
export interface DamageReport {
  readonly problems: readonly Problem[];
  /** Empty when nothing can be read. */
  readonly tables: readonly TableDamage[];
}

export interface SalvageReport {
  readonly tables: readonly TableDamage[];
  /** Items that could not be salvaged, by the counters of the queues. Undefined when the counters are lost too. */
  readonly lostItems: number | undefined;
  readonly repairs: readonly Repair[];
  readonly problems: readonly Problem[];
}

/** The document that records how far the store's clock is ahead of the uptime of machines. It is about a store, not of it. */
export const CLOCK_RECORD = "clock";

const GATES = "gate/";

/** The name of the document with the shared breaker of a queue. */
export function gateName(queue: string): string {
  return `${GATES}${queue}`;
}

/** Shared breakers change only together with leases. */
export function assertFreeName(name: string): void {
  assert(!name.startsWith(GATES), `the gate ${name} is written by settleAndLease only`);
}
