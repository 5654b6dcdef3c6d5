/** The contract of store maintenance. Each engine tests for itself that `check` finds damage. */
import { expect } from "vitest";
import { buried, lost, released, retried, skipped, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE } from "./workbench.ts";

export function checkTests(test: Declare): void {
  test("the check of an empty store finds no problem", async (bench) => {
    expect(await bench.engine.check()).toEqual([]);
  });

  test("the check of a store with items in every state finds no problem", async (bench) => {
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add("a", "b", "c", "d", "e", "f", "g");
    const [a, b, c, d, e, f] = await bench.lease(6);
    if (!a || !b || !c || !d || !e || !f) throw new Error("seven items were added");
    await bench.settle(succeeded(a), buried(b), buried(c), skipped(d), retried(e, 5000));
    await bench.settle(lost(f));
    await bench.begin("op-1", { filter: { itemIds: ["b", "c"] } });
    await bench.engine.advance("op-1", { max: 1 });
    const [again] = await bench.lease(2, "holder-2");
    expect(again).toBeDefined();
    if (again) await bench.settle(released(again));
    expect(await bench.engine.check()).toEqual([]);
  });

  test("the store reports its contents", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.settle(buried(await bench.leaseOne()));
    await bench.leaseOne();
    const info = await bench.engine.info();
    expect(info).toMatchObject({ jobs: 1, items: 2, letters: 1, attempts: 2, events: 8 });
    expect(info.engine).not.toBe("");
    expect(info.schemaVersion).toBeGreaterThan(0);
  });

  test("the store uses the injected clock", async (bench) => {
    bench.clock.advance(1234);
    expect(await bench.engine.now()).toBe(bench.clock.now());
  });

  test("a closed store rejects calls, and can be closed again", async (bench) => {
    await bench.close();
    await bench.close();
    await expect(bench.engine.count(QUEUE)).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(bench.engine.add(QUEUE, [])).rejects.toMatchObject({ code: "store_unavailable" });
  });
}
