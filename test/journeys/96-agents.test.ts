/**
 * Agents on the stdio of `redrive mcp`, with the client of the SDK; and one journey (fail, group, explain, edit, canary retry,
 * undo, discard) that command line, HTTP, library and agent each take in one store, whose audit names all four.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { open } from "../../src/library/open.ts";
import { RedriveClient } from "../../src/server/client.ts";
import { connect, type Fields, TestAgent } from "../server/mcp-kit.ts";
import { CLI_PATH } from "../support/cli.ts";
import { until } from "../support/until.ts";
import { openWorkshop, SOUND, type Workshop } from "./workshop.ts";

const READING = [
  ...["overview", "list_groups", "explain_group", "list_letters", "inspect_letter"],
  ...["preview_edit", "watch_operation", "read_log"],
];
const CHANGING = ["preview_change", "start_change", "undo_operation", "write_note"];

interface StdioAgent extends TestAgent {
  readonly process: StdioClientTransport;
}

/** Starts `redrive mcp` as an agent does. */
async function start(shop: Workshop, flags: readonly string[] = [], name = "bot"): Promise<StdioAgent> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI_PATH, "mcp", ...flags],
    env: { ...shop.env, REDRIVE_AUTHOR: name },
    cwd: shop.home,
    stderr: "pipe",
  });
  const client = new Client({ name: "test-agent", version: "1" });
  await client.connect(transport as unknown as Parameters<typeof client.connect>[0]);
  onTestFinished(() => client.close());
  await client.listTools(); // from then on the client checks answers against the output schemas
  return Object.assign(new TestAgent(client), { process: transport });
}

/** Fails items without a country. */
const SCRIPT = `case "$1" in *country*) echo ok;; *old*) echo shop is closed >&2; exit 1;; *) echo no country given >&2; exit 1;; esac`;
const worker = (queue: string, ...flags: string[]) => [
  ...["worker", "--queue", queue, "--quiet", ...flags],
  ...["--", "sh", "-c", SCRIPT, "sh", "{}"],
];

/** A queue with four letters: three of one cause, one of another. */
async function fail(shop: Workshop, queue: string): Promise<void> {
  await shop.run(["queue", "create", queue, "--retries", "0"]);
  const lines = ["o-1", "o-2", "o-3", "old"].map((key) => JSON.stringify({ key, n: key }));
  const items = shop.write(`${queue}.jsonl`, `${lines.join("\n")}\n`);
  expect((await shop.run(["queue", "import", queue, items, "--key-field", "key"])).code).toBe(0);
  await shop.run(worker(queue, "--until-empty"));
  expect((await shop.letters("--queue", queue)).length).toBe(4);
}

describe("redrive mcp", () => {
  it("is read-only by default: tools that change are absent, and the store is unchanged", async () => {
    const shop = openWorkshop();
    await fail(shop, "orders");
    const before = await shop.events();
    const agent = await start(shop);
    expect(await agent.toolNames()).toEqual(READING);
    expect(agent.client.getServerVersion()).toMatchObject({ name: "redrive" });
    expect(agent.client.getInstructions()).toContain("untrusted");
    await expect(agent.call("start_change", {})).rejects.toThrow(/There is no tool/);
    expect((await agent.ask("overview")).facts.queues).toMatchObject([{ queue: "orders", dead_letters: 4 }]);
    const { untrusted } = await agent.ask("read_log", { queue: "orders", item_id: "o-1" });
    expect(untrusted.text).toContain("no country given");
    const letter = await agent.client.readResource({ uri: "redrive://letters/orders/o-1" });
    expect(JSON.stringify(letter.contents)).toContain("no country given");
    expect(await shop.events()).toEqual(before);
  });

  it("has the tools that change with --allow-changes", async () => {
    const shop = openWorkshop();
    const agent = await start(shop, ["--allow-changes"]);
    expect(await agent.toolNames()).toEqual([...READING, ...CHANGING]);
  });

  it("ends with its input, and on a signal; stdout has only messages", async () => {
    const shop = openWorkshop();
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const piped = await shop.run(["mcp"], { stdin: `${JSON.stringify(message)}\n` });
    expect(piped.code).toBe(0);
    const lines = piped.stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ jsonrpc: "2.0", id: 1 }]);
    const running = shop.start(["mcp"]);
    running.stdin.write(`${JSON.stringify(message)}\n`);
    await running.untilStdout('"id":1');
    running.signal("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });
});

/** The steps of the journey, each in the words of one way. */
interface Way {
  /** The signatures of the groups, largest first. */
  groups(queue: string): Promise<readonly string[]>;
  /** The pattern of a group. */
  explain(group: string): Promise<string>;
  /** Adds the country to the letters of the group and returns the operation. */
  edit(queue: string, group: string): Promise<string>;
  /** Retries two letters with a canary and waits for the end. */
  retry(queue: string, ids: readonly string[]): Promise<void>;
  undo(operation: string): Promise<void>;
  discard(queue: string, group: string): Promise<void>;
}

const REASON = "the shop is closed for good";
const patch = { country: "DE" };

/** Fields of the documents that the commands print. */
interface CommandAnswer {
  readonly groups: readonly { readonly signature: string }[];
  readonly pattern: string;
  readonly operation_id: string;
}

function byCommand(shop: Workshop): Way {
  const json = async (...args: string[]) => {
    const result = await shop.run([...args, "--json"], { env: { REDRIVE_AUTHOR: "carl" } });
    expect([0, 3], result.stderr).toContain(result.code); // 3: letters that succeeded since cannot be undone
    return result.json<CommandAnswer>();
  };
  return {
    groups: async (queue) =>
      (await json("groups", "list", "--queue", queue)).groups.map(({ signature }) => signature),
    explain: async (group) => (await json("groups", "explain", group)).pattern,
    edit: async (queue, group) => {
      const where = ["--queue", queue, "--group", group];
      const edited = await json("dlq", "edit", ...where, "--patch", JSON.stringify(patch), "--yes");
      return edited.operation_id;
    },
    retry: async (queue, ids) => void (await json("dlq", "retry", queue, ...ids, "--canary", "--yes")),
    undo: async (operation) => void (await json("ops", "undo", operation)),
    discard: async (queue, group) => {
      await json("dlq", "discard", "--queue", queue, "--group", group, "--reason", REASON, "--yes");
    },
  };
}

function byHttp(client: RedriveClient): Way {
  const change = async (body: Parameters<typeof client.call<"POST /selections">>[1]["body"]) => {
    const { selection_id, count } = await client.call("POST /selections", { body });
    await client.call("POST /operations", { body: { selection_id, count } });
    const params = { operation_id: selection_id };
    const read = () => client.call("GET /operations/{operation_id}", { params });
    await until("the operation has ended", async () => (await read()).status === "ended");
    return selection_id;
  };
  return {
    groups: async (queue) =>
      (await client.call("GET /groups", { query: { queue } })).groups.map(({ signature }) => signature),
    explain: async (group) =>
      (await client.call("GET /groups/{group}/explain", { params: { group } })).pattern,
    edit: (queue, group) => change({ action: "edit", filter: { queue, group: [group] }, edit: { patch } }),
    retry: async (queue, ids) =>
      void (await change({ action: "retry", filter: { queue, ids: [...ids] }, canary: true })),
    undo: async (operation_id) =>
      void (await client.call("POST /operations/{operation_id}/undo", { params: { operation_id } })),
    discard: async (queue, group) =>
      void (await change({ action: "discard", filter: { queue, group: [group] }, reason: REASON })),
  };
}

function byLibrary(redrive: Awaited<ReturnType<typeof open>>): Way {
  const of = (queue: string, group: string) => redrive.letters({ queue, group });
  return {
    groups: async (queue) => (await redrive.groups.list({ queue })).map(({ signature }) => signature),
    explain: async (group) => (await redrive.groups.explain(group)).pattern,
    edit: async (queue, group) => (await of(queue, group).edit({ patch })).id,
    retry: async (queue, ids) =>
      void (await redrive.letters({ queue, ids: [...ids] }).retry({ canary: true })),
    undo: async (operation) => void (await redrive.operations.undo(operation)),
    discard: async (queue, group) => void (await of(queue, group).discard({ reason: REASON })),
  };
}

function byAgent(agent: TestAgent): Way {
  const change = async (request: Fields) => {
    const { selection_id, count } = (await agent.ask("preview_change", { reason: REASON, ...request })).facts;
    await agent.ask("start_change", { selection_id, count, reason: REASON });
    const watched = { operation_id: selection_id, wait_seconds: 30 };
    expect((await agent.ask("watch_operation", watched)).facts).toMatchObject({ status: "ended" });
    return String(selection_id);
  };
  return {
    groups: async (queue) =>
      (await agent.ask("list_groups", { queue })).facts.groups.map(({ signature }: Fields) => signature),
    explain: async (group) => (await agent.ask("explain_group", { group })).untrusted.explanation.pattern,
    edit: (queue, group) => change({ action: "edit", filter: { queue, group: [group] }, edit: { patch } }),
    retry: async (queue, ids) =>
      void (await change({ action: "retry", filter: { queue, ids }, canary: true })),
    undo: async (operation_id) => void (await agent.ask("undo_operation", { operation_id })),
    discard: async (queue, group) =>
      void (await change({ action: "discard", filter: { queue, group: [group] } })),
  };
}

async function travel(shop: Workshop, queue: string, way: Way): Promise<void> {
  await fail(shop, queue);
  const [large = "", small = ""] = await way.groups(queue);
  expect(await way.explain(large)).toContain("no country given");
  const edited = await way.edit(queue, large);
  const working = shop.start(worker(queue));
  const shown = () => shop.json<{ workers: readonly unknown[] }>("queue", "show", queue);
  await until("the worker is registered", async () => (await shown()).workers.length > 0);
  await way.retry(queue, ["o-1", "o-2"]);
  working.signal("SIGTERM");
  await working.ended;
  await way.undo(edited);
  await way.discard(queue, small);
  const letters = await shop.letters("--queue", queue, "--state", "all");
  const states = letters.map(({ item_id, state, item_data }) => [item_id, state, item_data]);
  expect(states).toEqual(
    expect.arrayContaining([
      ["o-1", "done", { key: "o-1", n: "o-1", ...patch }],
      ["o-2", "done", { key: "o-2", n: "o-2", ...patch }],
      ["o-3", "dead", { key: "o-3", n: "o-3" }],
      ["old", "discarded", { key: "old", n: "old" }],
    ]),
  );
}

describe("one journey, four interfaces, one store", () => {
  it("has the same end for command line, HTTP, library and agent, and the audit names all four", async () => {
    const shop = openWorkshop();
    await travel(shop, "orders-cli", byCommand(shop));
    const { stdout: token } = await shop.run(["token", "create", "--name", "olga", "--role", "operator"]);
    const server = shop.start(["serve", "--port", "0", "--json", "--allow-agent-changes"]);
    await server.until("it listens", () => server.stdout.includes("login_url"));
    const { url } = JSON.parse(server.stdout) as { readonly url: string };
    await travel(
      shop,
      "orders-api",
      byHttp(new RedriveClient({ url: `${url}/api/v1`, token: token.trim() })),
    );
    const redrive = await open(shop.storeUrl, { author: "lib" });
    onTestFinished(() => redrive.close());
    await travel(shop, "orders-library", byLibrary(redrive));
    await travel(shop, "orders-stdio", byAgent(await start(shop, ["--allow-changes"])));
    await travel(shop, "orders-mcp", byAgent(await connect(`${url}/mcp`, token.trim())));
    for (const [queue, author, via] of [
      ["orders-cli", "carl", "cli"],
      ["orders-api", "olga", "api"],
      ["orders-library", "lib", "library"],
      ["orders-stdio", "bot", "mcp"],
      ["orders-mcp", "olga", "mcp"],
    ] as const) {
      const { entries } = await shop.json<{ entries: readonly Fields[] }>("audit", "--queue", queue);
      const own = entries.filter((entry) => entry.author === author && entry.via === via);
      expect(
        own.map(({ action }) => action),
        queue,
      ).toEqual(expect.arrayContaining(["dlq_item_amended", "dlq_items_reprocessed", "dlq_items_discarded"]));
    }
    expect(await shop.check()).toBe(SOUND);
  });
});
