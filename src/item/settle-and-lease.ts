/** The types of holders and of the one durable step of a runner, which settles ended attempts and leases due items. */
import type { JsonObject } from "../std/json.ts";
import type { EventType } from "./event.ts";
import type { Lease, LeasedItem, Settlement } from "./item.ts";
import type { Rate } from "./rate.ts";

export interface NewHolder {
  readonly id: string;
  readonly queue: string;
  /** The machine and its boot, so that a dead local process is detected at once. */
  readonly host: string;
  readonly pid: number;
  /** The start time of the process as the system reports it, because pids are reused. */
  readonly processStart: string;
  readonly ttlMs: number;
}

/** A registered process that holds leases, with its state in the store. */
export interface Holder extends NewHolder {
  readonly expiresAt: number;
  /** By the store's clock, at the time of reading. */
  readonly expired: boolean;
}

/** The request of one step. */
export interface SettleAndLease {
  readonly settle: readonly Settlement[];
  readonly lease?: {
    readonly queue: string;
    readonly max: number;
    /** Lease only the items of this operation, and only while it is open. */
    readonly operationId?: string;
    /** The rate of all workers of the queue together. */
    readonly rate?: Rate;
  };
  /** The queue's shared breaker. Nothing is leased or written as `next` unless the stored version is `seen`. */
  readonly gate?: {
    readonly queue: string;
    readonly seen: number;
    readonly next?: JsonObject;
    /** Written with `next`. */
    readonly event?: { readonly type: EventType; readonly data?: JsonObject };
  };
}

/** The result of one step. */
export interface SettleAndLeaseResult {
  readonly leased: readonly LeasedItem[];
  /** Leases that were no longer held. */
  readonly stale: readonly Lease[];
  /**
   * When to poll again: the earliest due time, or when the rate allows the next item. Null when that is
   * unknown, when the queue is paused, and when the version of the gate was not `seen`.
   */
  readonly nextDueAt: number | null;
  /** Nothing was leased because the queue is paused. */
  readonly isPaused: boolean;
  /** The document after this step; null when the request has no gate, or the document does not exist yet. */
  readonly gate: { readonly version: number; readonly body: JsonObject } | null;
  readonly now: number;
}
