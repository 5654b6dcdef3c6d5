/** Letters sent anew as other items: linked both ways, never in the way of an item that is there. */
import { describe, expect, it } from "vitest";
import { operationToJson } from "../../src/item/operation.ts";
import { listRequeued, previewRequeue, requeueLetters } from "../../src/redrive/amend.ts";
import { refuseUndo } from "../../src/redrive/undo.ts";
import { openQueueBench, QUEUE, type QueueBench } from "../queue/queue-kit.ts";

const fail = () => {
  throw new Error("the other side is down");
};
const ALL = { queue: QUEUE, selection: { filter: {} }, author: "ann" } as const;

/** Letters of these keys. */
async function letters(bench: QueueBench, ...keys: string[]): Promise<void> {
  await bench.add(...keys.map((key) => ({ key, data: { key, n: 1 } })));
  await bench.work(fail);
}

async function letterOf({ engine, item }: QueueBench, itemId: string) {
  return engine.readLetter((await item(itemId)).ref);
}

describe("a letter that is requeued as new", () => {
  it("is resolved, and its new item waits; each names the other (pitfall 46)", async () => {
    const bench = await openQueueBench();
    await bench.add({ key: "a", data: { n: 1 }, name: "Anna", priority: "high", orderingKey: "x" });
    await bench.work(fail);
    const operation = await requeueLetters(bench.engine, ALL);
    expect(operationToJson(operation)).toMatchObject({
      ...{ kind: "requeue", status: "ended", selected: 1, done: 1, refused: 0, remaining: 0 },
    });
    expect(await bench.item("a")).toMatchObject({ state: "discarded", requeuedAs: ["a~2"] });
    const made = {
      state: "ready",
      data: { n: 1 },
      name: "Requeue-Anna",
      priority: "high",
      orderingKey: "x",
      requeuedFrom: "a",
    };
    expect(await bench.item("a~2")).toMatchObject({ ...made, attempts: 0 });
    expect((await letterOf(bench, "a"))?.resolution).toMatchObject({
      author: "ann",
      reason: "requeued as a~2",
    });
    expect(await listRequeued(bench.engine, operation, 10)).toEqual([{ itemId: "a", newId: "a~2" }]);
    expect(await bench.engine.check()).toEqual([]);
  });

  it("keeps its history, and its new item has its own", async () => {
    const bench = await openQueueBench();
    await letters(bench, "a");
    await requeueLetters(bench.engine, ALL);
    await bench.work(() => undefined);
    expect((await letterOf(bench, "a"))?.failureHistory).toHaveLength(1);
    expect(await bench.item("a~2")).toMatchObject({ state: "done", attempts: 1 });
  });

  it("may be corrected on the way, each from its own data", async () => {
    const bench = await openQueueBench();
    await letters(bench, "a", "b");
    const recipe = { set: [{ path: "n", value: "item.n + 1" }], patch: { fixed: true } };
    expect(await requeueLetters(bench.engine, { ...ALL, recipe })).toMatchObject({ done: 2 });
    expect((await bench.item("a~2")).data).toEqual({ key: "a", n: 2, fixed: true });
    expect((await bench.item("b~2")).data).toEqual({ key: "b", n: 2, fixed: true });
    expect((await bench.item("a")).data).toEqual({ key: "a", n: 1 });
  });

  it("never collides with the key of an existing item (pitfall 53)", async () => {
    const bench = await openQueueBench();
    await letters(bench, "a");
    await bench.add({ key: "a~2", data: "live" });
    await requeueLetters(bench.engine, ALL);
    expect(await bench.item("a~2")).toMatchObject({ state: "ready", data: "live" });
    expect(await bench.item("a~3")).toMatchObject({ state: "ready", requeuedFrom: "a" });
    expect(await bench.item("a")).toMatchObject({ requeuedAs: ["a~3"] });
  });

  it("obeys the schema of its queue, and stays if that refuses it: selected = done + refused", async () => {
    const bench = await openQueueBench({ schema: { properties: { n: { maximum: 5 } } } });
    await letters(bench, "a", "b");
    const recipe = { set: [{ path: "n", value: 'item.key == "a" ? 9 : 2' }] };
    const operation = await requeueLetters(bench.engine, { ...ALL, recipe });
    expect(operation).toMatchObject({ selected: 2, done: 1, refused: 1 });
    const [refusal] = await bench.engine.listRefusals(operation.id);
    expect(refusal?.reason).toMatch(/schema: n/);
    expect((await bench.item("a")).state).toBe("dead");
  });

  it("that needs manual review is requeued with other data, or with force", async () => {
    const bench = await openQueueBench();
    await letters(bench, "a");
    const ref = (await bench.item("a")).ref;
    const letter = await bench.engine.readLetter(ref);
    await bench.engine.importLetters(QUEUE, [
      { ...letter, itemId: "z", itemData: 1, reprocessEligible: false, manualReviewRequired: true } as never,
    ]);
    const only = { ...ALL, selection: { filter: { itemIds: ["z"] } } };
    expect(await previewRequeue(bench.engine, only)).toMatchObject({ selected: 1, sent: 0 });
    expect(await requeueLetters(bench.engine, only)).toMatchObject({ done: 0, refused: 1 });
    expect(await previewRequeue(bench.engine, { ...only, force: true })).toMatchObject({ sent: 1 });
    expect(await requeueLetters(bench.engine, { ...only, recipe: { patch: { n: 2 } } })).toMatchObject({
      done: 1,
    });
  });

  it("cannot be undone as one, and reports what can be done", async () => {
    const bench = await openQueueBench();
    await letters(bench, "a");
    const operation = await requeueLetters(bench.engine, ALL);
    expect(() => refuseUndo(operation)).toThrow(/cannot be undone/);
  });
});
