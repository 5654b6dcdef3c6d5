/** The routes that act: single letters, groups, queues, items, logs, streams, events, audit. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RedriveClient } from "../../src/server/client.ts";
import { jobLogs } from "../../src/store/home.ts";
import { type Kit, queueWithLetters, serverKit, work } from "./kit.ts";

async function withLetters(): Promise<
  Kit & { readonly operator: RedriveClient; readonly admin: RedriveClient }
> {
  const kit = await serverKit();
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "connect ECONNREFUSED 10.0.0.1:80" } },
    { key: "o-2", data: { bad: "no such customer 17" } },
    { key: "o-3", data: { size: 3 } },
  ]);
  return { ...kit, operator: await kit.as("operator", "olga"), admin: await kit.as("admin", "ada") };
}

const params = { queue: "orders", item_id: "o-1" };

describe("one letter", () => {
  test("is discarded with a reason, restored, noted and retried", async () => {
    const { operator, engine } = await withLetters();
    const discard = "POST /letters/{queue}/{item_id}/discard";
    expect(await operator.call(discard, { params, body: { reason: "obsolete" } })).toMatchObject({ done: 1 });
    const again = operator.call(discard, { params, body: { reason: "obsolete" } });
    await expect(again).rejects.toMatchObject({ status: 409, code: "illegal_move" });
    await operator.call("POST /letters/{queue}/{item_id}/restore", { params });
    const noted = await operator.call("POST /letters/{queue}/{item_id}/notes", {
      params,
      body: { text: "seen" },
    });
    expect(noted.notes).toMatchObject([{ text: "seen", author: "olga via api" }]);
    await operator.call("POST /letters/{queue}/{item_id}/retry", { params, body: {} });
    expect((await engine.count("orders")).ready).toBe(1);
  });

  test("is exported, imported elsewhere, and downloaded as a capsule", async () => {
    const { operator, admin, engine } = await withLetters();
    const exported = await operator.call("GET /letters/export", { query: { queue: "orders" } });
    const text = await exported.text();
    expect(text.trim().split("\n")).toHaveLength(2);
    const imported = await admin.call("POST /letters/import", {
      query: { job: "elsewhere" },
      headers: { "content-type": "application/octet-stream" },
      stream: text,
    });
    expect(imported).toMatchObject({ imported: 2, refused_count: 0 });
    expect((await engine.count("elsewhere")).dead).toBe(2);
    const capsule = await operator.call("GET /letters/{queue}/{item_id}/capsule", { params });
    expect((await capsule.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  test("has an analysis and numbers beside it", async () => {
    const { operator } = await withLetters();
    expect(await operator.call("GET /letters/analysis", { query: { queue: "orders" } })).toMatchObject({
      total_items: 2,
    });
    expect(await operator.call("GET /letters/stats")).toMatchObject({ jobs: [{ job_id: "orders" }] });
  });
});

test("groups are resolved, ignored, noted, split and merged", async () => {
  const { operator } = await withLetters();
  const { groups } = await operator.call("GET /groups");
  const [first, second] = groups.map(({ signature }) => String(signature));
  const group = { group: String(first) };
  expect(
    await operator.call("POST /groups/{group}/resolve", { params: group, body: { note: "fixed" } }),
  ).toMatchObject({ state: "resolved", notes: [{ text: "fixed" }] });
  expect(
    await operator.call("POST /groups/{group}/ignore", { params: group, body: { until: "2d", count: 5 } }),
  ).toMatchObject({ state: "ignored" });
  const past = operator.call("POST /groups/{group}/ignore", {
    params: group,
    body: { until: "2001-01-01T00:00:00Z" },
  });
  await expect(past).rejects.toMatchObject({ status: 422, code: "usage" });
  await operator.call("POST /groups/{group}/open", { params: group, body: {} });
  const merged = await operator.call("POST /groups/merge", {
    body: { groups: [String(second)], into: String(first) },
  });
  expect(merged).toMatchObject({ signature: first, moved: 1 });
  expect((await operator.call("GET /corrections")).corrections).toMatchObject([
    { kind: "merge", from: second },
  ]);
  await operator.call("POST /corrections/remove", { body: { from: String(second) } });
  expect((await operator.call("GET /corrections")).corrections).toEqual([]);
});

describe("queues", () => {
  test("are created, changed, paused and resumed", async () => {
    const { admin, operator } = await withLetters();
    const created = await admin.call("POST /queues", { body: { name: "mails", retries: 5, rate: "10/s" } });
    expect(created).toMatchObject({ name: "mails", settings: { max_retries: 5, rate_per_second: 10 } });
    const queue = { queue: "mails" };
    const changed = await admin.call("PATCH /queues/{queue}", { params: queue, body: { rate: null } });
    expect(changed).toMatchObject({ settings: { max_retries: 5, rate_per_second: null } });
    const paused = await operator.call("POST /queues/{queue}/pause", {
      params: queue,
      body: { reason: "x" },
    });
    expect(paused).toMatchObject({ is_paused: true, pause: { author: "olga via api", reason: "x" } });
    expect(await operator.call("POST /queues/{queue}/resume", { params: queue })).toMatchObject({
      is_paused: false,
    });
  });

  test("get items, one by one or as a stream, which are listed, held and shown", async () => {
    const { operator, engine } = await withLetters();
    const queue = { queue: "orders" };
    const { results } = await operator.call("POST /queues/{queue}/items", {
      params: queue,
      body: {
        items: [
          { key: "n-1", data: { a: 1 }, due: "10m" },
          { key: "o-3", data: {} },
        ],
      },
    });
    expect(results.map(({ outcome }) => outcome)).toEqual(["added", "refused"]);
    const imported = await operator.call("POST /queues/{queue}/import", {
      params: queue,
      query: { key_field: "id" },
      headers: { "content-type": "application/octet-stream" },
      stream: '{"id":"n-2"}\n{"id":"n-3"}\nnot json\n',
    });
    expect(imported).toMatchObject({ read: 3, added: 2, refused: 1 });
    const page = await operator.call("GET /items", {
      query: { queue: "orders", state: ["ready"], limit: 2 },
    });
    expect(page.items.map(({ item_id }) => item_id)).toEqual(["n-1", "n-2"]);
    const rest = await operator.call("GET /items", {
      query: { queue: "orders", state: ["ready"], limit: 2, cursor: String(page.next) },
    });
    expect(rest).toMatchObject({ items: [{ item_id: "n-3" }], next: null });
    const found = await operator.call("GET /items", { query: { id: "n-" } });
    expect(found.items.map(({ item_id }) => item_id)).toEqual(["n-1", "n-2", "n-3"]);
    const none = await operator.call("GET /items", { query: { id: "n-", state: ["dead"] } });
    expect(none.items).toEqual([]);
    await expect(operator.call("GET /items", { query: {} })).rejects.toMatchObject({ code: "usage" });
    const held = await operator.call("POST /queues/{queue}/hold", {
      params: queue,
      body: { ids: ["n-1", "o-3"] },
    });
    expect(held).toMatchObject({ moved: 1, refused: [{ item_id: "o-3", state: "done" }] });
    await operator.call("POST /queues/{queue}/unhold", { params: queue, body: { ids: ["n-1"] } });
    const shown = await operator.call("GET /items/{queue}/{item_id}", { params });
    expect(shown.attempt_history).toMatchObject([{ outcome: "failed" }]);
    expect((await engine.count("orders")).held).toBe(0);
  });
});

test("schedules are put, paused, resumed and removed", async () => {
  const { admin } = await withLetters();
  const of = { schedule: "nightly" };
  const body = { queue: "orders", cron: "0 6 * * *", data: { kind: "report" } };
  expect(await admin.call("PUT /schedules/{schedule}", { params: of, body })).toMatchObject({
    queue: "orders",
    timezone: "UTC",
  });
  expect((await admin.call("POST /schedules/{schedule}/pause", { params: of })).next_run_at).toBeNull();
  expect((await admin.call("POST /schedules/{schedule}/resume", { params: of })).next_run_at).not.toBeNull();
  await admin.call("DELETE /schedules/{schedule}", { params: of });
  expect(await admin.call("GET /schedules")).toEqual({ schedules: [] });
  const wrong = admin.call("PUT /schedules/{schedule}", { params: of, body: { ...body, cron: "often" } });
  await expect(wrong).rejects.toMatchObject({ status: 422, code: "usage" });
});

describe("the log of an attempt", () => {
  async function withLog(): Promise<Kit & { readonly viewer: RedriveClient; readonly log: string }> {
    const kit = await serverKit();
    const log = jobLogs(kit.home, "orders").log("o-1", 1);
    mkdirSync(dirname(log), { recursive: true });
    writeFileSync(log, "0123456789");
    await queueWithLetters(kit.engine, "orders", [{ key: "o-1", data: { bad: "x", log } }]);
    return { ...kit, viewer: await kit.as("viewer"), log };
  }

  test("is sent whole or in part", async () => {
    const { viewer } = await withLog();
    const read = (range?: string) =>
      viewer.call("GET /items/{queue}/{item_id}/log", { params, ...(range && { headers: { range } }) });
    expect(await (await read()).text()).toBe("0123456789");
    const part = await read("bytes=2-4");
    expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
      206,
      "234",
      "bytes 2-4/10",
    ]);
    expect(await (await read("bytes=-3")).text()).toBe("789");
    await expect(read("bytes=20-")).rejects.toMatchObject({ status: 416, code: "range_invalid" });
  });

  test("that leads out of the folder of logs is not sent", async () => {
    const { viewer, engine, home } = await withLog();
    const secret = join(home, "secret");
    writeFileSync(secret, "secret");
    const link = jobLogs(home, "orders").log("o-8", 1);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(secret, link);
    for (const [key, log] of [
      ["o-7", secret],
      ["o-8", link],
      ["o-9", join(jobLogs(home, "orders").folder, "../../secret")],
    ]) {
      await engine.add("orders", [{ itemId: String(key), data: { bad: "x", log: String(log) } }]);
      await work(engine, "orders");
      const call = viewer.call("GET /items/{queue}/{item_id}/log", {
        params: { queue: "orders", item_id: String(key) },
      });
      await expect(call).rejects.toMatchObject({ status: 404, code: "log_not_found" });
    }
  });
});

describe("what spans queues", () => {
  test("overview, workers, store, settings, alerts, errors, targets and events are read", async () => {
    const { operator, admin } = await withLetters();
    expect(await operator.call("GET /overview")).toMatchObject({ queues: [{ queue: "orders" }] });
    expect(await operator.call("GET /workers")).toEqual({ workers: [] });
    expect(await operator.call("GET /store")).toMatchObject({ letters: 2 });
    expect(await operator.call("GET /settings")).toMatchObject({ dlq: { mirror: true } });
    expect((await operator.call("GET /alerts")).alerts).toBeInstanceOf(Array);
    expect((await operator.call("GET /errors")).errors).toHaveLength(2);
    expect(await operator.call("GET /targets")).toEqual({ targets: [] });
    const { events } = await operator.call("GET /events/list", { query: { type: ["dlq_item_added"] } });
    expect(events.map(({ item_id }) => item_id)).toEqual(["o-1", "o-2"]);
    expect(await admin.call("POST /store/check")).toEqual({ ok: true, problems: [] });
  });

  test("the audit names who did what, by which way, newest first", async () => {
    const { operator, admin, engine } = await withLetters();
    const before = (await operator.call("GET /audit")).entries.length;
    await operator.call("POST /letters/{queue}/{item_id}/notes", { params, body: { text: "seen" } });
    await operator.call("POST /letters/{queue}/{item_id}/discard", { params, body: { reason: "x" } });
    await admin.call("POST /tokens", { body: { name: "ci", role: "viewer" } });
    await engine.changeJob("orders", { pause: { author: "root@vm", reason: "" } });
    const { entries, next } = await operator.call("GET /audit");
    expect(entries).toHaveLength(before + 4);
    expect(entries.slice(0, 4).map(({ author, via, action }) => [author, via, action])).toEqual([
      ["root@vm", "cli", "queue_paused"],
      ["ada", "api", "token_created"],
      ["olga", "api", "dlq_items_discarded"],
      ["olga", "api", "note_added"],
    ]);
    expect(next).toBeNull();
    expect(JSON.stringify(entries)).not.toContain("rdr_");
    const first = await operator.call("GET /audit", { query: { limit: 1 } });
    const second = await operator.call("GET /audit", { query: { limit: 1, cursor: String(first.next) } });
    expect(second.entries.map(({ action }) => action)).toEqual(["token_created"]);
    const own = await operator.call("GET /audit", { query: { author: "ada" } });
    expect(own.entries).toHaveLength(1);
  });
});

test("a missing choice is named with its values", async () => {
  const kit = await serverKit();
  const headers = {
    authorization: `Bearer ${await kit.tokenFor("operator")}`,
    "content-type": "application/json",
  };
  const answer = await kit.send("POST", "/api/v1/selections", { headers, body: "{}" });
  expect(await answer.json()).toMatchObject({
    code: "request_invalid",
    field: "body.action",
    detail: expect.stringMatching(/^body\.action is required: one of retry, .*discard/),
  });
});
