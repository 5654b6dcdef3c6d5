/**
 * The circuit breaker admits requests before a lease, so that items wait for the end of an outage. Pure. Every change of
 * state starts a new generation; tickets name it, so that a late result is not mistaken for that of a probe.
 */
import type { BreakerPolicy } from "./policy.ts";

export interface Breaker {
  readonly policy: BreakerPolicy;
  readonly generation: number;
  readonly gate: Gate;
}

type Gate =
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly untilMs: number }
  | {
      readonly kind: "half_open";
      readonly successes: number;
      readonly probesOut: number;
      /** When the latest probe was admitted: a probe that never reports blocks others for the timeout only. */
      readonly probedAtMs: number;
    };

/** The result of a request. `cancelled` says nothing about the service. */
export type Report = "success" | "failure" | "cancelled";

export type Admission =
  | { readonly state: Breaker; readonly admitted: true; readonly ticket: number }
  /** When half open, a request may be admitted sooner, once a probe reports. */
  | { readonly state: Breaker; readonly admitted: false; readonly retryAtMs: number };

export function breakerOf(policy: BreakerPolicy): Breaker {
  return { policy, generation: 0, gate: { kind: "closed", failures: 0 } };
}

/** Asks to admit one request. Every ticket should be reported with `report`. */
export function admit(breaker: Breaker, nowMs: number): Admission {
  const { gate, generation } = breaker;
  if (gate.kind === "closed") return { state: breaker, admitted: true, ticket: generation };
  if (gate.kind === "half_open") return admitProbe(breaker, gate, nowMs);
  if (nowMs < gate.untilMs) return { state: breaker, admitted: false, retryAtMs: gate.untilMs };
  return admit(turn(breaker, { kind: "half_open", successes: 0, probesOut: 0, probedAtMs: nowMs }), nowMs);
}

/** Probes that do not report in time no longer block others. The generation stays, so that they still can. */
function admitProbe(breaker: Breaker, gate: HalfOpenGate, nowMs: number): Admission {
  const { policy, generation } = breaker;
  const freeAtMs = gate.probedAtMs + policy.timeoutMs;
  const probesOut = nowMs >= freeAtMs ? 0 : gate.probesOut;
  if (probesOut >= Math.max(1, policy.halfOpenRequests)) {
    return { state: breaker, admitted: false, retryAtMs: freeAtMs };
  }
  const state = { ...breaker, gate: { ...gate, probesOut: probesOut + 1, probedAtMs: nowMs } };
  return { state, admitted: true, ticket: generation };
}

export function report(breaker: Breaker, ticket: number, result: Report, nowMs: number): Breaker {
  const { gate, generation } = breaker;
  if (ticket !== generation || gate.kind === "open") return breaker;
  return gate.kind === "closed"
    ? reportClosed(breaker, gate, result, nowMs)
    : reportProbe(breaker, gate, result, nowMs);
}

/** How long the breaker stays open; 0 when it is not open. */
export function breakerWaitMs({ gate }: Breaker, nowMs: number): number {
  return gate.kind === "open" ? Math.max(0, gate.untilMs - nowMs) : 0;
}

type ClosedGate = Extract<Gate, { kind: "closed" }>;
type HalfOpenGate = Extract<Gate, { kind: "half_open" }>;

function reportClosed(breaker: Breaker, gate: ClosedGate, result: Report, nowMs: number): Breaker {
  if (result === "cancelled") return breaker;
  const failures = result === "failure" ? gate.failures + 1 : 0;
  if (failures >= Math.max(1, breaker.policy.failureThreshold)) return opened(breaker, nowMs);
  return failures === gate.failures ? breaker : { ...breaker, gate: { kind: "closed", failures } };
}

function reportProbe(breaker: Breaker, gate: HalfOpenGate, result: Report, nowMs: number): Breaker {
  if (result === "failure") return opened(breaker, nowMs);
  const successes = gate.successes + (result === "success" ? 1 : 0);
  if (successes >= Math.max(1, breaker.policy.successThreshold)) {
    return turn(breaker, { kind: "closed", failures: 0 });
  }
  return { ...breaker, gate: { ...gate, successes, probesOut: Math.max(0, gate.probesOut - 1) } };
}

function opened(breaker: Breaker, nowMs: number): Breaker {
  return turn(breaker, { kind: "open", untilMs: nowMs + breaker.policy.timeoutMs });
}

function turn(breaker: Breaker, gate: Gate): Breaker {
  return { ...breaker, generation: breaker.generation + 1, gate };
}
