/** Decides what happens to an item after an attempt. Pure: no access to the store, the clock or the item's data. */
import type { ErrorTypeName } from "../item/error-type.ts";
import type { HandlerProblem, Verdict } from "../item/item.ts";
import type { ItemOptions } from "../item/item-options.ts";
import type { Outcome } from "../item/settlement.ts";
import type { Random } from "../std/random.ts";
import { backoffMs, clampDelayMs } from "./backoff.ts";
import { AGENT_OUTAGE_MS_MAX, OUTAGE_MS_MAX, type Policy } from "./policy.ts";

export interface ItemHistory extends Pick<ItemOptions, "retries" | "backoff"> {
  /** The attempts that count against the policy, without the current one. */
  readonly attemptsCounted: number;
  /** How often the item's worker was lost, without the current loss. */
  readonly lostCount: number;
}

export interface DecisionContext {
  readonly random: Random;
  readonly breaker?: {
    /** The remaining time until the breaker half-opens; an earlier retry would be useless. */
    readonly waitMs: number;
    /**
     * Whether the breaker was not closed when the attempt ended, so that the failure is attributed to the
     * outage and not to the item.
     */
    readonly isOutage?: boolean;
  };
  /** The outage that this failure belongs to. Default: an outage that begins now. */
  readonly outage?: OutageProgress;
  /** The decision of the custom handler. Default `dlq`. */
  readonly answer?: HandlerAnswer;
}

export interface OutageProgress {
  readonly waitedMs: number;
  /** How often the queue was parked during this outage, including the current time; starts at 1. */
  readonly round: number;
}

export type HandlerAnswer = "handled" | "retry" | "dlq";

export interface HandlerReport {
  readonly answer: HandlerAnswer;
  readonly problem?: HandlerProblem;
}

/** Whether to run the custom handler, because the item would be buried without it. */
export function needsAnswer(
  history: ItemHistory,
  outcome: Outcome,
  policy: Policy,
  context: Pick<DecisionContext, "outage"> = {},
): boolean {
  if (policy.onItemFailure !== "custom" || outcome.kind !== "failed") return false;
  return decide(history, outcome, policy, { ...context, random: () => 0 }).kind === "bury";
}

type Failed = Extract<Outcome, { kind: "failed" }>;

/** Decides what happens to an item: contains every rule about retries, parking and burying, in order. */
export function decide(
  history: ItemHistory,
  outcome: Outcome,
  queuePolicy: Policy,
  context: DecisionContext,
): Verdict {
  const policy = policyFor(history, queuePolicy);
  if (outcome.kind === "succeeded") return { kind: "done" };
  if (outcome.kind === "released") return { kind: "release" };
  if (outcome.kind === "lost") return decideLost(history, policy, context);

  const { errorClass, errorType } = outcome.failure;
  if (errorClass === "permanent")
    return giveUp(history, outcome, policy, context, permanentReason(errorType.name));
  const { onTimeout = "retry" } = policy;
  if (errorType.name === "Timeout" && onTimeout !== "retry")
    return { kind: onTimeout, reason: `over its time limit, and the policy says on_timeout: ${onTimeout}` };
  if (context.breaker?.isOutage || mayWait(outcome, policy, context)) return park(outcome, policy, context);
  const tries = history.attemptsCounted + 1;
  if (tries < policy.maxAttempts) return retry(history, outcome, policy, context);
  return giveUp(
    history,
    outcome,
    policy,
    context,
    `out of retries (${tries} of ${policy.maxAttempts} attempts used)`,
  );
}

function permanentReason(type: ErrorTypeName): string {
  return `permanent failure${type === "Unknown" ? "" : ` (${type})`}, not retried`;
}

/** Returns the queue's policy with the retries and the backoff that the item overrides. */
function policyFor({ retries, backoff }: ItemHistory, policy: Policy): Policy {
  if (retries === undefined && backoff === undefined) return policy;
  const maxAttempts = retries === undefined ? policy.maxAttempts : retries + 1;
  return { ...policy, maxAttempts, backoff: backoff ?? policy.backoff };
}

/**
 * Losing a worker does not count as an attempt, because the machine may be the cause. But an item that kills every worker
 * must not retry forever: it is buried regardless of `on_item_failure`.
 */
function decideLost(history: ItemHistory, policy: Policy, context: DecisionContext): Verdict {
  const losses = history.lostCount + 1;
  if (losses >= policy.lossesMax) {
    return { kind: "bury", reason: `the worker vanished ${losses === 1 ? "once" : `${losses} times`}` };
  }
  return { kind: "retry", delayMs: notBefore(backoffMs(policy.backoff, losses, context.random), context) };
}

/** Whether an outage of a required service can be the cause of the failure. */
export function isOutageFailure(outcome: Outcome): outcome is Failed {
  if (outcome.kind !== "failed") return false;
  const { errorClass } = outcome.failure;
  return errorClass === "throttled" || errorClass === "outage";
}

/** Whether the item waits for the service without counting an attempt. */
function mayWait(outcome: Failed, policy: Policy, { outage }: DecisionContext): boolean {
  const limitMs = waitLimitMs(outcome, policy);
  if (!isOutageFailure(outcome) || limitMs === null) return false;
  return isKnownReset(outcome) || (outage?.waitedMs ?? 0) < limitMs;
}

/** The maximum wait for an outage; null if failures during an outage count as attempts. */
function waitLimitMs({ isAgent }: Failed, { onOutage, outageMsMax }: Policy): number | null {
  if (onOutage === "wait") return outageMsMax ?? OUTAGE_MS_MAX;
  return onOutage === undefined && isAgent ? AGENT_OUTAGE_MS_MAX : null;
}

/** The minimum delay that counts as a usage limit; shorter delays are throttling. */
const RESET_MS_MIN = 60_000;

/** Whether an agent's usage limit is reset at a known time. No attempt can succeed before that. */
export function isKnownReset({ isAgent, retryAfterMs = 0 }: Failed): boolean {
  return isAgent === true && retryAfterMs >= RESET_MS_MIN;
}

/** Parking does not count attempts, so without a minimum delay an item could loop without pause. */
const PARK_MS_MIN = 1000;
/** The maximum delay of a parked item, unless the service requests a longer one. */
const PARK_MS_MAX = 60_000;

function park(outcome: Failed, policy: Policy, context: DecisionContext): Verdict {
  const { waitedMs = 0, round = 1 } = context.outage ?? {};
  const limitMs = waitLimitMs(outcome, policy);
  const leftMs = limitMs === null || isKnownReset(outcome) ? undefined : Math.max(0, limitMs - waitedMs);
  const delayMs =
    outcome.retryAfterMs === undefined
      ? Math.min(PARK_MS_MAX, backoffMs(policy.backoff, round, context.random))
      : clampDelayMs(outcome.retryAfterMs, leftMs);
  return { kind: "park", delayMs: notBefore(Math.max(PARK_MS_MIN, delayMs), context) };
}

/** The service may request a longer delay than the policy's, never a shorter one. */
function retry(history: ItemHistory, outcome: Failed, policy: Policy, context: DecisionContext): Verdict {
  const isAtOnce = policy.onItemFailure === "retry";
  const policyMs = isAtOnce ? 0 : backoffMs(policy.backoff, history.attemptsCounted + 1, context.random);
  const delayMs = Math.max(clampDelayMs(outcome.retryAfterMs ?? 0), policyMs);
  return { kind: "retry", delayMs: notBefore(delayMs, context) };
}

function notBefore(delayMs: number, { breaker }: DecisionContext): number {
  return Math.ceil(Math.max(delayMs, clampDelayMs(breaker?.waitMs ?? 0))); // the store uses whole milliseconds
}

/** Applies `on_item_failure` after the last attempt or a permanent failure. `retry` buries the item like `dlq`. */
function giveUp(
  history: ItemHistory,
  outcome: Failed,
  policy: Policy,
  context: DecisionContext,
  reason: string,
): Verdict {
  const action = policy.onItemFailure;
  if (action === "skip" || action === "stop") return { kind: action, reason };
  if (action === "custom" && context.answer === "handled")
    return { kind: "skip", reason: `handled: ${reason}` };
  if (action === "custom" && context.answer === "retry") return retry(history, outcome, policy, context);
  return { kind: "bury", reason };
}

/** The failure rate is ignored below this number of finished items. */
const FINISHED_MIN = 10;

/** Returns the reason why the job must stop, as a sentence for the user; null if it may continue. */
/** `finished` counts done, dead and skipped items of the run. */
export function shouldStop(
  policy: Policy,
  { finished, dead }: { readonly finished: number; readonly dead: number },
): string | null {
  if (dead < 1) return null;
  if (!policy.continueOnFailure)
    return "an item died, and the job stops at the first death (--fail-fast, continue_on_failure)";
  const { maxFailures, failureThreshold } = policy;
  if (maxFailures !== undefined && dead >= maxFailures) {
    return `${dead === 1 ? "1 item" : `${dead} items`} died, and max_failures is ${maxFailures}`;
  }
  if (failureThreshold !== undefined && finished >= FINISHED_MIN && dead / finished > failureThreshold) {
    return `${dead} of ${finished} finished items died, and failure_threshold is ${failureThreshold}`;
  }
  return null;
}
