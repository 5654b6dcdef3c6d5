/** The entry object: opening, events, errors, metrics, groups, jobs, receipts and operations. */
import { describe, expect, it } from "vitest";
import { open, type Redrive } from "../../src/index.ts";
import { onEveryStore } from "./stores.ts";

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

describe("open", () => {
  it("takes the store of REDRIVE_STORE, or the embedded one of the home folder", async () => {
    const { REDRIVE_STORE } = process.env;
    process.env.REDRIVE_STORE = "memory:";
    try {
      const redrive = await open();
      expect(redrive.engine.url).toBe("memory:");
      await redrive.close();
    } finally {
      if (REDRIVE_STORE === undefined) delete process.env.REDRIVE_STORE;
      else process.env.REDRIVE_STORE = REDRIVE_STORE;
    }
  });

  it.each<[unknown, object, string]>([
    ["ftp://x", {}, "usage"],
    ["", {}, "usage"],
    [7, {}, "usage"],
    ["memory:", { homee: "x" }, "usage"],
    ["memory:", { clock: {} }, "usage"],
    ["memory:", { limits: { maxItems: "many" } }, "usage"],
    ["sqlite:./no/such/store.db", { mustExist: true }, "input_invalid"],
  ])("%j with %j is refused", async (url, options, code) => {
    await expect(open(url as string, options)).rejects.toMatchObject({ code });
  });
});

onEveryStore("a store", (store) => {
  const failing = async (redrive: Redrive, count = 2) => {
    const queue = redrive.queue<number>("q", { retries: 0 });
    await queue.addMany(Array.from({ length: count }, (_, data) => ({ data, key: `k${data}` })));
    await queue.work(
      ({ data }) => {
        throw new Error(data === 0 ? "no such file" : "the disk is slow");
      },
      { untilEmpty: true },
    ).ended;
    return queue;
  };

  it("home, author, limits and onNotice", async () => {
    const notices: string[] = [];
    const home = store.path("own-home");
    const redrive = await store.open({
      home,
      author: "ann",
      limits: { maxItems: 1 },
      onNotice: (notice) => void notices.push(notice),
    });
    const queue = await failing(redrive, 3);
    expect(await queue.letters().count()).toBe(1);
    expect(notices.length).toBeGreaterThan(0);
    const purged = await queue.letters().purge();
    expect(purged.author).toBe("ann via library");
    expect(purged.archive).toContain(home);
  });

  it("groupRules, classRules and poisonAfter apply to workers and maps", async () => {
    const redrive = await store.open({
      groupRules: [{ name: "disks", match: { text: "disk" } }],
      classRules: [{ match: { text: "no such file" }, class: "permanent" }],
      poisonAfter: 1,
    });
    const queue = await failing(redrive);
    await queue.letters({ ids: "k1" }).retry();
    await queue.work(() => Promise.reject(new Error("the disk is slow")), { untilEmpty: true }).ended;
    expect(await queue.letters({ ids: "k1" }).first()).toMatchObject({ poison: true, redriveCount: 1 });
    expect(await queue.letters({ group: "disks" }).count()).toBe(1);
    expect(await queue.letters({ class: "permanent" }).first()).toMatchObject({ id: "k0" });
    const fail = () => Promise.reject(new Error("a slow disk"));
    const { letters } = await redrive.map("job", [1], fail, { retries: 0 });
    expect(await letters.first()).toMatchObject({ group: { pattern: "disks" } });
  });

  it("events: by queue, type, item and id; following until the signal", async () => {
    const redrive = await store.open();
    await failing(redrive);
    const types = (await all(redrive.events({ queue: "q", item: "k0" }))).map(({ type }) => type);
    expect(types).toEqual([
      "item_queued",
      "attempt_started",
      "attempt_failed",
      "dlq_item_added",
      "group_opened",
    ]);
    const failed = await all(redrive.events({ types: "attempt_failed" }));
    expect(failed).toMatchObject([{ queue: "q", at: expect.any(Date) }, { queue: "q" }]);
    expect(await all(redrive.events({ types: ["attempt_failed"], after: failed[0]?.id ?? 0 }))).toHaveLength(
      1,
    );
    expect(await all(redrive.events({ since: new Date(4e12) }))).toEqual([]);
    const abort = new AbortController();
    const followed: string[] = [];
    const after = failed.at(-1)?.id ?? 0;
    const query = { follow: true, types: "queue_paused", after, signal: abort.signal } as const;
    const following = (async () => {
      for await (const { type } of redrive.events(query)) if (followed.push(type) === 2) abort.abort();
    })();
    for (const _ of [1, 2]) {
      await redrive.queue("q").pause();
      await redrive.queue("q").resume();
    }
    await following;
    expect(followed).toEqual(["queue_paused", "queue_paused"]);
    expect(() => redrive.events({ typs: [] } as object)).toThrow(expect.objectContaining({ field: "typs" }));
  });

  it("errors: newest first, by queue, item, origin and time", async () => {
    const redrive = await store.open();
    await failing(redrive);
    const errors = await all(redrive.errors());
    expect(errors).toHaveLength(2);
    expect(errors[0]?.id).toBeGreaterThan(errors[1]?.id ?? 0);
    expect(await all(redrive.errors({ queue: "q", item: "k0" }))).toMatchObject([
      { message: "no such file", item: "k0", attempt: 1, failure: { class: "unknown" } },
    ]);
    expect(await all(redrive.errors({ origin: "runner" }))).toEqual([]);
    expect(await all(redrive.errors({ queue: ["other"] }))).toEqual([]);
    expect(await all(redrive.errors({ since: "2099-01-01T00:00:00Z" }))).toEqual([]);
    const seen: string[] = [];
    for await (const { message } of redrive.errors({ follow: true })) {
      seen.push(message);
      if (seen.length === 2) break;
    }
    expect(seen.sort()).toEqual(["no such file", "the disk is slow"]);
    expect(() => redrive.errors({ origin: "other" } as object)).toThrow(
      expect.objectContaining({ field: "origin" }),
    );
  });

  it("metrics, as an object and as text", async () => {
    const redrive = await store.open();
    await failing(redrive);
    expect((await redrive.metrics()).queues).toMatchObject([{ queue: "q" }]);
    expect(await redrive.metricsText({ prefix: "acme" })).toMatch(/^acme_/m);
    expect(() => redrive.metricsText({ prefx: "" } as object)).toThrow(
      expect.objectContaining({ field: "prefx" }),
    );
  });

  it("groups: list, get, resolve, ignore, reopen, note, merge, split, explain", async () => {
    const redrive = await store.open({ author: "ann" });
    const queue = await failing(redrive, 3);
    const [slow, missing] = await redrive.groups.list({ queue: "q" });
    expect([slow?.count, missing?.count]).toEqual([2, 1]);
    expect(slow?.title).toContain("the disk is slow");
    const signature = slow?.signature ?? "";
    const [letter] = await redrive.engine.findItems("k1", { limit: 1 });
    const [lease, usage] = [
      { ref: letter?.ref ?? 0, attempt: 1 },
      { costUsd: 0.5, turns: 3 },
    ];
    const run = {
      id: "r",
      lease,
      step: "step 1",
      agent: "codex",
      usage,
      isFinal: true,
      startedAt: 1,
      updatedAt: 1,
    };
    await redrive.engine.writeAgentRuns("q", [run]);
    expect(await redrive.groups.get(signature.slice(0, 9))).toMatchObject({
      signature,
      queues: ["q"],
      usage,
    });
    expect(await redrive.groups.ignore(signature, { during: "1h", count: 5, note: "known" })).toMatchObject({
      state: "ignored",
    });
    expect((await redrive.groups.list()).map((group) => group.signature)).toEqual([missing?.signature]);
    expect(await redrive.groups.list({ states: ["ignored"] })).toHaveLength(1);
    expect(await redrive.groups.reopen(signature)).toMatchObject({ state: "open" });
    expect(await redrive.groups.resolve(signature, { note: "fixed" })).toMatchObject({ state: "resolved" });
    expect(await redrive.groups.assign(signature, "ann")).toMatchObject({ assignee: "ann" });
    expect((await redrive.groups.assign(signature, null)).assignee).toBeUndefined();
    await redrive.groups.note(signature, "a note");
    expect((await redrive.engine.readGroup(signature))?.notes.map(({ text }) => text)).toEqual([
      "known",
      "fixed",
      "a note",
    ]);
    expect(await redrive.groups.merge([signature], missing?.signature ?? "")).toMatchObject({ count: 3 });
    const split = await redrive.groups.split(missing?.signature ?? "", { text: "slow", name: "slow disks" });
    expect(split).toMatchObject({ count: 2, pattern: "slow disks" });
    expect(await queue.letters({ group: "slow disks" }).count()).toBe(2);
    expect(await redrive.groups.explain(missing?.signature ?? "")).toBeDefined();
    await expect(redrive.groups.get("none")).rejects.toMatchObject({ code: "group_not_found" });
    await expect(redrive.groups.ignore(signature, { untl: 1 } as object)).rejects.toMatchObject({
      field: "untl",
    });
  });

  it("jobs: list and get", async () => {
    const redrive = await store.open();
    const { jobId } = await redrive.map("numbers", [1, 2], (n) => n);
    await redrive.queue("q").ready();
    expect(await redrive.jobs.list()).toMatchObject([
      { id: jobId, name: "numbers", kind: "map", status: "completed" },
    ]);
    expect(await redrive.jobs.list({ limit: 1 })).toHaveLength(1);
    expect(await redrive.jobs.get("numbers")).toMatchObject({ jobId, total: 2, succeeded: 2 });
    await expect(redrive.jobs.get("none")).rejects.toMatchObject({ code: "job_not_found" });
  });

  it("jobs: results, pause, continue, skip, stop and cancel of a running map", async () => {
    const redrive = await store.open({ author: "ann" });
    const key = (n: number) => `n${n}`;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const work = async (n: number, { signal }: { readonly signal: AbortSignal }) => {
      if (n === 1) return 10;
      begin();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    };
    const map = redrive.map("numbers", [1, 2, 3], work, { concurrency: 1, key });
    const interrupted = expect(map).rejects.toMatchObject({ code: "interrupted" });
    await begun;
    const { jobs } = redrive;
    expect(await jobs.pause("numbers", { reason: "slow" })).toMatchObject({
      isPaused: true,
      status: "running",
    });
    expect(await redrive.engine.findJob("numbers")).toMatchObject({
      pause: { author: "ann via library", reason: "slow" },
    });
    expect(await jobs.continue("numbers")).toMatchObject({ isPaused: false });
    expect(await jobs.skip("numbers", "n3")).toBe("ready");
    expect(await jobs.stop("numbers")).toMatchObject({ name: "numbers", status: "interrupted" });
    await interrupted;
    expect(await all(jobs.results("numbers"))).toEqual([{ id: "n1", data: 1, result: 10 }]);
    await expect(jobs.stop("numbers")).rejects.toMatchObject({ code: "illegal_move" });
    const ended = await redrive.map("numbers", [1, 2, 3], (n) => n * 10, { key });
    expect(ended).toMatchObject({ succeeded: 2, skipped: 1 });
    await expect(jobs.cancel("numbers")).rejects.toMatchObject({ code: "illegal_move" });
    await redrive.map("stopped", [1], (n) => n, { signal: AbortSignal.abort() }).catch(() => undefined);
    expect(await jobs.cancel("stopped")).toMatchObject({ name: "stopped" });
    expect((await all(redrive.events({ types: "job_dismissed" }))).length).toBe(1);
    await redrive.queue("q").ready();
    for (const call of [
      () => jobs.pause("none"),
      () => jobs.continue("none"),
      () => all(jobs.results("none")),
    ])
      await expect(call()).rejects.toMatchObject({ code: "job_not_found" });
    await expect(jobs.pause("q")).rejects.toMatchObject({ code: "usage" });
    await expect(jobs.pause("")).rejects.toMatchObject({ code: "usage", field: "job" });
  });

  it("receipts: a target delivers, and is closed with the store", async () => {
    const redrive = await store.open();
    const taken: unknown[] = [];
    const deliver = async (receipt: unknown) => void taken.push(receipt);
    const target = redrive.receipts("audit", { deliver });
    expect(await target.send({ id: 1 }, { key: "r1" })).toBe(true);
    expect(redrive.receipts("audit")).toBe(target);
    expect(() => redrive.receipts("audit", { deliver })).toThrow(expect.objectContaining({ code: "usage" }));
    expect(taken).toHaveLength(1);
    await redrive.close();
    expect(target.isClosed).toBe(true);
  });

  it("operations: list, get, pause, resume, cancel, wait", async () => {
    const redrive = await store.open();
    const queue = await failing(redrive);
    const sent = await queue.letters().retry({ delay: "1h" });
    expect(await redrive.operations.list({ queue: "q", open: true })).toHaveLength(1);
    expect(await redrive.operations.list({ open: false })).toEqual([]);
    expect(await redrive.operations.get(sent.id.slice(0, 8))).toMatchObject({ id: sent.id, remaining: 2 });
    expect(await redrive.operations.pause(sent.id)).toMatchObject({ status: "paused" });
    expect(await redrive.operations.resume(sent.id)).toMatchObject({ status: "open" });
    await expect(redrive.operations.wait(sent.id, { timeout: 1 })).rejects.toMatchObject({
      code: "wait_timeout",
    });
    const signal = AbortSignal.abort();
    await expect(redrive.operations.wait(sent.id, { signal })).rejects.toMatchObject({ code: "interrupted" });
    expect(await redrive.operations.cancel(sent.id)).toMatchObject({ status: "cancelled" });
    expect(await queue.letters({ states: "dead" }).count()).toBe(2);
    await expect(redrive.operations.get("none")).rejects.toMatchObject({ code: "operation_not_found" });
    await expect(redrive.operations.get("")).rejects.toMatchObject({ code: "usage" });
  });
});
