/** The read routes over a store with letters, through the typed client. */
import { describe, expect, test } from "vitest";
import { type Kit, queueWithLetters, serverKit } from "./kit.ts";

async function withLetters(): Promise<Kit> {
  const kit = await serverKit();
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "connect ECONNREFUSED 10.0.0.1:80", size: 1 } },
    { key: "o-2", data: { bad: "connect ECONNREFUSED 10.0.0.2:80", size: 2 } },
    { key: "o-3", data: { bad: "no such customer 17", size: 3 } },
    { key: "o-4", data: { size: 4 } },
  ]);
  return kit;
}

describe("letters", () => {
  test("are listed by pages with a cursor and counted apart", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const first = await viewer.call("GET /letters", { query: { queue: "orders", limit: 2 } });
    expect(first.items.map(({ item_id }) => item_id)).toEqual(["o-3", "o-2"]);
    const cursor = String(first.next);
    const second = await viewer.call("GET /letters", { query: { queue: "orders", limit: 2, cursor } });
    expect(second.items.map(({ item_id }) => item_id)).toEqual(["o-1"]);
    expect(second.next).toBeNull();
    expect(await viewer.call("GET /letters/count")).toEqual({ total: 3 });
  });

  test("are listed briefly, without their data and with their last failure only", async () => {
    const kit = await withLetters();
    const operator = await kit.as("operator");
    const params = { queue: "orders", item_id: "o-3" };
    const body = { text: "asked the bank" };
    await operator.call("POST /letters/{queue}/{item_id}/notes", { params, body });
    const read = async (query: object) =>
      (await operator.call("GET /letters", { query: { queue: "orders", ...query } })).items;
    const whole = await read({});
    expect(whole[0]).toHaveProperty("item_data");
    expect(whole[0]).toHaveProperty("notes");
    const expected = whole.map(({ item_data: _, notes: __, ...letter }) => letter);
    expect(expected.map(({ failure_history: { length } }) => length)).toEqual([1, 1, 1]);
    expect(await read({ brief: true })).toEqual(expected);
    expect(await read({ brief: true, filter: "item.size > 1" })).toEqual(expected.slice(0, 2));
  });

  test("are selected by group, text, state and CEL", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const idsOf = async (query: object) =>
      (await viewer.call("GET /letters", { query })).items.map(({ item_id }) => item_id);
    expect(await idsOf({ search: "CUSTOMER" })).toEqual(["o-3"]);
    expect(await idsOf({ filter: "item.size > 1" })).toEqual(["o-3", "o-2"]);
    expect(await idsOf({ state: ["resolved"] })).toEqual([]);
    expect(await idsOf({ ids: ["o-1", "o-3"] })).toEqual(["o-3", "o-1"]);
    const { groups } = await viewer.call("GET /groups");
    expect(await idsOf({ group: [String(groups[0]?.signature)] })).toEqual(["o-2", "o-1"]);
  });

  test("are shown with history, group and ETag", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const params = { queue: "orders", item_id: "o-1" };
    const { data, etag } = await viewer.request("GET /letters/{queue}/{item_id}", { params });
    expect(data).toMatchObject({ item_id: "o-1", state: "dead", group_count: 2, revision: 1 });
    expect(data.failure_history[0]?.error_message).toContain("ECONNREFUSED");
    expect(etag).toMatch(/^"\d+\.1"$/);
  });

  test("a filter that cannot be typed is an error and matches nothing", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const call = viewer.call("GET /letters", { query: { filter: "item.size >" } });
    await expect(call).rejects.toMatchObject({ status: 422, code: "filter_invalid" });
    const unknown = viewer.call("GET /letters", { query: { group: ["nothing-like-it"] } });
    await expect(unknown).rejects.toMatchObject({ status: 422, code: "filter_invalid" });
  });
});

describe("groups, jobs and queues", () => {
  test("groups are listed, shown and explained", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const { groups, next } = await viewer.call("GET /groups", { query: { queue: "orders" } });
    expect(groups.map(({ count }) => count)).toEqual([2, 1]);
    const sampled = await viewer.call("GET /groups", { query: { samples: true } });
    expect(sampled.groups.map(({ sample_items }) => sample_items)).toEqual([["o-2", "o-1"], ["o-3"]]);
    expect(next).toBeNull();
    const params = { group: String(groups[0]?.signature) };
    expect(await viewer.call("GET /groups/{group}", { params })).toMatchObject({ state: "open", count: 2 });
    const explained = await viewer.call("GET /groups/{group}/explain", { params });
    expect(explained.nearest).toHaveLength(1);
  });

  test("queues are listed and shown; an unknown one is a 404", async () => {
    const viewer = await (await withLetters()).as("viewer");
    const { queues } = await viewer.call("GET /queues");
    expect(queues).toMatchObject([{ name: "orders", counts: { dead: 3, done: 1 } }]);
    const call = viewer.call("GET /queues/{queue}", { params: { queue: "nothing" } });
    await expect(call).rejects.toMatchObject({ status: 404, code: "job_not_found" });
    expect(await viewer.call("GET /jobs")).toEqual({ jobs: [], next: null });
  });
});

test("groups, letters, items and jobs show what agents used", async () => {
  const { engine, as } = await withLetters();
  const usage = { costUsd: 0.1, inputTokens: 70, cachedTokens: 20, outputTokens: 5, turns: 2 };
  for (const { itemId, ref } of await engine.listItems({ queue: "orders", after: 0, limit: 10 })) {
    const times = { startedAt: 1, updatedAt: 2 };
    const run = { id: itemId, lease: { ref, attempt: 1 }, step: "step 1", agent: "codex", isFinal: true };
    await engine.writeAgentRuns("orders", [{ ...run, ...times, session: `s-${itemId}`, usage }]);
  }
  const viewer = await as("viewer");
  const one = { cost_usd: 0.1, input_tokens: 70, cached_tokens: 20, output_tokens: 5, turns: 2 };
  const two = { cost_usd: 0.2, input_tokens: 140, cached_tokens: 40, output_tokens: 10, turns: 4 };
  const { groups } = await viewer.call("GET /groups");
  expect(groups.map((group) => group.usage)).toEqual([two, one]);
  const params = { group: groups[0]?.signature ?? "" };
  expect((await viewer.call("GET /groups/{group}", { params })).usage).toEqual(two);
  const address = { queue: "orders", item_id: "o-3" };
  const letter = await viewer.call("GET /letters/{queue}/{item_id}", { params: address });
  expect(letter.usage).toEqual(one);
  expect(letter.agent_runs).toMatchObject([{ attempt_number: 1, agent: "codex", session: "s-o-3", ...one }]);
  const { items } = await viewer.call("GET /items", { query: { queue: "orders" } });
  expect(items.map((item) => item.usage)).toEqual([one, one, one, one]);
});

test("health is public, metrics need a role, and the OpenAPI document lists every route", async () => {
  const kit = await withLetters();
  expect((await kit.send("GET", "/healthz")).status).toBe(200);
  expect((await kit.send("GET", "/readyz")).status).toBe(200);
  expect((await kit.send("GET", "/metrics")).status).toBe(401);
  const authorization = `Bearer ${await kit.tokenFor("viewer")}`;
  const metrics = await (await kit.send("GET", "/metrics", { headers: { authorization } })).text();
  expect(metrics).toContain('redrive_dead_letter_queue_size{queue="orders"} 3');
  expect(metrics).toContain("redrive_http_request_duration_seconds_bucket");
  const document = await (await kit.send("GET", "/api/v1/openapi.json")).json();
  expect(document).toMatchObject({
    openapi: "3.1.0",
    paths: { "/letters": { get: { "x-role": "viewer" } } },
  });
});

test("the report of a job is Markdown, a page without scripts, or JSON", async () => {
  const kit = await serverKit();
  const { id } = await kit.engine.createJob({ id: "nightly-1", name: "nightly", kind: "map", spec: {} });
  await kit.engine.add(id, [{ itemId: "a", data: "a" }]);
  const viewer = await kit.as("viewer");
  const read = (format?: "md" | "html" | "json") =>
    viewer.call("GET /jobs/{job}/report", { params: { job: id }, ...(format && { query: { format } }) });
  const [text, page, document] = [await read(), await read("html"), await read("json")];
  expect(await text.text()).toContain("## nightly: 0 of 1 items done");
  expect(await page.text()).toContain("<h1>nightly: 0 of 1 items done</h1>");
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; style-src 'sha256-");
  expect(document).toMatchObject({ job_id: id, total: 1, items: [], failures: [] });
});
