/** A worker: its options, its events, middleware, and how it ends. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BusinessException, type Middleware, PermanentError, type WorkerEvents } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

const NAMES = [
  "started",
  "succeeded",
  "failed",
  "retrying",
  "dead",
  "skipped",
  "released",
  "progress",
] as const;

onEveryStore("a worker", (store) => {
  const open = async (options: object = {}, count = 1) => {
    const redrive = await store.open();
    const queue = redrive.queue<number>("q", { retries: 0, ...options });
    await queue.addMany(Array.from({ length: count }, (_, data) => ({ data, key: `k${data}` })));
    return { redrive, queue };
  };
  const UNTIL_EMPTY = { untilEmpty: true } as const;

  it("reports every event to its listeners and to those of the store", async () => {
    const { redrive, queue } = await open({ retries: 1, backoff: "none" }, 2);
    const own: string[] = [];
    const shared: string[] = [];
    const worker = queue.work(
      ({ data, attempt, progress }) => {
        progress({ percent: 50 });
        if (data === 0) return "fine";
        throw new Error(`attempt ${attempt}`);
      },
      { ...UNTIL_EMPTY, concurrency: 1 },
    );
    for (const name of NAMES) {
      worker.on(name, ({ id }) => own.push(`${name} ${id}`));
      redrive.on(name, ({ id }) => shared.push(`${name} ${id}`));
    }
    worker.on("succeeded", ({ result, data, attempt }) =>
      expect([result, data, attempt]).toEqual(["fine", 0, 1]),
    );
    worker.on("dead", ({ failure, reason }) =>
      expect([failure?.message, reason]).toEqual(["attempt 2", expect.any(String)]),
    );
    worker.on("retrying", ({ delayMs, failure }) => expect([delayMs, failure.attempt]).toEqual([0, 1]));
    worker.on("progress", ({ value }) => expect(value).toEqual({ percent: 50 }));
    expect(await worker.ended).toEqual({
      end: "finished",
      succeeded: 1,
      failed: 2,
      retried: 1,
      dead: 1,
      skipped: 0,
    });
    expect(own.filter((one) => one.endsWith("k1"))).toEqual(
      ["started", "progress", "failed", "retrying", "started", "progress", "failed", "dead"].map(
        (one) => `${one} k1`,
      ),
    );
    expect(shared).toEqual(own);
  });

  it("a listener that throws is reported to error, and breaks nothing", async () => {
    const { queue } = await open();
    const errors: unknown[] = [];
    const worker = queue.work(() => 1, UNTIL_EMPTY);
    const removed = () => errors.push("removed");
    worker.on("succeeded", () => {
      throw new Error("a bad listener");
    });
    worker.on("succeeded", removed).off("succeeded", removed);
    worker.on("error", (error) => errors.push(error));
    await worker.ended;
    expect(errors).toMatchObject([{ message: "a bad listener" }]);
  });

  it("a worker that cannot continue reports to error and rejects", async () => {
    const redrive = await store.open();
    await redrive.map("job", [1], () => 1);
    const worker = redrive.queue("job").work(() => 1);
    const error = new Promise((resolve) => worker.on("error", resolve));
    await expect(worker.ended).rejects.toMatchObject({ code: "job_changed" });
    expect(await error).toMatchObject({ code: "job_changed" });
  });

  it("validates the data before the handler, and the result after it", async () => {
    const redrive = await store.open();
    await redrive.queue("q").add({ n: "one" });
    const schema = z.object({ n: z.number(), unit: z.string().default("kg") });
    const queue = redrive.queue("q", { schema, result: z.object({ ok: z.boolean() }), retries: 3 });
    const bad = { ok: "yes" } as unknown as { ok: boolean };
    await queue.add({ n: 1 }, { key: "good" });
    await queue.add({ n: 2 }, { key: "bad result" });
    const seen: unknown[] = [];
    await queue.work(({ id, data }) => {
      seen.push(data);
      return id === "good" ? { ok: true } : bad;
    }, UNTIL_EMPTY).ended;
    expect(seen).toEqual([
      { n: 1, unit: "kg" },
      { n: 2, unit: "kg" },
    ]);
    const letters = queue.letters({ type: "ValidationFailed", class: "permanent", order: "oldest" });
    const messages: (string | undefined)[] = [];
    for await (const { failures, failureCount } of letters)
      messages.push(`${failureCount} ${failures[0]?.message}`);
    expect(messages.sort()).toEqual([
      expect.stringMatching(/^1 The data does not match the schema: n: /),
      expect.stringMatching(/^1 The result does not match its schema: ok: /),
    ]);
  });

  it("middleware runs outermost first, and may change the result", async () => {
    const calls: string[] = [];
    const mark =
      (name: string): Middleware =>
      async (_, next) => {
        calls.push(name);
        return next();
      };
    const redrive = await store.open({ use: [mark("store")] });
    const queue = redrive.queue<number, unknown>("q", { use: [mark("queue")] });
    const added = await queue.add(1);
    queue.work(() => 1, { use: [mark("work"), async (_, next) => ({ wrapped: await next() })] });
    expect(await added.result()).toEqual({ wrapped: 1 });
    expect(calls).toEqual(["store", "queue", "work"]);
  });

  it("timeout: that of the worker wins over that of the queue", async () => {
    const { queue } = await open({ timeout: "1h" }, 1);
    const hang = () => new Promise<void>(() => undefined);
    await queue.work(hang, { ...UNTIL_EMPTY, timeout: 20 }).ended;
    expect(await queue.letters().first()).toMatchObject({ type: "Timeout" });
    const { queue: short } = await (async () => {
      const redrive = await store.open();
      const own = redrive.queue<number>("short", { timeout: 20, retries: 0 });
      await own.add(1);
      return { queue: own };
    })();
    await short.work(hang, UNTIL_EMPTY).ended;
    expect(await short.letters().first()).toMatchObject({ type: "Timeout" });
  });

  it("signal and stop release running items, drain lets them finish", async () => {
    const { queue } = await open();
    const untilAbort = async ({ signal }: { signal: AbortSignal }) => {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    };
    const abort = new AbortController();
    const first = queue.work(untilAbort, { signal: abort.signal });
    first.on("started", () => abort.abort());
    expect(await first.ended).toMatchObject({ end: "interrupted", failed: 0 });
    const second = queue.work(untilAbort);
    second.on("started", () => void second.stop());
    expect(await second.ended).toMatchObject({ end: "interrupted" });
    const third = queue.work(async () => void (await new Promise(setImmediate)));
    third.on("started", () => void third.drain("10s"));
    expect(await third.ended).toMatchObject({ end: "drained", succeeded: 1 });
    await expect(third.drain("soon")).rejects.toMatchObject({ code: "usage" });
  });

  it("abandonAfter: a stop does not wait for a handler that ignores its signal", async () => {
    const { queue } = await open();
    const worker = queue.work(() => new Promise<void>(() => undefined), { abandonAfter: 1 });
    worker.on("started", () => void worker.stop());
    expect(await worker.ended).toMatchObject({ end: "interrupted" });
    expect(await queue.counts()).toMatchObject({ ready: 1 });
  });

  it("close drains the workers; await using closes the store", async () => {
    const { redrive, queue } = await open();
    const events: string[] = [];
    const worker = queue.work(() => 1);
    worker.on("succeeded", () => events.push("succeeded"));
    worker.on("started", () => void redrive.close());
    expect(await worker.ended).toMatchObject({ end: "drained", succeeded: 1 });
    await redrive[Symbol.asyncDispose]();
    expect(events).toEqual(["succeeded"]);
    await expect(redrive.close({ timeout: "x" })).rejects.toMatchObject({ code: "usage", field: "timeout" });
  });

  it("onItemFailure decides about an item that is out of retries", async () => {
    const { queue } = await open({}, 2);
    await queue.work(() => Promise.reject(new Error("no")), {
      ...UNTIL_EMPTY,
      onItemFailure: ({ data }, { message }) => (data === 0 && message === "no" ? "handled" : "dlq"),
    }).ended;
    expect(await queue.counts()).toMatchObject({ skipped: 1, dead: 1 });
  });

  it("name, notes, evidence and evidenceFolder", async () => {
    const { queue } = await open();
    const file = store.path("screen.txt");
    const folder = store.path("kept");
    writeFileSync(file, "a picture");
    mkdirSync(folder);
    await queue.work(
      ({ note, evidence }) => {
        note("looked at it");
        evidence(file);
        throw new BusinessException("no VAT id", { step: "check" });
      },
      { ...UNTIL_EMPTY, name: "robot 1", evidenceFolder: folder },
    ).ended;
    const letter = await queue.letters().first();
    expect(letter?.notes).toMatchObject([{ author: "robot 1", text: "looked at it" }]);
    expect(letter).toMatchObject({
      type: "BusinessException",
      needsReview: true,
      failures: [{ step: "check" }],
    });
    expect(letter?.failures[0]?.evidence).toMatchObject([{ path: file, bytes: 9 }]);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  describe("classifies what a handler throws", () => {
    it.each([
      [new PermanentError("never"), "Unknown", "permanent"],
      [Object.assign(new Error("x"), { status: 404 }), "ClientError", "permanent"],
      [Object.assign(new Error("x"), { statusCode: 429 }), "RateLimited", "throttled"],
      [Object.assign(new Error("x"), { response: { status: 503 } }), "ServerError", "outage"],
      [Object.assign(new Error("x"), { response: { statusCode: 400 } }), "ClientError", "permanent"],
      [z.string().safeParse(1).error, "ValidationFailed", "permanent"],
      [Object.assign(new Error("x"), { code: "ECONNRESET" }), "TransportError", "transient"],
      [new DOMException("The operation was aborted due to timeout", "TimeoutError"), "Timeout", "transient"],
      [null, "Unknown", "unknown"],
    ])("%s", async (thrown, type, errorClass) => {
      const { queue } = await open();
      await queue.work(() => Promise.reject(thrown), UNTIL_EMPTY).ended;
      expect(await queue.letters().first()).toMatchObject({ type, class: errorClass });
    });
  });

  it("a handler that is no function is refused, and no worker starts", async () => {
    const { redrive, queue } = await open();
    expect(() => queue.work("no function" as never)).toThrow(expect.objectContaining({ field: "handler" }));
    expect(() => queue.work(() => 1, { slots: 2 } as object)).toThrow(
      expect.objectContaining({ field: "slots", hint: "Did you mean concurrency?" }),
    );
    expect(await redrive.engine.listHolders()).toEqual([]);
  });

  it("has typed events", () => {
    const names: readonly (keyof WorkerEvents<unknown, unknown>)[] = [...NAMES, "error", "paused", "resumed"];
    expect(new Set(names).size).toBe(11);
  });
});
