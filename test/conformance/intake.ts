/** The contract of intake: an item is known by its id, is added once, and is never overwritten. */
import { expect } from "vitest";
import { until } from "../support/until.ts";
import { type Declare, newItem, QUEUE } from "./workbench.ts";

export function intakeTests(test: Declare): void {
  test("added items are ready, due now, and in the order of their arrival", async (bench) => {
    await bench.add("b", "a", "c");
    expect(await bench.item("a")).toMatchObject({
      queue: QUEUE,
      data: { name: "a" },
      state: "ready",
      dueAt: bench.clock.now(),
      attempts: 0,
      attemptsCounted: 0,
      lostCount: 0,
      revision: 1,
      redriveCount: 0,
    });
    await bench.registerHolder();
    expect((await bench.lease(10)).map(({ itemId }) => itemId)).toEqual(["b", "a", "c"]);
  });

  test("each added item has one event", async (bench) => {
    await bench.add("a", "b");
    const events = await bench.engine.listEvents({ after: 0, types: ["item_queued"], limit: 10 });
    expect(events.map(({ itemId, queue }) => [queue, itemId])).toEqual([
      [QUEUE, "a"],
      [QUEUE, "b"],
    ]);
  });

  test("invariant 9: an existing id with the same data is `existing`, whatever the order of its keys", async (bench) => {
    await bench.engine.add(QUEUE, [{ itemId: "a", data: { x: 1, y: [2] } }]);
    const report = await bench.engine.add(QUEUE, [{ itemId: "a", data: { y: [2], x: 1 } }]);
    expect(report).toEqual({ added: 0, existing: 1, changed: 0, changedIds: [], replaced: 0 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 1, ready: 1 });
  });

  test("existing ids are listed if the caller asks for them; a repeated id is listed at its second occurrence", async (bench) => {
    await bench.add("a");
    const batch = [newItem("b"), { itemId: "a", data: "other" }, newItem("a"), newItem("b"), newItem("c")];
    const { existingIds } = await bench.engine.add(QUEUE, batch, { listsExisting: true });
    expect([...(existingIds ?? [])].sort()).toEqual(["a", "a", "b"]);
    expect(await bench.engine.add(QUEUE, [newItem("a")], { listsExisting: true })).toMatchObject({
      existing: 1,
      existingIds: ["a"],
    });
  });

  test("an existing id with other data is reported, and the stored data is kept", async (bench) => {
    await bench.add("a");
    const report = await bench.engine.add(QUEUE, [{ itemId: "a", data: "other" }, newItem("b")]);
    expect(report).toEqual({ added: 1, existing: 0, changed: 1, changedIds: ["a"], replaced: 0 });
    expect((await bench.item("a")).data).toEqual({ name: "a" });
  });

  test("items that the caller expects to be new are found if they exist, and never overwritten", async (bench) => {
    await bench.add("a");
    const batch = [newItem("b"), { itemId: "a", data: "other" }, newItem("c"), newItem("b")];
    const report = await bench.engine.add(QUEUE, batch, { expectNew: true });
    expect(report).toEqual({ added: 2, existing: 1, changed: 1, changedIds: ["a"], replaced: 0 });
    expect((await bench.item("a")).data).toEqual({ name: "a" });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 3, ready: 3 });
  });

  test("many new items are added in order, numbered without a gap, each with one event", async (bench) => {
    await bench.add("first");
    const names = Array.from({ length: 2345 }, (_, n) => `i-${n}`);
    const batch = names.map((name, n) => ({
      ...newItem(name),
      ...(n % 500 === 7 && { orderingKey: "one" }),
    }));
    expect(await bench.engine.add(QUEUE, batch, { expectNew: true })).toMatchObject({
      added: 2345,
      existing: 0,
    });
    const events = await bench.engine.listEvents({ after: 0, types: ["item_queued"], limit: 5000 });
    expect(events.map(({ itemId }) => itemId)).toEqual(["first", ...names]);
    await bench.registerHolder();
    const inLine = names.filter((_, n) => n % 500 !== 7 || n === 7); // only the first item of an ordering key
    const leased = await bench.lease(5000);
    expect(leased.map(({ itemId }) => itemId)).toEqual(["first", ...inLine]);
    expect(leased.slice(1).map(({ itemId, index }) => `i-${index - 1}` === itemId)).not.toContain(false);
  });

  test("items with generated ids are added and counted, have events, and notify watchers", async (bench) => {
    let notifications = 0;
    const end = await bench.engine.watch(QUEUE, () => {
      notifications += 1;
    });
    const batch = [newItem("m-1"), { ...newItem("m-2"), priority: "high" as const }];
    const report = await bench.engine.add(QUEUE, batch, { expectNew: true, generatedIds: true });
    expect(report).toEqual({ added: 2, existing: 0, changed: 0, changedIds: [], replaced: 0 });
    if (bench.engine.can.wakes) await until("it notifies", async () => notifications > 0);
    await end();
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 2, ready: 2 });
    const events = await bench.engine.listEvents({ after: 0, types: ["item_queued"], limit: 10 });
    expect(events.map(({ itemId }) => itemId)).toEqual(["m-1", "m-2"]);
    await bench.registerHolder();
    expect((await bench.lease(5)).map(({ itemId }) => itemId)).toEqual(["m-2", "m-1"]);
    const ordered = { ...newItem("m-3"), orderingKey: "one" };
    await bench.engine.add(QUEUE, [ordered, { ...newItem("m-4"), orderingKey: "one" }], {
      generatedIds: true,
    });
    expect((await bench.lease(5)).map(({ itemId }) => itemId)).toEqual(["m-3"]);
  });

  test("items that were prepared for other settings than the queue's current ones are not added", async (bench) => {
    const { engine } = bench;
    const job = await engine.createJob({ id: "q", name: "q", kind: "queue", spec: { limit: 1, of: ["x"] } });
    for (const how of [{ generatedIds: true }, { expectNew: true }, {}]) {
      const batch = [newItem(`a-${JSON.stringify(how)}`)];
      expect(await engine.add("q", batch, { ...how, spec: job.spec })).toMatchObject({ added: 1 });
    }
    await engine.changeJob("q", { spec: { limit: 2, of: ["x"] } });
    for (const how of [{ generatedIds: true }, { expectNew: true }, {}])
      await expect(engine.add("q", [newItem("b")], { ...how, spec: job.spec })).rejects.toMatchObject({
        code: "job_changed",
      });
    expect(await engine.count("q")).toMatchObject({ total: 3 });
    const now = await engine.findJob("q");
    expect(await engine.add("q", [newItem("b")], { spec: now?.spec ?? {} })).toMatchObject({ added: 1 });
  });

  test("an id that occurs twice in one batch is added once", async (bench) => {
    const batch = [newItem("a"), newItem("a"), { itemId: "a", data: 7 }];
    const report = await bench.engine.add(QUEUE, batch);
    expect(report).toEqual({ added: 1, existing: 1, changed: 1, changedIds: ["a"], replaced: 0 });
    expect((await bench.item("a")).data).toEqual({ name: "a" });
  });

  test("among many new items, existing ones keep their positions, and the new ones follow without a gap", async (bench) => {
    await bench.registerHolder();
    await bench.engine.add(QUEUE, [newItem("b"), { ...newItem("d"), priority: "high", name: "Dora" }]);
    const cursor = await bench.lastEvent();
    const batch = ["a", "b", "c", "c", "d", "e"].map(newItem);
    const other = [
      { itemId: "f", data: [6], name: "Fay" },
      { ...newItem("g"), orderingKey: "one" },
      newItem("h"),
    ];
    const changed = { itemId: "b", data: { name: "b", more: 1 } };
    const report = await bench.engine.add(QUEUE, [...batch, changed, ...other], {
      replace: { author: "ada" },
    });
    expect(report).toEqual({ added: 6, existing: 3, changed: 0, changedIds: [], replaced: 1 });
    const leased = await bench.lease(10);
    expect(leased.map(({ itemId, index }) => [itemId, index])).toEqual([
      ...[
        ["d", 1],
        ["b", 0],
        ["a", 2],
        ["c", 3],
      ],
      ...[
        ["e", 4],
        ["f", 5],
        ["g", 6],
        ["h", 7],
      ],
    ]);
    expect(leased.map(({ data }) => data)).toEqual([
      ...[{ name: "d" }, changed.data, { name: "a" }, { name: "c" }],
      ...[{ name: "e" }, [6], { name: "g" }, { name: "h" }],
    ]);
    expect(leased.map(({ name }) => name).filter((name) => name !== undefined)).toEqual(["Dora", "Fay"]);
    const told = await bench.engine.listEvents({
      after: cursor,
      types: ["item_queued", "item_replaced"],
      limit: 99,
    });
    expect(told.map(({ type, itemId }) => `${type} ${itemId}`)).toEqual([
      ...["item_queued a", "item_queued c", "item_queued e", "item_replaced b"],
      ...["item_queued f", "item_queued g", "item_queued h"],
    ]);
  });

  test("all changed ids are counted, and ten of them are named", async (bench) => {
    const ids = Array.from({ length: 12 }, (_, n) => `item-${n}`);
    await bench.add(...ids);
    const report = await bench.engine.add(
      QUEUE,
      ids.map((itemId) => ({ itemId, data: null })),
    );
    expect(report).toEqual({ added: 0, existing: 0, changed: 12, changedIds: ids.slice(0, 10), replaced: 0 });
  });

  test("two queues may have items with the same id", async (bench) => {
    await bench.job("job-2");
    await bench.add("a");
    const report = await bench.engine.add("job-2", [{ itemId: "a", data: "of job-2" }]);
    expect(report.added).toBe(1);
    expect((await bench.item("a", "job-2")).data).toBe("of job-2");
    expect((await bench.item("a")).data).toEqual({ name: "a" });
  });

  test("adding to an unknown queue is an error and adds nothing", async (bench) => {
    const adding = bench.engine.add("job-9", [newItem("a")]);
    await expect(adding).rejects.toMatchObject({ name: "RedriveError", code: "job_not_found" });
    expect(await bench.engine.findItems("a", { limit: 10 })).toEqual([]);
  });

  test("any JSON value is returned unchanged", async (bench) => {
    const values = [null, true, 0, -1.5e300, "", "ünï\u0000\u2028✓", [], {}, { "": [{ __proto__x: null }] }];
    await bench.engine.add(
      QUEUE,
      values.map((data, n) => ({ itemId: `value-${n}`, data })),
    );
    for (const [n, data] of values.entries()) expect((await bench.item(`value-${n}`)).data).toEqual(data);
  });

  test("arguments and results are copies", async (bench) => {
    const data = { list: [1] };
    await bench.engine.add(QUEUE, [{ itemId: "a", data }]);
    data.list.push(2);
    const found = (await bench.item("a")).data as { list: number[] };
    expect(found).toEqual({ list: [1] });
    tryTo(() => found.list.push(3));
    expect((await bench.item("a")).data).toEqual({ list: [1] });
  });

  test("a prefix finds items, and is text rather than a pattern", async (bench) => {
    await bench.job("job-2");
    await bench.add("a%1", "ab1", "a_1", "A%1", "a%");
    await bench.engine.add("job-2", [newItem("a%2")]);
    const ids = async (prefix: string, queue?: string) => {
      const found = await bench.engine.findItems(prefix, { ...(queue && { queue }), limit: 10 });
      return found.map(({ itemId }) => itemId).sort();
    };
    expect(await ids("a%")).toEqual(["a%", "a%1", "a%2"]);
    expect(await ids("a%", QUEUE)).toEqual(["a%", "a%1"]);
    expect(await ids("a_")).toEqual(["a_1"]);
    expect(await ids("x")).toEqual([]);
  });

  test("an exact id is found first, however many ids start with it", async (bench) => {
    await bench.add("item-11", "item-10", "item-1");
    const found = await bench.engine.findItems("item-1", { queue: QUEUE, limit: 2 });
    expect(found).toHaveLength(2);
    expect(found[0]?.itemId).toBe("item-1");
  });
}

/** Ignores errors: a frozen snapshot throws when it is changed, which is fine too. */
function tryTo(change: () => void): void {
  try {
    change();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
  }
}
