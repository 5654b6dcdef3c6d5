/** What an item brings along through the public API: a transaction, retries, backoff, progress; and schedules. */
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { expect, it } from "vitest";
import { postgresServerUrl } from "../support/postgres-stores.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";
import { onEveryStore } from "./stores.ts";

/** The caller's own connection to the database of the store. */
async function connectTo(url: string) {
  if (url.startsWith("sqlite:")) {
    const connection = new DatabaseSync(url.slice("sqlite:".length));
    return {
      connection,
      execute: async (sql: string) => connection.exec(sql),
      close: async () => connection.close(),
    };
  }
  const connection = new pg.Client({ connectionString: postgresServerUrl() });
  await connection.connect();
  return {
    connection,
    execute: async (sql: string) => void (await connection.query(sql)),
    close: () => connection.end(),
  };
}

onEveryStore("an item", (store) => {
  it("is added with the commit of the caller's transaction, and not with its rollback", async () => {
    const redrive = await store.open();
    const orders = redrive.queue<{ n: number }>("orders", { unique: "return" });
    await orders.ready();
    if (store.url === "memory:") {
      const connection = new DatabaseSync(":memory:");
      connection.exec("BEGIN");
      await expect(orders.add({ n: 1 }, { transaction: connection })).rejects.toMatchObject({
        code: "usage",
      });
      connection.close();
      return;
    }
    const caller = await connectTo(store.url);
    const transaction = caller.connection;
    await caller.execute("BEGIN");
    expect(await orders.add({ n: 1 }, { transaction, key: "a" })).toMatchObject({
      id: "a",
      outcome: "added",
    });
    expect(await orders.add({ n: 1 }, { transaction, key: "a" })).toMatchObject({ outcome: "existing" });
    await caller.execute("ROLLBACK");
    expect((await orders.counts()).total).toBe(0);
    await caller.execute("BEGIN");
    const added = await orders.add({ n: 2 }, { transaction, key: "a" });
    const many = await orders.addMany([{ data: { n: 3 } }, { data: { n: 4 } }], { transaction });
    expect(many.map(({ outcome }) => outcome)).toEqual(["added", "added"]);
    expect((await orders.counts()).total).toBe(0);
    await caller.execute("COMMIT");
    expect((await orders.counts()).total).toBe(3);
    orders.work(async ({ data }) => data.n);
    expect(await added.result()).toBe(2);
    await caller.close();
  });

  it("refuses a transaction that is not a connection, and stores nothing", async () => {
    const redrive = await store.open();
    const orders = redrive.queue("orders");
    // @ts-expect-error a number is no connection
    await expect(orders.add(1, { transaction: 7 })).rejects.toMatchObject({
      code: "usage",
      field: "transaction",
    });
    expect((await orders.counts()).total).toBe(0);
  });

  it("is retried by its own settings, not by those of its queue", async () => {
    const redrive = await store.open();
    const orders = redrive.queue<string>("orders", { retries: 5, backoff: "fixed:1h" });
    const tries: string[] = [];
    await orders.add("once", { retries: 0 });
    const often = await orders.add("often", { retries: 2, backoff: "none" });
    orders.work(async ({ data }) => {
      tries.push(data);
      throw new Error("no");
    });
    await expect(often.result()).rejects.toMatchObject({ code: "item_dead" });
    await until("both are dead", async () => (await orders.letters().count()) === 2);
    expect(tries.filter((one) => one === "often")).toHaveLength(3);
    expect(tries.filter((one) => one === "once")).toHaveLength(1);
    await expect(orders.add("x", { retries: -1 })).rejects.toMatchObject({ field: "retries" });
    await expect(orders.add("x", { backoff: "sometimes" })).rejects.toMatchObject({ field: "backoff" });
  });

  it("shows the progress that its handler reports", async () => {
    const redrive = await store.open();
    const orders = redrive.queue<string>("orders");
    const added = await orders.add("a", { key: "a" });
    const heard: unknown[] = [];
    let end = () => {};
    const worker = orders.work(async ({ progress }) => {
      progress({ done: 3, of: 9 });
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    worker.on("progress", ({ value }) => heard.push(value));
    const stored = async () => {
      const [item] = await redrive.engine.listItems({ queue: "orders", itemIds: ["a"], limit: 1 });
      return item?.progress;
    };
    await until("it is stored", async () => (await stored()) !== undefined);
    expect(await stored()).toMatchObject({ attempt: 1, value: { done: 3, of: 9 } });
    expect(heard).toEqual([{ done: 3, of: 9 }]);
    end();
    await added.result();
  });
});

onEveryStore("a schedule", (store) => {
  it("adds an item at each run, which a worker of the library works", async () => {
    const clock = new TestClock(Date.UTC(2026, 0, 1, 12, 0, 30));
    const redrive = await store.open({ clock });
    const reports = redrive.queue<{ kind: string }>("reports");
    await reports.ready();
    const schedule = await redrive.schedule("minutely", {
      queue: "reports",
      cron: "* * * * *",
      data: { kind: "short" },
      retries: 1,
    });
    expect(schedule).toMatchObject({ nextRun: new Date(Date.UTC(2026, 0, 1, 12, 1)), lastRun: null });
    const worked: unknown[] = [];
    reports.work(async ({ id, data }) => void worked.push([id, data]));
    await until("it is worked", () => {
      clock.advance(1000);
      return worked.length > 0;
    });
    expect(worked[0]).toEqual(["minutely@2026-01-01T12:01:00Z", { kind: "short" }]);
    expect((await redrive.schedules.pause("minutely")).isPaused).toBe(true);
    await redrive.schedules.remove("minutely");
    expect(await redrive.schedules.list()).toEqual([]);
  });

  it("refuses misspelt and invalid options, and stores nothing", async () => {
    const redrive = await store.open();
    await redrive.queue("reports").ready();
    const options = { queue: "reports", cron: "* * * * *" };
    // @ts-expect-error a misspelt option
    await expect(redrive.schedule("s", { ...options, timeZone: "UTC" })).rejects.toMatchObject({
      code: "usage",
      field: "timeZone",
    });
    await expect(redrive.schedule("s", { ...options, cron: "61 * * * *" })).rejects.toMatchObject({
      field: "cron",
    });
    expect(await redrive.schedules.list()).toEqual([]);
  });
});
