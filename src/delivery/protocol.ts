/** The interface of http.ts, mcp.ts, function.ts and users' own protocols. A protocol sends once and never retries. */
import type { Json } from "../std/json.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import type { DeliverySpec } from "./target-settings.ts";

/** The parameters of one delivery attempt. */
export interface DeliveryCall {
  /** The idempotency key. It is the same in every attempt, so that the receiver can recognise duplicates. */
  readonly key: string;
  /** The number of this attempt, starting at 1. */
  readonly attempt: number;
  /** Aborted when the attempt must stop. After that, only the outcome `delivered` counts. */
  readonly signal: AbortSignal;
  /** The current settings of the target. */
  readonly settings: DeliverySpec;
}

/** Whether the receiver is reachable. */
export interface Reachability {
  readonly isReachable: boolean;
  /** Why the receiver is not reachable, or what it answered. */
  readonly detail: string;
}

/** Sends receipts. `deliver` is called concurrently. */
export interface Protocol {
  /** Sends the receipt once. If it throws, the receipt is sent again and the attempt does not count. */
  deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome>;
  /** Checks whether the receiver is reachable, without side effects. Default: it counts as reachable. */
  probe?(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability>;
  close?(): Promise<void>;
}

/** How receipts are sent. `function` calls a function of the process that opens the target. */
export const DELIVERY_PROTOCOLS = ["http", "mcp", "function"] as const;
/** One of `DELIVERY_PROTOCOLS`. */
export type DeliveryProtocol = (typeof DELIVERY_PROTOCOLS)[number];
