/** Adding inside a transaction of the caller: which connections are refused, and what an error leaves behind. */
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect, it } from "vitest";
import { openStore } from "../../../src/engines/open.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

async function openQueue() {
  const path = directory.file("store.db");
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
  return { engine, path };
}

const ITEM = { itemId: "a", data: 1 };

it("a connection to another file or to a database in memory is refused", async () => {
  const { engine, path } = await openQueue();
  for (const other of [directory.file("other.db"), ":memory:"]) {
    const connection = new DatabaseSync(other);
    connection.exec("BEGIN");
    expect(() => engine.within(connection)).toThrow("not the store");
    connection.close();
  }
  const same = new DatabaseSync(`${path}`);
  same.exec("BEGIN");
  expect(await engine.within(same).add("q", [ITEM])).toMatchObject({ added: 1 });
  same.exec("COMMIT");
  same.close();
  await engine.close();
});

it("a store in memory refuses every connection", async () => {
  const engine = await openStore("memory:");
  const connection = new DatabaseSync(":memory:");
  expect(() => engine.within(connection)).toThrow("An in-memory store");
  connection.close();
  await engine.close();
});

it("a temporary table with the name of a table of the store is refused", async () => {
  const { engine, path } = await openQueue();
  const connection = new DatabaseSync(path);
  connection.exec("CREATE TEMP TABLE payloads (ref, data); BEGIN");
  expect(() => engine.within(connection)).toThrow("temporary table payloads");
  connection.close();
  await engine.close();
});

it("an error undoes what was added, and the rest of the transaction can still be committed", async () => {
  const { engine, path } = await openQueue();
  const connection = new DatabaseSync(path);
  connection.exec("CREATE TABLE orders (name TEXT) STRICT; BEGIN; INSERT INTO orders VALUES ('mine')");
  const bad = [ITEM, { itemId: "b", data: 1, dueAt: 0.5 }]; // the column takes whole numbers
  await expect(engine.within(connection).add("q", bad)).rejects.toThrow();
  connection.exec("COMMIT");
  expect(connection.prepare("SELECT name FROM orders").all()).toEqual([{ name: "mine" }]);
  expect(await engine.count("q")).toMatchObject({ total: 0 });
  expect(await engine.check()).toEqual([]);
  connection.close();
  await engine.close();
});

it("a store that another process is writing is reported as busy, and nothing is added", async () => {
  const { engine, path } = await openQueue();
  const [writer, connection] = [new DatabaseSync(path), new DatabaseSync(path)];
  writer.exec("BEGIN IMMEDIATE");
  connection.exec("BEGIN");
  await expect(engine.within(connection).add("q", [ITEM])).rejects.toMatchObject({ code: "store_busy" });
  writer.exec("ROLLBACK");
  connection.exec("ROLLBACK");
  for (const one of [writer, connection]) one.close();
  expect(await engine.count("q")).toMatchObject({ total: 0 });
  await engine.close();
});
