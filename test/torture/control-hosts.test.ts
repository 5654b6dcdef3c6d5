/** A running job obeys another host, which reaches it only through PostgreSQL, and leaves no process. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliResult, type RunningCli, startRedrive } from "../support/cli.ts";
import { type NetworkHost, NetworkHosts, whyNoHosts } from "../support/network-hosts.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

/** Each item notes its processes, forks one that leaves its group, and hangs until its gate is there. */
const HANG = `note() { echo "$(date +%s%N)" > "$PIDS/$1"; }
note "$$.$REDRIVE_ITEM"
setsid sh -c 'echo > "$PIDS/$$.child"; exec sleep 300' &
sleep 300 & note "$!.child"
while [ ! -e "$PIDS/gate" ]; do sleep 0.02; done
kill $!; exit 0`;

const noHosts = whyNoHosts();
const title = `a job that is controlled from a second host${noHosts === undefined ? "" : ` (${noHosts})`}`;

describe.skipIf(noHosts !== undefined)(title, () => {
  let network: NetworkHosts;
  let server: PostgresServer;
  let count = 0;
  beforeAll(async () => {
    network = new NetworkHosts(["north", "south"]);
    server = await PostgresServer.make({ addresses: network.addresses, networks: network.networks });
  });
  afterAll(async () => {
    await server?.remove();
    network?.remove();
  });

  /** Runs four items, two at a time, on one host. The other one has a home of its own. */
  async function open() {
    const [north, south] = network.hosts;
    if (!north || !south) throw new Error("there are two hosts");
    count += 1;
    const pids = directory.file(`pids-${count}`);
    mkdirSync(pids);
    const job = `controlled-${count}`;
    const words = [
      "map",
      "--name",
      job,
      "--input",
      "-",
      "--format",
      "lines",
      "-j",
      "2",
      "-q",
      "--",
      "sh",
      "-c",
      HANG,
    ];
    const runner = start(north, words, {
      stdin: "1\n2\n3\n4\n",
      env: { PIDS: pids },
      home: `north-${count}`,
    });
    const all = () =>
      readdirSync(pids).flatMap((name) => (name === "gate" ? [] : [Number(name.split(".")[0])]));
    const running = () => readdirSync(pids).filter((name) => /\.\d+$/.test(name)).length;
    const alive = () => all().filter((pid) => existsSync(`/proc/${pid}`) && !isZombie(pid));
    await runner.until("two items run with their children", () => running() === 2 && all().length === 6);
    const from = (...args: string[]) => start(south, args, { home: `south-${count}` }).ended;
    const openGate = () => writeFileSync(`${pids}/gate`, "");
    return { job, runner, from, alive, running, openGate };
  }

  function start(
    host: NetworkHost,
    args: readonly string[],
    { home, env = {}, stdin = "" }: { home: string; env?: Record<string, string>; stdin?: string },
  ): RunningCli {
    const store = { REDRIVE_STORE: server.urlAt(host.gateway), REDRIVE_HOME: directory.file(home) };
    return startRedrive(args, { home: directory.path, env: { ...store, ...env }, on: host, stdin });
  }

  type Items = {
    readonly items: readonly { readonly item_id: string; readonly state: string; readonly data: unknown }[];
  };
  const itemsOf = async (list: Promise<CliResult>) => (await list).json<Items>().items;

  async function obeyed(
    what: string,
    command: Promise<CliResult>,
    condition: () => boolean | Promise<boolean>,
  ) {
    const result = await command;
    expect(result.code, result.stderr).toBe(0);
    await until(what, condition);
  }

  /** Reports how long each request took, by the clock of the store. A test does not judge it on a busy machine. */
  async function reportDelays(events: Promise<CliResult>): Promise<void> {
    type Event = { readonly at: string; readonly type: string; readonly data?: { readonly action?: string } };
    const { events: all } = (await events).json<{ events: readonly Event[] }>();
    for (const [index, { at, data }] of all.entries()) {
      if (!/^(item|job)_\w+_requested$/.test(data?.action ?? "")) continue;
      const end = all
        .slice(index)
        .find(({ type }) => /^attempt_(released|parked)$|^item_skipped$/.test(type));
      if (end) console.info(`${data?.action}: obeyed after ${Date.parse(end.at) - Date.parse(at)} ms`);
    }
  }

  it("stops, continues and skips single items", async () => {
    const { job, runner, from, alive, running, openGate } = await open();
    const leased = (await itemsOf(from("items", job, "--state", "leased", "--json"))).map(
      ({ item_id: id }) => id,
    );
    const [first = "", second = ""] = leased;
    await obeyed(
      "the item and its children have ended",
      from("stop", job, first, "--json"),
      () => running() >= 3,
    );
    await obeyed("the skipped item has ended", from("skip", job, second, "--json"), () => running() >= 4);
    await until("only the other two items are left, each with two children", () => alive().length === 6);
    await obeyed("it is ready again", from("continue", job, first), async () =>
      (await itemsOf(from("items", job, "--json"))).every(({ state }) => state !== "held"),
    );
    openGate();
    expect((await runner.ended).code).toBe(0);
    const states = (await itemsOf(from("items", job, "--json"))).map(({ item_id: id, state }) => [
      id === second,
      state,
    ]);
    expect(states.filter(([isSecond]) => isSecond)).toEqual([[true, "skipped"]]);
    expect(states.filter(([, state]) => state === "done")).toHaveLength(3);
    await until("no process is left", () => alive().length === 0);
    await reportDelays(from("events", job, "--json"));
  });

  it("pauses the job and continues it", async () => {
    const { job, runner, from, alive, running, openGate } = await open();
    expect((await from("pause", job)).code).toBe(0);
    openGate();
    await until(
      "what ran has finished",
      async () => (await itemsOf(from("items", job, "--state", "done", "--json"))).length === 2,
    );
    expect(running()).toBe(2);
    await obeyed("the rest runs", from("continue", job), () => running() === 4);
    expect((await runner.ended).code).toBe(0);
    await until("no process is left", () => alive().length === 0);
  });

  it.each(["stop", "cancel"])("%s ends the runner and all its processes", async (command) => {
    const { job, runner, from, alive } = await open();
    let isOver = false;
    const ended = runner.ended.then((end) => {
      isOver = true;
      return end;
    });
    await obeyed("the runner has ended", from(command, job), () => isOver);
    expect((await ended).code).toBe(1);
    await until("no process is left", () => alive().length === 0);
    const items = await itemsOf(from("items", job, "--json"));
    expect(items.map(({ state }) => state)).toEqual(["ready", "ready", "ready", "ready"]);
    const attempts = (await from("status", job, "--json")).json<{ attempts: number }>().attempts;
    expect(attempts).toBe(2); // recorded as released, which counts against nothing
    await reportDelays(from("events", job, "--json"));
  });
});

function isZombie(pid: number): boolean {
  return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}
