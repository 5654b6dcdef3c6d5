/** Random backoffs, policies and failures for the property tests of the decisions. */
import type { ErrorClass, ErrorTypeName } from "../../src/item/error-type.ts";
import type { Failure } from "../../src/item/failure.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import {
  type Backoff,
  DEFAULT_POLICY,
  ITEM_FAILURE_ACTIONS,
  OUTAGE_ACTIONS,
  type Policy,
} from "../../src/retry/policy.ts";
import { fc } from "../support/properties.ts";

const ms = fc.oneof(
  fc.nat(1_000_000),
  fc.double(),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NaN, -1, 1e308),
);
const maxMs = fc.nat(10_000_000);
const jitter = fc.boolean();

/** Also those with numbers that make no sense, as a hand-edited policy may have. */
export const backoffs: fc.Arbitrary<Backoff> = fc.oneof(
  fc.record({ kind: fc.constant("exponential" as const), initialMs: ms, factor: ms, maxMs, jitter }),
  fc.record({ kind: fc.constant("linear" as const), initialMs: ms, stepMs: ms, maxMs, jitter }),
  fc.record({ kind: fc.constant("fixed" as const), delayMs: ms, jitter }),
  fc.record({ kind: fc.constant("fibonacci" as const), initialMs: ms, maxMs, jitter }),
  fc.record({ kind: fc.constant("list" as const), delaysMs: fc.array(ms, { maxLength: 5 }), jitter }),
);

export const policies: fc.Arbitrary<Policy> = fc
  .record({
    maxAttempts: fc.integer({ min: 1, max: 12 }),
    backoff: backoffs,
    onItemFailure: fc.constantFrom(...ITEM_FAILURE_ACTIONS),
    lossesMax: fc.integer({ min: 1, max: 6 }),
    onOutage: fc.constantFrom(...OUTAGE_ACTIONS),
  })
  .map((choice) => ({ ...DEFAULT_POLICY, ...choice }));

export function failure(errorClass: ErrorClass, name: ErrorTypeName = "CommandFailed"): Failure {
  return {
    attemptNumber: 1,
    timestamp: 0,
    errorType: { name },
    errorClass,
    errorMessage: "it failed",
    agentId: "agent-1",
    stepFailed: "shell: false",
    durationMs: 1,
  };
}

export function failed(errorClass: ErrorClass, retryAfterMs?: number): Outcome {
  const base = { kind: "failed", failure: failure(errorClass) } as const;
  return retryAfterMs === undefined ? base : { ...base, retryAfterMs };
}

export const lost: Outcome = { kind: "lost", failure: failure("unknown", "WorkerLost") };

export const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ kind: "succeeded" }),
  fc.constant<Outcome>({ kind: "released", why: "shutdown" }),
  fc.constant(lost),
  fc
    .tuple(
      fc.constantFrom<ErrorClass>("transient", "throttled", "outage", "permanent", "unknown"),
      fc.option(ms, { nil: undefined }),
    )
    .map(([errorClass, retryAfterMs]) => failed(errorClass, retryAfterMs)),
);
