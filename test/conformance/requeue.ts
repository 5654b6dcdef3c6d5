/** The contract of requeueing a letter as a new item: both items refer to each other, and the letter is resolved. */
import { expect } from "vitest";
import { buried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function requeueTests(test: Declare): void {
  made(test);
  links(test);
}

/** One letter with everything that the new item may inherit. */
async function buryOne(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  const expiresAt = bench.clock.now() + 60_000;
  const more = { name: "the first", priority: "high", orderingKey: "l", expiresAt } as const;
  await bench.engine.add(QUEUE, [{ itemId: "a", data: { n: 1 }, ...more }]);
  await bench.settle(buried(await bench.leaseOne()));
}

function made(test: Declare): void {
  test("requeueing creates an item with the letter's data, priority and ordering key, its own name, and no history", async (bench) => {
    await buryOne(bench);
    bench.clock.advance(1000);
    expect(await bench.operate("requeue")).toMatchObject({
      status: "ended",
      selected: 1,
      done: 1,
      refused: 0,
    });
    const made = await bench.item("a~2");
    expect(made).toMatchObject({
      ...{ data: { n: 1 }, name: "Requeue-the first", priority: "high", orderingKey: "l", state: "ready" },
      ...{ dueAt: bench.clock.now(), attempts: 0, revision: 1, redriveCount: 0, requeuedFrom: "a" },
    });
    expect(made).not.toHaveProperty("expiresAt");
    expect(await bench.engine.count(QUEUE)).toMatchObject({ ready: 1, discarded: 1, total: 2, letters: 0 });
    expect(await bench.lease(5)).toMatchObject([{ itemId: "a~2", attempt: 1, index: 1 }]);
  });

  test("the letter is discarded with a reason that names the new item", async (bench) => {
    await buryOne(bench);
    const { id } = await bench.operate("requeue", undefined, { reason: "another reason" });
    expect(await bench.letter("a")).toMatchObject({
      state: "discarded",
      resolution: { kind: "discard", author: AUTHOR, operationId: id, reason: "requeued as a~2" },
    });
    expect(await bench.item("a")).toMatchObject({ state: "discarded", requeuedAs: ["a~2"] });
  });

  test("a step can set the data and the priority of the new item", async (bench) => {
    await buryOne(bench);
    await bench.begin("op-1", { kind: "requeue" });
    const letterSequence = await bench.letterSequence("a");
    await bench.engine.advance("op-1", { letters: [{ letterSequence, data: { n: 2 }, priority: "low" }] });
    expect(await bench.item("a~2")).toMatchObject({ data: { n: 2 }, priority: "low", revision: 1 });
    expect((await bench.letter("a"))?.itemData).toEqual({ n: 1 });
  });

  test("the events are: the new item, the removal of the letter, the step", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    const after = await bench.lastEvent();
    const { id } = await bench.operate("requeue");
    const events = await bench.engine.listEvents({ after, limit: 10 });
    const of = (itemId: string) => [
      { type: "item_queued", itemId: `${itemId}~2` },
      {
        type: "dlq_item_removed",
        itemId,
        data: { why: "requeued", operation_id: id, requeued_as: `${itemId}~2` },
      },
    ];
    const sum = { type: "dlq_items_requeued", data: { operation_id: id, count: 2, refused: 0 } };
    expect(events).toMatchObject([...of("a"), ...of("b"), sum]);
  });

  test("an item that is no longer a letter is refused", async (bench) => {
    await buryOne(bench);
    await bench.begin("op-1", { kind: "requeue" });
    await bench.operate("redrive");
    expect(await bench.engine.advance("op-1", { max: 5 })).toMatchObject({ done: 0, refused: 1 });
    expect(await bench.engine.findItems("a~", { limit: 5 })).toEqual([]);
  });
}

function links(test: Declare): void {
  test("the first free number is used, and all new items are returned", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.add("a~2");
    await bench.operate("requeue", ["a"]);
    await bench.operate("restore", ["a"]);
    await bench.operate("requeue", ["a"]);
    expect(await bench.item("a")).toMatchObject({ requeuedAs: ["a~3", "a~4"] });
    expect(await bench.item("a~2")).not.toHaveProperty("requeuedFrom");
    expect(await bench.item("a~4")).toMatchObject({ requeuedFrom: "a" });
  });

  test("a requeued item that died can be requeued itself", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("requeue");
    await bench.settle(buried(await bench.leaseOne()));
    await bench.operate("requeue");
    expect(await bench.item("a~2")).toMatchObject({ requeuedFrom: "a", requeuedAs: ["a~2~2"] });
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.item("a~2~2")).toMatchObject({ state: "done", requeuedFrom: "a~2" });
  });

  test("the new item has its letter's ordering key, and is the last of it", async (bench) => {
    await buryOne(bench);
    await bench.engine.add(QUEUE, [{ itemId: "b", data: 1, orderingKey: "l", priority: "low" }]);
    await bench.operate("requeue");
    expect(await bench.lease(5)).toMatchObject([{ itemId: "b" }]);
  });

  test("the items still refer to each other after the letter was purged", async (bench) => {
    await buryOne(bench);
    await bench.operate("requeue");
    await bench.operate("purge", undefined, { filter: { states: ["discarded"] } });
    const bare = await bench.item("a");
    expect(bare).toMatchObject({ data: null, requeuedAs: ["a~2"], priority: "high" });
    for (const field of ["name", "orderingKey", "expiresAt"]) expect(bare).not.toHaveProperty(field);
    expect(await bench.item("a~2")).toMatchObject({ requeuedFrom: "a", name: "Requeue-the first" });
  });
}
