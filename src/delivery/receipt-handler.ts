/**
 * The built-in handler of a target's queue: sends one receipt through the protocol and returns the outcome. A target that
 * rejects our credentials is paused.
 */
import type { AttemptContext, Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import { isStoreError } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import { receiptCounts, receiptKeyOf } from "../item/receipt.ts";
import type { Outcome } from "../item/settlement.ts";
import type { DeliveryOutcome, NotDelivered } from "./outcome.ts";
import type { Protocol } from "./protocol.ts";
import type { DeliverySpec } from "./target-spec.ts";

export interface DeliveryPlan {
  readonly engine: Engine;
  readonly protocol: Protocol;
  /** As they are now. */
  readonly settings: () => Promise<DeliverySpec>;
  readonly now: () => number;
}

export function deliveryHandler(plan: DeliveryPlan): Handler {
  return async (item, attempt) => {
    const settings = await plan.settings();
    const { signal } = attempt;
    const startedAt = performance.now();
    const call = { key: receiptKeyOf(item), attempt: item.attempt, signal, settings };
    const tried = await plan.protocol.deliver(item.data, call).catch((error: unknown) => ({ error }));
    const durationMs = Math.round(performance.now() - startedAt);
    if ("error" in tried) return { kind: "released", why: jsonErrorOffset(tried.error, signal) };
    if (signal.aborted && tried.status !== "delivered")
      return { kind: "released", why: "the delivery was stopped" };
    return outcomeOf(tried, { plan, item, attempt, settings, durationMs });
  };
}

/** No try was made, as when the token cannot be read: that is for whoever runs this process to put right. */
function jsonErrorOffset(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "the delivery was stopped";
  return error instanceof Error ? error.message : String(error);
}

interface Tried {
  readonly plan: DeliveryPlan;
  readonly item: LeasedItem;
  readonly attempt: AttemptContext;
  readonly settings: DeliverySpec;
  readonly durationMs: number;
}

async function outcomeOf(tried: DeliveryOutcome, context: Tried): Promise<Outcome> {
  const counts = receiptCounts(tried.status, context.durationMs);
  if (tried.status === "delivered")
    return { kind: "succeeded", counts, ...(tried.isRepeat && { result: { already_done: true } }) };
  if (tried.status === "auth") {
    await pause(tried, context);
    return { kind: "released", why: tried.message, counts };
  }
  return failed(tried, context);
}

/**
 * Every receipt would meet the same refusal, so none is tried until somebody has put it right and resumed the target. When
 * the store cannot be written now, the next try will find out again.
 */
async function pause({ message }: NotDelivered, { plan, item }: Tried): Promise<void> {
  const reason = `${message} · put a good token in place, then resume the target`;
  try {
    await plan.engine.changeJob(item.queue, { pause: { author: "redrive", reason } });
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
}

function failed(tried: NotDelivered, { plan, item, attempt, settings, durationMs }: Tried): Outcome {
  const { errorType, errorClass, message, retryAfterMs } = tried;
  return {
    kind: "failed",
    failure: {
      attemptNumber: item.attempt,
      timestamp: plan.now(),
      errorType,
      errorClass,
      errorMessage: message,
      agentId: attempt.agentId,
      stepFailed: stepOf(settings),
      durationMs,
    },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    counts: receiptCounts(tried.status, durationMs),
  };
}

/** Without what comes after `?`, which may be a secret. */
function stepOf({ protocol, url, tool }: DeliverySpec): string {
  if (protocol === "function" || url === undefined) return "deliver";
  const { origin, pathname } = new URL(url);
  return protocol === "mcp" ? `tools/call ${tool} at ${origin}${pathname}` : `POST ${origin}${pathname}`;
}
