/** What a runner and the store hand each other: holders, and the one step that settles and leases. Nouns only. */
import type { JsonObject } from "../kit/json.ts";
import type { EventType } from "./event.ts";
import type { Lease, LeasedItem, Settlement } from "./item.ts";
import type { Rate } from "./rate.ts";

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
    /** Lease only the items of this operation, and only while it is open. */
    readonly operationId?: string;
    /** What all workers of the queue together may lease. */
    readonly rate?: Rate;
  };
  /**
   * The queue's gate: a document that all its workers share, by which they decide whether to lease. Nothing is leased, and
   * nothing written of `next`, unless the store's version is `seen`; what is settled is settled in any case.
   */
  readonly gate?: {
    readonly queue: string;
    readonly seen: number;
    readonly next?: JsonObject;
    /** Written with `next`. */
    readonly event?: { readonly type: EventType; readonly data?: JsonObject };
  };
}

/** What it gets back. */
export interface Exchanged {
  readonly leased: readonly LeasedItem[];
  /** Leases that were not held any more. */
  readonly stale: readonly Lease[];
  /**
   * When to ask again, when fewer were leased than wanted: the earliest due time of the items that are ready and not due
   * (of a lane only of the one whose turn it is), or, when another one is due, when the rate allows it. Null when nothing is
   * known of, when the queue is paused, and when the gate was not the one that was seen.
   */
  readonly nextDueAt: number | null;
  /** Nothing was leased because the queue is paused. */
  readonly isPaused: boolean;
  /** The gate as it is after this step; null when the exchange named none, or nobody has written it yet. */
  readonly gate: { readonly version: number; readonly body: JsonObject } | null;
  /** The store's clock at this step. */
  readonly now: number;
}
