/** The contract of deleting a job: what is deleted, what stays, and what is refused. */
import { expect } from "vitest";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

/** Items with an ordering key are deleted in the first step, whatever its size. */
const LANE_ITEMS = 2;

const ALL_STATES = ["dead", "ready", "leased", "discarded", "done"] as const;

/** A job with items in every state, resolved letters and an operation, and a second job. */
async function richJob(bench: Workbench): Promise<void> {
  const { engine } = bench;
  await bench.job("other");
  await engine.add("other", [newItem("kept")]);
  await bench.registerHolder();
  await bench.bury(["a", "b", "c"]);
  await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
  await bench.operate("requeue", ["b"]);
  await bench.settle(succeeded(await bench.leaseOne()));
  await engine.add(QUEUE, [
    { ...newItem("d"), orderingKey: "l" },
    { ...newItem("e"), orderingKey: "l" },
    newItem("f"),
  ]);
  await bench.settle(retried(await bench.leaseOne()));
  await engine.hold(QUEUE, ["f"], { author: AUTHOR, reason: "later" });
  await engine.addNote((await bench.item("f")).ref, { author: AUTHOR, text: "note" });
  await engine.unregisterHolder("holder-1");
}

async function purge(bench: Workbench): Promise<void> {
  await bench.operate("purge", undefined, { filter: { states: ALL_STATES } });
}

export function deleteJobTests(test: Declare): void {
  const step = { author: AUTHOR, itemsMax: 2 };

  test("a deleted job is removed with its items, events, operations and counters, in steps of any size", async (bench) => {
    await richJob(bench);
    await purge(bench);
    const { engine } = bench;
    const newest = await engine.newestEvent();
    const { total, done, attempts, purged } = await engine.count(QUEUE);
    expect(await engine.deleteJob(QUEUE, step)).toBe(false);
    expect(await engine.findJob(QUEUE)).toMatchObject({ kind: "deleting" });
    expect(await engine.check()).toEqual([]);
    let steps = 1;
    while (!(await engine.deleteJob(QUEUE, step))) steps += 1;
    expect(steps).toBe(Math.floor((total - LANE_ITEMS) / 2));
    expect(await engine.findJob(QUEUE)).toBeNull();
    expect(await engine.findItems("", { queue: QUEUE, limit: 10 })).toEqual([]);
    expect(await engine.listOperations({ queue: QUEUE })).toEqual([]);
    expect((await engine.listCounters()).filter(({ queue }) => queue === QUEUE)).toEqual([]);
    const told = await engine.listEvents({ queue: QUEUE, after: 0, limit: 100 });
    expect(told).toMatchObject([
      { type: "job_deleted", queue: QUEUE, data: { author: AUTHOR, items: total, done, attempts, purged } },
    ]);
    expect(told[0]?.id).toBeGreaterThan(newest);
    expect((await bench.item("kept", "other")).state).toBe("ready");
  });

  test("the id and name of a deleted job can be used again, and its groups are kept", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.engine.unregisterHolder("holder-1");
    const [group] = await bench.engine.listGroups({});
    await purge(bench);
    expect(await bench.engine.deleteJob(QUEUE, { ...step, itemsMax: 100 })).toBe(true);
    expect(await bench.engine.listGroups({})).toEqual([]);
    expect(await bench.engine.readGroup(group?.signature ?? "")).toMatchObject({
      signature: group?.signature,
    });
    await bench.engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 0, attempts: 0, letters: 0 });
    await bench.registerHolder("holder-2");
    await bench.add("a");
    await bench.settle(buried(await bench.leaseOne("holder-2")));
    expect(await bench.letterIds()).toEqual(["a"]);
  });

  test("a job with letters, even resolved ones, is not deleted", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.engine.unregisterHolder("holder-1");
    const refused = () =>
      expect(bench.engine.deleteJob(QUEUE, step)).rejects.toMatchObject({ code: "illegal_move" });
    await refused();
    await bench.operate("purge", ["a"]);
    await bench.operate("discard");
    await refused();
    expect(await bench.engine.findJob(QUEUE)).toMatchObject({ kind: "map" });
    expect(await bench.letterIds({ states: ["discarded"] })).toEqual(["b"]);
  });

  test("a job with a living holder or a leased item is not deleted", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const refused = () =>
      expect(bench.engine.deleteJob(QUEUE, step)).rejects.toMatchObject({ code: "job_running" });
    await refused();
    await bench.leaseOne();
    bench.clock.advance(60_000);
    await refused();
    expect(await bench.item("a")).toMatchObject({ state: "leased" });
  });

  test("a queue cannot be deleted as a job, and an unknown job is not found", async ({ engine }) => {
    await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    await expect(engine.deleteJob("q", step)).rejects.toMatchObject({ code: "illegal_move" });
    await expect(engine.deleteJob("nowhere", step)).rejects.toMatchObject({ code: "job_not_found" });
  });
}
