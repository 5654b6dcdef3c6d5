/** What does the work of one attempt. `perform` turns whatever a handler does, throws or returns into an `Outcome`. */
import { compact } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { classify } from "../retry/classify.ts";
import { describeThrown } from "../retry/thrown.ts";

/** What an attempt is told besides its item. */
export interface AttemptContext {
  /** Which of the runner's slots it runs in, from 1. */
  readonly slot: number;
  readonly agentId: string;
  /** Aborted when the runner stops or has lost its leases: end the work and answer `released`. */
  readonly signal: AbortSignal;
}

/** The work itself: one try of one item. What it throws is recorded as a failure. */
export type Handler = (item: LeasedItem, context: AttemptContext) => Promise<Outcome>;

/** Never throws: a handler's failure is a value. */
export async function perform(
  item: LeasedItem,
  handler: Handler,
  context: AttemptContext,
  now: () => number,
): Promise<Outcome> {
  const startedAt = now();
  try {
    return await handler(item, context);
  } catch (thrown) {
    const { stackTrace, context: trail, ...signs } = describeThrown(thrown);
    const { errorType, errorClass, message } = classify(signs);
    const timestamp = now();
    const failure = compact({
      attemptNumber: item.attempt,
      timestamp,
      errorType,
      errorClass,
      errorMessage: message,
      errorContext: trail,
      stackTrace,
      agentId: context.agentId,
      stepFailed: "handler",
      durationMs: timestamp - startedAt,
    });
    return { kind: "failed", failure };
  }
}
