/** One workflow job on two machines with a clone each, in network namespaces: links that are cut, slow links, and a machine that is lost. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { itemsJson, openProject, type Project } from "../journeys/project.ts";
import { EACH_ONCE, merges, serveGit, urlOf } from "../journeys/shared-git.ts";
import type { Summary } from "../journeys/workshop.ts";
import { type RunningCli, startRedrive } from "../support/cli.ts";
import { type NetworkHost, NetworkHosts, whyNoHosts } from "../support/network-hosts.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { until } from "../support/until.ts";

/** How long the link stays cut at least. By default only until the lease has ended; see bench/TORTURE.md. */
const CUT_MS = Number(process.env.REDRIVE_CUT_SECONDS ?? 0) * 1000;

const noHosts = whyNoHosts();
const title = noHosts === undefined ? "two machines with a clone each" : `two machines (${noHosts})`;

describe.skipIf(noHosts !== undefined)(title, () => {
  let network: NetworkHosts;
  let server: PostgresServer;
  beforeAll(async () => {
    network = new NetworkHosts(["north", "south"]);
    server = await PostgresServer.make({ addresses: network.addresses, networks: network.networks });
  });
  afterAll(async () => {
    await server?.remove();
    network?.remove();
  });

  /** A repository on a git server that both machines reach, and a clone for each. */
  async function openJob(work: string) {
    const [north, south] = network.hosts;
    if (!north || !south) throw new Error("there are two hosts");
    const project = openProject(itemsJson("a", "b", "c", "d"));
    const port = await serveGit(project, network.addresses);
    project.git("remote", "add", "origin", urlOf(port, north.gateway));
    const clone = project.path("south");
    project.git("clone", "-q", project.path("served/shared.git"), clone);
    project.gitIn(clone, "remote", "set-url", "origin", urlOf(port, south.gateway));
    for (const key of ["user.name", "user.email"])
      project.gitIn(clone, "config", key, project.git("config", key));
    const file = project.workflow({
      name: "shared",
      map: {
        ...{ input: "items.json", id_field: "id", json_path: "$", remote: "origin", max_parallel: 1 },
        agent_template: [
          { shell: `echo "begin $(hostname) \${item.id}" >> $L\n${waitAtGate(project)}` },
          { shell: work },
        ],
      },
      reduce: [
        { shell: `echo reduce >> $L; while [ ! -e ${project.path("open-reduce")} ]; do sleep 0.05; done` },
      ],
    });
    const on = (host: NetworkHost, words: readonly string[], cwd: string, home: string): RunningCli => {
      const env = { ...project.here.env, REDRIVE_STORE: server.urlAt(host.gateway), REDRIVE_HOME: home };
      const running = startRedrive(words, { home: project.home, cwd, env, on: host, stdin: "" });
      onTestFinished(() => running.signal("SIGKILL"));
      return running;
    };
    const running = on(north, ["run", file, "--json"], project.top, project.path("north-home"));
    await running.until("north works", () => project.ledger.some((line) => line.startsWith("begin north")));
    const words = ["worker", "--job", "shared", "-j", "1", "--store-wait", "5m"];
    const helper = on(south, words, clone, project.path("south-home"));
    await helper.until("south works", () => itemOf(project, "south") !== undefined);
    return { project, north, south, running, helper };
  }

  const COMMIT = 'echo "by $(hostname)" > ${item.id}.txt; git add -A; git commit -qm "by ${item.id}"';

  it.each<[string, (host: NetworkHost) => void, (host: NetworkHost) => void]>([
    ["is down", (host) => host.unplug(), (host) => host.plugIn()],
    ["swallows everything", (host) => host.swallow(), (host) => host.letThrough()],
  ])(
    "one whose link %s until its lease has ended comes back: each item is merged once",
    async (_how, cut, mend) => {
      const { project, south, running, helper } = await openJob(COMMIT);
      const lost = itemOf(project, "south") ?? "";
      cut(south);
      const isCut = sleep(CUT_MS);
      open(project, "north");
      await running.until("north has done all items", () => project.ledger.includes("reduce"));
      expect(project.ledger).toContain(`begin north ${lost}`);
      open(project, "south");
      await isCut;
      mend(south);
      const helped = await helper.ended;
      open(project, "reduce");
      const ended = await running.ended;
      expect([ended.code, helped.code]).toEqual([0, 0]);
      expect(JSON.parse(ended.stdout)).toMatchObject({ succeeded: 4, dead: 0 } satisfies Partial<Summary>);
      expect(merges(project)).toEqual(EACH_ONCE);
      expect(project.get(`${lost}.txt`)).toBe("by north\n");
    },
    180_000 + 2 * CUT_MS,
  );

  it("one with a slow link whose pushes are rejected twice gets its work merged", async () => {
    const { project, south, running, helper } = await openJob(
      `head -c 60000 /dev/urandom > \${item.id}.bin; ${COMMIT}`,
    );
    onTestFinished(() => south.slowDown(undefined));
    south.slowDown("256kbit");
    const rejected = project.path("rejected");
    const hook = project.path("served/shared.git/hooks/pre-receive");
    writeFileSync(hook, `#!/bin/sh\necho x >> ${rejected}; [ $(wc -l < ${rejected}) -gt 2 ] || exit 1\n`);
    chmodSync(hook, 0o755);
    open(project, "south");
    await until("south has pushed its work", () => countOf(rejected) > 2);
    for (const name of ["north", "reduce"]) open(project, name);
    const [ended, helped] = await Promise.all([running.ended, helper.ended]);
    expect([ended.code, helped.code]).toEqual([0, 0]);
    expect(merges(project)).toEqual(EACH_ONCE);
  }, 180_000);

  it("one that is lost while it works costs no item", async () => {
    const { project, south, running, helper } = await openJob(COMMIT);
    const lost = itemOf(project, "south") ?? "";
    south.unplug();
    onTestFinished(() => south.plugIn());
    helper.signal("SIGKILL");
    await helper.ended;
    for (const name of ["north", "reduce"]) open(project, name);
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ succeeded: 4, dead: 0 } satisfies Partial<Summary>);
    expect(merges(project)).toEqual(EACH_ONCE);
    expect(project.get(`${lost}.txt`)).toBe("by north\n");
  }, 180_000);
});

const open = (project: Project, name: string) => project.write(`open-${name}`, "");

/** A machine that has lost its link goes on, also when it is told to end. */
function waitAtGate(project: Project): string {
  return `[ $(hostname) = north ] || trap "" TERM\nwhile [ ! -e ${project.path("open-")}$(hostname) ]; do sleep 0.05; done`;
}

/** The item with which a machine has begun first. */
function itemOf(project: Project, host: string): string | undefined {
  return project.ledger.find((line) => line.startsWith(`begin ${host} `))?.split(" ")[2];
}

function countOf(path: string): number {
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").length : 0;
}
