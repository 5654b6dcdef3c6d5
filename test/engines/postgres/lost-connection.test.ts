/** Connections that are lost, servers that restart: store trouble while it lasts, and then the work goes on. */
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { isStoreTrouble } from "../../../src/errors.ts";
import { PostgresServer } from "../../support/postgres-server.ts";
import { askPostgres, postgresStores, postgresUrl } from "../../support/postgres-stores.ts";
import { succeeded } from "../../support/settlements.ts";
import { TcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const QUEUE = "job-1";
const HOLDER = { id: "holder-1", queue: QUEUE, host: "host-1", pid: 1, processStart: "1", ttlMs: 60_000 };
const stores = postgresStores();
afterAll(() => stores.remove());

/** An engine whose connections the server knows by a name of their own. */
async function openNamed(): Promise<{ engine: Engine; beside: Engine; name: string }> {
  const beside = await stores.open();
  await beside.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await beside.registerHolder(HOLDER);
  const name = stores.schemaOf(beside);
  const engine = await openPostgresEngine({ url: postgresUrl(name, { application_name: name }) });
  return { engine, beside, name };
}

const terminate = (name: string) =>
  askPostgres("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", name);

/** What a patient runner does. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isStoreTrouble(error) || tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

it("a crashed server does not report another transaction's commit as the forgotten one", async () => {
  const server = await PostgresServer.make();
  onTestFinished(() => server.remove());
  const url = `${server.url}?schema=crashed`;
  const proxy = await TcpProxy.before(url);
  const engine = await openPostgresEngine({ url: proxy.through(url) });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  proxy.refuse(true); // nobody is asked before the crash is over
  proxy.cutAt("COMMIT\0", "before");
  const batch = ["a", "b"].map((itemId) => ({ itemId, data: 1 }));
  const adding = engine.add(QUEUE, batch).then(
    () => "taken in",
    (error: unknown) => (isStoreTrouble(error) ? "to be tried again" : error),
  );
  await until("the commit is lost", async () => proxy.cuts === 1);
  await server.stop("SIGKILL");
  await server.start();
  const beside = await openPostgresEngine({ url });
  const others = Array.from({ length: 30 }, (_, n) => `other-${n}`);
  for (const itemId of others) await patiently(() => beside.add(QUEUE, [{ itemId, data: 1 }]));
  proxy.refuse(false);
  expect(await adding).toBe("to be tried again");
  expect(await patiently(() => beside.count(QUEUE))).toMatchObject({ ready: others.length });
  for (const one of [engine, beside]) await one.close();
  await proxy.close();
});

describe("a backend that is terminated", () => {
  it("between two calls has no effect", async () => {
    const { engine, beside, name } = await openNamed();
    await engine.add(QUEUE, [{ itemId: "a", data: 1 }]);
    await terminate(name);
    await until("the pool has noticed", async () => (await connectionsOf(name)) === 0);
    expect(await patiently(() => engine.count(QUEUE))).toMatchObject({ ready: 1 });
    await engine.close();
    await beside.close();
  });

  it("in the middle of the work counts attempts, and neither loses nor duplicates anything", async () => {
    const { engine, beside, name } = await openNamed();
    const ids = Array.from({ length: 30 }, (_, n) => ({ itemId: `i${n}`, data: n }));
    await engine.add(QUEUE, ids);
    let isOver = false;
    const killing = (async () => {
      while (!isOver) {
        await terminate(name);
        await new Promise((resolve) => setTimeout(resolve, 70));
      }
    })();
    const done: string[] = [];
    let settle: ReturnType<typeof succeeded>[] = [];
    do {
      const request = { settle, lease: { queue: QUEUE, max: 3 } };
      const { leased, stale } = await patiently(() => engine.settleAndLease(HOLDER.id, request));
      expect(stale).toEqual([]);
      done.push(...leased.map(({ itemId }) => itemId));
      settle = leased.map((item) => succeeded(item));
    } while (settle.length > 0);
    isOver = true;
    await killing;
    expect(done.sort()).toEqual(ids.map(({ itemId }) => itemId).sort());
    expect(await beside.count(QUEUE)).toMatchObject({ done: 30, attempts: 30, leased: 0, ready: 0 });
    expect(await beside.check()).toEqual([]);
    await engine.close();
    await beside.close();
  });
});

async function connectionsOf(name: string): Promise<number> {
  return (await askPostgres("SELECT 1 FROM pg_stat_activity WHERE application_name = $1", name)).length;
}

describe("a watcher of a queue", () => {
  it("is notified of what another machine adds", async () => {
    const { engine, beside } = await openNamed();
    let notifications = 0;
    const end = await engine.watch(QUEUE, () => {
      notifications += 1;
    });
    await beside.add(QUEUE, [{ itemId: "a", data: 1 }]);
    await until("the notification", () => notifications > 0);
    await end();
    await engine.close();
    await beside.close();
  });

  it("is notified when its lost connection is back, and of later changes", async () => {
    const beside = await stores.open();
    await beside.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
    const url = postgresUrl(stores.schemaOf(beside));
    const proxy = await TcpProxy.before(url);
    const engine = await openPostgresEngine({ url: proxy.through(url) });
    let notifications = 0;
    const end = await engine.watch(QUEUE, () => {
      notifications += 1;
    });
    proxy.cutAll();
    await until("the notification after the connection came back", () => notifications > 0);
    notifications = 0;
    await beside.add(QUEUE, [{ itemId: "a", data: 1 }]);
    await until("the notification of what came", () => notifications > 0);
    await end();
    await engine.close();
    await beside.close();
    await proxy.close();
  });
});

describe("connections that die silently", () => {
  it("do not cost a holder its lease: the heartbeat times out early enough, and uses a new one", async () => {
    const beside = await stores.open();
    await beside.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
    const url = postgresUrl(stores.schemaOf(beside));
    const proxy = await TcpProxy.before(url);
    const engine = await openPostgresEngine({ url: proxy.through(url) });
    await engine.registerHolder({ ...HOLDER, ttlMs: 4000 });
    await Promise.all([1, 2, 3].map(() => engine.count(QUEUE))); // several connections, idle now
    proxy.mute();
    expect(await engine.heartbeat(HOLDER.id)).toBe(true);
    expect((await beside.listHolders())[0]).toMatchObject({ id: HOLDER.id, expired: false });
    expect(await engine.count(QUEUE)).toMatchObject({ total: 0 });
    await engine.close();
    await beside.close();
    await proxy.close();
  });
});

/** A backend whose server was killed may answer once more before it notices. */
async function isAway(engine: Engine): Promise<boolean> {
  const answer = await engine.count(QUEUE).catch((error: unknown) => error);
  if (!(answer instanceof Error)) return false;
  expect(answer).toMatchObject({ code: "store_unavailable" });
  return true;
}

describe("a server that restarts", () => {
  it.each(["SIGINT", "SIGKILL"] as const)(
    "by %s: calls are store trouble until it is back, and all is there",
    async (signal) => {
      const server = await PostgresServer.make();
      const engine = await openPostgresEngine({ url: `${server.url}?schema=restarted` });
      try {
        await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
        await engine.registerHolder(HOLDER);
        await engine.add(QUEUE, [{ itemId: "a", data: 1 }]);
        const [item] = (
          await engine.settleAndLease(HOLDER.id, { settle: [], lease: { queue: QUEUE, max: 1 } })
        ).leased;
        if (!item) throw new Error("nothing was leased");
        await server.stop(signal);
        await until("what is left of the server has gone too", () => isAway(engine));
        const settling = patiently(() => engine.settleAndLease(HOLDER.id, { settle: [succeeded(item)] }));
        await server.start();
        expect(await settling).toMatchObject({ stale: [] });
        expect(await engine.count(QUEUE)).toMatchObject({ done: 1, attempts: 1 });
        expect(await engine.check()).toEqual([]);
      } finally {
        await engine.close();
        await server.remove();
      }
    },
  );
});
