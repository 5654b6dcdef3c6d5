/** A running job is controlled from other processes: items are stopped, skipped and continued, and the job is paused and stopped. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { openFolder, openProject, type Project } from "./project.ts";
import { isAlive, SOUND } from "./workshop.ts";

/** Each item writes its pid and hangs until its own gate or that of all is there. A child of it hangs too. */
const HANG =
  "echo $$ > $PIDS/${item}.$REDRIVE_ATTEMPT; sleep 300 & child=$!; echo $child > $PIDS/${item}.child; while [ ! -e $PIDS/gate ] && [ ! -e $PIDS/${item}.gate ]; do sleep 0.02; done; kill $child";

function openHanging(items: number, parallel: number) {
  const project = openFolder();
  const pids = project.path("pids");
  mkdirSync(pids);
  const workflow = {
    name: "hanging",
    env: { PIDS: pids },
    map: {
      input: { command: `seq 1 ${items}` },
      isolation: "none",
      max_parallel: parallel,
      agent_template: [{ shell: HANG }],
    },
  };
  const pidOf = (name: string) =>
    existsSync(`${pids}/${name}`) ? Number(readFileSync(`${pids}/${name}`, "utf8")) : 0;
  return { project, workflow, pidOf, openGate: (gate = "gate") => project.write(`pids/${gate}`, "") };
}

interface ItemsJson {
  readonly items: readonly { readonly item_id: string; readonly state: string; readonly data: number }[];
}

async function itemNamed(project: Project, data: string): Promise<{ id: string; state: string }> {
  const { items } = (await project.do("items", "hanging", "--json")).json<ItemsJson>();
  const found = items.find((one) => String(one.data) === data);
  return { id: found?.item_id ?? "", state: found?.state ?? "none" };
}

it("an item is stopped and held, and another is skipped; neither leaves a process or counts an attempt", async () => {
  const { project, workflow, pidOf, openGate } = openHanging(3, 2);
  const running = project.startWorkflow(workflow, ["-q"]);
  await until("two items run", () => pidOf("1.1") > 0 && pidOf("2.child") > 0 && pidOf("1.child") > 0);
  const one = await itemNamed(project, "1");
  expect(one.state).toBe("leased");
  const stopped = await project.do("stop", "hanging", one.id, "--json");
  expect(stopped.json()).toMatchObject({ item_id: one.id, state: "held" });
  expect([pidOf("1.1"), pidOf("1.child")].filter(isAlive)).toEqual([]);
  await until("the third item runs in its place", () => pidOf("3.child") > 0);
  const two = await itemNamed(project, "2");
  const skipped = await project.do("skip", "hanging", two.id, "--json");
  expect(skipped.json()).toMatchObject({ state: "skipped" });
  expect([pidOf("2.1"), pidOf("2.child")].filter(isAlive)).toEqual([]);
  const again = await project.do("continue", "hanging", one.id, "--json");
  expect(again.json()).toMatchObject({ item_id: one.id });
  await until("the stopped item runs again", () => pidOf("1.2") > 0);
  openGate();
  expect((await running.ended).code).toBe(0);
  const status = (await project.do("status", "--json")).json();
  expect(status).toMatchObject({ status: "completed", succeeded: 2, skipped: 1, dead: 0 });
  expect(await project.check()).toBe(SOUND);
});

it("an item that has not run yet is skipped, and held at once when it is stopped", async () => {
  const { project, workflow, pidOf, openGate } = openHanging(3, 1);
  const running = project.startWorkflow(workflow, ["-q"]);
  await until("the first item runs", () => pidOf("1.child") > 0);
  const two = await itemNamed(project, "2");
  expect((await project.do("skip", "hanging", two.id, "--json")).json()).toMatchObject({ state: "ready" });
  const three = await itemNamed(project, "3");
  expect((await project.do("stop", "hanging", three.id, "--json")).json()).toMatchObject({ state: "held" });
  openGate("1.gate");
  await running.ended;
  expect([pidOf("2.1"), pidOf("2.child")].filter((pid) => pid > 0 && isAlive(pid))).toEqual([]);
  expect((await project.do("status", "--json")).json()).toMatchObject({
    succeeded: 1,
    skipped: 1,
    remaining: 1,
  });
  const refused = await project.do("skip", "hanging", two.id);
  expect(refused.code).toBe(5);
});

it("a job is paused, continued and stopped; what ran is released without a counted attempt", async () => {
  const { project, workflow, pidOf } = openHanging(3, 1);
  const running = project.startWorkflow(workflow, ["-q"]);
  await until("the first item runs", () => pidOf("1.child") > 0);
  expect((await project.do("pause", "hanging", "--reason", "lunch", "--json")).code).toBe(0);
  expect((await project.do("continue", "hanging")).stdout).toContain("Continued");
  const stopped = await project.do("stop", "hanging", "--json");
  expect(stopped.json()).toMatchObject({ stopped: true });
  await running.ended;
  expect([pidOf("1.1"), pidOf("1.child")].filter(isAlive)).toEqual([]);
  expect((await project.do("status", "--json")).json()).toMatchObject({
    status: "interrupted",
    remaining: 3,
    dead: 0,
  });
  expect((await project.do("stop", "hanging")).code).toBe(5);
  const cancelled = await project.do("cancel", "hanging");
  expect(cancelled.code).toBe(0);
  expect((await project.do("resume")).code).toBe(4);
  expect(await project.check()).toBe(SOUND);
});

it("attach opens a shell in the worktree that is kept for a letter, with the environment of its steps", async () => {
  const project = openProject();
  const agent_template = [{ shell: "echo half-done > work.txt; exit 1" }];
  await project.runWorkflow({
    name: "broken",
    env: { COLOR: "blue" },
    map: { input: { command: "echo one" }, agent_template },
    error_policy: { retry_config: { max_attempts: 1 } },
  });
  const attached = await project.run(["attach", "broken", "one"], {
    ...project.here,
    env: { ...project.here.env, SHELL: "/bin/sh" },
    stdin: 'cat work.txt; echo "$REDRIVE_ITEM $COLOR"; exit 7\n',
  });
  expect(attached.stdout).toBe("half-done\none blue\n");
  expect(attached.code).toBe(7);
  expect((await project.do("attach", "broken", "two")).code).toBe(4);
});
