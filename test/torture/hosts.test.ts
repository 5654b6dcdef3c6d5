/** Several machines at one PostgreSQL server: one loses its link for longer than its lease, and clocks that differ. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addItems, createQueue, type Engine, openStore } from "../../src/exports/engine.ts";
import { type RunningCli, startRedrive } from "../support/cli.ts";
import { type NetworkHost, NetworkHosts, whyNoHosts } from "../support/network-hosts.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

/** Tells the ledger of its start and its end. The first attempt of the item `x` waits until it is told to go on. */
const WORK = `say() { echo "$1 $REDRIVE_ITEM_ID $REDRIVE_ATTEMPT $(hostname) $$" >>"$LEDGER"; }
say start
while [ "$REDRIVE_ITEM_ID/$REDRIVE_ATTEMPT" = x/1 ] && [ ! -e "$LEDGER.go" ]; do sleep 0.05; done
say done`;

const noHosts = whyNoHosts();
const title =
  noHosts === undefined ? "a host that loses the server" : `a host that loses the server (${noHosts})`;

describe.skipIf(noHosts !== undefined)(title, () => {
  let network: NetworkHosts;
  let server: PostgresServer;
  let store: Engine;
  beforeAll(async () => {
    network = new NetworkHosts(["north", "south"]);
    server = await PostgresServer.make({ addresses: network.addresses, networks: network.networks });
    store = await openStore(server.url);
  });
  afterAll(async () => {
    await store?.close();
    await server?.remove();
    network?.remove();
  });

  it.each<[string, (host: NetworkHost) => void, (host: NetworkHost) => void]>([
    ["by a link that is down", (host) => host.unplug(), (host) => host.plugIn()],
    ["by a link that swallows everything", (host) => host.swallow(), (host) => host.letThrough()],
  ])(
    "%s is fenced: another one works its item, its late result is evidence, and it goes on",
    async (_how, cut, mend) => {
      const [north, south] = network.hosts;
      if (!north || !south) throw new Error("there are two hosts");
      const queue = `q${Math.random().toString(36).slice(2)}`;
      const ledger = directory.file("ledger");
      const said = () => (existsSync(ledger) ? readFileSync(ledger, "utf8") : "");
      await createQueue(store, queue, { leaseMs: 3000 });
      await addItems(store, queue, [{ key: "x", data: 1 }]);

      const workers = { north: workOn(north, { queue, ledger }), south: undefined as RunningCli | undefined };
      await workers.north.until("the first attempt", () => said().includes("start x 1 north"));
      cut(north);
      workers.south = workOn(south, { queue, ledger });
      await workers.south.until("the other host has done it", () => said().includes("done x 2 south"));
      await until("its success is on record", async () => (await store.count(queue)).done === 1);
      writeFileSync(`${ledger}.go`, "");
      await workers.north.until("the first attempt ends too", () => said().includes("done x 1 north"));
      const pid = /^done x 1 north (\d+)$/m.exec(said())?.[1];
      await until("its worker has seen it end", () => !existsSync(`/proc/${pid}`));
      mend(north);
      await until("the late result", async () => (await lateResults(queue)).length > 0);
      expect(await lateResults(queue)).toMatchObject([{ attempt: 1, data: { outcome: "succeeded" } }]);

      workers.south.signal("SIGTERM");
      expect((await workers.south.ended).code).toBe(143);
      await addItems(store, queue, [{ key: "y", data: 2 }]);
      await workers.north.until("the host goes on", () => said().includes("done y 1 north"));
      await until("that is on record", async () => (await store.count(queue)).done === 2);
      workers.north.signal("SIGTERM");
      expect((await workers.north.ended).code).toBe(143);

      expect(await outcomesOf(queue, "x")).toEqual(["north lost", "south succeeded"]);
      expect(await outcomesOf(queue, "y")).toEqual(["north succeeded"]);
      expect(await store.count(queue)).toMatchObject({ done: 2, attempts: 3, ready: 0, leased: 0, dead: 0 });
      expect(await store.check()).toEqual([]);
    },
  );

  function workOn(host: NetworkHost, { queue, ledger }: { queue: string; ledger: string }): RunningCli {
    const words = ["worker", "--queue", queue, "--concurrency", "1", "--quiet", "--", "sh", "-c", WORK];
    const env = { REDRIVE_STORE: server.urlAt(host.gateway), LEDGER: ledger };
    return startRedrive(words, { home: directory.path, env, on: host });
  }

  const lateResults = (queue: string) =>
    store.listEvents({ queue, types: ["late_result"], after: 0, limit: 10 });

  async function outcomesOf(queue: string, key: string): Promise<string[]> {
    const [item] = await store.findItems(key, { queue, limit: 1 });
    const attempts = item === undefined ? [] : await store.listAttempts(item.ref);
    return attempts.map(({ holder, outcome }) => `${holder.split(":")[0]} ${outcome}`);
  }
});

/** Every `Date` of the process is off by the hours of SHIFT_HOURS. */
const SHIFT = `const off = Number(process.env.SHIFT_HOURS) * 3600000;
const Real = Date;
globalThis.Date = class Date extends Real {
  constructor(...given) { if (given.length === 0) super(Real.now() + off); else super(...given); }
  static now() { return Real.now() + off; }
};`;

describe("hosts whose clocks differ by hours", () => {
  const schema = `test_clocks_${Math.random().toString(36).slice(2)}`;
  afterAll(() => dropSchema(schema));

  it("steal no lease and wait no wrong time, because the database's clock decides", async () => {
    const store = await openStore(postgresUrl(schema));
    const backoff = { kind: "fixed", delayMs: 50, jitter: false } as const;
    await createQueue(store, "clocks", { leaseMs: 2500, backoff });
    const ids = Array.from({ length: 4 }, (_, n) => `i${n}`);
    await addItems(
      store,
      "clocks",
      ids.map((key) => ({ key, data: key })),
    );
    // Each takes longer than the lease, which lives on heartbeats meanwhile; the first try of each fails.
    const work = 'sleep 2.7; [ "$REDRIVE_ATTEMPT" -gt 1 ] || exit 1';
    const began = Date.now();
    const workers = ["1", "-1"].map((hours) => startShifted(hours, work));
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const holders = new Set<string>();
    for (const item of await store.findItems("", { queue: "clocks", limit: 100 })) {
      const attempts = await store.listAttempts(item.ref);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed", "succeeded"]);
      for (const { holder, startedAt } of attempts) {
        holders.add(holder);
        expect(Math.abs(startedAt - began)).toBeLessThan(600_000);
      }
    }
    expect(holders.size).toBe(2);
    expect(await store.check()).toEqual([]);
    await store.close();
  });

  function startShifted(hours: string, work: string): RunningCli {
    const preload = join(directory.path, "shift.cjs");
    if (!existsSync(preload)) appendFileSync(preload, SHIFT);
    const env = {
      REDRIVE_STORE: postgresUrl(schema),
      NODE_OPTIONS: `--require ${preload}`,
      SHIFT_HOURS: hours,
    };
    const words = ["worker", "--queue", "clocks", "--concurrency", "2", "--drain", "--quiet", "--"];
    return startRedrive([...words, "sh", "-c", work], { home: directory.path, env });
  }
});
