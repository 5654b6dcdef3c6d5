/** The contract of the store's clock: a clock step changes no delay and ends no lease. */
import { expect } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { retried } from "../support/settlements.ts";
import { type Declare, newHolder, QUEUE } from "./workbench.ts";

const HOUR_MS = 3_600_000;

export function clockTests(test: Declare): void {
  for (const [name, stepMs] of [
    ["back", -HOUR_MS],
    ["forward", HOUR_MS],
  ] as const) {
    test(`a retry keeps its wait when the clock moves an hour ${name}`, async (bench) => {
      await bench.registerHolder();
      await bench.add("a");
      await bench.settle(retried(await bench.leaseOne(), 6_000));
      const steps: number[] = [];
      bench.engine.watchClock((ms) => steps.push(ms));
      bench.clock.step(stepMs);
      expect(await bench.engine.heartbeat("holder-1")).toBe(true);
      expect(steps).toEqual([stepMs]);
      bench.clock.advance(5_999);
      expect(await bench.lease(1)).toEqual([]);
      bench.clock.advance(1);
      expect((await bench.lease(1)).map(({ itemId }) => itemId)).toEqual(["a"]);
      expect(await bench.told("clock_stepped")).toHaveLength(1);
    });

    test(`due, scheduled and leased items stay so when the clock moves an hour ${name}`, async (bench) => {
      await bench.registerHolder();
      await bench.registerHolder("holder-2");
      await bench.add("due", "leased");
      const at = bench.clock.now() + 3 * HOUR_MS;
      await bench.engine.add(QUEUE, [{ itemId: "scheduled", data: 1, dueAt: at }]);
      const held = await bench.leaseOne("holder-2");
      bench.clock.step(stepMs);
      await bench.engine.heartbeat("holder-1");
      expect(await bench.engine.listHolders()).toMatchObject([{ expired: false }, { expired: false }]);
      expect((await bench.lease(3)).map(({ itemId }) => itemId)).not.toContain(held.itemId);
      expect((await bench.item("scheduled")).dueAt).toBe(at);
      bench.clock.advance(10_000); // the second holder sent no heartbeat
      expect(await bench.engine.listHolders()).toMatchObject([{ expired: true }, { expired: true }]);
      expect(await bench.engine.revoke("holder-2", { isProcessDead: false })).toBe(true);
    });
  }
}

/** Tests for engines whose stores are persistent. */
export function clockRestartTests(test: Declare): void {
  test("a clock step while no process runs is detected once, by the next process", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(retried(await bench.leaseOne(), 6_000));
    await bench.engine.unregisterHolder("holder-1");
    await bench.reopen();
    bench.clock.step(-HOUR_MS);
    await bench.registerHolder("holder-2");
    await bench.engine.heartbeat("holder-2");
    bench.clock.advance(6_000);
    expect(await bench.lease(1, "holder-2")).toHaveLength(1);
    expect(await bench.told("clock_stepped")).toHaveLength(1);
  });
}

/** Tests for stores that several processes share. */
export function sharedClockTests(test: Declare, join: (engine: Engine) => Promise<Engine>): void {
  test("of two processes that detect the same clock step, one moves the waits", async (bench) => {
    const other = await join(bench.engine);
    try {
      await bench.registerHolder();
      await other.registerHolder(newHolder("holder-2"));
      await bench.add("a");
      await bench.settle(retried(await bench.leaseOne(), 6_000));
      const seen: number[] = [];
      for (const engine of [bench.engine, other]) engine.watchClock((ms) => seen.push(ms));
      bench.clock.step(-HOUR_MS);
      await Promise.all([bench.engine.heartbeat("holder-1"), other.heartbeat("holder-2")]);
      expect(seen).toEqual([-HOUR_MS, -HOUR_MS]);
      expect(await bench.told("clock_stepped")).toMatchObject([{ data: { step_ms: -HOUR_MS } }]);
      expect((await bench.item("a")).dueAt).toBe(bench.clock.now() + 6_000);
    } finally {
      await other.close();
    }
  });
}
