/** The policy of a queue: the number of attempts, the waits between them, and what to do when they are used up. */
import type { Backoff } from "../item/backoff.ts";

export type { Backoff } from "../item/backoff.ts";

export const ITEM_FAILURE_ACTIONS = ["dlq", "retry", "skip", "stop", "custom"] as const;
/** What to do when attempts are used up. `retry` skips the backoff before that; `custom` runs a handler. */
export type OnItemFailure = (typeof ITEM_FAILURE_ACTIONS)[number];

export const OUTAGE_ACTIONS = ["retry", "wait"] as const;
/** What to do for the classes `throttled` and `outage`: `retry` counts the attempt, `wait` parks the queue instead. */
export type OnOutage = (typeof OUTAGE_ACTIONS)[number];

export const TIMEOUT_ACTIONS = ["retry", "skip", "stop"] as const;
/**
 * What to do with an item that exceeds its time limit: `retry` counts it like any failure, the others give up
 * immediately.
 */
export type OnTimeout = (typeof TIMEOUT_ACTIONS)[number];

/** The default limit of `wait` for one outage: a day. */
export const OUTAGE_MS_MAX = 86_400_000;

/** How long a failed agent step waits for throttling and overload to end if the policy has no `onOutage`: an hour. */
export const AGENT_OUTAGE_MS_MAX = 3_600_000;

/** When the queue stops leasing because everything fails, and when it resumes. */
export interface BreakerPolicy {
  /** The number of consecutive failures that open the breaker. Default 5. */
  readonly failureThreshold: number;
  /** How long the breaker stays open before it admits probes. Default 30 s. */
  readonly timeoutMs: number;
  /** The number of successful probes that close the breaker. Default 3. */
  readonly successThreshold: number;
  /** The number of concurrent probes in the half-open state. Default 3. */
  readonly halfOpenRequests: number;
}

/** How often an item is tried, how long to wait between attempts, and what to do when it is out of retries. */
export interface Policy {
  /** The number of attempts including the first; at least 1. */
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly onItemFailure: OnItemFailure;
  /** How often the worker of an item may be lost before the item is buried as WorkerLost. */
  readonly lossesMax: number;
  /** Stops the job when this many items died in this run. */
  readonly maxFailures?: number;
  /** Stops the job when more than this share (0 to 1) of the finished items died, once 10 items have finished. */
  readonly failureThreshold?: number;
  /** False stops the job at the first dead item. */
  readonly continueOnFailure: boolean;
  readonly breaker?: BreakerPolicy;
  /** Default `retry`. */
  readonly onTimeout?: OnTimeout;
  /** Default: `retry`, but a failed agent step waits for up to an hour. */
  readonly onOutage?: OnOutage;
  /** How long `wait` waits for one outage before attempts count again. Default: a day. */
  readonly outageMsMax?: number;
}

export const DEFAULT_BACKOFF: Backoff = {
  kind: "exponential",
  initialMs: 1000,
  factor: 2,
  maxMs: 30_000,
  jitter: true,
};

/** Opens after 5 consecutive failures and probes after 30 s. */
export const DEFAULT_BREAKER: BreakerPolicy = {
  failureThreshold: 5,
  timeoutMs: 30_000,
  successThreshold: 3,
  halfOpenRequests: 3,
};

/** Three attempts with exponential backoff, then the dead letter queue. */
export const DEFAULT_POLICY: Policy = {
  maxAttempts: 3,
  backoff: DEFAULT_BACKOFF,
  onItemFailure: "dlq",
  lossesMax: 3,
  continueOnFailure: true,
};
