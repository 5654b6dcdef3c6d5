/** The items of a workflow's map: every key of the map section, with its effect on the agents. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, ONE_TRY, openFolder, openProject, plainMap, type WorkflowYaml } from "./project.ts";
import { type ErrorJson, isAlive, type Summary } from "./workshop.ts";

const SAY = "echo ${item.id} >> $L";
const ONE_BY_ONE = { max_parallel: 1 };

/** The output of the agents, in order, one at a time. */
async function idsOf(files: Record<string, string>, more: WorkflowYaml): Promise<string[]> {
  const project = openFolder(files);
  const result = await project.runWorkflow({ map: plainMap(SAY, { ...ONE_BY_ONE, ...more }) });
  if (result.code !== 0) throw new Error(result.stderr);
  return project.ledger;
}

describe("input", () => {
  it.each([
    ["a JSON array", "items.json", '[{"id":"a"},{"id":"b"}]'],
    ["JSON lines", "items.jsonl", '{"id":"a"}\n{"id":"b"}\n'],
    ["CSV", "items.csv", "id,x\na,1\nb,2\n"],
  ])("is %s", async (_, input, text) => {
    expect(await idsOf({ [input]: text }, { input })).toEqual(["a", "b"]);
  });

  it("is the output of a command, in the folder of the job, with its environment and what setup captured", async () => {
    const project = openFolder({ ...itemsJson("a", "b") });
    const workflow = {
      env: { WHICH: "items.json" },
      setup: [{ shell: "echo cat", capture: "how" }],
      map: plainMap(SAY, { input: { command: "${raw:setup.how} $WHICH" }, ...ONE_BY_ONE }),
    };
    expect((await project.runWorkflow(workflow)).code).toBe(0);
    expect(project.ledger).toEqual(["a", "b"]);
  });

  it("is a file that setup has written, in the job's worktree", async () => {
    const project = openProject();
    const setup = [{ shell: `echo '[{"id":"made"}]' > items.json` }];
    const summary = await project.runJson({ setup, map: { ...plainMap(SAY), isolation: "worktree" } });
    expect(summary).toMatchObject({ total: 1, succeeded: 1 });
    expect(project.ledger).toEqual(["made"]);
  });

  it("that is missing fails the job once, with exit code 2; with the file, resume continues after setup", async () => {
    const project = openFolder();
    const workflow = { setup: [{ shell: "echo setup >> $L" }], map: plainMap(SAY) };
    const result = await project.runWorkflow(workflow, ["--json"]);
    expect(result.code).toBe(2);
    expect(result.json<ErrorJson>().error.message).toContain("items.json");
    expect(project.ledger).toEqual(["setup"]);
    expect(await project.events("--type", "job_failed")).toHaveLength(1);
    project.put("items.json", '[{"id":"a"}]');
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["setup", "a"]);
  });

  it("that is in the folder but not in the commit is reported", async () => {
    const project = openProject();
    project.put("items.json", '[{"id":"a"}]');
    const { code, stderr } = await project.runWorkflow({ map: { ...plainMap(SAY), isolation: "worktree" } });
    expect(code).toBe(2);
    expect(stderr).toContain("The input items.json is not in the commit that the agents start from.");
  });

  it("whose command fails is an error, not an empty input", async () => {
    const project = openFolder();
    const input = { command: "echo no such table >&2; exit 4" };
    const { code, stderr } = await project.runWorkflow({ map: plainMap(SAY, { input }) });
    expect(code).toBe(2);
    expect(stderr).toContain("no such table");
    expect(stderr).toContain("4");
  });

  it("without items is a job without work, and reduce runs", async () => {
    const project = openFolder({ "items.json": "[]" });
    const reduce = [{ shell: "echo ${map.total} items >> $L" }];
    expect((await project.runWorkflow({ map: plainMap(SAY), reduce })).code).toBe(0);
    expect(project.ledger).toEqual(["0 items"]);
  });
});

describe("json_path", () => {
  const deep = { "items.json": JSON.stringify({ teams: [{ who: [{ id: "a" }] }, { who: [{ id: "b" }] }] }) };

  it.each([
    ["$.teams[*].who[*]", ["a", "b"]],
    ["$.teams[1].who", ["b"]],
    ["$..who[?@.id == 'a']", ["a"]],
    ["$.nothing[*]", []],
  ])("%s selects %j", async (json_path, ids) => {
    expect(await idsOf(deep, { json_path })).toEqual(ids);
  });

  it("that is malformed is found before anything runs", async () => {
    const project = openFolder(deep);
    const workflow = {
      setup: [{ shell: "echo setup >> $L" }],
      map: plainMap(SAY, { json_path: "$.teams[" }),
    };
    const { code, stderr } = await project.runWorkflow(workflow);
    expect(code).toBe(2);
    expect(stderr).toContain("json_path");
    expect(project.ledger).toEqual([]);
  });
});

describe("id_field", () => {
  it("identifies an item", async () => {
    const project = openFolder({ "items.json": '[{"meta":{"key":"k1"}},{"meta":{"key":"k2"}}]' });
    await project.runJson({ map: plainMap("false", { id_field: "meta.key" }), error_policy: ONE_TRY });
    expect((await project.letters()).map(({ item_id }) => item_id).sort()).toEqual(["k1", "k2"]);
  });

  it("that a record lacks, or that two records share, is an error that names the record", async () => {
    const missing = openFolder({ "items.json": '[{"id":"a"},\n{"x":1}]' });
    expect((await missing.runWorkflow({ map: plainMap(SAY) })).stderr).toContain("items.json:2: ");
    const twice = openFolder({ "items.json": '[{"id":"a","n":1},\n{"id":"a","n":2}]' });
    const result = await twice.runWorkflow({ map: plainMap(SAY) });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('"a"');
  });

  it("is not needed: the content identifies items, in any order", async () => {
    const project = openFolder({ "items.json": '[{"n":1},{"n":2}]' });
    const map = { input: "items.json", isolation: "none", agent_template: [{ shell: "false" }] };
    await project.runJson({ map, error_policy: ONE_TRY });
    project.put("items.json", '[{"n":2},{"n":1}]');
    await project.runJson({ map, error_policy: ONE_TRY });
    const ids = new Map<string, Set<unknown>>();
    for (const { item_id, item_data } of await project.letters()) {
      ids.set(item_id, (ids.get(item_id) ?? new Set()).add(JSON.stringify(item_data)));
    }
    expect([...ids.values()].map((data) => data.size)).toEqual([1, 1]);
  });
});

describe("filter", () => {
  it("keeps the items for which it is true", async () => {
    const files = itemsJson({ id: "a", n: 1 }, { id: "b", n: 5 }, { id: "c", n: 7 });
    expect(await idsOf(files, { filter: "item.n > 3 && item.id != 'c'" })).toEqual(["b"]);
  });

  it.each([
    ["malformed", "item.n >"],
    ["of a name that is not there", "itm.n > 3"],
    ["not a yes or no", "1 + 1"],
  ])("that is %s matches nothing: exit code 2, and not even setup runs", async (_, filter) => {
    const project = openFolder(itemsJson({ id: "a", n: 1 }));
    const { code, stderr } = await project.runWorkflow({
      setup: [{ shell: "echo setup >> $L" }],
      map: plainMap(SAY, { filter }),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("filter");
    expect(project.ledger).toEqual([]);
  });

  it("that has no answer for a record is an error that names it, and no item runs", async () => {
    const project = openFolder(itemsJson({ id: "a", n: 9 }, { id: "b" }));
    const { code, stderr } = await project.runWorkflow({ map: plainMap(SAY, { filter: "item.n > 3" }) });
    expect(code).toBe(2);
    expect(stderr).toMatch(/filter/);
    expect(project.ledger).toEqual([]);
  });
});

describe("order and limits", () => {
  const files = itemsJson(
    { id: "a", size: 2, team: "x" },
    { id: "b", team: "y" },
    { id: "c", size: 3, team: "x" },
    { id: "d", size: 2, team: "y" },
  );

  it.each<[string, WorkflowYaml, string[]]>([
    ["sort_by ascending", { sort_by: "size ASC NULLS FIRST" }, ["b", "a", "d", "c"]],
    ["sort_by descending, nulls last", { sort_by: "size DESC NULLS LAST" }, ["c", "a", "d", "b"]],
    ["sort_by descending, nulls first", { sort_by: "size DESC NULLS FIRST" }, ["b", "c", "a", "d"]],
    ["sort_by of two keys", { sort_by: ["team DESC", "size NULLS LAST"] }, ["d", "b", "a", "c"]],
    ["distinct of a field", { distinct: "team" }, ["a", "b"]],
    ["offset", { offset: 3 }, ["d"]],
    ["max_items", { max_items: 2 }, ["a", "b"]],
    ["max_items 0", { max_items: 0 }, []],
    [
      "all of them, in this order",
      { sort_by: "size DESC", distinct: "team", offset: 1, max_items: 1 },
      ["d"],
    ],
  ])("%s", async (_, more, ids) => {
    expect(await idsOf(files, more)).toEqual(ids);
  });

  it("distinct drops repeated items", async () => {
    const project = openFolder({ "items.json": '[{"n":1},{"n":2},{"n":1}]' });
    const map = {
      input: "items.json",
      isolation: "none",
      distinct: true,
      agent_template: [{ shell: "true" }],
    };
    expect(await project.runJson({ map })).toMatchObject({ total: 2, succeeded: 2 });
  });
});

describe("max_parallel", () => {
  it("is the number of concurrent agents", async () => {
    const project = openFolder(itemsJson("a", "b", "c", "d", "e"));
    const shell = `echo in >> $L; while [ ! -e ${project.path("open")} ]; do sleep 0.02; done; echo out >> $L`;
    const running = project.startWorkflow({ map: plainMap(shell, { max_parallel: 3 }) });
    await project.untilLedger("three are in", (lines) => lines.length === 3);
    expect(await project.events("--type", "attempt_started")).toHaveLength(3);
    project.write("open", "");
    expect((await running.ended).code).toBe(0);
    let inside = 0;
    for (const line of project.ledger) {
      inside += line === "in" ? 1 : -1;
      expect(inside).toBeLessThanOrEqual(3);
    }
  });
});

describe("agent_timeout_secs", () => {
  it("ends all steps of an item together, with every process", async () => {
    const project = openFolder(itemsJson("a"));
    const steps = [{ shell: "true" }, { shell: "sleep 300 & echo $! >> $L; wait" }];
    const workflow = { map: plainMap(steps, { agent_timeout_secs: 1.5 }), error_policy: ONE_TRY };
    expect(await project.runJson(workflow)).toMatchObject({ dead: 1 });
    const [failure] = (await project.onlyLetter()).failure_history;
    expect(failure).toMatchObject({ error_type: "Timeout" });
    expect(failure?.step_failed).toContain("sleep 300");
    await until("the grandchild is gone", () => project.ledger.every((pid) => !isAlive(Number(pid))));
    expect(project.ledger).toHaveLength(1);
  });
});

describe("isolation", () => {
  it("none works in the folder itself and needs no git", async () => {
    const project = openFolder(itemsJson("a", "b"));
    const result = await project.run(
      ["run", project.workflow({ map: plainMap("echo x > ${item.id}.txt") }), "--json"],
      {
        cwd: project.top,
        env: { PATH: project.onlyPrograms("sh", "sleep") },
      },
    );
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ succeeded: 2 });
    expect(project.get("a.txt")).toBe("x\n");
    expect(existsSync(project.path("redrive/worktrees"))).toBe(false);
  });

  it("worktree is the default, and a folder without a repository is reported before anything runs", async () => {
    const project = openFolder(itemsJson("a"));
    const { isolation: _, ...map } = plainMap(SAY);
    const { code, stderr } = await project.runWorkflow({ setup: [{ shell: "echo setup >> $L" }], map });
    expect(code).toBe(2);
    expect(stderr).toContain("is not in a git repository");
    expect(stderr).toContain("isolation: none");
    expect(project.ledger).toEqual([]);
  });
});
