/** The contract of operations that are paused, resumed, cut short or cancelled. */
import { expect } from "vitest";
import { REFUSAL } from "../../src/item/operation.ts";
import { buried, released, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function operationChangeTests(test: Declare): void {
  pausing(test);
  cutting(test);
  cancelling(test);
}

/** Leases the due items of the operation. */
async function leaseOf(bench: Workbench, operationId: string) {
  const lease = { queue: QUEUE, max: 10, operationId };
  return bench.engine.settleAndLease("holder-1", { settle: [], lease });
}

function pausing(test: Declare): void {
  test("a paused operation processes and leases nothing until it is opened", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    expect(await bench.engine.changeOperation("op-1", { status: "paused" })).toMatchObject({
      status: "paused",
    });
    const paused = await bench.engine.advance("op-1", { max: 1, progress: { lost: true } });
    expect(paused).toMatchObject({ done: 1, refused: 0, progress: {} });
    expect(await leaseOf(bench, "op-1")).toMatchObject({ leased: [], nextDueAt: null });
    await bench.engine.changeOperation("op-1", { status: "open" });
    expect(await bench.engine.advance("op-1", { max: 1 })).toMatchObject({ done: 2 });
    expect((await leaseOf(bench, "op-1")).leased).toHaveLength(2);
  });

  test("an operation that is still selecting leases nothing, nor does an unknown one", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1", { selection: "enlisted" });
    await bench.operate("redrive");
    expect((await leaseOf(bench, "op-1")).leased).toEqual([]);
    expect((await leaseOf(bench, "op-9")).leased).toEqual([]);
  });

  test("attempts that run when an operation is paused end normally", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const lease = await bench.redriveOne("op-1", "a");
    await bench.engine.changeOperation("op-1", { status: "paused" });
    await bench.settle(succeeded(lease));
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "ended", succeeded: 1 });
  });

  test("each change of status has one event", async (bench) => {
    await bench.registerHolder();
    await bench.begin("op-1", { kind: "edit" });
    await bench.engine.changeOperation("op-1", { status: "open" });
    await bench.engine.changeOperation("op-1", { status: "paused" });
    await bench.engine.changeOperation("op-1", { status: "paused" });
    await bench.engine.changeOperation("op-1", { progress: { a: 1 } });
    await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect((await bench.told("operation_changed")).map(({ queue, data }) => [queue, data])).toEqual([
      [QUEUE, { operation_id: "op-1", status: "paused" }],
      [QUEUE, { operation_id: "op-1", status: "cancelled" }],
    ]);
  });
}

function cutting(test: Declare): void {
  test("a change stores the progress that it is given", async (bench) => {
    await bench.begin("op-1", { kind: "edit" });
    await bench.engine.changeOperation("op-1", { progress: { stage: 1 } });
    const paused = await bench.engine.changeOperation("op-1", { status: "paused", progress: { stage: 2 } });
    expect(paused).toMatchObject({ progress: { stage: 2 }, status: "paused" });
  });

  test("pending letters can be refused for a reason, and processed ones stay processed", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    const cut = await bench.engine.changeOperation("op-1", { refuseRest: "the canary died" });
    expect(cut).toMatchObject({ status: "open", selected: 3, done: 1, refused: 2 });
    expect(await bench.engine.listRefusals("op-1")).toEqual([{ reason: "the canary died", count: 2 }]);
    expect(await bench.item("b")).toMatchObject({ state: "dead" });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "ended", succeeded: 1 });
  });

  test("an ended operation does not change", async (bench) => {
    await bench.begin("op-1");
    const ended = await bench.engine.closeOperation("op-1");
    const change = { status: "paused", progress: { late: true }, refuseRest: "late" } as const;
    expect(await bench.engine.changeOperation("op-1", change)).toEqual(ended);
    expect(await bench.told("operation_changed")).toEqual([]);
  });
}

function cancelling(test: Declare): void {
  test("cancelling refuses pending letters and takes back those that nobody has started", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 2 });
    const before = await bench.engine.listGroups({});
    const [a] = await bench.lease(1);
    if (!a) throw new Error("two letters were redriven");
    const cancelled = await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect(cancelled).toMatchObject({ status: "cancelled", selected: 3, done: 1, refused: 2 });
    expect(cancelled).not.toHaveProperty("endedAt");
    expect(await bench.engine.listRefusals("op-1")).toEqual([{ reason: REFUSAL.cancelled, count: 2 }]);
    expect(await bench.letter("b")).toMatchObject({ state: "dead", redriveCount: 0, failureCount: 1 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ dead: 2, leased: 1, ready: 0, letters: 3 });
    expect(await bench.engine.listGroups({})).toEqual(before);
    await bench.settle(succeeded(a));
    const ended = await bench.engine.closeOperation("op-1");
    expect(ended).toMatchObject({ status: "cancelled", succeeded: 1, endedAt: bench.clock.now() });
  });

  test("cancelling an operation without running letters ends it at once", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("redrive");
    await bench.begin("op-1", { kind: "purge" });
    const cancelled = await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect(cancelled).toMatchObject({ status: "cancelled", endedAt: bench.clock.now() });
    expect(await bench.engine.changeOperation("op-1", { status: "open" })).toEqual(cancelled);
    expect(await bench.engine.advance("op-1", { max: 9 })).toEqual(cancelled);
    expect(await bench.engine.closeOperation("op-1")).toEqual(cancelled);
  });

  test("an operation that is cancelled while it is selecting has ended", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1", { selection: "enlisted" });
    await bench.engine.enlist("op-1", {
      letterSequences: [await bench.letterSequence("a")],
      cursor: "place-1",
    });
    const cancelled = await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect(cancelled).toMatchObject({ selected: 1, refused: 1, endedAt: bench.clock.now() });
    const more = { letterSequences: [await bench.letterSequence("b")], cursor: null };
    expect(await bench.engine.enlist("op-1", more)).toEqual(cancelled);
  });

  test("a letter that was taken back can be taken by another operation", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-2");
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.engine.changeOperation("op-1", { status: "cancelled" });
    expect(await bench.engine.advance("op-2", { max: 1 })).toMatchObject({ done: 1, refused: 0 });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ operationId: "op-2" });
  });

  test("a letter that was leased when its operation was cancelled, and is released, is dead again at the end", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 2 });
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two letters were redriven");
    await bench.engine.changeOperation("op-1", { status: "cancelled" });
    await bench.settle(retried(a));
    expect((await leaseOf(bench, "op-1")).leased).toEqual([]);
    const standing = await bench.engine.closeOperation("op-1");
    expect(standing).toMatchObject({ done: 1, refused: 1 });
    expect(standing).not.toHaveProperty("endedAt");
    expect(await bench.letter("a")).toMatchObject({ state: "dead", redriveCount: 0, failureCount: 2 });
    await bench.settle(released(b));
    const ended = await bench.engine.closeOperation("op-1");
    expect(ended).toMatchObject({ done: 0, refused: 2, endedAt: bench.clock.now() });
  });

  test("a letter that was leased when its operation was cancelled may die again, and is counted", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const lease = await bench.redriveOne("op-1", "a");
    await bench.engine.changeOperation("op-1", { status: "cancelled" });
    await bench.settle(buried(lease));
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ done: 1, failed: 1, returned: 1 });
    expect(await bench.letter("a")).toMatchObject({ redriveCount: 1, failureCount: 2 });
  });
}
