/** What becomes of items that a function works: retries, records, notes, timeouts, stops. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import {
  BusinessException,
  GenericException,
  ITException,
  open,
  type Queue,
  type Redrive,
  type Task,
  type Worker,
  type WorkOptions,
} from "../../src/index.ts";
import { assert } from "../../src/std/assert.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

type Handler = (task: Task<unknown>) => unknown;

describe.each(["memory:", "sqlite:"])("a queue of a store %s", (scheme) => {
  let redrive: Redrive;
  let store: Engine;
  let invoices: Queue<unknown>;
  const workers: Worker<unknown, unknown>[] = [];
  let files = 0;

  beforeEach(async () => {
    files += 1;
    const path = scheme === "memory:" ? scheme : `sqlite:${join(directory.path, `${files}.db`)}`;
    redrive = await open(path, { home: directory.path, author: "ann" });
    store = redrive.engine;
    invoices = redrive.queue<unknown>("invoices", { backoff: "fixed:1ms", retries: 2 });
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop();
    expect(await store.check()).toEqual([]);
    await redrive.close();
  });

  const queue = () => invoices;
  const process = (handler: Handler, options: WorkOptions = {}) => {
    const worker = queue().work(handler, options);
    workers.push(worker);
    return worker;
  };
  const add = (...keys: string[]) => queue().addMany(keys.map((key) => ({ key, data: { key } })));
  const drained = (handler: Handler, options: WorkOptions = {}) =>
    process(handler, { untilEmpty: true, ...options }).ended;
  const itemOf = async (key: string) => {
    const [item] = await store.findItems(key, { queue: "invoices", limit: 1 });
    assert(item?.itemId === key, `there is no item ${key}`);
    return item;
  };
  const failuresOf = async (key: string) =>
    (await store.readLetter((await itemOf(key)).ref))?.failureHistory ?? [];

  it("runs every item once, and keeps what the function returns", async () => {
    expect((await add("a", "b")).map(({ outcome }) => outcome)).toEqual(["added", "added"]);
    expect(await queue().add(3, { key: "c" })).toMatchObject({ outcome: "added", id: "c" });
    const seen: [unknown, number][] = [];
    const result = await drained(({ data, attempt }) => {
      seen.push([data, attempt]);
      return { total: seen.length };
    });
    expect(result).toMatchObject({ end: "finished", succeeded: 3 });
    expect(seen).toEqual([
      [{ key: "a" }, 1],
      [{ key: "b" }, 1],
      [3, 1],
    ]);
    const results = await store.listResults("invoices", { after: 0, limit: 10 });
    expect(results.map((one) => [one.itemId, one.result])).toEqual([
      ["a", { total: 1 }],
      ["b", { total: 2 }],
      ["c", { total: 3 }],
    ]);
    expect(await queue().counts()).toMatchObject({ done: 3, ready: 0 });
  });

  it("a business exception is not tried again, IT and generic exceptions are, up to Max Retries, then the item is dead", async () => {
    await add("business", "it", "generic");
    await drained(({ id }) => {
      if (id === "business") throw new BusinessException("the invoice has no VAT id");
      if (id === "it") throw new ITException("the portal is down");
      throw new GenericException("who knows");
    });
    const types = async (key: string) => (await failuresOf(key)).map(({ errorType }) => errorType.name);
    expect(await types("business")).toEqual(["BusinessException"]);
    expect(await types("it")).toEqual(["ITException", "ITException", "ITException"]);
    expect(await types("generic")).toEqual(new Array(3).fill("GenericException"));
    expect(await queue().counts()).toMatchObject({ dead: 3 });
  });

  it("source, reason and evidence of an exception are recorded", async () => {
    await add("a");
    const shot = join(directory.path, "shot.png");
    writeFileSync(shot, "not really a picture");
    const evidenceFolder = join(directory.path, "kept");
    await drained(
      ({ evidence }) => {
        evidence(shot);
        throw new BusinessException("no VAT id", {
          step: "check the invoice",
          flow: "Invoices",
          subflow: "Check",
          action: "4",
          evidence: [join(directory.path, "gone.txt")],
          cause: new Error("field VAT is empty"),
        });
      },
      { evidenceFolder },
    );
    expect(await failuresOf("a")).toMatchObject([
      {
        errorMessage: "no VAT id",
        stepFailed: "check the invoice",
        errorContext: ["field VAT is empty"],
        source: { flow: "Invoices", subflow: "Check", action: "4" },
        evidence: [
          { path: shot, bytes: 20, kept: expect.stringContaining(evidenceFolder) },
          { path: join(directory.path, "gone.txt"), missing: true },
        ],
      },
    ]);
  });

  it("an exception may set the time of the retry", async () => {
    await add("a");
    const zero = await store.now();
    const worker = process(() => {
      throw new ITException("closed until Monday", { retryAfterMs: 3_600_000 });
    });
    await until("it was tried", async () => (await itemOf("a")).attemptsCounted === 1);
    expect((await itemOf("a")).dueAt).toBeGreaterThanOrEqual(zero + 3_600_000);
    await worker.stop();
  });

  it("notes have the worker's name, and are kept whatever the outcome", async () => {
    await add("a", "b");
    await drained(
      ({ id, note }) => {
        note(`looked at ${id}`);
        if (id === "b") throw new BusinessException("no");
      },
      { name: "robot-7" },
    );
    for (const key of ["a", "b"]) {
      expect(await store.listNotes((await itemOf(key)).ref)).toMatchObject([
        { author: "robot-7", text: `looked at ${key}` },
      ]);
    }
  });

  it.each<[string, unknown, RegExp]>([
    ["a circle", circle(), /circular/i],
    ["a function", () => 1, /is a function/],
  ])(
    "work whose result is %s is done all the same, and a note says what is missing",
    async (_what, value, why) => {
      await add("a");
      await drained(() => value);
      expect(await itemOf("a")).toMatchObject({ state: "done", attempts: 1 });
      const notes = await store.listNotes((await itemOf("a")).ref);
      expect(notes).toMatchObject([{ text: expect.stringMatching(why) }]);
    },
  );

  it("a function that takes longer than its timeout has failed, its signal is aborted, and its later result is ignored", async () => {
    await queue().change({ retries: 0 });
    await add("a", "deaf");
    const reasons: unknown[] = [];
    let wake: (value: string) => void = () => undefined;
    await drained(
      ({ id, signal }) =>
        new Promise((resolve, reject) => {
          if (id === "deaf") wake = resolve;
          else
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            });
        }),
      { timeout: 30 },
    );
    wake("too late");
    expect(reasons).toEqual([new Error("it took longer than 30 ms")]);
    for (const key of ["a", "deaf"]) {
      expect(await failuresOf(key)).toMatchObject([
        { errorType: { name: "Timeout" }, errorMessage: "The handler took longer than 30 ms." },
      ]);
    }
  });

  it("a worker waits for work, drains what runs, and leaves the rest", async () => {
    let end: () => void = () => undefined;
    const started: string[] = [];
    const worker = process(
      ({ id }) => {
        started.push(id);
        return new Promise<void>((resolve) => {
          end = resolve;
        });
      },
      { concurrency: 1 },
    );
    await add("a", "b");
    await until("one runs", () => started.length === 1);
    const ended = worker.drain();
    end();
    expect(await ended).toMatchObject({ end: "drained", succeeded: 1 });
    expect(started).toEqual(["a"]);
    expect(await queue().counts()).toMatchObject({ done: 1, ready: 1 });
    expect(await store.listHolders()).toEqual([]);
  });

  it("a drain that takes too long, and a stop, release what runs without an attempt", async () => {
    await add("a");
    const handler: Handler = ({ signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const first = process(handler);
    await until("it runs", async () => (await itemOf("a")).state === "leased");
    expect(await first.drain(20)).toMatchObject({ end: "drained", failed: 0 });
    expect(await itemOf("a")).toMatchObject({ state: "ready", attemptsCounted: 0, attempts: 1 });
    const stop = new AbortController();
    const second = process(handler, { signal: stop.signal });
    await until("it runs again", async () => (await itemOf("a")).state === "leased");
    stop.abort();
    await second.ended;
    expect(await itemOf("a")).toMatchObject({ state: "ready", attemptsCounted: 0, attempts: 2 });
    expect(await store.listErrors({ limit: 10 })).toEqual([]);
  });

  it("what it throws about the item itself counts even while it stops", async () => {
    await add("a");
    const worker = process(
      ({ signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new BusinessException("no VAT id"))),
        ),
    );
    await until("it runs", async () => (await itemOf("a")).state === "leased");
    await worker.stop();
    expect(await itemOf("a")).toMatchObject({ state: "dead" });
  });

  it("a running worker obeys a pause and a hold", async () => {
    const done: string[] = [];
    process(({ id }) => {
      done.push(id);
    });
    await queue().pause({ reason: "month end" });
    await add("a", "b");
    expect(await queue().hold(["b"])).toEqual({ moved: 1, refused: [] });
    expect((await store.findJob("invoices"))?.pause).toMatchObject({
      author: "ann via library",
      reason: "month end",
    });
    await queue().resume();
    await until("a is done", () => done.includes("a"));
    expect(done).toEqual(["a"]);
    expect(await queue().unhold(["b"])).toEqual({ moved: 1, refused: [] });
    await until("b is done", () => done.includes("b"));
    await queue().change({ retries: 0 });
    expect((await queue().settings()).policy.maxAttempts).toBe(1);
  });

  it("a function decides about items that are out of retries; an exception or an invalid answer is a letter", async () => {
    await add("handled", "again", "letter", "thrown", "wrong");
    const asked: string[] = [];
    const answers: Record<string, string> = {
      handled: "handled",
      again: "retry",
      letter: "dlq",
      wrong: "maybe",
    };
    await drained(
      ({ id }) => {
        if (id === "again" && asked.includes("again")) return "done";
        throw new GenericException("no luck");
      },
      {
        concurrency: 1,
        onItemFailure: async ({ id }, failure) => {
          asked.push(id);
          expect(failure).toMatchObject({ attempt: 3, message: "no luck" });
          if (id === "thrown") throw new Error("the handler broke");
          return answers[id] as "handled";
        },
      },
    );
    expect(asked.sort()).toEqual(["again", "handled", "letter", "thrown", "wrong"]);
    const { letters } = await store.listLetters({ queue: "invoices", limit: 10 });
    expect(letters.map(({ itemId }) => itemId).sort()).toEqual(["letter", "thrown", "wrong"]);
    expect(await itemOf("handled")).toMatchObject({ state: "skipped" });
    expect(await itemOf("again")).toMatchObject({ state: "done" });
    const failed = await store.listEvents({
      queue: "invoices",
      types: ["handler_failed"],
      after: 0,
      limit: 10,
    });
    expect(failed.map(({ itemId, data }) => [itemId, data?.message])).toEqual(
      expect.arrayContaining([
        ["thrown", "Error: the handler broke"],
        ["wrong", "onItemFailure returned maybe; valid answers: handled, retry, dlq"],
      ]),
    );
  });

  it("no more than the given number run at a time", async () => {
    await add("a", "b", "c", "d", "e");
    let [running, most] = [0, 0];
    await drained(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
      { concurrency: 2 },
    );
    expect(most).toBe(2);
  });
});

function circle(): unknown {
  const it: Record<string, unknown> = {};
  it.self = it;
  return it;
}
