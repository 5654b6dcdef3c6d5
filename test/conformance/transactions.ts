/** The contract of adding inside a transaction of the caller: a commit shows everything, a rollback leaves nothing. */
import { expect } from "vitest";
import type { Engine, TransactionConnection } from "../../src/engine.ts";
import { until } from "../support/until.ts";
import { type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

/** A connection of a caller's own to the database of a store. */
export interface CallerDatabase {
  readonly connection: TransactionConnection;
  execute(sql: string): Promise<void>;
  close(): Promise<void>;
}

export type ConnectCaller = (engine: Engine) => Promise<CallerDatabase>;

export function transactionTests(test: Declare, connect: ConnectCaller): void {
  const within = (title: string, body: (bench: Workbench, caller: CallerDatabase) => Promise<void>) =>
    test(title, async (bench) => {
      const caller = await connect(bench.engine);
      try {
        await body(bench, caller);
      } finally {
        await caller.close();
      }
    });

  within("a commit makes the items visible, with their events and counts", async (bench, caller) => {
    const { engine } = bench;
    await caller.execute("BEGIN");
    const store = engine.within(caller.connection);
    const batch = [newItem("a"), { ...newItem("b"), priority: "high" as const, name: "Bea" }];
    expect(await store.add(QUEUE, batch)).toEqual({ ...NOTHING, added: 2 });
    const madeUp = { expectNew: true, generatedIds: true };
    expect(await store.add(QUEUE, [newItem("c")], madeUp)).toEqual({ ...NOTHING, added: 1 });
    expect(await engine.count(QUEUE)).toMatchObject({ total: 0, ready: 0 });
    expect(await engine.findItems("a", { limit: 1 })).toEqual([]);
    await caller.execute("COMMIT");
    expect(await engine.count(QUEUE)).toMatchObject({ total: 3, ready: 3 });
    expect(await queued(engine)).toEqual(["a", "b", "c"]);
    await bench.registerHolder();
    expect((await bench.lease(9)).map(({ itemId, data }) => [itemId, data])).toEqual([
      ["b", { name: "b" }],
      ["a", { name: "a" }],
      ["c", { name: "c" }],
    ]);
  });

  within("a rollback leaves no item, event or count, and the ids are free again", async (bench, caller) => {
    const { engine } = bench;
    await bench.add("there");
    const cursor = await bench.lastEvent();
    await caller.execute("BEGIN");
    const store = engine.within(caller.connection);
    await store.add(QUEUE, [newItem("a"), { ...newItem("b"), orderingKey: "one" }]);
    await store.add(QUEUE, [{ itemId: "there", data: 2 }], { replace: { author: "ada" } });
    await caller.execute("ROLLBACK");
    expect(await engine.count(QUEUE)).toMatchObject({ total: 1, ready: 1 });
    expect(await engine.listEvents({ after: cursor, limit: 9 })).toEqual([]);
    expect((await bench.item("there")).data).toEqual({ name: "there" });
    expect(await engine.add(QUEUE, [newItem("a"), newItem("b")])).toMatchObject({ added: 2, existing: 0 });
  });

  within("a transaction sees its own items, and adds each id once", async (bench, caller) => {
    await caller.execute("BEGIN");
    const store = bench.engine.within(caller.connection);
    await store.add(QUEUE, [newItem("a")]);
    const seen = await store.listItems({ queue: QUEUE, itemIds: ["a", "b"], limit: 9 });
    expect(seen).toMatchObject([{ itemId: "a", data: { name: "a" }, state: "ready", priority: "normal" }]);
    expect(await store.add(QUEUE, [newItem("a"), newItem("b")])).toEqual({
      ...NOTHING,
      added: 1,
      existing: 1,
    });
    expect(await store.add(QUEUE, [{ itemId: "a", data: 7 }])).toEqual({
      ...NOTHING,
      changed: 1,
      changedIds: ["a"],
    });
    expect(await store.findJob(QUEUE)).toMatchObject({ id: QUEUE, kind: "map" });
    await caller.execute("COMMIT");
    expect(await queued(bench.engine)).toEqual(["a", "b"]);
    expect((await bench.item("a")).data).toEqual({ name: "a" });
  });

  within("items are replaced and kept in the order of their keys", async (bench, caller) => {
    await bench.engine.add(QUEUE, [{ itemId: "a", data: 1, orderingKey: "one" }]);
    await caller.execute("BEGIN");
    const store = bench.engine.within(caller.connection);
    const batch = [
      { itemId: "b", data: 2, orderingKey: "one" },
      { itemId: "a", data: 9 },
      { itemId: "c", data: 'it\'s ${1} $1 ?2 \\ "q"' },
    ];
    const report = await store.add(QUEUE, batch, { replace: { author: "ada" } });
    expect(report).toEqual({ ...NOTHING, added: 2, replaced: 1 });
    await caller.execute("COMMIT");
    await bench.registerHolder();
    expect((await bench.lease(9)).map(({ itemId, data }) => [itemId, data])).toEqual([
      ["a", 9],
      ["c", 'it\'s ${1} $1 ?2 \\ "q"'],
    ]);
    expect(await bench.engine.listAmendments((await bench.item("a")).ref)).toMatchObject([
      { author: "ada", revision: 2 },
    ]);
  });

  within(
    "an unknown queue or changed settings add nothing, and the transaction goes on",
    async (bench, caller) => {
      await caller.execute("BEGIN");
      const store = bench.engine.within(caller.connection);
      await expect(store.add("nowhere", [newItem("a")])).rejects.toMatchObject({ code: "job_not_found" });
      const outdated = store.add(QUEUE, [newItem("a")], { spec: { other: 1 } });
      await expect(outdated).rejects.toMatchObject({ code: "job_changed" });
      expect(await store.add(QUEUE, [newItem("b")])).toMatchObject({ added: 1 });
      await caller.execute("COMMIT");
      expect(await queued(bench.engine)).toEqual(["b"]);
    },
  );

  within("a connection without a transaction, or of another kind, is refused", async (bench, caller) => {
    const add = async (connection: unknown) =>
      bench.engine.within(connection as TransactionConnection).add(QUEUE, [newItem("a")]);
    await expect(add(caller.connection)).rejects.toMatchObject({
      code: "usage",
      message: "The given connection has no open transaction.",
    });
    for (const connection of [{}, null, "BEGIN", { query: 1 }, { exec() {} }])
      await expect(add(connection)).rejects.toMatchObject({ code: "usage" });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ total: 0 });
  });

  within("a commit wakes a waiting worker", async (bench, caller) => {
    let notifications = 0;
    const end = await bench.engine.watch(QUEUE, () => {
      notifications += 1;
    });
    await caller.execute("BEGIN");
    await bench.engine.within(caller.connection).add(QUEUE, [newItem("a")]);
    expect(notifications).toBe(0);
    await caller.execute("COMMIT");
    await until("it notifies", () => notifications > 0);
    await end();
  });
}

const NOTHING = { added: 0, existing: 0, changed: 0, changedIds: [], replaced: 0 };

async function queued(engine: Engine): Promise<(string | undefined)[]> {
  const events = await engine.listEvents({ after: 0, types: ["item_queued"], limit: 100 });
  return events.map(({ itemId }) => itemId);
}
