/** One gate for many workers: they write it by compare-and-set, and whoever comes second decides again. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Exchange, Exchanged } from "../../src/engine.ts";
import type { JsonObject } from "../../src/kit/json.ts";
import type { BreakerPolicy } from "../../src/retry/policy.ts";
import { SharedGate } from "../../src/runner/shared-gate.ts";

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

  exchange({ seen, next, event }: NonNullable<Exchange["gate"]>): Exchanged["gate"] {
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
    (_, index) => new SharedGate({ queue: "q", author: `w${index}`, ...(policy && { policy }) }),
  );
  const sync = (gate: SharedGate) => {
    while (!gate.answered(keeper.exchange(gate.proposal())));
  };
  return { keeper, gates, sync };
}

it("while all is well nothing is written, and nobody is asked twice", () => {
  const { keeper, gates, sync } = workers(2);
  for (const gate of gates) {
    const { ticket } = gate.ask(5, 0);
    sync(gate);
    for (let n = 0; n < 5; n += 1) gate.report(ticket, "success", 1);
    sync(gate);
  }
  expect(keeper).toMatchObject({ gate: null, refused: 0 });
});

it("failures of several workers add up, also when they write at the same time, and the opening is told once", () => {
  const { keeper, gates, sync } = workers(3);
  const proposals = gates.map((gate) => {
    gate.report(gate.ask(1, 0).ticket, "failure", 0);
    return { gate, proposal: gate.proposal() };
  });
  const through = proposals.map(({ gate, proposal }) => gate.answered(keeper.exchange(proposal)));
  expect(through).toEqual([true, false, false]);
  for (const gate of gates) sync(gate);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { kind: "open", untilMs: 1000 } } });
  expect(keeper.events).toEqual(["breaker_opened"]);
});

it("two that write the same at the same moment are told apart: neither failure is lost", () => {
  const { keeper, gates, sync } = workers(2);
  const [one, other] = gates as [SharedGate, SharedGate];
  for (const gate of gates) gate.report(0, "failure", 0);
  const [first, second] = [one.proposal(), other.proposal()];
  expect(one.answered(keeper.exchange(first))).toBe(true);
  expect(other.answered(keeper.exchange(second))).toBe(false);
  sync(other);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures: 2 } } });
});

it("an answer that was lost on its way is known again by the next one", () => {
  const { keeper, gates } = workers(1);
  const [gate] = gates as [SharedGate];
  gate.report(0, "failure", 0);
  const proposal = gate.proposal();
  keeper.exchange(proposal);
  expect(gate.answered(keeper.exchange(proposal))).toBe(true);
  expect(gate.hasNews).toBe(false);
  expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures: 1 } } });
});

it("one worker's quota error parks the queue for all of them", () => {
  const { gates, keeper, sync } = workers(2, undefined);
  const [one, other] = gates as [SharedGate, SharedGate];
  one.park(5000);
  sync(one);
  const admitted = other.ask(4, 0);
  expect(admitted.count).toBe(4); // it has not heard of it yet, but the store has
  expect(other.answered(keeper.exchange(other.proposal()))).toBe(false);
  expect(other.ask(4, 0)).toMatchObject({ count: 0, againAt: 5000 });
});

it("of two that find the breaker half open, one gets the only probe", () => {
  const { keeper, gates, sync } = workers(2);
  const [one, other] = gates as [SharedGate, SharedGate];
  for (let n = 0; n < 3; n += 1) one.report(0, "failure", 0);
  for (const gate of gates) sync(gate);
  expect([one.ask(2, 1000).count, other.ask(2, 1000).count]).toEqual([1, 1]);
  expect(one.answered(keeper.exchange(one.proposal()))).toBe(true);
  expect(other.answered(keeper.exchange(other.proposal()))).toBe(false);
  expect(other.ask(2, 1000)).toMatchObject({ count: 0, againAt: 2000 });
});

it("pitfall 41: the probe of a worker that was killed is given to another one after the timeout", () => {
  const { gates, sync } = workers(2);
  const [one, other] = gates as [SharedGate, SharedGate];
  for (let n = 0; n < 3; n += 1) one.report(0, "failure", 0);
  sync(one);
  one.ask(1, 1000);
  sync(one); // and it is never heard of again
  sync(other);
  expect(other.ask(1, 1999).count).toBe(0);
  const { count, ticket } = other.ask(1, 2000);
  expect(count).toBe(1);
  sync(other);
  other.report(ticket, "success", 2001);
  sync(other);
  expect(other.breaker?.gate.kind).toBe("closed");
});

it("a restart goes on with what the store knows, under the policy of now", () => {
  const { keeper, gates, sync } = workers(1);
  const [gate] = gates as [SharedGate];
  for (let n = 0; n < 3; n += 1) gate.report(0, "failure", 0);
  sync(gate);
  const policy = { ...POLICY, halfOpenRequests: 2 };
  const next = new SharedGate({ queue: "q", author: "next", policy });
  expect(next.answered(keeper.exchange(next.proposal()))).toBe(false);
  expect(next.ask(5, 10)).toMatchObject({ count: 0, againAt: 1000 });
  expect(next.ask(5, 1000).count).toBe(2);
});

it("what an exchange that failed had admitted is taken back, and what it told is told again", () => {
  const { keeper, gates, sync } = workers(1);
  const [gate] = gates as [SharedGate];
  for (let n = 0; n < 3; n += 1) gate.report(0, "failure", 0);
  sync(gate);
  expect(gate.ask(1, 1000).count).toBe(1);
  gate.proposal();
  gate.withdraw();
  expect(gate.hasNews).toBe(false);
  expect(gate.ask(1, 1000).count).toBe(1);
  expect(keeper.events).toEqual(["breaker_opened"]);
});

it("a document that nobody can read is no reason to stop", () => {
  const gate = new SharedGate({ queue: "q", author: "w", policy: POLICY });
  gate.look({ version: 7, body: { breaker: "torn", parkedUntil: "soon" } });
  expect(gate.ask(2, 0).count).toBe(2);
});

it("however they interleave, workers that all fail open the breaker, and no count is lost", () => {
  const steps = fc.array(fc.nat(3), { minLength: 40, maxLength: 80 });
  fc.assert(
    fc.property(steps, (order) => {
      const { keeper, gates, sync } = workers(4, { ...POLICY, failureThreshold: 1000 });
      const open = new Map<number, ReturnType<SharedGate["proposal"]>>();
      let failures = 0;
      for (const worker of order) {
        const gate = gates[worker] as SharedGate;
        const waiting = open.get(worker);
        if (waiting !== undefined) {
          gate.answered(keeper.exchange(waiting));
          open.delete(worker);
          continue;
        }
        gate.report(0, "failure", 0);
        failures += 1;
        open.set(worker, gate.proposal());
      }
      for (const [worker, waiting] of open) gates[worker]?.answered(keeper.exchange(waiting));
      for (const gate of gates) sync(gate);
      expect(keeper.gate?.body).toMatchObject({ breaker: { gate: { failures } } });
    }),
  );
});
