/** The interface of `http.ts`, `mcp.ts` and `function.ts`; programs can add their own. A protocol sends once and never retries. */
import type { Json } from "../std/json.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import type { DeliverySpec } from "./target-settings.ts";

/** What a protocol gets for one attempt. */
export interface DeliveryCall {
  /** The idempotency key: the same in every attempt, so that the receiver recognises a repeat. */
  readonly key: string;
  /** Counts the attempts of this receipt, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt has to end; its outcome is ignored then. */
  readonly signal: AbortSignal;
  /** The current settings of the target. */
  readonly settings: DeliverySpec;
}

/** Whether the receiver answers. */
export interface Reachability {
  readonly isReachable: boolean;
  /** Why not, or what was answered. */
  readonly detail: string;
}

/** Sends receipts. Many deliveries may run at a time. */
export interface Protocol {
  /** Sends the receipt once. An exception is our fault: the receipt is sent again, and the attempt is not counted. */
  deliver(receipt: Json, call: DeliveryCall): Promise<DeliveryOutcome>;
  /** Checks whether the receiver answers, without any effect there. Default: it does. */
  probe?(settings: DeliverySpec, signal: AbortSignal): Promise<Reachability>;
  close?(): Promise<void>;
}

/** How receipts are sent. `function`: by code of the process that opens the target. */
export const DELIVERY_PROTOCOLS = ["http", "mcp", "function"] as const;
/** One of `DELIVERY_PROTOCOLS`. */
export type DeliveryProtocol = (typeof DELIVERY_PROTOCOLS)[number];
