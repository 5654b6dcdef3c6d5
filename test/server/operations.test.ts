/** Bulk changes over HTTP: preview, start, conflicts, repetition, undo. */
import { describe, expect, test } from "vitest";
import type { RedriveClient } from "../../src/server/client.ts";
import { type Kit, queueWithLetters, serverKit, work } from "./kit.ts";

async function withLetters(): Promise<Kit & { readonly operator: RedriveClient }> {
  const kit = await serverKit();
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "connect ECONNREFUSED 10.0.0.1:80" } },
    { key: "o-2", data: { bad: "connect ECONNREFUSED 10.0.0.2:80" } },
    { key: "o-3", data: { bad: "no such customer 17" } },
  ]);
  return { ...kit, operator: await kit.as("operator", "olga") };
}

const ALL = { filter: { queue: "orders" }, all_of_queue: true } as const;

describe("a selection", () => {
  test("changes nothing, counts what it froze, and shows samples and groups", async () => {
    const { operator, engine } = await withLetters();
    const held = await operator.call("POST /selections", {
      body: { action: "discard", filter: { queue: "orders", search: "ECONNREFUSED" }, reason: "test" },
    });
    expect(held).toMatchObject({ count: 2, refused: 0, job_id: "orders" });
    expect(held.groups).toMatchObject([{ count: 2 }]);
    expect(held.samples.map(({ item_id }) => item_id)).toEqual(["o-1", "o-2"]);
    expect((await engine.count("orders")).dead).toBe(3);
    const { operations } = await operator.call("GET /operations");
    expect(operations).toEqual([]);
  });

  test.each([
    ["without a condition", { action: "retry", filter: { queue: "orders" } }, "selection_unbounded"],
    ["of all queues", { action: "retry", filter: { search: "x" } }, "selection_unbounded"],
    ["for a discard without a reason", { action: "discard", ...ALL }, "request_invalid"],
    ["with an option that has no effect", { action: "restore", ...ALL, canary: true }, "request_invalid"],
    [
      "with a filter that cannot be parsed",
      { action: "retry", filter: { queue: "orders", filter: "(" } },
      "filter_invalid",
    ],
  ])("%s is refused", async (_, body, code) => {
    const { operator, engine } = await withLetters();
    const call = operator.call("POST /selections", { body: body as never });
    await expect(call).rejects.toMatchObject({ status: 422, code });
    expect(await engine.listOperations({})).toEqual([]);
  });

  test("starts only with its count, only once, and only if no letter changed", async () => {
    const { operator, engine } = await withLetters();
    const select = () =>
      operator.call("POST /selections", { body: { action: "discard", ...ALL, reason: "obsolete" } });
    const { selection_id, count } = await select();
    const wrong = operator.call("POST /operations", { body: { selection_id, count: count + 1 } });
    await expect(wrong).rejects.toMatchObject({ status: 409, code: "selection_changed" });
    const params = { queue: "orders", item_id: "o-1" };
    const { etag } = await operator.request("GET /letters/{queue}/{item_id}", { params });
    await operator.call("PATCH /letters/{queue}/{item_id}", {
      params,
      ifMatch: String(etag),
      body: { data: { bad: "other" } },
    });
    const stale = operator.call("POST /operations", { body: { selection_id, count } });
    await expect(stale).rejects.toMatchObject({ status: 409, code: "selection_changed" });
    expect((await engine.count("orders")).dead).toBe(3);
    const again = await select();
    const started = await operator.call("POST /operations", {
      body: { selection_id: again.selection_id, count: again.count },
    });
    expect(started).toMatchObject({ kind: "discard", selected: 3, author: "olga via api" });
    const twice = operator.call("POST /operations", {
      body: { selection_id: again.selection_id, count: again.count },
    });
    await expect(twice).rejects.toMatchObject({ status: 409, code: "selection_used" });
    const ended = await untilEnded(operator, started.operation_id);
    expect(ended).toMatchObject({ status: "ended", done: 3, refused: 0 });
    expect((await engine.count("orders")).discarded).toBe(3);
  });

  test("of another person cannot be started", async () => {
    const kit = await withLetters();
    const held = await kit.operator.call("POST /selections", { body: { action: "retry", ...ALL } });
    const other = await kit.as("operator", "otto");
    const call = other.call("POST /operations", {
      body: { selection_id: held.selection_id, count: held.count },
    });
    await expect(call).rejects.toMatchObject({ status: 403, code: "forbidden" });
  });

  test("does not contain letters that die after it", async () => {
    const { operator, engine } = await withLetters();
    const held = await operator.call("POST /selections", {
      body: { action: "discard", ...ALL, reason: "x" },
    });
    await engine.add("orders", [{ itemId: "o-9", data: { bad: "new" } }]);
    await work(engine, "orders");
    const { operation_id } = await operator.call("POST /operations", {
      body: { selection_id: held.selection_id, count: 3 },
    });
    await untilEnded(operator, operation_id);
    expect((await engine.count("orders")).dead).toBe(1);
  });
});

describe("an operation", () => {
  test("retries letters of a queue; workers run them", async () => {
    const { operator, engine } = await withLetters();
    const held = await operator.call("POST /selections", {
      body: { action: "retry", filter: { queue: "orders", ids: ["o-1", "o-2"] } },
    });
    const { operation_id } = await operator.call("POST /operations", {
      body: { selection_id: held.selection_id, count: 2 },
    });
    await expect.poll(async () => (await engine.count("orders")).ready).toBe(2);
    const params = { operation_id };
    const show = () => operator.call("GET /operations/{operation_id}", { params });
    expect(await show()).toMatchObject({ waits_for_worker: true });
    const holder = { host: "elsewhere", pid: 1, processStart: "0", ttlMs: 3_600_000 };
    await engine.registerHolder({ id: "w-1", queue: "orders", ...holder });
    expect(await show()).toMatchObject({ waits_for_worker: false });
    await work(engine, "orders", async () => ({ kind: "succeeded" }));
    const ended = await untilEnded(operator, operation_id);
    expect(ended).toMatchObject({ succeeded: 2, failed: 0, waits_for_worker: false });
  });

  test("edits many letters and is undone", async () => {
    const { operator, engine } = await withLetters();
    const held = await operator.call("POST /selections", {
      body: { action: "edit", ...ALL, edit: { set: [{ path: "bad", value: '"fixed"' }] }, note: "why" },
    });
    expect(held.samples[0]?.changes).toMatchObject([{ path: "bad", after: "fixed" }]);
    const { operation_id } = await operator.call("POST /operations", {
      body: { selection_id: held.selection_id, count: 3 },
    });
    await untilEnded(operator, operation_id);
    const dataOf = async () => (await engine.listLetters({ limit: 1, order: "oldest" })).letters[0]?.itemData;
    expect(await dataOf()).toEqual({ bad: "fixed" });
    const undone = await operator.call("POST /operations/{operation_id}/undo", { params: { operation_id } });
    expect(undone).toMatchObject({ undoes: operation_id, done: 3 });
    expect(await dataOf()).toEqual({ bad: "connect ECONNREFUSED 10.0.0.1:80" });
  });

  test("that a crash left open is continued by the next server", async () => {
    const { operator, engine, server } = await withLetters();
    const held = await operator.call("POST /selections", {
      body: { action: "discard", ...ALL, reason: "x" },
    });
    // As after a crash between the start and the first step: the operation is open, and nobody works on it.
    await engine.changeOperation(held.selection_id, { status: "open", progress: {} });
    await engine.enlist(held.selection_id, { letterSequences: [], cursor: null });
    await server.resume();
    const ended = await untilEnded(operator, held.selection_id);
    expect(ended).toMatchObject({ status: "ended", done: 3 });
  });
});

describe("an Idempotency-Key", () => {
  test("returns the first answer to a repeated request", async () => {
    const { operator, engine } = await withLetters();
    const body = { action: "discard", ...ALL, reason: "x" } as const;
    const first = await operator.call("POST /selections", { body, idempotencyKey: "a" });
    expect(await operator.call("POST /selections", { body, idempotencyKey: "a" })).toEqual(first);
    expect(await engine.listOperations({})).toHaveLength(1);
    const start = { body: { selection_id: first.selection_id, count: 3 }, idempotencyKey: "b" };
    const started = await operator.call("POST /operations", start);
    expect(await operator.call("POST /operations", start)).toEqual(started);
  });

  test("of another request is refused, and other people's keys do not matter", async () => {
    const kit = await withLetters();
    const body = { action: "discard", ...ALL, reason: "x" } as const;
    await kit.operator.call("POST /selections", { body, idempotencyKey: "a" });
    const other = kit.operator.call("POST /selections", {
      body: { ...body, reason: "y" },
      idempotencyKey: "a",
    });
    await expect(other).rejects.toMatchObject({ status: 422, code: "key_reused" });
    const otto = await kit.as("operator", "otto");
    await otto.call("POST /selections", { body: { ...body, reason: "y" }, idempotencyKey: "a" });
  });
});

describe("an edit of one letter", () => {
  const params = { queue: "orders", item_id: "o-1" };

  test("needs the current ETag", async () => {
    const { operator } = await withLetters();
    const body = { patch: { bad: null } };
    const missing = operator.call("PATCH /letters/{queue}/{item_id}", { params, body });
    await expect(missing).rejects.toMatchObject({ status: 428 });
    const stale = operator.call("PATCH /letters/{queue}/{item_id}", { params, body, ifMatch: '"1.9"' });
    await expect(stale).rejects.toMatchObject({ status: 412 });
  });

  test("is previewed, made, and returns the new ETag", async () => {
    const { operator } = await withLetters();
    const { etag } = await operator.request("GET /letters/{queue}/{item_id}", { params });
    const ifMatch = String(etag);
    const body = { set: [{ path: "size", value: "1 + 1" }] };
    const route = "PATCH /letters/{queue}/{item_id}";
    const preview = await operator.call(route, { params, body, ifMatch, query: { dry_run: true } });
    expect(preview).toMatchObject({ changed: true, operation: null, changes: [{ path: "size", after: 2 }] });
    const made = await operator.request(route, { params, body, ifMatch });
    expect(made.data).toMatchObject({ letter: { revision: 2 }, operation: { done: 1 } });
    expect(made.etag).not.toBe(etag);
  });
});

async function untilEnded(client: RedriveClient, id: string) {
  const read = () => client.call("GET /operations/{operation_id}", { params: { operation_id: id } });
  await expect.poll(async () => (await read()).ended_at).toBeDefined();
  return read();
}
