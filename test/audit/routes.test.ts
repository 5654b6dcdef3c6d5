/** Every route that changes something leaves an entry in the audit with the name of the token. */
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../src/server/app.ts";
import { createToken } from "../../src/server/auth/tokens.ts";
import { RedriveClient } from "../../src/server/client.ts";
import { ROUTES, type RouteName } from "../../src/server/contract.ts";
import { etagOf } from "../../src/server/routes/letters.ts";
import { begin, entriesSince, type Stocked, stocked } from "./kit.ts";

interface Change {
  readonly leaves: string;
  readonly call: (client: RedriveClient, store: Stocked) => Promise<unknown>;
  /** Runs before the route, as another person. */
  readonly before?: (store: Stocked) => Promise<unknown>;
}

const letter = { queue: "orders", item_id: "o-1" };
const orders = { queue: "orders" };
const nightly = { schedule: "nightly" };
const operation = { operation_id: "op-1" };
const billing = { target: "billing" };
const groupOf = ({ groups }: Stocked) => ({ group: groups[0] ?? "" });
const bytes = { "content-type": "application/octet-stream" };
const all = { queue: "orders" };
const discardAll = { action: "discard", filter: all, all_of_queue: true, reason: "test" } as const;
const LETTER = JSON.stringify({
  item_id: "foreign",
  item_data: 1,
  failure_history: [{ attempt_number: 1, timestamp: "2026-01-01T00:00:00.000Z", error_message: "old" }],
});

const endedJob = async ({ engine }: Stocked) => {
  await engine.createJob({ id: "night", name: "night", kind: "map", spec: {} });
  await engine.changeJob("night", { status: "stopped", intakeComplete: true });
};
const night = { job: "night" };
const nightItem = { ...night, item_id: "n-1" };
/** A job of a runner that is alive, with one item that waits. */
const runningJob = async ({ engine }: Stocked) => {
  await engine.createJob({ id: "night", name: "night", kind: "map", spec: {} });
  await engine.add("night", [{ itemId: "n-1", data: 1 }]);
  const self = { host: "here", pid: 1, processStart: "0", ttlMs: 60_000 };
  await engine.registerHolder({ ...self, id: "runner", queue: "night" });
};
const target = async ({ engine }: Stocked) => {
  const { setTarget } = await import("../../src/delivery/target-settings.ts");
  await setTarget(engine, "billing", { url: "http://127.0.0.1:9/" });
};
const paused = ({ engine }: Stocked, queue: string) => engine.changeJob(queue, { pause: { reason: "" } });

const CHANGES: {
  readonly [Name in RouteName as Name extends `GET ${string}` ? never : Name]: Change | string;
} = {
  "PATCH /letters/{queue}/{item_id}": {
    leaves: "dlq_item_amended",
    call: async (client, { engine }) => {
      const [found] = (await engine.listLetters({ queue: "orders", itemIds: ["o-1"], limit: 1 })).letters;
      const headers = { "if-match": found === undefined ? "" : etagOf(found) };
      const body = { patch: { country: "DE" } };
      await client.call("PATCH /letters/{queue}/{item_id}", { params: letter, headers, body });
    },
  },
  "POST /letters/{queue}/{item_id}/retry": {
    leaves: "dlq_items_reprocessed",
    call: (client) =>
      client.call("POST /letters/{queue}/{item_id}/retry", { params: letter, body: { force: true } }),
  },
  "POST /letters/{queue}/{item_id}/discard": {
    leaves: "dlq_items_discarded",
    call: (client) =>
      client.call("POST /letters/{queue}/{item_id}/discard", { params: letter, body: { reason: "x" } }),
  },
  "POST /letters/{queue}/{item_id}/restore": {
    leaves: "dlq_items_restored",
    call: async (client) => {
      await client.call("POST /letters/{queue}/{item_id}/discard", { params: letter, body: { reason: "x" } });
      await client.call("POST /letters/{queue}/{item_id}/restore", { params: letter });
    },
  },
  "POST /letters/{queue}/{item_id}/notes": {
    leaves: "note_added",
    call: (client) =>
      client.call("POST /letters/{queue}/{item_id}/notes", { params: letter, body: { text: "x" } }),
  },
  "POST /letters/import": {
    leaves: "letters_imported",
    call: (client) =>
      client.call("POST /letters/import", { query: { job: "orders" }, headers: bytes, stream: LETTER }),
  },
  "POST /groups/{group}/resolve": {
    leaves: "group_changed",
    call: (client, store) =>
      client.call("POST /groups/{group}/resolve", { params: groupOf(store), body: {} }),
  },
  "POST /groups/{group}/open": {
    leaves: "group_changed",
    call: (client, store) => client.call("POST /groups/{group}/open", { params: groupOf(store), body: {} }),
  },
  "POST /groups/{group}/ignore": {
    leaves: "group_changed",
    call: (client, store) => client.call("POST /groups/{group}/ignore", { params: groupOf(store), body: {} }),
  },
  "POST /groups/{group}/assign": {
    leaves: "groups_assigned",
    call: (client, store) =>
      client.call("POST /groups/{group}/assign", { params: groupOf(store), body: { assignee: "ann" } }),
  },
  "POST /groups/{group}/notes": {
    leaves: "group_changed",
    call: (client, store) =>
      client.call("POST /groups/{group}/notes", { params: groupOf(store), body: { text: "x" } }),
  },
  "POST /groups/{group}/split": {
    leaves: "group_split",
    call: (client, store) =>
      client.call("POST /groups/{group}/split", { params: groupOf(store), body: { text: "country" } }),
  },
  "POST /groups/merge": { leaves: "groups_merged", call: merge },
  "POST /groups/rebuild": {
    leaves: "groups_rebuilt",
    call: (client) => client.call("POST /groups/rebuild", { body: {} }),
  },
  "POST /groups/preview": "only computes",
  "POST /corrections/remove": {
    leaves: "correction_removed",
    call: async (client, store) => {
      await merge(client, store);
      await client.call("POST /corrections/remove", { body: { from: store.groups[0] ?? "" } });
    },
  },
  "POST /selections": "only selects; nothing is changed until it is started",
  "POST /operations": {
    leaves: "operation_started",
    call: async (client) => {
      const { selection_id, count } = await client.call("POST /selections", { body: discardAll });
      await client.call("POST /operations", { body: { selection_id, count } });
    },
  },
  "POST /operations/{operation_id}/pause": {
    leaves: "operation_changed",
    before: ({ engine }) => begin(engine),
    call: (client) => client.call("POST /operations/{operation_id}/pause", { params: operation }),
  },
  "POST /operations/{operation_id}/resume": {
    leaves: "operation_changed",
    before: async ({ engine }) => {
      await begin(engine);
      await engine.changeOperation("op-1", { status: "paused" });
    },
    call: (client) => client.call("POST /operations/{operation_id}/resume", { params: operation }),
  },
  "POST /operations/{operation_id}/cancel": {
    leaves: "operation_changed",
    before: ({ engine }) => begin(engine),
    call: (client) => client.call("POST /operations/{operation_id}/cancel", { params: operation }),
  },
  "POST /operations/{operation_id}/undo": {
    leaves: "dlq_items_restored",
    call: async (client) => {
      const { operation_id } = await client.call("POST /letters/{queue}/{item_id}/discard", {
        params: letter,
        body: { reason: "x" },
      });
      await client.call("POST /operations/{operation_id}/undo", { params: { operation_id } });
    },
  },
  "POST /jobs/{job}/stop": {
    leaves: "job_stop_requested",
    before: runningJob,
    call: (client) => client.call("POST /jobs/{job}/stop", { params: night }),
  },
  "POST /jobs/{job}/pause": {
    leaves: "queue_paused",
    before: runningJob,
    call: (client) => client.call("POST /jobs/{job}/pause", { params: night, body: {} }),
  },
  "POST /jobs/{job}/continue": {
    leaves: "queue_resumed",
    before: async (store) => {
      await runningJob(store);
      await paused(store, "night");
    },
    call: (client) => client.call("POST /jobs/{job}/continue", { params: night }),
  },
  "POST /jobs/{job}/items/{item_id}/stop": {
    leaves: "item_held",
    before: runningJob,
    call: (client) => client.call("POST /jobs/{job}/items/{item_id}/stop", { params: nightItem }),
  },
  "POST /jobs/{job}/items/{item_id}/skip": {
    leaves: "item_skip_requested",
    before: runningJob,
    call: (client) => client.call("POST /jobs/{job}/items/{item_id}/skip", { params: nightItem }),
  },
  "POST /jobs/{job}/items/{item_id}/continue": {
    leaves: "item_released",
    before: async (store) => {
      await runningJob(store);
      await store.engine.hold("night", ["n-1"], { author: "test" });
    },
    call: (client) => client.call("POST /jobs/{job}/items/{item_id}/continue", { params: nightItem }),
  },
  "POST /jobs/{job}/dismiss": {
    leaves: "job_dismissed",
    before: endedJob,
    call: (client) => client.call("POST /jobs/{job}/dismiss", { params: { job: "night" } }),
  },
  "DELETE /jobs/{job}": {
    leaves: "job_deleted",
    before: endedJob,
    call: (client) =>
      client.call("DELETE /jobs/{job}", { params: { job: "night" }, query: { items: 0, letters: 0 } }),
  },
  "POST /queues": {
    leaves: "queue_created",
    call: (client) => client.call("POST /queues", { body: { name: "mails" } }),
  },
  "PATCH /queues/{queue}": {
    leaves: "queue_changed",
    call: (client) => client.call("PATCH /queues/{queue}", { params: orders, body: { retries: 7 } }),
  },
  "POST /queues/{queue}/pause": {
    leaves: "queue_paused",
    call: (client) => client.call("POST /queues/{queue}/pause", { params: orders, body: {} }),
  },
  "POST /queues/{queue}/resume": {
    leaves: "queue_resumed",
    before: (store) => paused(store, "orders"),
    call: (client) => client.call("POST /queues/{queue}/resume", { params: orders }),
  },
  "POST /queues/{queue}/items": {
    leaves: "items_added",
    call: (client) =>
      client.call("POST /queues/{queue}/items", { params: orders, body: { items: [{ data: 1 }] } }),
  },
  "POST /queues/{queue}/import": {
    leaves: "items_imported",
    call: (client) =>
      client.call("POST /queues/{queue}/import", {
        params: orders,
        query: {},
        headers: bytes,
        stream: "1\n",
      }),
  },
  "POST /queues/{queue}/hold": {
    leaves: "item_held",
    call: (client) =>
      client.call("POST /queues/{queue}/hold", { params: orders, body: { ids: ["ready-1"] } }),
  },
  "POST /queues/{queue}/unhold": {
    leaves: "item_released",
    before: ({ engine }) => engine.hold("orders", ["ready-1"], { author: "setup" }),
    call: (client) =>
      client.call("POST /queues/{queue}/unhold", { params: orders, body: { ids: ["ready-1"] } }),
  },
  "PUT /schedules/{schedule}": {
    leaves: "schedule_set",
    call: (client) =>
      client.call("PUT /schedules/{schedule}", {
        params: { schedule: "daily" },
        body: { queue: "orders", cron: "0 4 * * *" },
      }),
  },
  "POST /schedules/{schedule}/pause": {
    leaves: "schedule_paused",
    call: (client) => client.call("POST /schedules/{schedule}/pause", { params: nightly }),
  },
  "POST /schedules/{schedule}/resume": {
    leaves: "schedule_resumed",
    call: async (client) => {
      await client.call("POST /schedules/{schedule}/pause", { params: nightly });
      await client.call("POST /schedules/{schedule}/resume", { params: nightly });
    },
  },
  "DELETE /schedules/{schedule}": {
    leaves: "schedule_removed",
    call: (client) => client.call("DELETE /schedules/{schedule}", { params: nightly }),
  },
  "POST /targets/{target}/pause": {
    leaves: "queue_paused",
    before: target,
    call: (client) => client.call("POST /targets/{target}/pause", { params: billing, body: {} }),
  },
  "POST /targets/{target}/resume": {
    leaves: "queue_resumed",
    before: async (store) => {
      await target(store);
      await paused(store, "billing");
    },
    call: (client) => client.call("POST /targets/{target}/resume", { params: billing }),
  },
  "POST /targets/{target}/receipts": {
    leaves: "receipts_sent",
    before: target,
    call: (client) =>
      client.call("POST /targets/{target}/receipts", { params: billing, body: { receipt: {} } }),
  },
  "PUT /targets/{target}": {
    leaves: "queue_created",
    call: (client) =>
      client.call("PUT /targets/{target}", { params: billing, body: { url: "http://127.0.0.1:9/" } }),
  },
  "POST /targets/{target}/recover": "begins a retry; test/server/upkeep.test.ts sees its entry",
  "POST /fixes/preview": "only counts",
  "POST /fixes/apply": "begins an edit and a retry; test/server/upkeep.test.ts sees their entries",
  "POST /letters/maintain": "begins operations; test/server/upkeep.test.ts sees their entries",
  "POST /worktrees/clean": "calls the function of the command; test/server/upkeep.test.ts sees its entry",
  "POST /store/check": "only reads",
  "POST /session": "the token that it exchanges names the person; see the test of sessions below",
  "DELETE /session": "as above",
  "POST /tokens": {
    leaves: "token_created",
    call: (client) => client.call("POST /tokens", { body: { name: "me", role: "viewer" } }),
  },
  "DELETE /tokens/{token_id}": {
    leaves: "token_revoked",
    call: (client, { tokenId: token_id }) =>
      client.call("DELETE /tokens/{token_id}", { params: { token_id } }),
  },
};

function merge(client: RedriveClient, { groups: [from = "", into = ""] }: Stocked): Promise<unknown> {
  return client.call("POST /groups/merge", { body: { groups: [from], into } });
}

async function served(store: Stocked) {
  const server = createServer({ engine: store.engine, home: store.home, version: "0", hosts: "loopback" });
  onTestFinished(() => server.close());
  const token = {
    kind: "token",
    name: "olga",
    role: "admin",
    createdBy: "setup",
    lifetimeMs: 60_000,
  } as const;
  const { secret } = await createToken(store.engine, token);
  const url = "http://127.0.0.1:4747/api/v1";
  const client = new RedriveClient({ url, token: secret, fetch: (one) => server.fetch(one) });
  return { client, secret, server, url };
}

test("every route other than GET is in the table", () => {
  const names = Object.keys(ROUTES).filter((name) => !name.startsWith("GET "));
  expect(Object.keys(CHANGES).sort()).toEqual(names.sort());
});

const changing = Object.entries(CHANGES).filter(
  (entry): entry is [string, Change] => typeof entry[1] !== "string",
);

test.each(changing)("%s leaves an entry", async (_, { leaves, call, before }) => {
  const store = await stocked();
  const { client } = await served(store);
  await before?.(store);
  const event = await store.engine.newestEvent();
  await call(client, store);
  const entries = await entriesSince(store.engine, event);
  expect(entries).toContainEqual(expect.objectContaining({ action: leaves, author: "olga", via: "api" }));
});

test("a selection that nobody starts leaves no entry", async () => {
  const store = await stocked();
  const { client } = await served(store);
  const event = await store.engine.newestEvent();
  await client.call("POST /selections", { body: discardAll });
  expect(await entriesSince(store.engine, event)).toEqual([]);
});

test("a login and a logout leave entries", async () => {
  const store = await stocked();
  const { server, secret, url } = await served(store);
  const event = await store.engine.newestEvent();
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ token: secret });
  const login = await server.fetch(new Request(`${url}/session`, { method: "POST", headers, body }));
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  await server.fetch(new Request(`${url}/session`, { method: "DELETE", headers: { cookie } }));
  const entries = await entriesSince(store.engine, event);
  expect(entries.map(({ author, via, action }) => [author, via, action])).toEqual([
    ["olga", "console", "session_ended"],
    ["olga", "console", "session_started"],
  ]);
});
