/**
 * The types of holders, and of the transaction in which a runner settles ended attempts and leases due items.
 */
import type { JsonObject } from "../std/json.ts";
import type { EventType } from "./event.ts";
import type { Lease, LeasedItem, Settlement } from "./item.ts";
import type { Rate } from "./rate.ts";

export interface NewHolder {
  readonly id: string;
  readonly queue: string;
  /** Identifies the machine and its boot, so that a dead process on this machine is detected immediately. */
  readonly host: string;
  readonly pid: number;
  /** The process start time as the operating system reports it, because pids are reused. */
  readonly processStart: string;
  readonly ttlMs: number;
}

/** A registered process that holds leases, with its state in the store. */
export interface Holder extends NewHolder {
  readonly expiresAt: number;
  /** Whether the holder had expired by the store's clock at the time of reading. */
  readonly expired: boolean;
}

/** The request for one step of a runner. */
export interface SettleAndLease {
  readonly settle: readonly Settlement[];
  readonly lease?: {
    readonly queue: string;
    readonly max: number;
    /** Leases only items of this operation, and only while it is open. */
    readonly operationId?: string;
    /** The rate limit shared by all workers of the queue. */
    readonly rate?: Rate;
  };
  /**
   * The queue's shared breaker. If its stored version is not `seen`, nothing is leased and `next` is not
   * written.
   */
  readonly gate?: {
    readonly queue: string;
    readonly seen: number;
    readonly next?: JsonObject;
    /** An event to write together with `next`. */
    readonly event?: { readonly type: EventType; readonly data?: JsonObject };
  };
}

/** The result of one step of a runner. */
export interface SettleAndLeaseResult {
  readonly leased: readonly LeasedItem[];
  /** Settled leases that the holder had already lost. */
  readonly stale: readonly Lease[];
  /**
   * When to poll again: the earliest due time, or when the rate limit allows the next item. Null if this is
   * unknown, if the queue is paused, or if the gate's version was not `seen`.
   */
  readonly nextDueAt: number | null;
  /** Nothing was leased because the queue is paused. */
  readonly isPaused: boolean;
  /** The gate after this step; null if the request has no gate or none is stored yet. */
  readonly gate: { readonly version: number; readonly body: JsonObject } | null;
  readonly now: number;
}
