/**
 * A circuit breaker that admits requests before a lease, so that items wait until an outage ends. Pure functions. Each state
 * change starts a new generation, which is the ticket of a request, so that late results do not count as probes.
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
      /** When the latest probe was admitted. A probe that never reports blocks others only until the timeout. */
      readonly probedAtMs: number;
    };

/** The result of a request. `cancelled` is neither a success nor a failure of the service. */
export type Report = "success" | "failure" | "cancelled";

export type Admission =
  | { readonly state: Breaker; readonly admitted: true; readonly ticket: number }
  /** In the half-open state, a request may be admitted earlier than `retryAtMs`, as soon as a probe reports. */
  | { readonly state: Breaker; readonly admitted: false; readonly retryAtMs: number };

export function breakerOf(policy: BreakerPolicy): Breaker {
  return { policy, generation: 0, gate: { kind: "closed", failures: 0 } };
}

/** Requests admission for one request. The caller should pass every ticket to `report`. */
export function admit(breaker: Breaker, nowMs: number): Admission {
  const { gate, generation } = breaker;
  if (gate.kind === "closed") return { state: breaker, admitted: true, ticket: generation };
  if (gate.kind === "half_open") return admitProbe(breaker, gate, nowMs);
  if (nowMs < gate.untilMs) return { state: breaker, admitted: false, retryAtMs: gate.untilMs };
  return admit(turn(breaker, { kind: "half_open", successes: 0, probesOut: 0, probedAtMs: nowMs }), nowMs);
}

/** Admits a probe. Probes that time out no longer block others but may still report, as the generation is unchanged. */
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

/** The remaining time until the breaker half-opens; 0 if it is not open. */
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
