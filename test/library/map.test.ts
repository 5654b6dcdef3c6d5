/** A function over items: a job of the store that continues by name, with letters, groups and results. */
import { expect, it } from "vitest";
import { resumeJob, retryLetters } from "../../src/exports/engine.ts";
import { PermanentError } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

const double = (n: number) => ({ doubled: n * 2 });

onEveryStore("map", (store) => {
  it("runs each item, and gives totals, results and letters", async () => {
    const redrive = await store.open();
    const result = await redrive.map("numbers", [1, 2, -3], (n) => {
      if (n < 0) throw new PermanentError(`${n} is negative`);
      return double(n);
    });
    expect(result).toMatchObject({ total: 3, succeeded: 2, dead: 1, skipped: 0 });
    const results = [];
    for await (const { data, result: value } of result.results()) results.push([data, value.doubled]);
    expect(results).toEqual([
      [1, 2],
      [2, 4],
    ]);
    expect(await result.letters.first()).toMatchObject({
      data: -3,
      failures: [{ message: "-3 is negative" }],
    });
  });

  it("continues by name: repeats no success, and takes new items", async () => {
    const redrive = await store.open();
    const seen: number[] = [];
    const work = (n: number) => {
      seen.push(n);
      if (n === 2) throw new Error("not now");
    };
    const options = { retries: 0 };
    await redrive.map("numbers", [1, 2], work, options);
    const again = await redrive.map("numbers", new Set([3, 2, 1]), work, options);
    expect(seen).toEqual([1, 2, 3]);
    expect(again).toMatchObject({ total: 3, succeeded: 2, dead: 1 });
  });

  it("letters.retry runs the same function in this process, to the end", async () => {
    const redrive = await store.open();
    let isOpen = false;
    const { letters } = await redrive.map(
      "pages",
      ["a", "b", "c"],
      (page) => {
        if (!isOpen) throw new Error("closed");
        return page;
      },
      { retries: 0 },
    );
    expect(await letters.count()).toBe(3);
    isOpen = true;
    expect(await letters.retry({ canary: 1, concurrency: 1, retries: 0 })).toMatchObject({
      selected: 3,
      succeeded: 3,
      status: "ended",
    });
    expect(await letters.count()).toBe(0);
  });

  it("the command line says that the program has to run it", async () => {
    const redrive = await store.open();
    const { jobId } = await redrive.map("numbers", [1], () => Promise.reject(new PermanentError("no")));
    const deps = { engine: redrive.engine, home: store.path("home"), stop: new AbortController().signal };
    const refused = expect.objectContaining({ code: "usage", hint: expect.stringContaining("redrive.map(") });
    await expect(resumeJob(deps, { job: jobId, withLetters: true })).rejects.toEqual(refused);
    const job = await redrive.engine.findJob(jobId);
    if (job === null) throw new Error("no job");
    const selection = { filter: {} };
    await expect(retryLetters(deps, { job, selection, author: "ann" })).rejects.toEqual(refused);
  });

  it("takes async iterables, and keeps what was added when they throw", async () => {
    const redrive = await store.open();
    async function* numbers() {
      yield 1;
      throw new Error("the source broke");
    }
    await expect(redrive.map("numbers", numbers(), double)).rejects.toThrow("the source broke");
    expect(await redrive.map("numbers", [1, 2], double)).toMatchObject({ total: 2, succeeded: 2 });
  });

  it("key: recognises items by it; an equal key with other data keeps the first", async () => {
    const notices: string[] = [];
    const redrive = await store.open({ onNotice: (notice) => void notices.push(notice) });
    const key = ({ id }: { id: string }) => id;
    await redrive.map("users", [{ id: "a", age: 1 }], ({ age }) => age, { key });
    const result = await redrive.map("users", [{ id: "a", age: 2 }], ({ age }) => age, { key });
    expect(result).toMatchObject({ total: 1, succeeded: 1 });
    expect(notices.join()).toContain("different data (a)");
  });

  it("signal: rejects, and the next call continues", async () => {
    const redrive = await store.open();
    const abort = new AbortController();
    const stopped = redrive.map(
      "numbers",
      [1, 2, 3],
      (n, { signal }) => {
        if (n === 1) return n;
        abort.abort();
        throw signal.reason;
      },
      { signal: abort.signal, concurrency: 1 },
    );
    await expect(stopped).rejects.toMatchObject({ code: "interrupted" });
    expect(await redrive.map("numbers", [1, 2, 3], double)).toMatchObject({ succeeded: 3, dead: 0 });
  });

  it("onFailure, maxFailures and failureThreshold", async () => {
    const redrive = await store.open();
    const fail = () => Promise.reject(new PermanentError("no"));
    const many = Array.from({ length: 40 }, (_, n) => n);
    const once = { retries: 0, concurrency: 1 };
    expect(await redrive.map("skip", [1, 2], fail, { ...once, onFailure: "skip" })).toMatchObject({
      skipped: 2,
    });
    expect(await redrive.map("max", many, fail, { ...once, maxFailures: 2 })).toMatchObject({
      dead: 2,
      stopReason: expect.any(String),
    });
    const share = await redrive.map("share", many, fail, { ...once, failureThreshold: 0.5 });
    expect(share.dead).toBe(10);
  });

  it("use: middleware runs around each attempt, that of the store outermost", async () => {
    const calls: string[] = [];
    const mark = (name: string) => (_: unknown, next: () => Promise<unknown>) => {
      calls.push(name);
      return next();
    };
    const redrive = await store.open({ use: [mark("store")] });
    await redrive.map("one", [1], () => calls.push("handler"), {
      use: [mark("map"), { handle: mark("second") }],
    });
    expect(calls).toEqual(["store", "map", "second", "handler"]);
  });

  it("refuses items that are not JSON, and invalid keys", async () => {
    const redrive = await store.open();
    const wrong = redrive.map("numbers", [1, () => 2], () => undefined);
    await expect(wrong).rejects.toMatchObject({ code: "input_invalid", field: "items[1]" });
    const keys = redrive.map("keyed", [1], () => undefined, { key: () => "" });
    await expect(keys).rejects.toMatchObject({ code: "input_invalid", field: "key" });
    await redrive.queue("taken").ready();
    await expect(redrive.map("taken", [1], () => undefined)).rejects.toMatchObject({ code: "job_changed" });
  });
});
