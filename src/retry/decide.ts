/**
 * The one decision function: what happens to an item after an attempt. Every branch of an item's life is here, in
 * the order in which the rules hold; it is pure, and never sees the store, the clock or the item's data.
 */
import type { ErrorType } from "../item/error-type.ts";
import type { HandlerProblem, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Random } from "../kit/random.ts";
import { backoffMs, clampDelayMs } from "./backoff.ts";
import { AGENT_OUTAGE_MS_MAX, OUTAGE_MS_MAX, type Policy } from "./policy.ts";

/** What the decision needs to know of the item, as it was before this attempt. */
export interface Life {
  /** Attempts that count against the policy, this one not among them. */
  readonly spent: number;
  /** How often the worker vanished under it, this time not among them. */
  readonly losses: number;
}

/** What the decision needs to know of the world. */
export interface Context {
  readonly random: Random;
  readonly breaker?: {
    /** Nobody is let through for this long, so coming back sooner is of no use. */
    readonly waitMs: number;
    /** It was not closed when the attempt ended: the failure is taken for the outage's, not for the item's. */
    readonly isOutage?: boolean;
  };
  /** How far the outage has come that this failure belongs to. Default: it begins now. */
  readonly outage?: OutageSoFar;
  /** What the policy's own handler said about this failure; `dlq` when it was not asked. */
  readonly answer?: HandlerAnswer;
}

/** What is known of an outage when one more attempt fails because of it. */
export interface OutageSoFar {
  /** How long it has been waited for. */
  readonly waitedMs: number;
  /** How often the queue was parked because of it, this time included. From 1. */
  readonly round: number;
}

/** What a handler of `on_item_failure: custom` can say. */
export type HandlerAnswer = "handled" | "retry" | "dlq";

/** What a handler decided, and how it failed if it did. */
export interface HandlerReport {
  readonly answer: HandlerAnswer;
  readonly problem?: HandlerProblem;
}

/** Whether the policy's own handler is to be asked: when the item would be given up otherwise. */
export function needsAnswer(
  life: Life,
  outcome: Outcome,
  policy: Policy,
  context: Pick<Context, "outage"> = {},
): boolean {
  if (policy.onItemFailure !== "custom" || outcome.kind !== "failed") return false;
  return decide(life, outcome, policy, { ...context, random: () => 0 }).kind === "bury";
}

type Failed = Extract<Outcome, { kind: "failed" }>;

/** What is to happen with the item now. */
export function decide(life: Life, outcome: Outcome, policy: Policy, context: Context): Verdict {
  if (outcome.kind === "succeeded") return { kind: "done" };
  if (outcome.kind === "released") return { kind: "release" };
  if (outcome.kind === "lost") return decideLost(life, policy, context);

  const { errorClass, errorType } = outcome.failure;
  if (errorClass === "permanent") return giveUp(life, outcome, policy, context, permanentReason(errorType));
  if (context.breaker?.isOutage || mayWait(outcome, policy, context)) return park(outcome, policy, context);
  const tries = life.spent + 1;
  if (tries < policy.maxAttempts) return retry(life, outcome, policy, context);
  return giveUp(life, outcome, policy, context, `attempts spent (${tries} of ${policy.maxAttempts})`);
}

/**
 * A vanished worker does not spend an attempt, for it may be the machine's fault. But an item that kills its
 * worker every time has to come to an end: it is kept as a letter, whatever the policy does with failures.
 */
function decideLost(life: Life, policy: Policy, context: Context): Verdict {
  const losses = life.losses + 1;
  if (losses >= policy.lossesMax) {
    return { kind: "bury", reason: `the worker vanished ${losses === 1 ? "once" : `${losses} times`}` };
  }
  return { kind: "retry", delayMs: notBefore(backoffMs(policy.backoff, losses, context.random), context) };
}

/** Whether a failure can be one of an outage of the service that the work needs. */
export function isOutageFailure(outcome: Outcome): outcome is Failed {
  if (outcome.kind !== "failed") return false;
  const { errorClass } = outcome.failure;
  return errorClass === "throttled" || errorClass === "outage";
}

/** Whether the item waits for the service without spending an attempt. */
function mayWait(outcome: Failed, policy: Policy, { outage }: Context): boolean {
  const limitMs = waitLimitMs(outcome, policy);
  if (!isOutageFailure(outcome) || limitMs === null) return false;
  return isKnownReset(outcome) || (outage?.waitedMs ?? 0) < limitMs;
}

/** How long an outage is waited for; null when its failures count. */
function waitLimitMs({ isAgent }: Failed, { onOutage, outageMsMax }: Policy): number | null {
  if (onOutage === "wait") return outageMsMax ?? OUTAGE_MS_MAX;
  return onOutage === undefined && isAgent ? AGENT_OUTAGE_MS_MAX : null;
}

/** Sooner than that it is throttling, which ends by itself within the limit or not at all. */
const RESET_MS_MIN = 60_000;

/** The usage limit of an agent's account ends at a known time: until then no attempt can succeed. */
export function isKnownReset({ isAgent, retryAfterMs = 0 }: Failed): boolean {
  return isAgent === true && retryAfterMs >= RESET_MS_MIN;
}

/** Parking is not counted, so nothing would stop an item that comes back at once from spinning. */
const PARK_MS_MIN = 1000;
/** An outage that is over is noticed within this time. */
const PARK_MS_MAX = 60_000;

function park(outcome: Failed, policy: Policy, context: Context): Verdict {
  const { waitedMs = 0, round = 1 } = context.outage ?? {};
  const limitMs = waitLimitMs(outcome, policy);
  const leftMs = limitMs === null || isKnownReset(outcome) ? undefined : Math.max(0, limitMs - waitedMs);
  const delayMs =
    outcome.retryAfterMs === undefined
      ? Math.min(PARK_MS_MAX, backoffMs(policy.backoff, round, context.random))
      : clampDelayMs(outcome.retryAfterMs, leftMs);
  return { kind: "park", delayMs: notBefore(Math.max(PARK_MS_MIN, delayMs), context) };
}

/** The other side may ask for a longer wait, never for a shorter one. */
function retry(life: Life, outcome: Failed, policy: Policy, context: Context): Verdict {
  const delayMs = Math.max(clampDelayMs(outcome.retryAfterMs ?? 0), policyDelayMs(life, policy, context));
  return { kind: "retry", delayMs: notBefore(delayMs, context) };
}

function policyDelayMs(life: Life, policy: Policy, context: Context): number {
  return policy.onItemFailure === "retry" ? 0 : backoffMs(policy.backoff, life.spent + 1, context.random);
}

function notBefore(delayMs: number, { breaker }: Context): number {
  return Math.ceil(Math.max(delayMs, clampDelayMs(breaker?.waitMs ?? 0))); // the store counts whole milliseconds
}

/** The policy's last word. `retry` has tried by now, and ends as a letter like `dlq`. */
function giveUp(life: Life, outcome: Failed, policy: Policy, context: Context, reason: string): Verdict {
  const action = policy.onItemFailure;
  if (action === "skip" || action === "stop") return { kind: action, reason };
  if (action === "custom" && context.answer === "handled")
    return { kind: "skip", reason: `handled: ${reason}` };
  if (action === "custom" && context.answer === "retry") return retry(life, outcome, policy, context);
  return { kind: "bury", reason };
}

function permanentReason(type: ErrorType): string {
  return `permanent: ${type.name}`;
}
