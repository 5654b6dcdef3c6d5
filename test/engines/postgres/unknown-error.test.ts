/**
 * An error that Redrive does not know, raised by the server at every query of a long-running process: the process reports it, tries
 * again and goes on. No error is an unhandled rejection, which would end the test run.
 */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { setTarget } from "../../../src/delivery/target-settings.ts";
import type { Engine } from "../../../src/engine.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { RedriveError } from "../../../src/errors.ts";
import { addItems } from "../../../src/queue/add-items.ts";
import { type ItemHandler, itemHandler } from "../../../src/queue/queue.ts";
import { createQueue } from "../../../src/queue/queue-settings.ts";
import { Worker } from "../../../src/queue/worker.ts";
import { DEFAULT_POLICY } from "../../../src/retry/policy.ts";
import { deliverTarget } from "../../../src/run/deliver.ts";
import { startMap } from "../../../src/run/map.ts";
import { DEFAULT_WATCH } from "../../../src/service/alert-settings.ts";
import { Watcher } from "../../../src/service/alert-watcher.ts";
import { serveMetrics } from "../../../src/service/metrics-server.ts";
import { metricsText } from "../../../src/service/metrics-text.ts";
import { randomName } from "../../../src/std/random.ts";
import { ReceiptServer } from "../../delivery/receipt-server.ts";
import { FaultInjector } from "../../support/fault-injector.ts";
import { askPostgres, dropSchema, postgresUrl } from "../../support/postgres-stores.ts";
import { seeds } from "../../support/seeds.ts";
import { succeeded } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

/** Far more queries than one run sends. */
const QUERIES_MAX = 3000;

const schema = `test_${randomName(10)}`;
let injector: FaultInjector;
let engine: Engine;

beforeAll(async () => {
  injector = new FaultInjector(postgresUrl(schema));
  engine = await openPostgresEngine({ url: postgresUrl(schema), connections: injector.connections });
});

afterAll(async () => {
  await engine.close();
  await injector.connections.end();
  await dropSchema(schema);
});

/** Repeats the run with the failure at its first query, its second one, and so on, until it ends without a failure. */
async function atEveryQuery(run: (query: number, begin: () => void) => Promise<void>): Promise<void> {
  for (let query = 1; query <= QUERIES_MAX; query += 1) {
    const before = injector.failures;
    await run(query, () => injector.failAt(query));
    injector.failAt(0);
    if (injector.failures === before) return expect(query).toBeGreaterThan(3);
  }
  throw new Error("no run ended without a failure");
}

/**
 * The same with every fourth query, beginning with one that the seed draws. `REDRIVE_EVERY_QUERY=1`, as in
 * `npm run fuzz:queries`, takes them all.
 */
async function atSomeQueries(run: (query: number, begin: () => void) => Promise<void>): Promise<void> {
  const [seed = 1] = seeds(1);
  const stride = process.env.REDRIVE_EVERY_QUERY === undefined ? 4 : 1;
  for (let query = 1 + (seed % stride); query <= QUERIES_MAX; query += stride) {
    const before = injector.failures;
    await run(query, () => injector.failAt(query));
    if (injector.failures === before) return expect(query).toBeGreaterThan(3);
  }
  throw new Error("no run ended without a failure");
}

async function workUntilEmpty(
  name: string,
  work: ItemHandler,
  trouble: (error: unknown) => void = () => undefined,
) {
  const handler = itemHandler(work, { now: Date.now });
  const plan = { handler, concurrency: 1, untilEmpty: true, abandonAfterMs: 5000, observer: { trouble } };
  await new Worker(engine, name, plan).ended;
}

describe("an unknown error of the server", () => {
  it("at any query of a worker is reported, and every item is done once", async () => {
    let reports = 0;
    await atEveryQuery(async (query, begin) => {
      const name = `work-${query}`;
      await createQueue(engine, name);
      await addItems(
        engine,
        name,
        ["a", "b", "c"].map((key) => ({ key, data: 1 })),
      );
      const done: string[] = [];
      const onError = (error: unknown) => {
        reports += 1;
        expect(error).toMatchObject({ code: "store_unavailable", message: /injected/ });
      };
      begin();
      const work = async ({ itemId }: { readonly itemId: string }) => done.push(itemId);
      await workUntilEmpty(name, work, onError);
      injector.failAt(0);
      expect(done).toEqual(["a", "b", "c"]);
      expect(await engine.count(name)).toMatchObject({ done: 3, leased: 0 });
    });
    expect(reports).toBeGreaterThan(3);
    expect(await engine.check()).toEqual([]);
  }, 120_000);

  it("at any query of a map is reported, and every item is done once", async () => {
    const directory = new TemporaryDirectory();
    onTestFinished(() => directory.remove());
    const input = directory.file("items");
    writeFileSync(input, "a\nb\n");
    const spec = {
      ...{ command: ["true", "{}"], cwd: directory.path, input: { path: input }, jobs: 1 },
      ...{ graceMs: 1000, policy: DEFAULT_POLICY },
    };
    const stop = new AbortController().signal;
    await atSomeQueries(async (query, begin) => {
      const reports: unknown[] = [];
      const observer = { trouble: (error: unknown) => reports.push(error) };
      const before = injector.failures;
      const deps = { engine, home: directory.path, stop, observer };
      const { summary } = await startMap(deps, { spec, name: `map-${query}`, onJob: begin });
      injector.failAt(0);
      expect(summary).toMatchObject({ status: "completed", total: 2, succeeded: 2, attempts: 2 });
      for (const error of reports) expect(error).toMatchObject({ code: "store_unavailable" });
      expect(reports.length).toBeLessThanOrEqual(injector.failures - before);
    });
    expect(await engine.check()).toEqual([]);
  }, 120_000);

  it("at any query of a process that delivers receipts is reported, and every receipt arrives once", async () => {
    const server = await ReceiptServer.open();
    onTestFinished(() => server.close());
    const directory = new TemporaryDirectory();
    onTestFinished(() => directory.remove());
    const stop = new AbortController().signal;
    await atSomeQueries(async (query, begin) => {
      const name = `target-${query}`;
      const target = await setTarget(engine, name, { url: server.url, backoffBase: 0 });
      const keys = ["a", "b"].map((key) => `${name}-${key}`);
      await engine.add(
        name,
        keys.map((itemId) => ({ itemId, data: { itemId } })),
      );
      begin();
      const options = { slots: 1, untilEmpty: true, onNotice: () => undefined };
      const result = await deliverTarget({ engine, home: directory.path, stop }, target, options);
      injector.failAt(0);
      expect(result).toMatchObject({ end: "finished" });
      expect(server.keys.filter((key) => keys.includes(key)).sort()).toEqual(keys);
      expect(await engine.count(name)).toMatchObject({ done: 2, leased: 0, attempts: 2 });
    });
    expect(await engine.check()).toEqual([]);
  }, 120_000);

  it("at any query of a check by watch is an unhealthy store, and the next check finds it healthy", async () => {
    const watcher = new Watcher({
      open: async () => engine,
      storeUrl: "postgres://h/d",
      settings: DEFAULT_WATCH,
      env: {},
    });
    await atEveryQuery(async (_, begin) => {
      const before = injector.failures;
      begin();
      const { trouble, sent } = await watcher.check();
      await sent;
      injector.failAt(0);
      if (injector.failures > before && trouble) expect(trouble.code).toBe("store_unavailable");
      const next = await watcher.check();
      await next.sent;
      expect(next.trouble).toBeUndefined();
    });
  }, 120_000);

  it("at any query of a request to the metrics server is 503, and the next request is 200", async () => {
    const server = await serveMetrics({
      engine,
      at: { host: "127.0.0.1", port: 0 },
      text: () => metricsText(engine),
    });
    onTestFinished(() => server.close());
    await atEveryQuery(async (_, begin) => {
      const before = injector.failures;
      begin();
      const { status } = await fetch(`${server.url}/metrics`);
      injector.failAt(0);
      expect(status).toBe(injector.failures > before ? 503 : 200);
      expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
    });
  }, 120_000);

  it("at any query of opening a store is an error with a code", async () => {
    await atEveryQuery(async (_, begin) => {
      const before = injector.failures;
      begin();
      const opening = openPostgresEngine({ url: postgresUrl(schema), connections: injector.connections });
      const opened = await opening.catch((error: unknown) => error);
      if (injector.failures > before) expect(opened).toMatchObject({ code: "store_unavailable" });
    });
  });
});

describe("an error of this process after the COMMIT of a step", () => {
  it("leaves no lease that nobody works on", async () => {
    const name = `commit-${randomName(6)}`;
    await createQueue(engine, name);
    await addItems(
      engine,
      name,
      ["a", "b", "c"].map((key) => ({ key, data: 1 })),
    );
    const done: string[] = [];
    const before = injector.failures;
    const work: ItemHandler = async ({ itemId }, { note }) => {
      if (itemId === "a") {
        note("settled in a transaction");
        injector.failAfterCommit(new TypeError("a bug"));
      }
      done.push(itemId);
    };
    await workUntilEmpty(name, work);
    expect(injector.failures).toBe(before + 1);
    expect(done.sort()).toEqual(["a", "b", "c"]);
    expect(await engine.count(name)).toMatchObject({ done: 3, leased: 0 });
    expect(await engine.listErrors({ queue: name, origin: "runner", limit: 10 })).toMatchObject([
      { itemId: "b" },
    ]);
    expect(await engine.check()).toEqual([]);
  });
});

describe("a BEGIN that fails", () => {
  it("keeps the statements sent with it from being executed one by one", async () => {
    await engine.createJob({ id: "begin", name: "begin", kind: "queue", spec: {} });
    await engine.registerHolder({
      id: "b",
      queue: "begin",
      host: "host",
      pid: 1,
      processStart: "1",
      ttlMs: 60_000,
    });
    await engine.add("begin", [
      { itemId: "x", data: 1 },
      { itemId: "y", data: 1 },
    ]);
    const request = { settle: [], lease: { queue: "begin", max: 1 } };
    const { leased } = await engine.settleAndLease("b", request); // the connection keeps its settings from here on
    const settle = leased.map(succeeded);
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      settle: () => engine.settleAndLease("b", { settle }),
      // Plain successes are settled by one statement, which has no BEGIN.
      "settle and lease": () =>
        engine.settleAndLease("b", { ...request, settle: settle.map((one) => ({ ...one, counts: ["x"] })) }),
      // One item alone is added by one statement, which has no BEGIN.
      add: () =>
        engine.add(
          "begin",
          ["z", "zz"].map((itemId) => ({ itemId, data: 1 })),
        ),
      hold: () => engine.hold("begin", ["y"], { author: "me" }),
    };
    const before = { counts: await engine.count("begin"), newest: await engine.newestEvent() };
    for (const [name, write] of Object.entries(writes)) {
      injector.failAtBeginning();
      await expect(write(), name).rejects.toMatchObject({ code: "store_unavailable", message: /injected/ });
      injector.failAt(0);
      expect({ counts: await engine.count("begin"), newest: await engine.newestEvent() }, name).toEqual(
        before,
      );
    }
    expect(
      (await engine.settleAndLease("b", { ...request, settle })).leased.map(({ itemId }) => itemId),
    ).toEqual(["y"]);
    expect(await engine.check()).toEqual([]);
  });
});

describe("a store whose version was raised", () => {
  it("is not written by a process that opened it before", async () => {
    const url = postgresUrl(schema);
    const old = await openPostgresEngine({ url });
    onTestFinished(() => old.close());
    await old.createJob({ id: "upgrade", name: "upgrade", kind: "queue", spec: {} });
    await old.registerHolder({
      id: "h",
      queue: "upgrade",
      host: "host",
      pid: 1,
      processStart: "1",
      ttlMs: 60_000,
    });
    const lease = () => old.settleAndLease("h", { settle: [], lease: { queue: "upgrade", max: 1 } });
    const add = (itemId: string) => old.add("upgrade", [{ itemId, data: 1 }]);
    await add("a");
    const { leased } = await lease(); // from here on it leases in one round trip
    await add("b");
    const changeVersion = (by: number) => askPostgres(`UPDATE ${schema}.store SET version = version + ${by}`);
    await changeVersion(1);
    const settle = leased.map(succeeded);
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      lease,
      "lease again": lease,
      settle: () => old.settleAndLease("h", { settle }),
      "settle and lease": () => old.settleAndLease("h", { settle, lease: { queue: "upgrade", max: 1 } }),
      heartbeat: () => old.heartbeat("h"),
      add: () => add("c"),
      "add with a generated id": () => old.add("upgrade", [{ itemId: "d", data: 1 }], { generatedIds: true }),
    };
    for (const [name, write] of Object.entries(writes)) {
      const error = await write().then(
        () => null,
        (found: unknown) => found,
      );
      expect(error, name).toBeInstanceOf(RedriveError);
      expect(error, name).toMatchObject({ code: "store_newer", message: /while this process used it/ });
    }
    await changeVersion(-1);
    expect(await old.count("upgrade")).toMatchObject({ ready: 1, leased: 1, total: 2 });
    expect((await lease()).leased.map(({ itemId }) => itemId)).toEqual(["b"]);
  });
});
