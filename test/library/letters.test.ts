/** Letters of a queue: they are read lazily, and changed in bulk by operations. */
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { PermanentError, type Queue, type Redrive, type Task } from "../../src/index.ts";
import { beginRetry } from "../../src/run/retry.ts";
import { onEveryStore } from "./stores.ts";

interface Order {
  readonly total: number;
}

async function idsOf(letters: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of letters) ids.push(id);
  return ids.sort();
}

onEveryStore("letters", (store) => {
  let redrive: Redrive;
  let orders: Queue<Order>;
  /** While true, every order fails. */
  let isBroken = true;

  /** Five letters: 1 and 2 permanent, 3 to 5 outages. */
  beforeEach(async () => {
    isBroken = true;
    redrive = await store.open({ author: "ann" });
    orders = redrive.queue<Order>("orders", { retries: 0 });
    await orders.addMany([1, 2, 3, 4, 5].map((total) => ({ data: { total }, key: `o${total}` })));
    await work().ended;
  });

  const pay = ({ data }: Task<Order>) => {
    if (!isBroken) return { paid: data.total };
    if (data.total <= 2) throw new PermanentError(`bad total ${data.total}`);
    throw Object.assign(new Error("the bank is closed"), { status: 503 });
  };
  const work = () => orders.work(pay, { untilEmpty: true });

  it("can be copied, printed and written as JSON with all fields, and keeps what it read", async () => {
    const letter = await orders.letters({ ids: ["o3"] }).first();
    await orders.letters({ ids: ["o3"] }).edit(() => ({ total: 30 }));
    const copy = { ...letter };
    expect(copy).toMatchObject({
      ...{
        id: "o3",
        queue: "orders",
        data: { total: 3 },
        state: "dead",
        type: "ServerError",
        class: "outage",
      },
      ...{ group: { title: expect.stringContaining("bank is closed") }, failureCount: 1, revision: 1 },
      failures: [{ message: "the bank is closed", attempt: 1, at: expect.any(Date) }],
      ...{ eligible: true, needsReview: false, poison: false, notes: [], amendments: [] },
    });
    expect(JSON.parse(JSON.stringify(letter))).toEqual(JSON.parse(JSON.stringify(copy)));
    expect(inspect(letter)).toBe(inspect(copy));
    expect(letter?.failures).toBe(letter?.failures);
    expect(letter?.group).toBe(letter?.group);
  });

  describe("a filter", () => {
    it("by group and order", async () => {
      const [largest, ...others] = await orders.letters().groups();
      expect(largest).toMatchObject({ count: 3, title: expect.stringContaining("bank is closed") });
      expect(others).toHaveLength(1);
      const group = largest?.signature ?? "";
      expect(await idsOf(orders.letters({ group }))).toEqual(["o3", "o4", "o5"]);
      expect(await idsOf(orders.letters({ group: group.slice(0, 8) }))).toEqual(["o3", "o4", "o5"]);
      expect((await orders.letters({ order: "item" }).first())?.id).toBe("o1");
    });

    it("is checked before anything is read", () => {
      // @ts-expect-error there is no such class
      expect(() => orders.letters({ class: "permanant" })).toThrow(
        expect.objectContaining({ code: "usage", field: "class" }),
      );
      // @ts-expect-error there is no such condition
      expect(() => orders.letters({ grup: "x" })).toThrow(
        expect.objectContaining({ code: "usage", field: "grup", hint: "Did you mean group?" }),
      );
    });
  });

  it("pages have a cursor and the exact total", async () => {
    const first = await orders.letters({ order: "item" }).page({ limit: 3 });
    expect(first.letters.map(({ id }) => id)).toEqual(["o1", "o2", "o3"]);
    expect(first.total).toBe(5);
    const cursor = first.next ?? "";
    const second = await orders.letters({ order: "item" }).page({ limit: 3, cursor });
    expect(second.letters.map(({ id }) => id)).toEqual(["o4", "o5"]);
    expect(second.next).toBeNull();
    expect((await orders.letters({ order: "item" }).first())?.id).toBe("o1");
    expect(await orders.letters({ ids: "none" }).first()).toBeNull();
  });

  it("a letter has its data, its failures and its group", async () => {
    const letter = await orders.letters({ ids: "o3" }).first();
    expect(letter).toMatchObject({
      id: "o3",
      queue: "orders",
      data: { total: 3 },
      state: "dead",
      type: "ServerError",
      class: "outage",
      failureCount: 1,
      eligible: true,
      needsReview: false,
      poison: false,
      revision: 1,
      redriveCount: 0,
      failures: [
        { message: "the bank is closed", class: "outage", attempt: 1, step: "handler", context: [] },
      ],
    });
    expect(letter?.lastAttempt).toBeInstanceOf(Date);
    expect(letter?.failures[0]?.stack).toContain("letters.test");
  });

  it("analyze and preview read without a change", async () => {
    expect((await orders.letters().analyze()).totalItems).toBe(5);
    expect(await orders.letters().preview()).toMatchObject({ selected: 5, redrivable: 3 });
    expect(await orders.letters().preview({ force: true })).toMatchObject({ selected: 5, redrivable: 5 });
  });

  describe("retry", () => {
    it("sends eligible letters back, and refuses the others", async () => {
      isBroken = false;
      const sent = await orders.letters().retry({ reason: "the bank is open" });
      expect(sent).toMatchObject({
        kind: "redrive",
        selected: 5,
        done: 3,
        refused: 2,
        author: "ann via library",
      });
      expect(sent.reason).toBe("the bank is open");
      await work().ended;
      expect(await idsOf(orders.letters())).toEqual(["o1", "o2"]);
      expect(await redrive.operations.wait(sent.id)).toMatchObject({ status: "ended", succeeded: 3 });
      expect(await redrive.operations.refusals(sent.id)).toMatchObject([{ count: 2 }]);
    });

    it("without force, also a letter that failed permanently and has other data now", async () => {
      const permanent = orders.letters({ class: "permanent" });
      await permanent.edit(({ data }) => ({ total: data.total + 100 }), { reason: "corrected" });
      expect(await permanent.first()).toMatchObject({ eligible: true, needsReview: false });
      expect(await permanent.retry()).toMatchObject({ selected: 2, done: 2, refused: 0 });
    });

    it("with force, also letters that are not eligible", async () => {
      isBroken = false;
      expect(await orders.letters({ class: "permanent" }).retry({ force: true })).toMatchObject({ done: 2 });
      await work().ended;
      expect(await idsOf(orders.letters())).toEqual(["o3", "o4", "o5"]);
    });

    it("with wait, resolves when workers have run all letters", async () => {
      isBroken = false;
      orders.work(({ data }) => ({ paid: data.total }));
      const ended = await orders.letters({ ids: ["o3", "o4"] }).retry({ wait: true });
      expect(ended).toMatchObject({ status: "ended", selected: 2, succeeded: 2, remaining: 0 });
    });

    it("with a canary, stops when the first letters fail again", async () => {
      orders.work(pay);
      const ended = await orders.letters({ class: "outage" }).retry({ canary: 1 });
      expect(ended).toMatchObject({ selected: 3, done: 1, failed: 1, refused: 2 });
      expect(ended.stoppedBy?.id).toMatch(/^o[345]$/);
    });

    it("with a canary, sends the rest when the first letters succeed", async () => {
      orders.work(({ data }) => ({ paid: data.total }));
      const letters = orders.letters({ class: "outage" });
      expect(await letters.retry({ canary: 2 })).toMatchObject({
        selected: 3,
        succeeded: 3,
        status: "ended",
      });
      expect(await letters.count()).toBe(0);
    });

    it("with a canary, is resumed stage by stage", async () => {
      const job = await redrive.engine.findJob("orders");
      if (job === null) throw new Error("the queue is gone");
      const selection = { filter: { classes: ["outage"] } } as const;
      const begun = await beginRetry(redrive.engine, { job, selection, author: "ann", plan: { canary: 1 } });
      orders.work(pay);
      await expect.poll(async () => (await redrive.engine.listHolders()).length).toBe(1);
      const ended = await redrive.operations.resume(begun.id);
      expect(ended).toMatchObject({ selected: 3, done: 1, failed: 1, refused: 2 });
    });

    it("with a canary and without a worker, is refused", async () => {
      await expect(orders.letters().retry({ canary: true })).rejects.toMatchObject({
        code: "usage",
        field: "canary",
      });
      expect(await redrive.operations.list()).toEqual([]);
    });

    it("as new, adds copies and discards the letters", async () => {
      const operation = await orders.letters({ ids: "o3" }).retry({ asNew: true, priority: "high" });
      expect(operation).toMatchObject({ kind: "requeue", done: 1 });
      expect(await idsOf(orders.letters())).toEqual(["o1", "o2", "o4", "o5"]);
      const [copy] = await redrive.engine.findItems("o3~2", { queue: "orders", limit: 1 });
      expect(copy).toMatchObject({ priority: "high", data: { total: 3 }, requeuedFrom: "o3" });
    });

    it("with delay and rate, gives the letters later due times", async () => {
      const before = await redrive.engine.now();
      await orders.letters({ class: "outage" }).retry({ delay: "1h", rate: "1/m", priority: "low" });
      const items = await redrive.engine.listItems({ queue: "orders", states: ["ready"], limit: 10 });
      const waits = items.map(({ dueAt }) => Math.round((dueAt - before) / 60_000)).sort();
      expect(waits).toEqual([60, 61, 62]);
      expect(items.map(({ priority }) => priority)).toEqual(["low", "low", "low"]);
    });

    it("refuses options that have no meaning, and sends nothing", async () => {
      for (const options of [{ retries: 2 }, { concurrency: 2 }, { asNew: true, wait: true }])
        await expect(orders.letters().retry(options)).rejects.toMatchObject({ code: "usage" });
      await expect(redrive.letters().retry()).rejects.toMatchObject({ code: "usage", field: "queue" });
      expect(await redrive.operations.list()).toEqual([]);
      expect(await redrive.letters({ queue: "orders" }).count()).toBe(5);
    });
  });

  describe("edit", () => {
    it("by a function makes a new revision, and can be undone", async () => {
      const letters = orders.letters({ ids: ["o1", "o2"] });
      const edited = await letters.edit(
        ({ id, data }) => (id === "o1" ? { total: data.total + 100 } : null),
        {
          note: "typing error",
        },
      );
      expect(edited).toMatchObject({ kind: "edit", selected: 2, done: 2, refused: 0 });
      const letter = await orders.letters({ ids: "o1" }).first();
      expect(letter).toMatchObject({ data: { total: 101 }, revision: 2 });
      expect(letter?.amendments).toMatchObject([
        { author: "ann via library", note: "typing error", before: { total: 1 } },
      ]);
      expect(await orders.letters({ ids: "o2" }).first()).toMatchObject({ revision: 1 });
      expect(await redrive.operations.undo(edited.id)).toBe(2);
      expect(await orders.letters({ ids: "o1" }).first()).toMatchObject({ data: { total: 1 } });
    });

    it("by a patch and expressions", async () => {
      await orders
        .letters({ ids: "o3" })
        .edit({ patch: { paid: false }, set: { total: "item.total * 2.0" } });
      expect(await orders.letters({ ids: "o3" }).first()).toMatchObject({ data: { total: 6, paid: false } });
    });

    it("refuses data that does not match the schema, and a function that throws ends the operation", async () => {
      const strict = redrive.queue("orders", { schema: z.object({ total: z.number().max(9) }) });
      const refused = await strict.letters({ ids: "o1" }).edit(() => ({ total: 10 }));
      expect(refused).toMatchObject({ done: 0, refused: 1 });
      const broken = strict.letters().edit(() => {
        throw new Error("broken");
      });
      await expect(broken).rejects.toThrow("broken");
      const [, operation] = await redrive.operations.list();
      expect(operation).toMatchObject({ status: "ended", done: 0, refused: 5 });
      // @ts-expect-error there is no such change
      await expect(orders.letters().edit({ sett: {} })).rejects.toMatchObject({
        code: "usage",
        field: "sett",
      });
    });
  });

  it("discard and restore", async () => {
    const letters = orders.letters({ class: "permanent" });
    expect(await letters.discard({ reason: "test orders" })).toMatchObject({
      done: 2,
      reason: "test orders",
    });
    expect(await letters.count()).toBe(0);
    const [discarded] = (await orders.letters({ states: "discarded" }).page()).letters;
    expect(discarded?.resolution).toMatchObject({
      kind: "discard",
      reason: "test orders",
      author: "ann via library",
    });
    expect(await orders.letters({ ids: "o1", states: "discarded" }).restore()).toMatchObject({ done: 1 });
    expect(await idsOf(letters)).toEqual(["o1"]);
    // @ts-expect-error a reason is needed
    await expect(letters.discard({})).rejects.toMatchObject({ code: "usage", field: "reason" });
  });

  it("purge archives and deletes", async () => {
    const purged = await orders.letters({ ids: "o5" }).purge({ reason: "old" });
    expect(purged).toMatchObject({ kind: "purge", done: 1, reason: "old" });
    expect(purged.archive).toBeDefined();
    expect(await idsOf(orders.letters())).toEqual(["o1", "o2", "o3", "o4"]);
    expect((await orders.letters({ ids: "o4" }).purge({ archive: false })).archive).toBeUndefined();
    expect(await redrive.operations.undo(purged.id)).toBe(1);
    expect(await idsOf(orders.letters())).toEqual(["o1", "o2", "o3", "o5"]);
  });

  it("export and note", async () => {
    expect(await orders.letters({ class: "permanent" }).note("seen")).toBe(2);
    expect((await orders.letters({ ids: "o1" }).first())?.notes).toMatchObject([
      { author: "ann via library", text: "seen" },
    ]);
    const path = store.path("letters.jsonl");
    expect(await orders.letters({ class: "permanent" }).export(path)).toBe(2);
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2);
    const csv = store.path("letters.out");
    await orders.letters().export(csv, { format: "csv" });
    expect(readFileSync(csv, "utf8").split("\n")[0]).toContain("item_id");
    // @ts-expect-error there is no such format
    await expect(orders.letters().export(csv, { format: "xls" })).rejects.toMatchObject({ field: "format" });
  });
});
