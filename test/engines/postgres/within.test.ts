/** Adding inside a transaction of the caller, beside other transactions and over the connections of other libraries. */
import pg from "pg";
import { afterAll, afterEach, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { askPostgres, postgresServerUrl, postgresStores } from "../../support/postgres-stores.ts";
import { until } from "../../support/until.ts";

const stores = postgresStores();
const clients: pg.Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
});
afterAll(() => stores.remove());

async function clientTo(url = postgresServerUrl()): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {}); // a test may end its connection
  clients.push(client);
  await client.connect();
  return client;
}

async function openQueue(): Promise<Engine> {
  const engine = await stores.open();
  await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
  return engine;
}

const item = (itemId: string, data: string | number = 1) => ({ itemId, data });

const idsOf = async (engine: Engine) =>
  (await engine.listItems({ queue: "q", limit: 100 })).map(({ itemId }) => itemId);

it("a cursor misses no event of a transaction that commits late", async () => {
  const engine = await openQueue();
  const client = await clientTo();
  await client.query("BEGIN");
  await engine.within(client).add("q", [item("late")]);
  await engine.add("q", [item("early")]);
  const before = await engine.listEvents({ after: 0, types: ["item_queued"], limit: 10 });
  expect(before).toEqual([]); // the later event waits for the earlier one
  await client.query("COMMIT");
  const after = await engine.listEvents({ after: 0, types: ["item_queued"], limit: 10 });
  expect(after.map(({ itemId }) => itemId)).toEqual(["late", "early"]);
  await engine.close();
});

it("an open transaction delays nobody who adds other items or works", async () => {
  const engine = await openQueue();
  const held = await Promise.all([1, 2, 3].map(() => clientTo()));
  for (const [at, client] of held.entries()) {
    await client.query("BEGIN");
    await engine.within(client).add("q", [item(`held-${at}`)]);
  }
  for (let n = 0; n < 40; n += 1) await engine.add("q", [item(`free-${n}`)]);
  await engine.registerHolder({
    ...{ id: "h", queue: "q", host: "here", pid: 1, processStart: "1", ttlMs: 8000 },
  });
  const { leased } = await engine.settleAndLease("h", { settle: [], lease: { queue: "q", max: 100 } });
  expect(leased).toHaveLength(40);
  for (const client of held) await client.query("COMMIT");
  expect(await engine.count("q")).toMatchObject({ total: 43, ready: 3, leased: 40 });
  expect(await engine.check()).toEqual([]);
  await engine.close();
});

it("an id that another transaction adds at the same time is added once, and neither is aborted", async () => {
  const engine = await openQueue();
  const [first, second] = [await clientTo(), await clientTo()];
  for (const client of [first, second]) await client.query("BEGIN");
  await engine.within(first).add("q", [item("a")]);
  const waiting = engine.within(second).add("q", [item("a"), item("b")]);
  const blocked = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'";
  await until("the second waits", async () => (await askPostgres(blocked)).length > 0);
  await first.query("COMMIT");
  expect(await waiting).toMatchObject({ added: 1, existing: 1 });
  await second.query("COMMIT");
  expect(await idsOf(engine)).toEqual(["a", "b"]);
  expect(await engine.check()).toEqual([]);
  await engine.close();
});

it("a snapshot that cannot see the other's item is asked to run again", async () => {
  const engine = await openQueue();
  const client = await clientTo();
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await client.query("SELECT 1 FROM pg_class LIMIT 1"); // takes the snapshot
  await engine.add("q", [item("a")]);
  await expect(engine.within(client).add("q", [item("a")])).rejects.toMatchObject({ code: "store_busy" });
  await client.query("ROLLBACK");
  expect(await idsOf(engine)).toEqual(["a"]);
  await engine.close();
});

it("other statements on the connection run as if nothing was added", async () => {
  const engine = await openQueue();
  const client = await clientTo();
  await client.query("CREATE TEMP TABLE items (name text)"); // a table with a name that the store has too
  await client.query("BEGIN");
  const path = "SELECT current_setting('search_path') AS path";
  const before = (await client.query(path)).rows;
  const added = Promise.all(["a", "b", "c"].map((id) => engine.within(client).add("q", [item(id)])));
  await client.query("INSERT INTO items VALUES ('mine')");
  await added;
  expect((await client.query("SELECT name FROM items")).rows).toEqual([{ name: "mine" }]);
  expect((await client.query(path)).rows).toEqual(before);
  await client.query("COMMIT");
  expect([...(await idsOf(engine))].sort()).toEqual(["a", "b", "c"]);
  await engine.close();
});

it("an object with query(text, values) is enough, whatever it returns for numbers", async () => {
  const engine = await openQueue();
  const client = await clientTo();
  const adapter = {
    query: async (text: string, values: unknown[]) => ({ rows: (await client.query(text, values)).rows }),
  };
  await expect(engine.within(adapter).add("q", [item("a")])).rejects.toMatchObject({ code: "usage" });
  await client.query("BEGIN");
  expect(await engine.within(adapter).add("q", [item("a")])).toMatchObject({ added: 1 });
  const batch = [{ ...item("b"), orderingKey: "k", expiresAt: Date.now() + 1e6, name: "B" }, item("a", 2)];
  expect(await engine.within(adapter).add("q", batch, { replace: { author: "ada" } })).toMatchObject({
    added: 1,
    replaced: 1,
  });
  await client.query("COMMIT");
  expect(await engine.listItems({ queue: "q", limit: 9 })).toMatchObject([
    { itemId: "a", data: 2, revision: 2 },
    { itemId: "b", orderingKey: "k", name: "B" },
  ]);
  await engine.close();
});

it("a connection to another database, and an aborted transaction, are refused", async () => {
  const engine = await openQueue();
  const name = `other_${process.pid}`;
  await askPostgres(`CREATE DATABASE ${name}`);
  const url = new URL(postgresServerUrl());
  url.pathname = `/${name}`;
  const elsewhere = await clientTo(url.href);
  await elsewhere.query("BEGIN");
  await expect(engine.within(elsewhere).add("q", [item("a")])).rejects.toMatchObject({
    code: "usage",
    message: expect.stringContaining("is not connected to the store"),
  });
  await elsewhere.end();
  await askPostgres(`DROP DATABASE ${name}`);
  const client = await clientTo();
  await client.query("BEGIN");
  await client.query("SELECT 1 / 0").catch(() => {});
  await expect(engine.within(client).add("q", [item("a")])).rejects.toMatchObject({
    code: "usage",
    message: "The given transaction was aborted by an earlier error.",
  });
  await client.query("ROLLBACK");
  expect(await idsOf(engine)).toEqual([]);
  await engine.close();
});

it("an error of the database says that the transaction is aborted", async () => {
  const engine = await openQueue();
  const client = await clientTo();
  await client.query("BEGIN READ ONLY");
  const refused = await engine
    .within(client)
    .add("q", [item("a")])
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ hint: expect.stringContaining("Roll it back.") });
  expect(String(refused)).toContain("the given transaction was aborted");
  await client.query("ROLLBACK");
  await client.query("BEGIN");
  const lost = until("it is gone", async () => {
    await askPostgres("SELECT pg_terminate_backend($1)", Reflect.get(client, "processID"));
    return true;
  });
  await lost;
  const gone = await engine
    .within(client)
    .add("q", [item("a")])
    .catch((error: unknown) => error);
  expect(gone).toMatchObject({ code: "store_unavailable" });
  expect(await idsOf(engine)).toEqual([]);
  expect(await engine.check()).toEqual([]);
  await engine.close();
});
