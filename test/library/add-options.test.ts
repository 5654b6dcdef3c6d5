/** The options of one item that reach beyond the queue: its own retries and backoff, and the caller's transaction. */
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { expect, it } from "vitest";
import { postgresServerUrl } from "../support/postgres-stores.ts";
import { onEveryStore, type TestStore } from "./stores.ts";

interface Connection {
  readonly client: pg.Client | InstanceType<typeof DatabaseSync>;
  run(sql: string): Promise<unknown>;
  end(): Promise<void>;
}

/** A connection of the caller's own to the database of the store. */
async function connect({ url }: TestStore): Promise<Connection> {
  if (url.startsWith("sqlite:")) {
    const client = new DatabaseSync(url.slice("sqlite:".length));
    return { client, run: async (sql) => client.exec(sql), end: async () => client.close() };
  }
  const client = new pg.Client({ connectionString: postgresServerUrl() });
  await client.connect();
  return { client, run: (sql) => client.query(sql), end: () => client.end() };
}

onEveryStore("an item", (store) => {
  it("may have its own retries and backoff", async () => {
    const redrive = await store.open();
    const queue = redrive.queue("orders", { retries: 5, backoff: "fixed:1h" });
    await queue.add(1, { key: "own", retries: 1, backoff: "none" });
    await queue.addMany([{ data: 2, key: "none", retries: 0 }]);
    const worker = queue.work(() => {
      throw new Error("no");
    });
    await expect.poll(() => queue.letters().count(), { timeout: 30_000 }).toBe(2);
    await worker.stop();
    const failures = [];
    for await (const { id, failureCount } of queue.letters({ order: "item" }))
      failures.push([id, failureCount]);
    expect(failures).toEqual([
      ["none", 1],
      ["own", 2],
    ]);
  });

  it("is added in the caller's transaction: a commit shows it, a rollback leaves nothing", async () => {
    const redrive = await store.open();
    const queue = redrive.queue<number>("orders");
    await queue.ready();
    if (store.url === "memory:") {
      const client = new DatabaseSync(":memory:");
      client.exec("BEGIN");
      await expect(queue.add(1, { transaction: client })).rejects.toMatchObject({ code: "usage" });
      client.close();
      return;
    }
    const { client, run, end } = await connect(store);
    try {
      await run("BEGIN");
      await queue.add(1, { key: "a", transaction: client });
      await run("ROLLBACK");
      expect((await queue.counts()).total).toBe(0);
      await run("BEGIN");
      await queue.add(1, { key: "a", transaction: client });
      await queue.addMany([{ data: 2, key: "b" }], { transaction: client });
      expect((await queue.counts()).total).toBe(0);
      await run("COMMIT");
      expect((await queue.counts()).ready).toBe(2);
      await expect(queue.add(1, { transaction: client })).rejects.toMatchObject({ code: "usage" });
    } finally {
      await end();
    }
  });

  it("refuses a value that is not a connection, and a transaction for single items of addMany", async () => {
    const redrive = await store.open();
    const queue = redrive.queue<number>("orders");
    // @ts-expect-error not a connection
    await expect(queue.add(1, { transaction: {} })).rejects.toMatchObject({ field: "transaction" });
    // @ts-expect-error not a connection
    await expect(queue.addMany([], { transaction: "BEGIN" })).rejects.toMatchObject({ field: "transaction" });
    const client = new DatabaseSync(":memory:");
    // @ts-expect-error the transaction is an option of the call
    const [refused] = await queue.addMany([{ data: 1, transaction: client }]);
    client.close();
    expect(refused).toMatchObject({ outcome: "refused", error: { code: "usage" } });
    expect((await queue.counts()).total).toBe(0);
  });
});
