/**
 * The circuit breaker: an admission gate before a lease, so that an outage makes items wait instead of die. Pure
 * data in, pure data out, and plain JSON in between: closed → open → half open → closed.
 *
 * Every change of state starts a new generation. A ticket names the generation that admitted a request, so a
 * late result of a request from before is told apart from the result of a probe, and changes nothing.
 */
import type { BreakerPolicy } from "./policy.ts";

/** The whole state of a breaker, as plain JSON. */
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
      /** When the latest probe was let through: one that never reports keeps its place for the timeout, and no longer. */
      readonly probedAtMs: number;
    };

/** What a request became, as far as the breaker cares. `cancelled`: it says nothing about the other side. */
export type Report = "success" | "failure" | "cancelled";

/** The answer of `admit`: the state from now on, and whether this request may go. */
export type Admission =
  | { readonly state: Breaker; readonly admitted: true; readonly ticket: number }
  /** Half open, the way may be free sooner: as soon as a probe reports. */
  | { readonly state: Breaker; readonly admitted: false; readonly retryAtMs: number };

/** A closed breaker. */
export function breakerOf(policy: BreakerPolicy): Breaker {
  return { policy, generation: 0, gate: { kind: "closed", failures: 0 } };
}

/** Asks to let one request through. Every ticket that is given out should come back through `report`. */
export function admit(breaker: Breaker, nowMs: number): Admission {
  const { gate, generation } = breaker;
  if (gate.kind === "closed") return { state: breaker, admitted: true, ticket: generation };
  if (gate.kind === "half_open") return admitProbe(breaker, gate, nowMs);
  if (nowMs < gate.untilMs) return { state: breaker, admitted: false, retryAtMs: gate.untilMs };
  return admit(turn(breaker, { kind: "half_open", successes: 0, probesOut: 0, probedAtMs: nowMs }), nowMs);
}

/**
 * The places of probes that were not heard of for the timeout are free again, for their worker may be gone. The
 * generation stays: a probe that only took longer still says what it found out.
 */
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

/** Takes back a ticket with what became of the request. */
export function report(breaker: Breaker, ticket: number, result: Report, nowMs: number): Breaker {
  const { gate, generation } = breaker;
  if (ticket !== generation || gate.kind === "open") return breaker;
  return gate.kind === "closed"
    ? reportClosed(breaker, gate, result, nowMs)
    : reportProbe(breaker, gate, result, nowMs);
}

/** How long from now nobody is let through; 0 unless it is open. */
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
