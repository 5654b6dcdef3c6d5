/** Receipts on disk: kept before the first try, and delivered by whoever opens the target next. */
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { open as openRedrive, type Redrive } from "../../src/index.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";
import { RECEIPT } from "./delivery-kit.ts";
import { ReceiptServer } from "./receipt-server.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

let url: string;
let files = 0;
let server: ReceiptServer;
const stores: Redrive[] = [];
beforeEach(async () => {
  files += 1;
  url = `sqlite:${join(directory.path, `${files}.db`)}`;
  server = await ReceiptServer.open();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await server.close();
});

const open = async () => {
  const store = await openRedrive(url, { home: directory.path });
  stores.push(store);
  return store;
};

describe("stored receipts", () => {
  it("pitfall 35: a receipt is durable before its first attempt", async () => {
    const other = await open();
    const seen: unknown[] = [];
    const store = await open();
    const target = store.receipts("gate", {
      deliver: async (_receipt, { key }) => {
        const [item] = await other.engine.findItems(key, { queue: "gate", limit: 1 });
        seen.push([item?.data, item?.state]);
      },
    });
    expect(await target.send(RECEIPT)).toBe(true);
    expect(seen).toEqual([[RECEIPT, "leased"]]);
  });

  it("pitfall 33: pending receipts continue when the target is opened again, and nothing is overwritten", async () => {
    server.otherwise = 503;
    const before = await open();
    const target = before.receipts("gate", { url: server.url, backoffBase: 0 });
    const keys = ["k1", "k2", "k3"];
    for (const key of keys) await target.send({ ...RECEIPT, key }, { key, wait: false });
    await until("one was tried", () => server.keys.length > 0);
    await target.close();
    server.otherwise = 200;
    server.ledger.length = 0;
    const after = await open();
    const reopened = after.receipts("gate");
    expect(await reopened.send({ ...RECEIPT, key: "k4" }, { key: "k4" })).toBe(true);
    await until("all are delivered", async () => (await reopened.counts()).done === 4);
    expect([...new Set(server.keys)].sort()).toEqual([...keys, "k4"]); // one that was on its way may come twice
    expect(await after.engine.check()).toEqual([]);
  });

  it("pitfall 33: earlier letters remain, beside the new ones", async () => {
    server.otherwise = 422;
    const before = await open();
    expect(await before.receipts("gate", { url: server.url }).send({ n: 1 })).toBe(false);
    await before.close();
    const after = await open();
    expect(await after.receipts("gate").send({ n: 2 })).toBe(false);
    const { letters } = await after.engine.listLetters({ queue: "gate", order: "oldest", limit: 10 });
    expect(letters.map(({ itemData }) => itemData)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("counters continue after a restart", async () => {
    const before = await open();
    await before.receipts("gate", { url: server.url }).send({ n: 1 });
    await before.close();
    const after = await open();
    await after.receipts("gate").send({ n: 2 });
    const counters = await after.engine.listCounters();
    expect(counters.find(({ name }) => name === "receipt.delivered")).toMatchObject({
      queue: "gate",
      value: 2,
    });
  });
});

describe("the targets of a store", () => {
  it("a target is the same object until it is closed; other options are refused meanwhile", async () => {
    const store = await open();
    const target = store.receipts("gate", { url: server.url });
    expect(store.receipts("gate")).toBe(target);
    expect(() => store.receipts("gate", { timeoutMs: 1 })).toThrow(/already open/);
    expect(await store.receipts("gate").send(RECEIPT)).toBe(true);
    await target.close();
    const next = store.receipts("gate", { timeoutMs: 5000 });
    expect(next).not.toBe(target);
    await next.opened;
    expect((await next.settings()).delivery.timeoutMs).toBe(5000);
  });

  it("closing the store closes them, and releases what was in flight", async () => {
    server.otherwise = () => undefined;
    const store = await open();
    const sending = store.receipts("gate", { url: server.url }).send(RECEIPT, { key: "k" });
    const end = sending.catch((error: unknown) => error);
    await until("it is on its way", () => server.keys.length === 1);
    await store.close();
    stores.pop();
    expect(await end).toMatchObject({ code: "interrupted" });
    const after = await open();
    expect(await after.engine.findItems("k", { queue: "gate", limit: 1 })).toMatchObject([
      { state: "ready", attemptsCounted: 0 },
    ]);
  });
});
