/** Items come into a queue by its rules, and each has an answer. */
import { describe, expect, it } from "vitest";
import { addItems, openQueueIntake } from "../../src/queue/add-items.ts";
import { requireQueue } from "../../src/queue/find-job.ts";
import { changeQueue } from "../../src/queue/queue-settings.ts";
import { openQueueBench, QUEUE } from "./queue-kit.ts";

const outcomes = (answers: readonly { readonly outcome: string }[]) => answers.map(({ outcome }) => outcome);

describe("an added item", () => {
  it("is ready under its key, or under a generated id", async () => {
    const { engine, add, item } = await openQueueBench();
    const [keyed, free] = await add({ data: 1, key: "k" }, { data: 1 });
    expect(keyed).toEqual({ outcome: "added", itemId: "k" });
    expect(free?.itemId).toMatch(/^[0-9a-z]{16}$/);
    expect(await item("k")).toMatchObject({ state: "ready", data: 1, priority: "normal" });
    expect(await engine.count(QUEUE)).toMatchObject({ ready: 2 });
  });

  it("has the priority and the expiry of its queue unless it has its own", async () => {
    const { add, item, engine } = await openQueueBench({ priority: "low", expiresAfterMs: 60_000 });
    const now = await engine.now();
    const dueAt = now + 3_600_000;
    await add(
      { data: 1, key: "a" },
      { data: 2, key: "b", priority: "high", expiresAt: now + 5000 },
      { data: 3, key: "c", dueAt },
    );
    const a = await item("a");
    expect(a.priority).toBe("low");
    expect((a.expiresAt ?? 0) - now).toBeGreaterThanOrEqual(60_000);
    expect(await item("b")).toMatchObject({ priority: "high", expiresAt: now + 5000 });
    expect((await item("c")).expiresAt).toBe(dueAt + 60_000);
  });

  it.each([
    [{ data: 1, key: "" }, /key is empty/],
    [{ data: 1, key: "x".repeat(600) }, /longer/],
    [{ data: 1, key: "a\u0000b" }, /control character/],
    [{ data: 1, expiresAt: 1 }, /already expired/],
    [{ data: 1, dueAt: 9e12, expiresAt: 8e12 }, /expires before it is due/],
    [{ data: 1, dueAt: Number.NaN }, /expiry is invalid/],
  ])("is refused when it is wrong: %j", async (wrong, reason) => {
    const { engine, add } = await openQueueBench();
    const [answer, good] = await add(wrong, { data: "good" });
    expect(answer).toMatchObject({ outcome: "refused", because: "invalid" });
    expect(answer?.reason).toMatch(reason);
    expect(good?.outcome).toBe("added");
    expect(await engine.count(QUEUE)).toMatchObject({ total: 1 });
  });

  it("is refused if the schema refuses it, with the position", async () => {
    const schema = { type: "object", required: ["amount"], properties: { amount: { type: "number" } } };
    const { add } = await openQueueBench({ schema });
    const answers = await add({ data: { amount: 1 } }, { data: { amount: "1" } }, { data: {} });
    expect(outcomes(answers)).toEqual(["added", "refused", "refused"]);
    expect(answers[1]?.reason).toMatch(/schema: .*amount/);
  });

  it("needs a queue", async () => {
    const { engine } = await openQueueBench();
    await expect(addItems(engine, "nope", [])).rejects.toMatchObject({ code: "job_not_found" });
  });
});

describe("a key that exists in the queue", () => {
  it("is refused by the rule reject, whatever the state of its item", async () => {
    const { add, work } = await openQueueBench();
    await add({ data: 1, key: "k" });
    expect(await add({ data: 1, key: "k" })).toEqual([
      {
        outcome: "refused",
        itemId: "k",
        because: "key_taken",
        reason: "its key is already used by an item that is ready",
      },
    ]);
    await work(() => undefined);
    expect((await add({ data: 2, key: "k" }))[0]?.reason).toBe(
      "its key is already used by an item that is done",
    );
  });

  it("returns the existing item by the rule return", async () => {
    const { add, item } = await openQueueBench({ unique: "return" });
    await add({ data: 1, key: "k" });
    expect(await add({ data: 2, key: "k" })).toEqual([{ outcome: "existing", itemId: "k" }]);
    expect((await item("k")).data).toBe(1);
  });

  it("gets the new data by the rule replace while it waits, and not later", async () => {
    const { engine, add, item, work } = await openQueueBench({ unique: "replace" });
    await add({ data: 1, key: "k" });
    expect(await add({ data: 2, key: "k", priority: "high" })).toEqual([
      { outcome: "replaced", itemId: "k" },
    ]);
    const replaced = await item("k");
    expect(replaced).toMatchObject({ data: 2, priority: "high", revision: 2 });
    expect(await engine.listAmendments(replaced.ref)).toMatchObject([{ before: 1, author: "ann" }]);
    expect(await add({ data: 2, key: "k" })).toEqual([{ outcome: "existing", itemId: "k" }]);
    await work(() => undefined);
    const [late] = await add({ data: 3, key: "k" });
    expect(late).toMatchObject({ outcome: "refused", because: "key_taken" });
    expect(late?.reason).toMatch(/is done/);
    expect((await item("k")).data).toBe(2);
  });

  it("includes the first item of the same call", async () => {
    const reject = await openQueueBench();
    expect(outcomes(await reject.add({ data: 1, key: "k" }, { data: 2, key: "k" }, { data: 3 }))).toEqual([
      "added",
      "refused",
      "added",
    ]);
    const replace = await openQueueBench({ unique: "replace" });
    expect(outcomes(await replace.add({ data: 1, key: "k" }, { data: 2, key: "k" }))).toEqual([
      "added",
      "replaced",
    ]);
    expect((await replace.item("k")).data).toBe(2);
  });

  it("of two concurrent additions is added once, and both get the right answer", async () => {
    const { engine, add } = await openQueueBench();
    const answers = await Promise.all([
      add({ data: 1, key: "k" }),
      add({ data: 2, key: "k" }),
      add({ data: 3, key: "k" }),
    ]);
    expect(outcomes(answers.flat()).sort()).toEqual(["added", "refused", "refused"]);
    expect(await engine.count(QUEUE)).toMatchObject({ total: 1 });
  });
});

describe("a kept queue object", () => {
  const number = { type: "number" };
  const text = { type: "string" };

  it("obeys settings that another process has made stricter", async () => {
    const { engine } = await openQueueBench();
    const kept = await openQueueIntake(engine, await requireQueue(engine, QUEUE));
    expect(outcomes(await kept.add([{ data: "x" }]))).toEqual(["added"]);
    await changeQueue(engine, QUEUE, { schema: number, priority: "high" });
    expect(outcomes(await kept.add([{ data: "x" }, { data: 1, key: "n" }]))).toEqual(["refused", "added"]);
    expect((await engine.findItems("n", { queue: QUEUE, limit: 1 }))[0]?.priority).toBe("high");
    await changeQueue(engine, QUEUE, { schema: text });
    expect(outcomes(await kept.add([{ data: 2 }]))).toEqual(["refused"]);
    expect(await engine.count(QUEUE)).toMatchObject({ total: 2 });
  });

  it("obeys settings that another process has made laxer", async () => {
    const { engine } = await openQueueBench({ schema: number });
    const kept = await openQueueIntake(engine, await requireQueue(engine, QUEUE));
    expect(outcomes(await kept.add([{ data: "x", key: "k" }]))).toEqual(["refused"]);
    await changeQueue(engine, QUEUE, { schema: text, unique: "return" });
    expect(outcomes(await kept.add([{ data: "x", key: "k" }]))).toEqual(["added"]);
    expect(outcomes(await kept.add([{ data: "y", key: "k" }]))).toEqual(["existing"]);
    await changeQueue(engine, QUEUE, { unique: "replace" });
    expect(outcomes(await kept.add([{ data: "y", key: "k" }]))).toEqual(["replaced"]);
  });
});
