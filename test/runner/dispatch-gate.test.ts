import { expect, it } from "vitest";
import type { Outcome } from "../../src/item/settlement.ts";
import type { Policy } from "../../src/retry/policy.ts";
import { DispatchGate } from "../../src/runner/dispatch-gate.ts";
import { failureOf } from "../support/settlements.ts";
import { policyOf } from "./run-kit.ts";

const breaker = { failureThreshold: 2, timeoutMs: 1000, successThreshold: 1, halfOpenRequests: 1 };
const failed: Outcome = { kind: "failed", failure: failureOf({ ref: 1, attempt: 1 }) };
const permanent: Outcome = {
  kind: "failed",
  failure: failureOf({ ref: 1, attempt: 1 }, { errorClass: "permanent" }),
};

it("without a breaker everything is admitted", () => {
  expect(gateOf().admit(3, 0)).toEqual({ count: 3, ticket: 0, retryAt: null });
});

it("a parked queue admits nothing until the longest wait is over", () => {
  const gate = gateOf();
  gate.recordVerdict({ kind: "park", delayMs: 500 }, 0);
  gate.recordVerdict({ kind: "park", delayMs: 300 }, 100);
  expect(gate.admit(2, 499)).toMatchObject({ count: 0, retryAt: 500 });
  expect(gate.admit(2, 500).count).toBe(2);
});

it("an open breaker returns when to ask again, and how long nobody is admitted", () => {
  const gate = openGate();
  expect(gate.admit(4, 10)).toMatchObject({ count: 0, retryAt: 1000 });
  expect(gate.shared.waitMs(400)).toBe(600);
  expect(gate.admit(4, 1000).count).toBe(1);
  expect(gate.shared.waitMs(1000)).toBe(0);
});

it("while its probes run, a half-open gate waits for them, but no longer than the timeout", () => {
  const gate = openGate();
  const { ticket } = gate.admit(4, 1000);
  expect(gate.admit(4, 1001)).toMatchObject({ count: 0, retryAt: 2000 });
  gate.recordOutcome(ticket, { kind: "succeeded" }, 1002);
  expect(gate.admit(4, 1003).count).toBe(4);
});

it.each<[string, Outcome | null]>([
  ["no item was found for", null],
  ["was released", { kind: "released", why: "stopped" }],
  ["failed by its own fault", permanent],
])("the place of a probe that %s is given back", (_why, outcome) => {
  const gate = openGate();
  const { ticket } = gate.admit(1, 1000);
  if (outcome === null) gate.returnTickets(ticket, 1001);
  else gate.recordOutcome(ticket, outcome, 1001);
  expect(gate.shared.breaker?.gate.kind).toBe("half_open");
  expect(gate.admit(3, 1200).count).toBe(1);
});

it("an attempt from before the breaker opened is not a probe", () => {
  const gate = gateOf({ breaker });
  const { ticket: early } = gate.admit(3, 0);
  gate.recordOutcome(early, failed, 0);
  gate.recordOutcome(early, failed, 0);
  gate.admit(1, 1000);
  gate.recordOutcome(early, { kind: "succeeded" }, 1001);
  expect(gate.admit(1, 1002).count).toBe(0);
});

it("retries, parks and releases are no final outcomes and count for no threshold", () => {
  const gate = gateOf({ maxFailures: 1, failureThreshold: 0.01 });
  for (const kind of ["retry", "park"] as const) gate.recordVerdict({ kind, delayMs: 0 }, 0);
  gate.recordVerdict({ kind: "release" }, 0);
  for (let n = 0; n < 20; n += 1) gate.recordVerdict({ kind: "done" }, 0);
  expect(gate.stopReason).toBeNull();
  gate.recordVerdict({ kind: "bury", reason: "spent" }, 0);
  expect(gate.stopReason).toBe("1 item died, and max_failures is 1");
});

it("the first reason to stop is reported", () => {
  const gate = gateOf({ maxFailures: 1 });
  gate.recordVerdict({ kind: "stop", reason: "out of retries (1 of 1 attempts used)" }, 0);
  gate.recordVerdict({ kind: "bury", reason: "spent" }, 0);
  expect(gate.stopReason).toBe(
    "an item failed (out of retries (1 of 1 attempts used)), and on_item_failure is stop",
  );
});

const fault: Outcome = { kind: "released", why: "no process could be started (EMFILE)" };

it("attempts that could not be made pause the queue longer and longer, and stop the job in the end", () => {
  const gate = gateOf();
  gate.recordOutcome(0, fault, 0);
  expect(gate.admit(1, 99)).toMatchObject({ count: 0, retryAt: 100 });
  expect(gate.admit(1, 100).count).toBe(1);
  gate.recordOutcome(0, { kind: "succeeded" }, 100);
  let now = 200;
  for (let n = 0; n < 19; n += 1) {
    gate.recordOutcome(0, fault, now);
    now = gate.admit(1, now).retryAt ?? now;
  }
  expect(gate.stopReason).toBeNull();
  gate.recordOutcome(0, fault, now);
  expect(gate.stopReason).toBe(
    "no attempt could be made 20 times in a row: no process could be started (EMFILE)",
  );
});

it("a worker without an end is paused by runner failures, and never ended", () => {
  const gate = new DispatchGate(policyOf(), { queue: "q", author: "w", ignoresFaults: true });
  let now = 0;
  for (let n = 0; n < 50; n += 1) {
    gate.recordOutcome(0, fault, now);
    now = gate.admit(1, now).retryAt ?? now;
  }
  expect(gate.stopReason).toBeNull();
  expect(now).toBeGreaterThan(50_000);
});

it("one failure that affects many attempts counts once", () => {
  const gate = gateOf();
  for (let n = 0; n < 50; n += 1) gate.recordOutcome(0, fault, 0);
  expect(gate.stopReason).toBeNull();
  expect(gate.admit(1, 0)).toMatchObject({ count: 0, retryAt: 100 });
});

function gateOf(change: Partial<Policy> = {}): DispatchGate {
  return new DispatchGate(policyOf(change), { queue: "q", author: "w" });
}

function openGate(): DispatchGate {
  const gate = gateOf({ breaker });
  const { ticket, count } = gate.admit(2, 0);
  for (let n = 0; n < count; n += 1) gate.recordOutcome(ticket, failed, 0);
  return gate;
}
