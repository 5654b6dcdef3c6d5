/** The policy of a queue: how often to try, how long to wait, and what to do then. */

/** How long to wait before each retry. */
export type Backoff =
  | {
      readonly kind: "exponential";
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  | {
      readonly kind: "linear";
      readonly initialMs: number;
      readonly stepMs: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  | { readonly kind: "fixed"; readonly delayMs: number; readonly jitter: boolean }
  | {
      readonly kind: "fibonacci";
      readonly initialMs: number;
      readonly maxMs: number;
      readonly jitter: boolean;
    }
  /** The n-th retry waits the n-th delay; past the end, the last. */
  | { readonly kind: "list"; readonly delaysMs: readonly number[]; readonly jitter: boolean };

export const ITEM_FAILURE_ACTIONS = ["dlq", "retry", "skip", "stop", "custom"] as const;
/** When attempts are used up; `retry` does not wait until then, `custom` asks a handler. */
export type OnItemFailure = (typeof ITEM_FAILURE_ACTIONS)[number];

export const OUTAGE_ACTIONS = ["retry", "wait"] as const;
/** For the classes `throttled` and `outage`: `retry` counts the attempt, `wait` parks the queue and does not. */
export type OnOutage = (typeof OUTAGE_ACTIONS)[number];

/** How long `wait` waits through one outage, unless the policy gives another limit: a day. */
export const OUTAGE_MS_MAX = 86_400_000;

/** How long a failed agent step waits through throttling and overload, unless the policy names an action: an hour. */
export const AGENT_OUTAGE_MS_MAX = 3_600_000;

/** When the queue pauses because everything fails, and when it resumes. */
export interface BreakerPolicy {
  /** Consecutive failures that open it. Default 5. */
  readonly failureThreshold: number;
  /** How long it stays open before probes. Default 30 s. */
  readonly timeoutMs: number;
  /** Successful probes that close it. Default 3. */
  readonly successThreshold: number;
  /** Probes at a time while half open. Default 3. */
  readonly halfOpenRequests: number;
}

/** How often an item is tried, how long to wait in between, and what to do when it is out of retries. */
export interface Policy {
  /** Includes the first attempt. At least 1. */
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly onItemFailure: OnItemFailure;
  /** How often the worker of an item may vanish before the item is buried as WorkerLost. */
  readonly lossesMax: number;
  /** Stop the job when this many items died in this run. */
  readonly maxFailures?: number;
  /** Stop the job when this share of the finished items died, from 10 finished on. 0 to 1. */
  readonly failureThreshold?: number;
  /** False stops the job at the first dead item. */
  readonly continueOnFailure: boolean;
  readonly breaker?: BreakerPolicy;
  /** Default: `retry`; after a failed agent step `wait` for up to an hour. */
  readonly onOutage?: OnOutage;
  /** How long `wait` waits through one outage before attempts count again. Default: a day. */
  readonly outageMsMax?: number;
}

export const DEFAULT_BACKOFF: Backoff = {
  kind: "exponential",
  initialMs: 1000,
  factor: 2,
  maxMs: 30_000,
  jitter: true,
};

/** Opens after 5 failures in a row, probes after 30 s. */
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
