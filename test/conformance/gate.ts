/** The contract of breakers: a document shared by the workers of a queue, written only in the transaction of a lease. */
import { expect } from "vitest";
import type { SettleAndLease } from "../../src/engine.ts";
import { AssertionError } from "../../src/std/assert.ts";
import { succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

type Gate = Omit<NonNullable<SettleAndLease["gate"]>, "queue">;

const OPEN = { breaker: { state: "open" }, parkedUntil: 0 } as const;
const CLOSED = { breaker: { state: "closed" }, parkedUntil: 7 } as const;

const pass = (bench: Workbench, gate: Gate, max = 5) =>
  bench.engine.settleAndLease("holder-1", {
    settle: [],
    lease: { queue: QUEUE, max },
    gate: { queue: QUEUE, ...gate },
  });

export function gateTests(test: Declare): void {
  test("a gate that was never written has version 0 and admits callers with that version", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    expect(await pass(bench, { seen: 0 })).toMatchObject({ gate: null, leased: [{ itemId: "a" }] });
  });

  test("the next step reads the gate that a step wrote, with its version", async (bench) => {
    await bench.registerHolder();
    expect((await pass(bench, { seen: 0, next: OPEN })).gate).toEqual({ version: 1, body: OPEN });
    expect((await pass(bench, { seen: 1, next: CLOSED })).gate).toEqual({ version: 2, body: CLOSED });
    expect((await pass(bench, { seen: 2 })).gate).toEqual({ version: 2, body: CLOSED });
    expect(await bench.engine.readDocument(`gate/${QUEUE}`)).toEqual({ version: 2, body: CLOSED });
  });

  test("a caller with another version leases and writes nothing, and receives the current gate", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await pass(bench, { seen: 0, next: OPEN }, 0);
    for (const seen of [0, 2]) {
      const answer = await pass(bench, {
        ...{ seen, next: CLOSED, event: { type: "breaker_closed" } },
      });
      expect(answer).toMatchObject({ leased: [], nextDueAt: null, gate: { version: 1, body: OPEN } });
    }
    expect(await bench.told("breaker_closed")).toEqual([]);
    expect((await bench.item("a")).state).toBe("ready");
    expect(await pass(bench, { seen: 1 })).toMatchObject({ leased: [{ itemId: "a" }] });
  });

  test("settlements count, whatever version of the gate the caller has", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    const gate = { queue: QUEUE, seen: 9, next: OPEN };
    const answer = await bench.engine.settleAndLease(null, { settle: [succeeded(lease)], gate });
    expect(answer).toMatchObject({ stale: [], gate: null });
    expect((await bench.item("a")).state).toBe("done");
  });

  test("a step that leases nothing can write the gate and its event", async (bench) => {
    const event = { type: "breaker_opened", data: { failures: 5 } } as const;
    const gate = { queue: QUEUE, seen: 0, next: OPEN, event };
    expect((await bench.engine.settleAndLease(null, { settle: [], gate })).gate?.version).toBe(1);
    await bench.engine.settleAndLease(null, { settle: [], gate: { queue: QUEUE, seen: 1, event } });
    expect(await bench.told("breaker_opened")).toMatchObject([{ queue: QUEUE, data: { failures: 5 } }]);
  });

  test("each queue has its own gate, and an unknown queue has none", async (bench) => {
    await bench.job("job-2");
    await bench.engine.settleAndLease(null, { settle: [], gate: { queue: QUEUE, seen: 0, next: OPEN } });
    const other = await bench.engine.settleAndLease(null, { settle: [], gate: { queue: "job-2", seen: 0 } });
    expect(other.gate).toBeNull();
    const lost = bench.engine.settleAndLease(null, { settle: [], gate: { queue: "job-9", seen: 0 } });
    await expect(lost).rejects.toMatchObject({ code: "job_not_found" });
  });

  test("a gate does not open a paused queue", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.engine.changeJob(QUEUE, { pause: { author: "ada", reason: "r" } });
    const answer = await pass(bench, { seen: 0, next: CLOSED });
    expect(answer).toMatchObject({ leased: [], isPaused: true, gate: { version: 1, body: CLOSED } });
  });

  test("a gate cannot be written as a document", async ({ engine }) => {
    const write = engine.writeDocument(`gate/${QUEUE}`, { seen: 0, body: {} });
    await expect(write).rejects.toThrow(AssertionError);
  });
}
