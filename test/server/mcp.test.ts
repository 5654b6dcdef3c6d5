/** Agents over HTTP: which tools they see, what each answers, sizes, roles and hostile data. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { jobLogs } from "../../src/store/home.ts";
import { type Kit, queueWithLetters, work } from "./kit.ts";
import { agentKit } from "./mcp-kit.ts";

/** Prompts and permissions of agents contain these names, so they never change. */
const READING = [
  "overview",
  "list_groups",
  "explain_group",
  "list_letters",
  "inspect_letter",
  "preview_edit",
  "watch_operation",
  "read_log",
];
const CHANGING = ["preview_change", "start_change", "undo_operation", "write_note"];

async function withOrders(kit: Kit): Promise<void> {
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "connect ECONNREFUSED 10.0.0.1:80", size: 1, shop: "berlin" } },
    { key: "o-2", data: { bad: "connect ECONNREFUSED 10.0.0.2:80", size: 2, shop: "berlin" } },
    { key: "o-3", data: { bad: "no such customer 17", size: 3 } },
  ]);
}

const openChanges = { allowsAgentChanges: true };
const o1 = { queue: "orders", item_id: "o-1" };

describe("the tools that an agent sees", () => {
  test.each([
    ["viewer", false, READING.filter((name) => name !== "preview_edit")],
    ["viewer", true, READING.filter((name) => name !== "preview_edit")],
    ["operator", false, READING],
    ["operator", true, [...READING, ...CHANGING]],
    ["admin", true, [...READING, ...CHANGING]],
  ] as const)("role %s, changes allowed: %s", async (role, allowsAgentChanges, names) => {
    const { agent } = await agentKit({ allowsAgentChanges });
    expect(await (await agent(role)).toolNames()).toEqual(names);
  });

  test("are at most a dozen, with a title, annotations and schemas", async () => {
    const { agent } = await agentKit(openChanges);
    const { tools } = await (await agent("admin")).client.listTools();
    expect(tools.length).toBeLessThanOrEqual(12);
    for (const { name, description, annotations, inputSchema, outputSchema } of tools) {
      const reads = READING.includes(name);
      expect(annotations).toMatchObject({ readOnlyHint: reads, openWorldHint: false });
      expect(annotations?.destructiveHint).toBe(["start_change", "undo_operation"].includes(name));
      expect(annotations).toHaveProperty("idempotentHint");
      expect(description?.length).toBeGreaterThan(40);
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({ required: ["facts", "notice", "untrusted"] });
    }
  });

  test("that are absent cannot be called either", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    const agent = await kit.agent("admin");
    const input = { action: "retry", filter: { queue: "orders", ids: ["o-1"] }, reason: "test" };
    await expect(agent.call("preview_change", input)).rejects.toThrow(/There is no tool/);
    expect(await kit.engine.listOperations({})).toEqual([]);
  });
});

describe("a reading tool", () => {
  test("overview: queues, most letters first, and open operations", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    await queueWithLetters(kit.engine, "calm", []);
    const { facts } = await (await kit.agent("viewer")).ask("overview");
    expect(facts).toMatchObject({ total: 2, operations: [], next: null });
    expect(facts.queues).toMatchObject([
      { number: 1, queue: "orders", dead_letters: 3, items: { dead: 3 } },
      { number: 2, queue: "calm", dead_letters: 0 },
    ]);
  });

  test("list_groups and explain_group: facts apart from patterns and samples", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    const agent = await kit.agent("viewer");
    const listed = await agent.ask("list_groups", { queue: "orders" });
    expect(listed.facts).toMatchObject({ total: 2, groups: [{ count: 2, state: "open" }, { count: 1 }] });
    expect(listed.untrusted.groups[0].sample_items).toEqual(expect.arrayContaining(["o-1"]));
    const { signature } = listed.facts.groups[0];
    const explained = await agent.ask("explain_group", { group: signature });
    expect(explained.facts).toMatchObject({
      group: { signature, count: 2 },
      explanation: { signature, would_move: false, nearest: [{ number: 1, count: 1 }] },
    });
    expect(explained.untrusted.group.pattern).toContain("ECONNREFUSED");
    expect(JSON.stringify(explained.untrusted.common_fields)).toContain("berlin");
  });

  test("list_letters: filters and pages", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    const agent = await kit.agent("viewer");
    const first = await agent.ask("list_letters", { queue: "orders", limit: 2 });
    expect(first.facts).toMatchObject({ total: 3, cut: ["letters: 1 more"] });
    expect(first.facts.letters).toMatchObject([{ number: 1, queue: "orders", state: "dead" }, { number: 2 }]);
    const rest = await agent.ask("list_letters", { queue: "orders", limit: 2, cursor: first.facts.next });
    const ids = [...first.untrusted.letters, ...rest.untrusted.letters].map(({ item_id }) => item_id);
    expect(ids.sort()).toEqual(["o-1", "o-2", "o-3"]);
    expect(rest.facts.next).toBeNull();
    const found = await agent.ask("list_letters", { filter: "item.size > 2" });
    expect(found.untrusted.letters).toMatchObject([{ number: 1, item_id: "o-3" }]);
    const wrong = await agent.call("list_letters", { filter: "(" });
    expect(wrong).toMatchObject({ isError: true, facts: { error: "filter_invalid" } });
    const foreign = await agent.call("list_letters", { cursor: "abc" });
    expect(foreign).toMatchObject({ isError: true, facts: { error: "request_invalid" } });
    const unknown = await agent.call("list_letters", { quue: "orders" });
    expect(unknown).toMatchObject({ isError: true, facts: { error: "request_invalid" } });
  });

  test("inspect_letter: facts and data", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    const agent = await kit.agent("viewer");
    const { facts, untrusted } = await agent.ask("inspect_letter", o1);
    expect(facts).toMatchObject({ queue: "orders", state: "dead", failure_count: 1, group_count: 2 });
    expect(facts.failures).toMatchObject([{ number: 1, attempt_number: 1 }]);
    expect(untrusted.item_data).toEqual({ bad: "connect ECONNREFUSED 10.0.0.1:80", size: 1, shop: "berlin" });
    expect(untrusted.failures[0].error_message).toContain("ECONNREFUSED");
    const missing = await agent.call("inspect_letter", { ...o1, item_id: "none" });
    expect(missing).toMatchObject({ isError: true, facts: { error: "item_not_found" } });
  });

  test("preview_edit: the differences, and nothing is written", async () => {
    const kit = await agentKit();
    await withOrders(kit);
    const agent = await kit.agent("operator");
    const { facts, untrusted } = await agent.ask("preview_edit", { ...o1, patch: { size: 9 } });
    expect(facts).toEqual({ changed: true });
    expect(untrusted.changes).toEqual([{ path: "size", before: 1, after: 9 }]);
    const { untrusted: still } = await agent.ask("inspect_letter", o1);
    expect(still.item_data.size).toBe(1);
  });

  test("read_log: the end of the output, other parts by cursor, and what differs between attempts", async () => {
    const kit = await agentKit();
    const logs = jobLogs(kit.home, "orders");
    const lines = (attempt: number) =>
      `start\n${Array.from({ length: 2000 }, (_, index) => `é line ${index}`).join("\n")}\nattempt ${attempt} failed\n`;
    for (const attempt of [1, 2]) {
      mkdirSync(dirname(logs.log("o-1", attempt)), { recursive: true });
      writeFileSync(logs.log("o-1", attempt), lines(attempt));
    }
    await queueWithLetters(kit.engine, "orders", [
      { key: "o-1", data: { bad: "broken", log: logs.log("o-1", 1) } },
    ]);
    const agent = await kit.agent("viewer");
    const end = await agent.ask("read_log", o1);
    const total = Buffer.byteLength(lines(1));
    expect(end.facts).toMatchObject({ to_byte: total, total_bytes: total, next: null });
    expect(end.untrusted.text).toMatch(/line 1999\nattempt 1 failed\n$/);
    expect(end.facts.cut[0]).toMatch(/^\d+ more bytes before/);
    let whole = "";
    for (let cursor: string | null = "0"; cursor !== null; ) {
      const part = await agent.ask("read_log", { ...o1, cursor });
      whole += part.untrusted.text;
      cursor = part.facts.next;
    }
    expect(whole).toBe(lines(1));

    await work(kit.engine, "orders"); // nothing is ready
    const operator = await kit.as("operator");
    const params = o1;
    const { etag } = await operator.request("GET /letters/{queue}/{item_id}", { params });
    await operator.call("PATCH /letters/{queue}/{item_id}", {
      params,
      ifMatch: String(etag),
      body: { data: { bad: "broken in another way", log: logs.log("o-1", 2) } },
    });
    await operator.call("POST /letters/{queue}/{item_id}/retry", { params, body: { force: true } });
    await work(kit.engine, "orders");
    const compared = await agent.ask("read_log", { ...o1, attempt: 1, compare_with: 2 });
    expect(compared.facts.attempts).toMatchObject([{ attempt_number: 1 }, { attempt_number: 2 }]);
    expect(compared.untrusted.only_in_first).toEqual(["attempt 1 failed"]);
    expect(compared.untrusted.only_in_second).toEqual(["attempt 2 failed"]);
    expect(compared.untrusted.differences).toContainEqual({
      path: "error_message",
      before: "broken",
      after: "broken in another way",
    });
  });
});
