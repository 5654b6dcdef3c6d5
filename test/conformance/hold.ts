/** The contract of held items: they are not leased until they are unheld. */
import { expect } from "vitest";
import { AUTHOR, type Declare, QUEUE } from "./workbench.ts";

const BY = { author: AUTHOR, reason: "wait for the bank" } as const;

export function holdTests(test: Declare): void {
  test("a held item is not leased, and has its old position when it is released", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const { dueAt } = await bench.item("b");
    expect(await bench.engine.hold(QUEUE, ["b"], BY)).toEqual({ moved: 1, refused: [] });
    expect(await bench.item("b")).toMatchObject({ state: "held", dueAt });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 2, held: 1 });
    bench.clock.advance(1000);
    expect(await bench.engine.unhold(QUEUE, ["b"], { author: "bob" })).toEqual({ moved: 1, refused: [] });
    expect(await bench.item("b")).toMatchObject({ state: "ready", dueAt });
    expect((await bench.lease(5)).map(({ itemId }) => itemId)).toEqual(["a", "b", "c"]);
  });

  test("every lease skips held items", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.engine.hold(QUEUE, ["a", "b"], BY);
    const answer = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 5 },
    });
    expect(answer).toMatchObject({ leased: [], nextDueAt: null, isPaused: false });
  });

  test("only ready items can be held and only held ones released; others are returned with their state", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["dead"]);
    await bench.add("leased");
    await bench.leaseOne();
    await bench.add("a");
    expect(await bench.engine.hold(QUEUE, ["dead", "a", "nobody", "leased", "a"], BY)).toEqual({
      moved: 1,
      refused: [
        { itemId: "dead", state: "dead" },
        { itemId: "nobody", state: null },
        { itemId: "leased", state: "leased" },
        { itemId: "a", state: "held" },
      ],
    });
    expect(await bench.engine.unhold(QUEUE, ["leased", "a", "a"], BY)).toEqual({
      moved: 1,
      refused: [
        { itemId: "leased", state: "leased" },
        { itemId: "a", state: "ready" },
      ],
    });
  });

  test("each hold and release has an event with author and reason", async (bench) => {
    await bench.add("a", "b");
    await bench.engine.hold(QUEUE, ["b", "a"], BY);
    await bench.engine.unhold(QUEUE, ["a"], { author: "bob" });
    expect(await bench.told("item_held", "item_released")).toMatchObject([
      { type: "item_held", queue: QUEUE, itemId: "b", data: BY },
      { type: "item_held", queue: QUEUE, itemId: "a", data: BY },
      { type: "item_released", queue: QUEUE, itemId: "a", data: { author: "bob" } },
    ]);
    expect((await bench.told("item_released"))[0]?.data).toEqual({ author: "bob" });
  });

  test("a letter in retry can be held: it is still a letter, and its redrive waits for it", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.engine.hold(QUEUE, ["a"], BY);
    expect(await bench.letterIds()).toEqual(["a"]);
    expect(await bench.letterIds({ states: ["held"] })).toEqual(["a"]);
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ status: "open" });
    expect((await bench.engine.changeOperation("op-1", { status: "cancelled" })).endedAt).toBeUndefined();
    expect((await bench.item("a")).state).toBe("held");
    await bench.engine.unhold(QUEUE, ["a"], BY);
    expect(await bench.engine.closeOperation("op-1")).toMatchObject({ done: 0, refused: 1 });
    expect((await bench.item("a")).state).toBe("dead");
  });

  test("items of an unknown queue cannot be held", async ({ engine }) => {
    await expect(engine.hold("job-9", ["a"], BY)).rejects.toMatchObject({ code: "job_not_found" });
    await expect(engine.unhold("job-9", ["a"], BY)).rejects.toMatchObject({ code: "job_not_found" });
  });
}
