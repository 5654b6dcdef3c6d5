import { expect, it } from "vitest";
import type { Outcome } from "../../src/item/outcome.ts";
import { Gate } from "../../src/runner/gate.ts";
import { failureOf } from "../support/settlements.ts";
import { policyOf } from "./run-kit.ts";

const breaker = { failureThreshold: 2, timeoutMs: 1000, successThreshold: 1, halfOpenRequests: 1 };
const failed: Outcome = { kind: "failed", failure: failureOf({ ref: 1, attempt: 1 }) };
const permanent: Outcome = {
  kind: "failed",
  failure: failureOf({ ref: 1, attempt: 1 }, { errorClass: "permanent" }),
};

it("without a breaker everything that is wanted is admitted", () => {
  expect(new Gate(policyOf()).ask(3, 0)).toEqual({ tickets: [0, 0, 0], againAt: null });
});

it("a parked queue admits nothing until the longest of the waits is over", () => {
  const gate = new Gate(policyOf());
  gate.judged({ kind: "park", delayMs: 500 }, 0);
  gate.judged({ kind: "park", delayMs: 300 }, 100);
  expect(gate.ask(2, 499)).toEqual({ tickets: [], againAt: 500 });
  expect(gate.ask(2, 500).tickets).toHaveLength(2);
});

it("an open breaker says when to ask again, and how long nobody is let through", () => {
  const gate = openGate();
  expect(gate.isBreakerOpen).toBe(true);
  expect(gate.ask(4, 10)).toEqual({ tickets: [], againAt: 1000 });
  expect(gate.waitMs(400)).toBe(600);
  expect(gate.ask(4, 1000).tickets).toHaveLength(1);
  expect(gate.waitMs(1000)).toBe(0);
});

it("while its probes are out, a half-open gate waits for them and not for a time", () => {
  const gate = openGate();
  const [probe] = gate.ask(4, 1000).tickets;
  expect(gate.ask(4, 1001)).toEqual({ tickets: [], againAt: null });
  gate.heard(probe ?? -1, { kind: "succeeded" }, 1002);
  expect(gate.ask(4, 1003).tickets).toHaveLength(4);
});

it.each<[string, Outcome | null]>([
  ["no item was found for", null],
  ["was released", { kind: "released", why: "stopped" }],
  ["failed by its own fault", permanent],
])("the place of a probe that %s is given back", (_why, outcome) => {
  const gate = openGate();
  const [probe = -1] = gate.ask(1, 1000).tickets;
  if (outcome === null) gate.unused(probe, 1001);
  else gate.heard(probe, outcome, 1001);
  expect(gate.isBreakerOpen).toBe(false);
  expect(gate.ask(3, 1200).tickets).toHaveLength(1);
});

it("an attempt from before the breaker opened does not pass for a probe", () => {
  const gate = new Gate(policyOf({ breaker }));
  const [first = -1, second = -1, late = -1] = gate.ask(3, 0).tickets;
  gate.heard(first, failed, 0);
  gate.heard(second, failed, 0);
  gate.ask(1, 1000);
  gate.heard(late, { kind: "succeeded" }, 1001);
  expect(gate.ask(1, 1002).tickets).toEqual([]);
});

it("retries, parks and releases are no ends and count for no threshold", () => {
  const gate = new Gate(policyOf({ maxFailures: 1, failureThreshold: 0.01 }));
  for (const kind of ["retry", "park"] as const) gate.judged({ kind, delayMs: 0 }, 0);
  gate.judged({ kind: "release" }, 0);
  for (let n = 0; n < 20; n += 1) gate.judged({ kind: "done" }, 0);
  expect(gate.stopReason).toBeNull();
  gate.judged({ kind: "bury", reason: "spent" }, 0);
  expect(gate.stopReason).toBe("1 item died, and max_failures is 1");
});

it("the first reason to stop is the one that is told", () => {
  const gate = new Gate(policyOf({ maxFailures: 1 }));
  gate.judged({ kind: "stop", reason: "attempts spent (1 of 1)" }, 0);
  gate.judged({ kind: "bury", reason: "spent" }, 0);
  expect(gate.stopReason).toBe("an item failed (attempts spent (1 of 1)), and on_item_failure is stop");
});

function openGate(): Gate {
  const gate = new Gate(policyOf({ breaker }));
  for (const ticket of gate.ask(2, 0).tickets) gate.heard(ticket, failed, 0);
  return gate;
}

const fault: Outcome = { kind: "released", why: "no process could be started (EMFILE)" };

it("attempts that could not be made pause the queue longer and longer, and stop the job in the end", () => {
  const gate = new Gate(policyOf({}));
  gate.heard(0, fault, 0);
  expect(gate.ask(1, 99)).toEqual({ tickets: [], againAt: 100 });
  expect(gate.ask(1, 100).tickets).toHaveLength(1);
  gate.heard(0, { kind: "succeeded" }, 100);
  let now = 200;
  for (let n = 0; n < 19; n += 1) {
    gate.heard(0, fault, now);
    now = gate.ask(1, now).againAt ?? now;
  }
  expect(gate.stopReason).toBeNull();
  gate.heard(0, fault, now);
  expect(gate.stopReason).toBe(
    "20 times in a row no attempt could be made: no process could be started (EMFILE)",
  );
});

it("one fault that takes many attempts with it is one fault", () => {
  const gate = new Gate(policyOf({}));
  for (let n = 0; n < 50; n += 1) gate.heard(0, fault, 0);
  expect(gate.stopReason).toBeNull();
  expect(gate.ask(1, 0)).toEqual({ tickets: [], againAt: 100 });
});
