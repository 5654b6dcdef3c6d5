/** One gate for many workers: they write it by compare-and-set, and whoever comes second decides again. */
import { expect, it } from "vitest";
import type { SettleAndLease, SettleAndLeaseResult } from "../../src/engine.ts";
import type { BreakerPolicy } from "../../src/retry/policy.ts";
import { SharedBreaker } from "../../src/runner/dispatch-gate.ts";
import type { JsonObject } from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";

const POLICY: BreakerPolicy = {
  failureThreshold: 3,
  timeoutMs: 1000,
  successThreshold: 1,
  halfOpenRequests: 1,
};

/** The store's part: it keeps the document, and writes only over the version that was seen. */
class Keeper {
  gate: { version: number; body: JsonObject } | null = null;
  readonly events: string[] = [];
  refused = 0;

  settleAndLease({ seen, next, event }: NonNullable<SettleAndLease["gate"]>): SettleAndLeaseResult["gate"] {
    if ((this.gate?.version ?? 0) !== seen) this.refused += 1;
    else if (next !== undefined) {
      this.gate = { version: seen + 1, body: JSON.parse(JSON.stringify(next)) as JsonObject };
      if (event) this.events.push(event.type);
    }
    return this.gate;
  }
}

function workers(count: number, policy: BreakerPolicy | undefined = POLICY) {
  const keeper = new Keeper();
  const gates = Array.from(
    { length: count },
    (_, index) => new SharedBreaker({ queue: "q", author: `w${index}`, ...(policy && { policy }) }),
  );
  const sync = (gate: SharedBreaker) => {
    while (!gate.answered(keeper.settleAndLease(gate.proposal())));
  };
  return { keeper, gates, sync };
}

it("while it is closed nothing is written, and nobody is asked twice", () => {
  const { keeper, gates, sync } = workers(2);
  for (const gate of gates) {
    const { ticket } = gate.admit(5, 0);
    sync(gate);
    for (let n = 0; n < 5; n += 1) gate.report(ticket, "success", 1);
    sync(gate);
  }
  expect(keeper).toMatchObject({ gate: null, refused: 0 });
});

it("failures of several workers add up, even if they write at the same time, and the opening is reported once", () => {
  const { keeper, gates, sync } = workers(3);
  const proposals = gates.map((gate) => {
    gate.report(gate.admit(1, 0).ticket, "failure", 0);
    return { gate, proposal: gate.proposal() };
  });
  const through = proposals.map(({ gate, proposal }) => gate.answered(keeper.settleAndLease(proposal)));
  expect(through).toEqual([true, false, false]);
  for (const gate of gates) sync(gate);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { kind: "open", untilMs: 1000 } } });
  expect(keeper.events).toEqual(["breaker_opened"]);
});

it("two equal writes at the same time are distinguished: neither failure is lost", () => {
  const { keeper, gates, sync } = workers(2);
  const [one, other] = gates as [SharedBreaker, SharedBreaker];
  for (const gate of gates) gate.report(0, "failure", 0);
  const [first, second] = [one.proposal(), other.proposal()];
  expect(one.answered(keeper.settleAndLease(first))).toBe(true);
  expect(other.answered(keeper.settleAndLease(second))).toBe(false);
  sync(other);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures: 2 } } });
});

it("a lost answer is recognised by the next write", () => {
  const { keeper, gates } = workers(1);
  const [gate] = gates as [SharedBreaker];
  gate.report(0, "failure", 0);
  const proposal = gate.proposal();
  keeper.settleAndLease(proposal);
  expect(gate.answered(keeper.settleAndLease(proposal))).toBe(true);
  expect(gate.hasChanges).toBe(false);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures: 1 } } });
});

it("one worker's quota error parks the queue for all of them", () => {
  const { gates, keeper, sync } = workers(2, undefined);
  const [one, other] = gates as [SharedBreaker, SharedBreaker];
  one.park(5000);
  sync(one);
  const admitted = other.admit(4, 0);
  expect(admitted.count).toBe(4); // it has not heard of it yet, but the store has
  expect(other.answered(keeper.settleAndLease(other.proposal()))).toBe(false);
  expect(other.admit(4, 0)).toMatchObject({ count: 0, retryAt: 5000 });
});

it("of two that find the breaker half open, one gets the only probe", () => {
  const { keeper, gates, sync } = workers(2);
  const [one, other] = gates as [SharedBreaker, SharedBreaker];
  for (let n = 0; n < 3; n += 1) one.report(0, "failure", 0);
  for (const gate of gates) sync(gate);
  expect([one.admit(2, 1000).count, other.admit(2, 1000).count]).toEqual([1, 1]);
  expect(one.answered(keeper.settleAndLease(one.proposal()))).toBe(true);
  expect(other.answered(keeper.settleAndLease(other.proposal()))).toBe(false);
  expect(other.admit(2, 1000)).toMatchObject({ count: 0, retryAt: 2000 });
});

it("pitfall 41: the probe of a killed worker is given to another one after the timeout", () => {
  const { gates, sync } = workers(2);
  const [one, other] = gates as [SharedBreaker, SharedBreaker];
  for (let n = 0; n < 3; n += 1) one.report(0, "failure", 0);
  sync(one);
  one.admit(1, 1000);
  sync(one); // and it is never heard of again
  sync(other);
  expect(other.admit(1, 1999).count).toBe(0);
  const { count, ticket } = other.admit(1, 2000);
  expect(count).toBe(1);
  sync(other);
  other.report(ticket, "success", 2001);
  sync(other);
  expect(other.breaker?.gate.kind).toBe("closed");
});

it("after a restart it continues with the state in the store, under the current policy", () => {
  const { keeper, gates, sync } = workers(1);
  const [gate] = gates as [SharedBreaker];
  for (let n = 0; n < 3; n += 1) gate.report(0, "failure", 0);
  sync(gate);
  const policy = { ...POLICY, halfOpenRequests: 2 };
  const next = new SharedBreaker({ queue: "q", author: "next", policy });
  expect(next.answered(keeper.settleAndLease(next.proposal()))).toBe(false);
  expect(next.admit(5, 10)).toMatchObject({ count: 0, retryAt: 1000 });
  expect(next.admit(5, 1000).count).toBe(2);
});

it("what a failed step had admitted is taken back, and its reports are repeated", () => {
  const { keeper, gates, sync } = workers(1);
  const [gate] = gates as [SharedBreaker];
  for (let n = 0; n < 3; n += 1) gate.report(0, "failure", 0);
  sync(gate);
  expect(gate.admit(1, 1000).count).toBe(1);
  gate.proposal();
  gate.withdraw();
  expect(gate.hasChanges).toBe(false);
  expect(gate.admit(1, 1000).count).toBe(1);
  expect(keeper.events).toEqual(["breaker_opened"]);
});

it("an unreadable document is no reason to stop", () => {
  const gate = new SharedBreaker({ queue: "q", author: "w", policy: POLICY });
  gate.load({ version: 7, body: { breaker: "torn", parkedUntil: "soon" } });
  expect(gate.admit(2, 0).count).toBe(2);
});

it("in any interleaving, workers that all fail open the breaker, and no count is lost", () => {
  const steps = fc.array(fc.nat(3), { minLength: 40, maxLength: 80 });
  fc.assert(
    fc.property(steps, (order) => {
      const { keeper, gates, sync } = workers(4, { ...POLICY, failureThreshold: 1000 });
      const open = new Map<number, ReturnType<SharedBreaker["proposal"]>>();
      let failures = 0;
      for (const worker of order) {
        const gate = gates[worker] as SharedBreaker;
        const waiting = open.get(worker);
        if (waiting !== undefined) {
          gate.answered(keeper.settleAndLease(waiting));
          open.delete(worker);
          continue;
        }
        gate.report(0, "failure", 0);
        failures += 1;
        open.set(worker, gate.proposal());
      }
      for (const [worker, waiting] of open) gates[worker]?.answered(keeper.settleAndLease(waiting));
      for (const gate of gates) sync(gate);
      expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures } } });
    }),
  );
});
