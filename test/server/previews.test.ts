/** Previews of the server are frozen selections. Until they are started, nothing shows or continues them as operations. */
import { expect, onTestFinished, test } from "vitest";
import { open } from "../../src/library/open.ts";
import { createServer } from "../../src/server/app.ts";
import { createToken } from "../../src/server/auth/tokens.ts";
import { RedriveClient } from "../../src/server/client.ts";
import { run, stocked } from "../audit/kit.ts";

async function previewed() {
  const store = await stocked();
  const server = createServer({ engine: store.engine, home: store.home, version: "0", hosts: "loopback" });
  onTestFinished(() => server.close());
  const token = {
    kind: "token",
    name: "olga",
    role: "operator",
    createdBy: "x",
    lifetimeMs: 60_000,
  } as const;
  const { secret } = await createToken(store.engine, token);
  const url = "http://127.0.0.1:4747/api/v1";
  const client = new RedriveClient({ url, token: secret, fetch: (one) => server.fetch(one) });
  const { selection_id: id, count } = await client.call("POST /selections", {
    body: { action: "discard", filter: { queue: "orders" }, all_of_queue: true, reason: "test" },
  });
  const ids = async (...args: string[]) => {
    const { output } = await run(store, [...args, "--json"]);
    return (JSON.parse(output).operations as readonly { operation_id: string }[]).map(
      (one) => one.operation_id,
    );
  };
  return { ...store, client, id, count, ids };
}

test("commands, library and API do not list a preview", async () => {
  const { client, ids, url, home } = await previewed();
  expect(await ids("ops", "list")).toEqual([]);
  expect(await ids("ops", "list", "--open")).toEqual([]);
  expect(await ids("overview")).toEqual([]);
  expect((await client.call("GET /operations")).operations).toEqual([]);
  await using redrive = await open(url, { home });
  expect(await redrive.operations.list()).toEqual([]);
});

test("a preview is neither resumed nor undone", async () => {
  const store = await previewed();
  const { client, engine, id } = store;
  const only = await run(store, ["ops", "resume"]);
  expect([only.code, only.output]).toEqual([4, expect.stringContaining("There is no unfinished operation.")]);
  for (const verb of ["resume", "undo"]) {
    const named = await run(store, ["ops", verb, id, "--json"]);
    expect([named.code, named.output]).toEqual([4, expect.stringContaining("has not been started")]);
  }
  const params = { operation_id: id };
  const resumed = client.call("POST /operations/{operation_id}/resume", { params });
  await expect(resumed).rejects.toMatchObject({ status: 404, code: "operation_not_found" });
  expect((await engine.count("orders")).dead).toBe(2);
});

test("once it is started, it is an operation like any other", async () => {
  const { client, id, count, ids } = await previewed();
  await client.call("POST /operations", { body: { selection_id: id, count } });
  expect(await ids("ops", "list")).toEqual([id]);
  const shown = await client.call("GET /operations/{operation_id}", { params: { operation_id: id } });
  expect(shown).toMatchObject({ filter: { queue: "orders" }, plan: {} }); // what was asked, not how it was frozen
  expect(shown.plan).toEqual({});
});
