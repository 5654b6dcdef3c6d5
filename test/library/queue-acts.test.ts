/** What a queue does besides taking and running items: settings, pauses, holds, batches, imports. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { QueueOptions, Redrive } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

const NONE = { retries: 0 } as const;

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

onEveryStore("a queue", (store) => {
  describe("its settings", () => {
    it.each<[QueueOptions, object]>([
      [{ retries: 7 }, { policy: { maxAttempts: 8 } }],
      [{ backoff: "fixed:5s" }, { policy: { backoff: { kind: "fixed", delayMs: 5000 } } }],
      [
        { backoff: { kind: "list", delaysMs: [1, 2], jitter: false } },
        { policy: { backoff: { kind: "list" } } },
      ],
      [{ priority: "high" }, { priority: "high" }],
      [{ unique: "replace" }, { unique: "replace" }],
      [{ rate: "120/m" }, { rate: { perSecond: 2 } }],
      [{ rate: { perSecond: 0.5 } }, { rate: { perSecond: 0.5 } }],
      [{ expiresAfter: "1h" }, { expiresAfterMs: 3_600_000 }],
      [{ onFailure: "skip" }, { policy: { onItemFailure: "skip" } }],
      [{ onOutage: "wait", maxOutage: "2h" }, { policy: { onOutage: "wait", outageMsMax: 7_200_000 } }],
      [{ breaker: { timeout: "5s" } }, { policy: { breaker: { timeoutMs: 5000, failureThreshold: 5 } } }],
      [{ lease: "3s" }, { leaseMs: 3000 }],
      [{ maxLosses: 9 }, { policy: { lossesMax: 9 } }],
      [{ description: "for tests" }, { description: "for tests" }],
      [{ schema: { type: "string" } }, { schema: { type: "string" } }],
      [{ schema: z.object({ a: z.string() }) }, { schema: { type: "object", required: ["a"] } }],
    ])("%j are stored when the queue is created and when it exists", async (options, stored) => {
      const redrive = await store.open();
      expect(await redrive.queue("made", options).settings()).toMatchObject(stored);
      await redrive.queue("there").ready();
      expect(await redrive.queue("there", options).settings()).toMatchObject(stored);
    });

    it("keeps the settings that code does not name, and writes nothing if none differ", async () => {
      const redrive = await store.open();
      await redrive.queue("q", { retries: 5, rate: "1/s" }).ready();
      const again = redrive.queue("q", { retries: 5 });
      expect(await again.settings()).toMatchObject({ policy: { maxAttempts: 6 }, rate: { perSecond: 1 } });
      expect(await all(redrive.events({ types: ["queue_changed"] }))).toEqual([]);
      expect((await redrive.queue("q", { rate: null }).settings()).rate).toBeUndefined();
      await again.change({ retries: 1 });
      expect(await again.settings()).toMatchObject({ policy: { maxAttempts: 2 } });
    });

    it("a schema that JSON Schema cannot express is not stored, but checked", async () => {
      const redrive = await store.open();
      const dates = redrive.queue("dates", {
        schema: z.object({ at: z.string().transform((at) => new Date(at)) }),
      });
      await expect(dates.add({ at: 7 } as never)).rejects.toMatchObject({ field: "data.at" });
      const added = await dates.add({ at: "2030-01-01T00:00:00Z" });
      dates.work(({ data }) => data.at.getUTCFullYear());
      expect(await added.result()).toBe(2030);
    });

    it("a name that no queue can have is refused, and so is that of a job", async () => {
      const redrive = await store.open();
      await expect(redrive.queue("a b").ready()).rejects.toMatchObject({ code: "usage" });
      expect(() => redrive.queue("")).toThrow(expect.objectContaining({ code: "usage", field: "name" }));
      await redrive.map("job", [1], () => 1);
      await expect(redrive.queue("job").add(1)).rejects.toMatchObject({ code: "job_changed" });
    });
  });

  describe("add", () => {
    it("delay and at cannot be used together, and names of other libraries get a hint", async () => {
      const queue = (await store.open()).queue<number>("q");
      const both = queue.add(1, { delay: 1, at: 2e12 });
      await expect(both).rejects.toMatchObject({ code: "usage", field: "delay", hint: "Give one of them." });
      // @ts-expect-error the option is `key`
      const alias = queue.add(1, { jobId: "x" });
      await expect(alias).rejects.toMatchObject({ field: "jobId", hint: "Did you mean key?" });
      expect((await queue.counts()).total).toBe(0);
    });

    it.each([[() => 1], [Number.NaN], [new Map()], [{ a: Symbol("s") }], [undefined]])(
      "data that is not JSON is refused: %s",
      async (data) => {
        const queue = (await store.open()).queue<unknown>("q");
        await expect(queue.add(data)).rejects.toMatchObject({ code: "input_invalid", field: "data" });
        expect((await queue.counts()).total).toBe(0);
      },
    );

    it("an expired item and a key with a control character are refused", async () => {
      const queue = (await store.open()).queue<number>("q");
      await expect(queue.add(1, { expiresAt: 1 })).rejects.toMatchObject({ code: "input_invalid" });
      await expect(queue.add(1, { key: "a\u0000" })).rejects.toMatchObject({
        code: "input_invalid",
        field: "key",
      });
      expect((await queue.counts()).total).toBe(0);
    });

    it("follows the rule for keys: reject, return, replace", async () => {
      const redrive = await store.open();
      const reject = redrive.queue<number>("reject");
      await reject.add(1, { key: "k" });
      await expect(reject.add(2, { key: "k" })).rejects.toMatchObject({ code: "item_exists", field: "key" });
      const same = redrive.queue<number>("return", { unique: "return" });
      await same.add(1, { key: "k" });
      expect(await same.add(2, { key: "k" })).toMatchObject({ id: "k", outcome: "existing" });
      const replace = redrive.queue<number>("replace", { unique: "replace" });
      await replace.add(1, { key: "k" });
      expect(await replace.add(2, { key: "k" })).toMatchObject({ outcome: "replaced" });
      expect(await replace.item("k")).toMatchObject({ data: 2, revision: 2 });
    });

    it("addMany returns an outcome for each item, in order", async () => {
      const queue = (await store.open()).queue("q", { schema: z.object({ n: z.number() }) });
      const wrong = { n: "2" } as unknown as { n: number };
      const outcomes = await queue.addMany([
        { data: { n: 1 }, key: "a" },
        { data: wrong, key: "b" },
        { data: { n: 3 }, key: "a" },
        { data: { n: 4 }, key: "c" },
      ]);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["added", "refused", "refused", "added"]);
      expect(outcomes[1]).toMatchObject({ id: "b", error: { code: "input_invalid", field: "data.n" } });
      expect(outcomes[2]).toMatchObject({ id: "a", error: { code: "item_exists" } });
    });

    it("result: waits no longer than told", async () => {
      const redrive = await store.open();
      const added = await redrive.queue<number>("q").add(1);
      await expect(added.result({ timeout: 10 })).rejects.toMatchObject({ code: "wait_timeout" });
      const signal = AbortSignal.abort();
      await expect(added.result({ signal })).rejects.toMatchObject({ code: "interrupted" });
      const waiting = added.result();
      await Promise.all([expect(waiting).rejects.toMatchObject({ code: "interrupted" }), redrive.close()]);
    });
  });

  it("pause and resume, hold and unhold", async () => {
    const redrive = await store.open({ author: "ann" });
    const queue = redrive.queue<number>("q");
    await queue.addMany([1, 2].map((data) => ({ data, key: `k${data}` })));
    await queue.pause({ reason: "maintenance" });
    expect(await redrive.queues()).toMatchObject([
      { pause: { author: "ann via library", reason: "maintenance" } },
    ]);
    await queue.resume();
    expect((await redrive.queues())[0]?.pause).toBeUndefined();
    expect(await queue.hold("k1", { reason: "wait" })).toMatchObject({ moved: 1 });
    await queue.work(() => 1, { untilEmpty: true }).ended;
    expect((await all(queue.items({ states: "held" }))).map(({ id }) => id)).toEqual(["k1"]);
    expect(await queue.unhold(["k1", "none"])).toMatchObject({ moved: 1, refused: [{ itemId: "none" }] });
    expect((await all(queue.items({ ids: "k1" })))[0]?.state).toBe("ready");
    expect(await queue.item("none")).toBeNull();
  });

  it("imports a file", async () => {
    const queue = (await store.open()).queue("q");
    const path = store.path("items.jsonl");
    writeFileSync(path, '{"id":"a","n":1}\n{"id":"b","n":2}\n');
    expect(await queue.import(path, { fields: { key: "id" } })).toMatchObject({ read: 2, added: 2 });
    expect(await queue.item("b")).toMatchObject({ data: { id: "b", n: 2 } });
    await expect(queue.import(path, { isTypd: true } as object)).rejects.toMatchObject({ code: "usage" });
  });

  describe("workBatch", () => {
    const batch = async (redrive: Redrive, count: number) => {
      const queue = redrive.queue<number, number>("q", NONE);
      await queue.addMany(Array.from({ length: count }, (_, data) => ({ data, key: `k${data}` })));
      return queue;
    };

    it("gives full batches and the rest, and each task its result", async () => {
      const queue = await batch(await store.open(), 7);
      const sizes: number[] = [];
      const results = new Map<string, number>();
      const worker = queue.workBatch(
        (tasks) => {
          sizes.push(tasks.length);
          return tasks.map(({ data }) => data * 2);
        },
        { size: 3, wait: 20, untilEmpty: true },
      );
      worker.on("succeeded", ({ id, result }) => results.set(id, result));
      expect(await worker.ended).toMatchObject({ succeeded: 7 });
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(7);
      expect(Math.max(...sizes)).toBe(3);
      expect(results.get("k6")).toBe(12);
    });

    it("a throw fails all, fail fails one, and a wrong number of results fails all", async () => {
      const queue = await batch(await store.open(), 3);
      const options = { size: 3, wait: 50, untilEmpty: true };
      await queue.workBatch((tasks) => void tasks[0]?.fail(new Error("only this one")), options).ended;
      expect(await queue.counts()).toMatchObject({ done: 2, dead: 1 });
      await queue.addMany([{ data: 1 }, { data: 2 }]);
      await queue.workBatch(() => Promise.reject(new Error("all")), { ...options, size: 2 }).ended;
      expect(await queue.counts()).toMatchObject({ done: 2, dead: 3 });
      await queue.add(9);
      await queue.workBatch(() => [1, 2], { ...options, size: 1 }).ended;
      expect(await queue.letters({ text: "one result for each" }).count()).toBe(1);
    });

    it("timeout ends a batch", async () => {
      const queue = await batch(await store.open(), 1);
      const options = { size: 1, timeout: 20, untilEmpty: true };
      await queue.workBatch(() => new Promise<void>(() => undefined), options).ended;
      expect(await queue.letters().first()).toMatchObject({ type: "Timeout" });
    });
  });
});
