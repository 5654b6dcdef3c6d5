/** The contract of durability, for engines that keep their store: what was acknowledged is there afterwards. */
import { expect } from "vitest";
import { buried, lost, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function durabilityTests(test: Declare): void {
  const everything = async ({ engine }: Workbench) => ({
    job: await engine.findJob(QUEUE),
    counts: await engine.count(QUEUE),
    items: await engine.findItems("", { queue: QUEUE, limit: 100 }),
    attempts: await Promise.all([1, 2, 3].map((ref) => engine.listAttempts(ref))),
    letters: await engine.listLetters({ limit: 100 }),
    groups: await engine.listGroups({}),
    holders: await engine.listHolders(),
    leases: await engine.listLeases("holder-1"),
    events: await engine.listEvents({ after: 0, limit: 1000 }),
    operations: await engine.listOperations({}),
  });

  test("invariant 2: all that was acknowledged is there after the store was opened again", async (bench) => {
    await bench.enter();
    await bench.add("a", "b", "c");
    const [a, b, c] = await bench.lease(3);
    if (!a || !b || !c) throw new Error("three items were added");
    await bench.settle(buried(a), retried(b, 1000));
    await bench.begin("op-1");
    const before = await everything(bench);
    expect(before.items).toHaveLength(3);
    await bench.reopen();
    expect(await everything(bench)).toEqual(before);
  });

  test("a lease outlives the process that opened the store, and can be settled by the next one", async (bench) => {
    await bench.enter();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.reopen();
    expect(await bench.engine.listLeases("holder-1")).toEqual([lease]);
    await bench.settle(lost(lease));
    await bench.reopen();
    expect(await bench.item("a")).toMatchObject({ state: "ready", losses: 1 });
  });

  test("an operation goes on where it stopped", async (bench) => {
    await bench.enter();
    await bench.add("a", "b");
    await bench.settle(...(await bench.lease(2)).map((lease) => buried(lease)));
    await bench.begin("op-1");
    await bench.engine.redrive("op-1", 1);
    await bench.reopen();
    expect(await bench.engine.redrive("op-1", 5)).toMatchObject({ selected: 2, redriven: 2, refused: 0 });
    await bench.reopen();
    await bench.settle(...(await bench.lease(2)).map(succeeded));
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({
      succeeded: 2,
      endedAt: bench.clock.now(),
    });
  });

  test("ids of events rise across openings", async (bench) => {
    const before = await bench.lastEvent();
    await bench.reopen();
    await bench.add("a");
    expect(await bench.lastEvent()).toBeGreaterThan(before);
    expect(await bench.eventTypes(before)).toEqual(["item_queued"]);
  });
}
