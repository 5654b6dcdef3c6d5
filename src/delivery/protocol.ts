/**
 * The protocol interface of deliveries: `http.ts`, `mcp.ts` and `function.ts` implement it, and programs can add their own.
 * A protocol sends once and returns the outcome; retries happen elsewhere.
 */
import type { Json } from "../std/json.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import type { DeliverySpec } from "./target-settings.ts";

/** How receipts are sent. `function`: by code of the process that opens the target. */
export const DELIVERY_PROTOCOLS = ["http", "mcp", "function"] as const;
/** One of `DELIVERY_PROTOCOLS`. */
export type DeliveryProtocol = (typeof DELIVERY_PROTOCOLS)[number];

/** What a protocol gets for one attempt. */
export interface DeliveryCall {
  /** Goes along with the receipt: the same receipt has the same key in every try, so that the other side knows it again. */
  readonly key: string;
  /** Counts the tries of this receipt, from 1. */
  readonly attempt: number;
  /** Aborted when the try has to end: what it answers then is not heard. */
  readonly signal: AbortSignal;
  /** The target's settings, as they are now. */
  readonly settings: DeliverySpec;
}

/** Whether there is anybody on the other side. */
export interface Reachability {
  readonly isReachable: boolean;
  /** Why not, or what was answered. */
  readonly detail: string;
}

/** A way to the other side. It may be asked for many deliveries at a time. */
export interface Protocol {
  /** Sends the receipt once. What it throws is a fault of ours: the receipt is tried again, and no attempt is spent. */
  deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome>;
  /** Asks whether a delivery makes sense, without sending anything that has an effect. Default: yes, it does. */
  probe?(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability>;
  /** Lets go of what it holds. */
  close?(): Promise<void>;
}
