/** The contract of events: which events each step records, in which order, and how they are read. */
import { expect } from "vitest";
import type { Event } from "../../src/item/event.ts";
import { buried, lost, parked, released, retried, skipped, succeeded } from "../support/settlements.ts";
import { type Declare, newItem, QUEUE } from "./workbench.ts";

export function eventTests(test: Declare): void {
  told(test);
  reading(test);
  runs(test);
}

function told(test: Declare): void {
  test("the events of an item are in order, each with its item and attempt", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(retried(await bench.leaseOne()));
    await bench.settle(buried(await bench.leaseOne()));
    const events = await bench.engine.listEvents({ queue: QUEUE, after: 0, limit: 100 });
    expect(events.map(({ type, itemId, attempt }) => [type, itemId, attempt])).toEqual([
      ["job_started", undefined, undefined],
      ["item_queued", "a", undefined],
      ["attempt_started", "a", 1],
      ["attempt_failed", "a", 1],
      ["attempt_retrying", "a", 1],
      ["attempt_started", "a", 2],
      ["attempt_failed", "a", 2],
      ["dlq_item_added", "a", 2],
      ["group_opened", "a", undefined],
    ]);
    expect(events[3]?.data).toMatchObject({ error_type: "CommandFailed", error_class: "unknown" });
    expect(events[7]?.data).toEqual({
      reason: "out of retries (1 of 1 attempts used)",
      signature: "00000000000000aa",
    });
  });

  test("each way to end an attempt has its own event", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const cursor = await bench.lastEvent();
    await bench.settle(parked(await bench.leaseOne(), 0));
    await bench.settle(released(await bench.leaseOne()));
    await bench.settle(lost(await bench.leaseOne()));
    await bench.settle(skipped(await bench.leaseOne()));
    const types = await bench.eventTypes(cursor);
    expect(types.filter((type) => type !== "attempt_started")).toEqual([
      "attempt_failed",
      "attempt_parked",
      "attempt_released",
      "attempt_lost",
      "attempt_retrying",
      "attempt_failed",
      "item_skipped",
    ]);
  });

  test("invariant 6: no letter leaves without an event, neither by success nor by skip", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two items were added");
    await bench.settle(buried(a), buried(b));
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 10 });
    const [again, other] = await bench.lease(2);
    if (!again || !other) throw new Error("two letters were redriven");
    await bench.settle(succeeded(again), skipped(other));
    const removed = await bench.engine.listEvents({ after: 0, types: ["dlq_item_removed"], limit: 10 });
    expect(removed).toMatchObject([
      { itemId: "a", data: { why: "succeeded" } },
      { itemId: "b", data: { why: "skipped" } },
    ]);
    expect(await bench.letterIds()).toEqual([]);
  });

  test("a call without an effect writes no event", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const cursor = await bench.lastEvent();
    await bench.add("a");
    await bench.engine.heartbeat("holder-1");
    await bench.lease(0);
    await bench.engine.changeJob(QUEUE, { intakeComplete: true });
    expect(await bench.eventTypes(cursor)).toEqual([]);
  });
}

function reading(test: Declare): void {
  test("a recorded change is an event with its author, for a queue or for the store", async (bench) => {
    const cursor = await bench.lastEvent();
    await bench.engine.recordChange({
      author: "ada",
      action: "queue.change",
      queue: QUEUE,
      details: { a: 1 },
    });
    await bench.engine.recordChange({ author: "ada", action: "token.create" });
    const events = await bench.engine.listEvents({ after: cursor, limit: 10 });
    expect(events.map(({ type, queue, data }) => [type, queue, data])).toEqual([
      ["change_recorded", QUEUE, { author: "ada", action: "queue.change", details: { a: 1 } }],
      ["change_recorded", undefined, { author: "ada", action: "token.create" }],
    ]);
  });

  test("a change has the name of its author, or none if nobody made it", async (bench) => {
    const { engine } = bench;
    await bench.add("a");
    const [item] = await engine.listItems({ queue: QUEUE, limit: 1 });
    const cursor = await bench.lastEvent();
    const author = "ada";
    await engine.createJob({ id: "night", name: "night", kind: "map", spec: {}, author });
    await engine.changeJob(QUEUE, { author, pause: { reason: "" } });
    await engine.changeJob(QUEUE, { author, pause: null });
    await engine.changeJob(QUEUE, { author, event: { type: "phase_started", data: { phase: "map" } } });
    await engine.changeJob(QUEUE, { event: { type: "queue_changed", data: {} } });
    await engine.addNote(item?.ref ?? 0, { author, text: "seen" });
    const change = { author, action: "token_created" };
    await engine.writeDocument("copy/a", { seen: 0, body: 1, change });
    await engine.writeDocument("copy/a", { seen: 0, body: 2, change }); // not written
    const events = await engine.listEvents({ after: cursor, limit: 20 });
    expect(events.map(({ type, itemId, data }) => [type, itemId, data])).toEqual([
      ["job_started", undefined, { name: "night", author }],
      ["queue_paused", undefined, { author, reason: "" }],
      ["queue_resumed", undefined, { author }],
      ["phase_started", undefined, { phase: "map" }],
      ["queue_changed", undefined, {}],
      ["change_recorded", "a", { author, action: "note_added" }],
      ["change_recorded", undefined, change],
    ]);
  });

  test("ids increase, and a cursor continues where the last page ended", async (bench) => {
    await bench.add("a", "b", "c");
    const all = await bench.engine.listEvents({ after: 0, limit: 100 });
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(4);
    const head = await bench.engine.listEvents({ after: 0, limit: 2 });
    const tail = await bench.engine.listEvents({ after: head[1]?.id ?? 0, limit: 100 });
    expect([...head, ...tail]).toEqual(all);
  });

  test("no event is listed after the newest one", async (bench) => {
    expect(await bench.engine.newestEvent()).toBeGreaterThan(0); // the job was started
    await bench.add("a", "b");
    const newest = await bench.engine.newestEvent();
    expect(newest).toBe((await bench.engine.listEvents({ after: 0, limit: 100 })).at(-1)?.id);
    expect(await bench.engine.listEvents({ after: newest, limit: 100 })).toEqual([]);
  });

  test("the events of one item at known times are found among those of many items", async (bench) => {
    await bench.registerHolder();
    const ids = Array.from({ length: 120 }, (_, n) => `item-${n}`);
    await bench.add(...ids);
    for (const end of [retried, retried, buried]) {
      bench.clock.advance(1000);
      const leased = await bench.lease(120);
      bench.clock.advance(3);
      await bench.settle(...leased.slice(0, 50).map((lease) => end(lease)));
      bench.clock.advance(1);
      await bench.settle(...leased.slice(50).map((lease) => end(lease)));
    }
    const all = await bench.engine.listEvents({ queue: QUEUE, after: 0, limit: 10_000 });
    const times = [...new Set(all.map(({ at }) => at))];
    expect(times.length).toBeGreaterThan(6);
    const find = (itemId: string, at: readonly number[], queue = QUEUE) =>
      bench.engine.listItemEvents({ queue, itemId, times: at });
    for (const itemId of ["item-0", "item-7", "item-119"]) {
      const own = all.filter((event) => event.itemId === itemId);
      expect(own.map(({ type }) => type)).toContain("dlq_item_added");
      expect(await find(itemId, times)).toEqual(own);
      expect(await find(itemId, [...times, ...times].reverse())).toEqual(own);
      for (const at of times)
        expect(await find(itemId, [at])).toEqual(own.filter((event) => event.at === at));
    }
    expect(await find("item-0", [])).toEqual([]);
    expect(await find("item-0", [0, Number(times.at(-1)) + 1])).toEqual([]);
    expect(await find("item-1000", times)).toEqual([]);
    expect(await find("item-0", times, "job-9")).toEqual([]);
  });

  test("events can be read by queue, by types and since a time", async (bench) => {
    await bench.job("job-2");
    await bench.add("a");
    bench.clock.advance(1000);
    await bench.engine.add("job-2", [newItem("b")]);
    const ids = async (query: object) => {
      const events = await bench.engine.listEvents({ after: 0, limit: 100, ...query });
      return events.map(({ type, itemId }) => itemId ?? type);
    };
    expect(await ids({ queue: "job-2" })).toEqual(["job_started", "b"]);
    expect(await ids({ types: ["item_queued"] })).toEqual(["a", "b"]);
    expect(await ids({ types: [] })).toEqual([]);
    expect(await ids({ since: bench.clock.now() })).toEqual(["b"]);
    expect(await ids({ since: bench.clock.now() + 1 })).toEqual([]);
    expect(await ids({ queue: "job-9" })).toEqual([]);
  });
}

/** One step with many items records many events of one type. Each is returned separately, however they are stored. */
function runs(test: Declare): void {
  const MANY = Array.from({ length: 7 }, (_, n) => `item-${n}`);
  const tellingOf = ({ type, itemId, attempt }: Event) => [type, itemId, attempt];

  test("an event that many items share is returned for each of them, in their order", async (bench) => {
    await bench.registerHolder();
    const cursor = await bench.lastEvent();
    await bench.add(...MANY);
    const leased = await bench.lease(7);
    await bench.settle(...leased.map((lease) => succeeded(lease)));
    const events = await bench.engine.listEvents({ queue: QUEUE, after: cursor, limit: 100 });
    expect(events.map(tellingOf)).toEqual([
      ...MANY.map((id) => ["item_queued", id, undefined]),
      ...MANY.map((id) => ["attempt_started", id, 1]),
      ...MANY.map((id) => ["attempt_succeeded", id, 1]),
    ]);
    const ids = events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(21);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(ids.at(-1)).toBe(await bench.engine.newestEvent());
  });

  test("reading continues after any event, and no page exceeds its limit", async (bench) => {
    await bench.registerHolder();
    await bench.add(...MANY);
    await bench.settle(...(await bench.lease(7)).map((lease) => succeeded(lease)));
    for (const filter of [{}, { queue: QUEUE }, { types: ["attempt_started"] as const }]) {
      const all = await bench.engine.listEvents({ ...filter, after: 0, limit: 100 });
      for (const [at, { id }] of all.entries()) {
        const read = (limit: number) => bench.engine.listEvents({ ...filter, after: id, limit });
        expect(await read(100)).toEqual(all.slice(at + 1));
        expect(await read(3)).toEqual(all.slice(at + 1, at + 4));
        expect(await read(1)).toEqual(all.slice(at + 1, at + 2));
      }
    }
  });

  test("a page that ends between items of a shared event continues there", async (bench) => {
    await bench.registerHolder();
    await bench.add(...MANY);
    await bench.settle(...(await bench.lease(7)).map((lease) => succeeded(lease)));
    const all = await bench.engine.listEvents({ after: 0, limit: 100 });
    const read: Event[] = [];
    for (let page = [...all]; page.length > 0; read.push(...page))
      page = [...(await bench.engine.listEvents({ after: read.at(-1)?.id ?? 0, limit: 4 }))];
    expect(read).toEqual(all);
  });

  test("events can be read up to an id, also in the middle of shared ones", async (bench) => {
    await bench.registerHolder();
    await bench.add(...MANY);
    await bench.settle(...(await bench.lease(7)).map((lease) => succeeded(lease)));
    const all = await bench.engine.listEvents({ after: 0, limit: 100 });
    for (const { id } of all) {
      const upTo = await bench.engine.listEvents({ after: 0, through: id, limit: 100 });
      expect(upTo).toEqual(all.filter((event) => event.id <= id));
      const [only, ...others] = await bench.engine.listEvents({
        after: id - 1,
        through: id,
        limit: 100,
        queue: QUEUE,
      });
      expect([only?.id, others]).toEqual([id, []]);
    }
  });

  test("other events keep their positions between shared ones", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d", "e", "f");
    const [a, b, c, d, e, f] = await bench.lease(6);
    if (!a || !b || !c || !d || !e || !f) throw new Error("six items were added");
    await bench.settle(retried(b), retried(d));
    const [b2, d2] = await bench.lease(2);
    if (!b2 || !d2) throw new Error("two items are due again");
    const cursor = await bench.lastEvent();
    await bench.settle(succeeded(a), succeeded(b2), succeeded(d2), skipped(c), succeeded(e), released(f));
    const events = await bench.engine.listEvents({ after: cursor, limit: 100 });
    expect(events.map(tellingOf)).toEqual([
      ["attempt_succeeded", "a", 1],
      ["attempt_succeeded", "b", 2],
      ["attempt_succeeded", "d", 2],
      ["attempt_failed", "c", 1],
      ["item_skipped", "c", 1],
      ["attempt_succeeded", "e", 1],
      ["attempt_released", "f", 1],
    ]);
  });

  test("shared events can be selected by types, time and queue", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.add(...MANY);
    bench.clock.advance(1000);
    const since = bench.clock.now();
    await bench.engine.add(
      "job-2",
      MANY.map((id) => newItem(id)),
    );
    const leased = await bench.lease(7);
    const count = async (query: object) =>
      (await bench.engine.listEvents({ after: 0, limit: 100, ...query })).length;
    expect(leased).toHaveLength(7);
    expect(await count({ types: ["item_queued"] })).toBe(14);
    expect(await count({ types: ["item_queued"], since })).toBe(7);
    expect(await count({ types: ["item_queued", "attempt_started"], queue: QUEUE })).toBe(14);
    expect(await count({ types: ["attempt_succeeded"] })).toBe(0);
    expect(await count({ types: ["item_queued"], limit: 9 })).toBe(9);
  });

  test("no event is missing if more than a thousand are written at once", async (bench) => {
    const cursor = await bench.lastEvent();
    const ids = Array.from({ length: 2345 }, (_, n) => `item-${n}`);
    await bench.add(...ids);
    const events = await bench.engine.listEvents({ after: cursor, limit: 5000 });
    expect(events.map(({ itemId }) => itemId)).toEqual(ids);
    const [, , third] = events;
    const next = await bench.engine.listEvents({ after: third?.id ?? 0, limit: 2000 });
    expect(next).toEqual(events.slice(3, 2003));
  });
}
