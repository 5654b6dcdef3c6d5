/**
 * The one decision function: what happens to an item after an attempt. Every branch of an item's life is here, in
 * the order in which the rules hold; it is pure, and never sees the store, the clock or the item's data.
 */
import type { ErrorType } from "../item/error-type.ts";
import type { HandlerProblem, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Random } from "../kit/random.ts";
import { backoffMs, clampDelayMs } from "./backoff.ts";
import type { Policy } from "./policy.ts";

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
  /** What the policy's own handler said about this failure; `dlq` when it was not asked. */
  readonly answer?: HandlerAnswer;
}

/** What a handler of `on_item_failure: custom` can say. */
export type HandlerAnswer = "handled" | "retry" | "dlq";

/** What a handler decided, and how it failed if it did. */
export interface HandlerReport {
  readonly answer: HandlerAnswer;
  readonly problem?: HandlerProblem;
}

/** Whether the policy's own handler is to be asked: when the item would be given up otherwise. */
export function needsAnswer(life: Life, outcome: Outcome, policy: Policy): boolean {
  if (policy.onItemFailure !== "custom" || outcome.kind !== "failed") return false;
  return decide(life, outcome, policy, { random: () => 0 }).kind === "bury";
}

type Failed = Extract<Outcome, { kind: "failed" }>;

/** What is to happen with the item now. */
export function decide(life: Life, outcome: Outcome, policy: Policy, context: Context): Verdict {
  if (outcome.kind === "succeeded") return { kind: "done" };
  if (outcome.kind === "released") return { kind: "release" };
  if (outcome.kind === "lost") return decideLost(life, policy, context);

  const { errorClass, errorType } = outcome.failure;
  if (errorClass === "throttled" || errorClass === "outage") return park(life, outcome, policy, context);
  if (errorClass === "permanent") return giveUp(life, outcome, policy, context, permanentReason(errorType));
  if (context.breaker?.isOutage) return park(life, outcome, policy, context);
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

/** Parking is not counted, so nothing would stop an item that comes back at once from spinning. */
const PARK_MS_MIN = 1000;

function park(life: Life, outcome: Failed, policy: Policy, context: Context): Verdict {
  const delayMs = clampDelayMs(
    outcome.retryAfterMs ?? backoffMs(policy.backoff, life.spent + 1, context.random),
  );
  return { kind: "park", delayMs: notBefore(Math.max(PARK_MS_MIN, delayMs), context) };
}

function retry(life: Life, outcome: Failed, policy: Policy, context: Context): Verdict {
  const delayMs = clampDelayMs(outcome.retryAfterMs ?? policyDelayMs(life, policy, context));
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
