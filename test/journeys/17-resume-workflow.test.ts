/**
 * Interrupted workflows: by kill -9 in each phase, by Ctrl-C, by a failing step. Resume continues and repeats
 * nothing.
 */
import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  itemsJson,
  mapOver,
  ONE_TRY,
  openFolder,
  openProject,
  type Project,
  plainMap,
  type WorkflowYaml,
} from "./project.ts";
import { type ErrorJson, isAlive, SOUND, type Summary } from "./workshop.ts";

const NAMES = ["a", "b", "c", "d"];

/** Writes down that it runs, and continues when the gate of that name is open. */
const gated = (project: Project, name: string) =>
  `echo "${name} $$" >> $L; while [ ! -e ${project.path(`open-${name}`)} ]; do sleep 0.02; done`;

const open = (project: Project, name: string) => project.write(`open-${name}`, "");

/** Every phase leaves a line in the ledger and a commit in the branch. */
function wholeLife(project: Project, map: WorkflowYaml = {}): WorkflowYaml {
  return {
    setup: [
      { shell: "echo setup-1 >> $L; date +%s%N", capture: "stamp" },
      { shell: `${gated(project, "setup-2")}; echo x > setup.txt; git add -A; git commit -qm setup` },
    ],
    map: mapOver(
      [
        { shell: `echo "begin \${item.id} \${setup.stamp}" >> $L` },
        { shell: `[ \${item.id} != c ] || { ${gated(project, "map")}; }` },
        {
          shell:
            'echo ${item.id} > ${item.id}.txt; git add -A; git commit -qm "by ${item.id}"; echo "end ${item.id}" >> $L',
        },
      ],
      { max_parallel: 1, ...map },
    ),
    reduce: [
      { shell: "echo reduce-1 >> $L; echo ${map.successful}", capture: "count" },
      { shell: gated(project, "reduce-2") },
      { shell: "echo reduce-3 ${count} >> $L; cat [a-d].txt > all.txt" },
    ],
  };
}

const has = (project: Project, word: string) => project.ledger.some((line) => line.startsWith(word));
const times = (project: Project, word: string) =>
  project.ledger.filter((line) => line.startsWith(word)).length;

/** Runs until the gate of that name is reached, then kills the runner like a power failure. */
async function killedAt(project: Project, name: string): Promise<void> {
  const running = project.start(["run", project.path("workflow.yml")], { ...project.here, stdin: "" });
  await running.until(`the gate ${name}`, () => has(project, `${name} `));
  running.signal("SIGKILL");
  await running.ended;
  const pid = Number(project.ledger.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
  await until("its children are gone with it", () => !isAlive(pid));
}

function expectAllDone(project: Project): void {
  expect(project.get("all.txt")).toBe("a\nb\nc\nd\n");
  expect(
    project
      .subjects()
      .filter((subject) => subject.startsWith("by "))
      .sort(),
  ).toEqual(NAMES.map((name) => `by ${name}`));
  expect(times(project, "setup-1")).toBe(1);
  expect(
    new Set(project.ledger.filter((line) => line.startsWith("begin")).map((line) => line.split(" ")[2])).size,
  ).toBe(1);
}

describe("after kill -9, redrive resume in the repository", () => {
  it("in setup: continues at the interrupted step, with what was captured before", async () => {
    const project = openProject(itemsJson(...NAMES));
    project.workflow(wholeLife(project));
    for (const gate of ["map", "reduce-2"]) open(project, gate);
    await killedAt(project, "setup-2");
    expect(await project.json("jobs")).toMatchObject({ jobs: [{ status: "interrupted", total: 0 }] });
    open(project, "setup-2");
    const result = await project.do("resume", "--json");
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ status: "completed", succeeded: 4 });
    expect(times(project, "setup-2")).toBe(2);
    expectAllDone(project);
  });

  it("in map: done items are skipped, the one in flight runs again, setup is not repeated", async () => {
    const project = openProject(itemsJson(...NAMES));
    project.workflow(wholeLife(project));
    for (const gate of ["setup-2", "reduce-2"]) open(project, gate);
    await killedAt(project, "map");
    open(project, "map");
    const result = await project.do("resume", "--json");
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({
      status: "completed",
      total: 4,
      succeeded: 4,
      attempts: 5,
      dead: 0,
    });
    expect(NAMES.map((name) => times(project, `begin ${name}`))).toEqual([1, 1, 2, 1]);
    expect(times(project, "setup-2")).toBe(1);
    expectAllDone(project);
    await project.do("worktrees", "clean", "--yes");
    expect(await project.worktrees()).toEqual([]);
    expect(project.jobBranches).toEqual([]);
    expect(await project.check()).toBe(SOUND);
  });

  it("in reduce: continues at the interrupted step, and no item runs again", async () => {
    const project = openProject(itemsJson(...NAMES));
    project.workflow(wholeLife(project));
    for (const gate of ["setup-2", "map"]) open(project, gate);
    await killedAt(project, "reduce-2");
    open(project, "reduce-2");
    expect((await project.do("resume")).code).toBe(0);
    expect(times(project, "begin")).toBe(4);
    expect(times(project, "reduce-1")).toBe(1);
    expect(times(project, "reduce-2")).toBe(2);
    expect(project.ledger.at(-1)).toBe("reduce-3 4");
    expectAllDone(project);
  });

  it("does not depend on the input any more: items are known by content, and are stored", async () => {
    const project = openProject(itemsJson(...NAMES));
    project.workflow(wholeLife(project));
    for (const gate of ["setup-2", "reduce-2"]) open(project, gate);
    await killedAt(project, "map");
    project.put("items.json", JSON.stringify([{ id: "z" }]));
    project.commitAll("other items");
    open(project, "map");
    expect((await project.do("resume", "--json")).json<Summary>()).toMatchObject({ total: 4, succeeded: 4 });
    expect(has(project, "begin z")).toBe(false);
  });
});

describe("Ctrl-C", () => {
  it.each(["setup-2", "map", "reduce-2"])(
    "at %s exits with 130, ends the children, and resume goes on",
    async (gate) => {
      const project = openProject(itemsJson(...NAMES));
      const gates = ["setup-2", "map", "reduce-2"];
      for (const other of gates.filter((one) => one !== gate)) open(project, other);
      const running = project.startWorkflow(wholeLife(project));
      await running.until(`the gate ${gate}`, () => has(project, `${gate} `));
      running.signal("SIGINT");
      const { code, stderr } = await running.ended;
      expect(code).toBe(130);
      expect(stderr).toContain("redrive resume");
      const pid = Number(project.ledger.find((line) => line.startsWith(`${gate} `))?.split(" ")[1]);
      expect(isAlive(pid)).toBe(false);
      expect(await project.json("jobs")).toMatchObject({ jobs: [{ status: "interrupted", dead: 0 }] });
      open(project, gate);
      expect((await project.do("resume", "--json")).json<Summary>()).toMatchObject({ succeeded: 4, dead: 0 });
      expectAllDone(project);
    },
  );
});

describe("Ctrl-C elsewhere", () => {
  it("prints one JSON document, and counts no attempt", async () => {
    const project = openFolder(itemsJson("a"));
    const running = project.startWorkflow({ map: plainMap("echo x >> $L; exec sleep 300") }, ["--json"]);
    await project.untilLedger("it runs", (lines) => lines.length === 1);
    running.signal("SIGINT");
    const result = await running.ended;
    expect(result.code).toBe(130);
    expect(result.json<Summary>()).toMatchObject({ status: "interrupted", remaining: 1, dead: 0 });
  });

  it("in the command of the input is no failure of it: resume reads the input again", async () => {
    const project = openFolder(itemsJson("a"));
    const command = `echo $$ >> $L; [ -e ${project.path("open")} ] || sleep 300; cat items.json`;
    const running = project.startWorkflow({ map: plainMap("true", { input: { command } }) });
    await project.untilLedger("the command runs", (lines) => lines.length === 1);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(isAlive(Number(project.ledger[0]))).toBe(false);
    expect(await project.json("jobs")).toMatchObject({ jobs: [{ status: "interrupted" }] });
    project.write("open", "");
    expect((await project.do("resume", "--json")).json<Summary>()).toMatchObject({ total: 1, succeeded: 1 });
  });

  it("in a custom handler ends it, and it is called again when the job continues", async () => {
    const project = openFolder(itemsJson("a"));
    const shell = `echo $$ >> $L; [ -e ${project.path("open")} ] || sleep 300`;
    const policy = { ...ONE_TRY, on_item_failure: { custom: [{ shell }] } };
    const running = project.startWorkflow({ map: plainMap("exit 3"), error_policy: policy });
    await project.untilLedger("the handler runs", (lines) => lines.length === 1);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(isAlive(Number(project.ledger[0]))).toBe(false);
    expect(await project.json("jobs")).toMatchObject({
      jobs: [{ status: "interrupted", dead: 0, remaining: 1 }],
    });
    project.write("open", "");
    expect((await project.do("resume", "--json")).json<Summary>()).toMatchObject({ skipped: 1, dead: 0 });
    expect(project.ledger).toHaveLength(2);
  });
});

describe("a job that another process runs", () => {
  it.each(["setup", "map", "reduce"])(
    "in %s runs, and a second process is turned away with exit code 5",
    async (phase) => {
      const project = openFolder(itemsJson("a"));
      const step = { shell: gated(project, "here") };
      const workflow = { map: plainMap("true"), [phase]: phase === "map" ? plainMap([step]) : [step] };
      const running = project.startWorkflow(workflow);
      await running.until("the gate", () => has(project, "here"));
      const [job] = (await project.json<{ jobs: Summary[] }>("jobs")).jobs;
      expect(job?.status).toBe("running");
      const second = await project.do("resume", job?.job_id ?? "", "--json");
      expect(second.code).toBe(5);
      expect(second.json<ErrorJson>().error).toMatchObject({ code: "job_running" });
      expect((await project.do("resume")).code).toBe(4); // nothing else is unfinished
      open(project, "here");
      expect((await running.ended).code).toBe(0);
      expect(times(project, "here")).toBe(1);
      expect((await project.json<Summary>("status", job?.job_id ?? "")).status).toBe("completed");
    },
  );
});

describe("a phase that failed", () => {
  it("continues at its failed step when the cause is corrected", async () => {
    const project = openFolder(itemsJson("a"));
    const result = await project.runWorkflow({
      map: plainMap("echo map >> $L"),
      reduce: [
        { shell: "echo one >> $L; echo kept", capture: "v" },
        { shell: "echo two >> $L; test -e mended" },
        { shell: "echo three ${v} >> $L" },
      ],
    });
    expect(result.code).toBe(1);
    project.put("mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["map", "one", "two", "two", "three kept"]);
    expect((await project.do("resume")).code).toBe(4); // nothing is left to go on with
  });

  it("in setup: no item was touched", async () => {
    const project = openFolder(itemsJson("a"));
    const setup = [{ shell: "echo one >> $L" }, { shell: "echo two >> $L; test -e mended" }];
    expect((await project.runWorkflow({ setup, map: plainMap("echo map >> $L") })).code).toBe(1);
    expect(project.ledger).toEqual(["one", "two"]);
    project.put("mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["one", "two", "two", "map"]);
  });
});

describe("items without an id", () => {
  it("pitfall 8: are known by their content: resume drops none and repeats none", async () => {
    const project = openFolder({ "items.json": '["x", "y", "z"]' });
    const map = {
      input: "items.json",
      isolation: "none",
      max_parallel: 1,
      agent_template: [{ shell: "echo ${item} >> $L; [ ${item} != y ] || test -e mended" }],
    };
    await project.runJson({ map, error_policy: { ...ONE_TRY, on_item_failure: "stop" } });
    expect(project.ledger).toEqual(["x", "y"]);
    project.put("mended", "");
    expect((await project.do("resume", "--json")).json<Summary>()).toMatchObject({ total: 3, succeeded: 3 });
    expect([...project.ledger].sort()).toEqual(["x", "y", "y", "z"]);
  });
});

describe("letters and resume", () => {
  const failing = {
    map: plainMap("echo ${item.id} >> $L; test -e mended || [ ${item.id} = a ]"),
    reduce: [{ shell: "echo reduce ${map.successful} ${map.failed} >> $L" }],
    error_policy: ONE_TRY,
  };

  it("includes the eligible ones, and reduce sees the new results", async () => {
    const project = openFolder(itemsJson("a", "b"));
    const { job_id } = await project.runJson(failing);
    project.put("mended", "");
    const result = await project.do("resume", job_id, "--json");
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 2, dead: 0 });
    expect(project.ledger.slice(-2)).toEqual(["b", "reduce 2 0"]);
    expect(project.ledger.filter((line) => line === "a")).toHaveLength(1);
  });

  it("--no-dlq leaves them", async () => {
    const project = openFolder(itemsJson("a", "b"));
    const { job_id } = await project.runJson(failing);
    project.put("mended", "");
    expect((await project.do("resume", job_id, "--no-dlq")).code).toBe(3);
    expect(project.ledger.filter((line) => line === "b")).toHaveLength(1);
    expect(await project.letters()).toHaveLength(1);
  });

  it("those that need manual review stay", async () => {
    const project = openFolder(itemsJson("a", "b"));
    const validate = { shell: "test -e mended" };
    const { job_id } = await project.runJson({
      map: plainMap([{ shell: "echo ${item.id} >> $L", validate }]),
      error_policy: ONE_TRY,
    });
    expect((await project.letters()).map(({ reprocess_eligible }) => reprocess_eligible)).toEqual([
      false,
      false,
    ]);
    project.put("mended", "");
    expect((await project.do("resume", job_id)).code).toBe(3);
    expect(project.ledger).toHaveLength(2);
  });
});

describe("a workflow that has changed", () => {
  const flow = (word: string) => ({
    map: plainMap(`echo ${word} \${item.id} >> $L; [ \${item.id} = a ] || test -e mended`, {
      max_parallel: 1,
    }),
    error_policy: { ...ONE_TRY, on_item_failure: "stop" },
  });

  it("is refused with exit code 5, and nothing runs", async () => {
    const project = openFolder(itemsJson("a", "b", "c"));
    await project.runJson(flow("old"));
    const before = project.ledger;
    project.workflow(flow("new"));
    const result = await project.do("resume", "--json");
    expect(result.code).toBe(5);
    expect(result.json<ErrorJson>().error).toMatchObject({ code: "job_changed" });
    expect(result.json<ErrorJson>().error.hint).toContain("--accept-changes");
    expect(project.ledger).toEqual(before);
  });

  it("continues with --accept-changes, with the new steps; done items stay done", async () => {
    const project = openFolder(itemsJson("a", "b", "c"));
    await project.runJson(flow("old"));
    project.put("mended", "");
    project.workflow(flow("new"));
    expect((await project.do("resume", "--accept-changes")).code).toBe(0);
    expect([...project.ledger].sort()).toEqual(["new b", "new c", "old a", "old b"]);
  });

  it("is not needed: the job has its own copy of a missing file", async () => {
    const project = openFolder(itemsJson("a", "b", "c"));
    await project.runJson(flow("old"));
    project.put("mended", "");
    rmSync(project.path("workflow.yml"));
    expect((await project.do("resume")).code).toBe(0);
    expect([...project.ledger].sort()).toEqual(["old a", "old b", "old b", "old c"]);
  });

  it("keeps --var and --max-parallel of the run", async () => {
    const project = openFolder(itemsJson("a"));
    const workflow = {
      map: plainMap("echo ${word} >> $L; test -e mended"),
      error_policy: { ...ONE_TRY, on_item_failure: "stop" },
    };
    await project.runJson(workflow, ["--var", "word=given"]);
    project.put("mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["given", "given"]);
  });
});

describe("which job", () => {
  it("is the latest unfinished one of this repository, from any of its folders", async () => {
    const project = openProject({ ...itemsJson("a"), "sub/deep/x": "", "other/y": "" });
    const flow = (name: string, isolation: string) => ({
      name,
      map: mapOver(`echo ${name} >> $L; test -e ${project.path("mended")}`, { isolation }),
      error_policy: { ...ONE_TRY, on_item_failure: "stop" },
    });
    const elsewhere = openFolder(itemsJson("a"));
    await project.runJson(flow("first", "worktree"));
    await project.runJson(flow("second", "worktree"));
    // A later one of another folder, in the same store.
    await project.run(["run", project.workflow(flow("foreign", "none"))], {
      ...project.here,
      cwd: elsewhere.top,
    });
    project.write("mended", "");
    project.workflow(flow("second", "worktree"));
    const result = await project.run(["resume", "--json"], {
      ...project.here,
      cwd: `${project.top}/sub/deep`,
    });
    expect(result.code).toBe(0);
    expect(result.json<Summary>().name).toMatch(/^second-/);
  });
});
