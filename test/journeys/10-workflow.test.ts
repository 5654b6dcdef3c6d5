/** A workflow from its file to the merge: the output of each phase, the exit code, and the JSON result. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openFolder, openProject, plainMap } from "./project.ts";
import { type ErrorJson, SOUND, type Summary } from "./workshop.ts";

const WRITE = { shell: 'echo "work of ${item.id}" > ${item.id}.txt' };
const NAMES = itemsJson("a", "b", "c");

/** Continues when the gate exists. */
const gate = (path: string) => `while [ ! -e ${path} ]; do sleep 0.02; done`;

describe("redrive run", () => {
  it("runs setup, map, reduce and merge, and the work of all is in the user's branch", async () => {
    const project = openProject(NAMES);
    const summary = await project.runJson({
      name: "write-them",
      setup: [{ shell: "echo setup >> $L; echo of setup > setup.txt; git add -A; git commit -q -m setup" }],
      map: mapOver(
        ["test -e setup.txt && echo map >> $L", WRITE].map((step) =>
          typeof step === "string" ? { shell: step } : step,
        ),
      ),
      reduce: [{ shell: "echo reduce >> $L; cat a.txt b.txt c.txt > all.txt" }],
      merge: [{ shell: "echo merge >> $L; test -e all.txt" }],
    });
    expect(summary).toMatchObject({
      status: "completed",
      total: 3,
      succeeded: 3,
      dead: 0,
      skipped: 0,
      remaining: 0,
      attempts: 3,
      groups: [],
    });
    expect(summary.job_id).toMatch(/^write-them-/);
    expect(summary.duration_ms).toBeGreaterThan(0);
    expect(project.ledger).toEqual(["setup", "map", "map", "map", "reduce", "merge"]);
    expect(project.get("all.txt")).toBe("work of a\nwork of b\nwork of c\n");
    expect(project.get("setup.txt")).toBe("of setup\n");
    expect(project.git("status", "--porcelain")).toBe("");
    const told = await project.events("--type", "worktree_created,worktree_merged");
    expect(told.filter(({ type }) => type === "worktree_created")).toHaveLength(3);
    const commits = told.flatMap(({ type, data }) =>
      type === "worktree_merged" ? [String(data?.commit)] : [],
    );
    expect(commits).toHaveLength(3);
    for (const commit of commits) project.git("merge-base", "--is-ancestor", commit, "HEAD");
    expect(await project.check()).toBe(SOUND);
  });

  it("gives each agent its own worktree and leaves checkout and branch alone until the merge", async () => {
    const project = openProject(NAMES);
    const before = project.userSide;
    const open = project.path("open");
    const running = project.startWorkflow({
      map: mapOver([{ shell: `pwd >> $L; echo x > same.txt; ${gate(open)}; rm same.txt` }, WRITE]),
      reduce: [{ shell: `echo reduce >> $L; ${gate(project.path("end"))}` }],
    });
    await project.untilLedger("three agents work", (lines) => lines.length === 3);
    expect(new Set(project.ledger).size).toBe(3);
    expect(project.ledger.every((path) => path.startsWith(project.path("redrive/worktrees/project/")))).toBe(
      true,
    );
    expect(project.userSide).toEqual(before);
    project.write("open", "");
    await project.untilLedger("reduce has begun", (lines) => lines.includes("reduce"));
    expect(project.userSide).toEqual(before);
    project.write("end", "");
    expect((await running.ended).code).toBe(0);
    expect(project.get("b.txt")).toBe("work of b\n");
    expect(project.userSide).not.toEqual(before);
  });

  it("lets a later agent see the commits of an earlier one", async () => {
    const project = openProject(NAMES);
    const count = { shell: "ls *.txt 2>/dev/null | wc -l >> $L" };
    await project.runJson({ map: mapOver([count, WRITE], { max_parallel: 1 }) });
    expect(project.ledger.map(Number)).toEqual([0, 1, 2]);
  });

  it("pitfall 4: keeps commits that no step was required to make", async () => {
    const project = openProject(NAMES);
    const commit = 'echo x > ${item.id}.txt; git add -A; git commit -q -m "by ${item.id}"';
    expect(await project.runJson({ map: mapOver(commit) })).toMatchObject({ succeeded: 3 });
    expect(project.subjects().sort()).toEqual(["by a", "by b", "by c", "first"]);
  });

  it("reports the merge, the totals and the next step to a person, on stderr only", async () => {
    const project = openProject(NAMES);
    const { stdout, stderr } = await project.runWorkflow({ map: mapOver([WRITE]) });
    expect(stdout).toBe("");
    expect(stderr).toContain("3 of 3 succeeded");
    expect(stderr).toMatch(/Merged into main \([0-9a-f]{10}\)/);
  });

  it("leaves no worktree in use, and clean removes every trace of an ended job", async () => {
    const project = openProject(NAMES);
    await project.runJson({ map: mapOver([WRITE]) });
    expect((await project.worktrees()).filter(({ state }) => state === "kept")).toEqual([]);
    const cleaned = await project.do("worktrees", "clean", "--yes");
    expect(cleaned.code).toBe(0);
    expect(await project.worktrees()).toEqual([]);
    expect(project.jobBranches).toEqual([]);
    expect(project.git("worktree", "list").split("\n")).toHaveLength(1);
  });

  it("records each phase as an event", async () => {
    const project = openFolder(NAMES);
    await project.runJson({ setup: [{ shell: "true" }], map: plainMap("true"), reduce: [{ shell: "true" }] });
    const events = await project.events("--type", "phase_started,phase_completed,job_started,job_completed");
    expect(events.map(({ type, data }) => `${type} ${data?.phase ?? ""}`.trim())).toEqual([
      "job_started",
      "phase_started setup",
      "phase_completed setup",
      "phase_started map",
      "phase_completed map",
      "phase_started reduce",
      "phase_completed reduce",
      "phase_started merge",
      "phase_completed merge",
      "job_completed",
    ]);
  });
});

describe("the exit code", () => {
  it.each([
    ["0 when all is done", "true", {}, 0, "completed"],
    ["3 when letters were left", "[ ${item.id} != b ]", {}, 3, "completed"],
    ["3 when every item has died", "false", {}, 3, "completed"],
    ["1 when the policy stopped the job", "false", { on_item_failure: "stop" }, 1, "stopped"],
  ])("is %s", async (_, shell, policy, code, status) => {
    const project = openFolder(NAMES);
    const workflow = { map: plainMap(shell), error_policy: { ...ONE_TRY, ...policy } };
    const result = await project.runWorkflow(workflow, ["--json"]);
    expect(result.code).toBe(code);
    expect(result.json<Summary>().status).toBe(status);
  });

  it.each(["setup", "reduce", "merge"])(
    "is 1 when %s failed, and the error is the one document",
    async (phase) => {
      const project = openFolder(NAMES);
      const steps = [{ shell: "true" }, { shell: "echo broken >&2; exit 9" }];
      const result = await project.runWorkflow({ map: plainMap("true"), [phase]: steps }, ["--json"]);
      expect(result.code).toBe(1);
      const { error } = result.json<ErrorJson>();
      expect(error.message).toContain(`The ${phase} phase failed at step 2 of 2`);
      expect(error.hint).toContain("redrive resume");
      const log = /in (\S+\.log)/.exec(error.hint ?? "")?.[1] ?? "";
      expect(readFileSync(log, "utf8")).toContain("broken");
      expect(await project.json<{ jobs: Summary[] }>("jobs")).toMatchObject({ jobs: [{ status: "failed" }] });
    },
  );

  it("is 2 for an invalid workflow, and nothing is run", async () => {
    const project = openFolder(NAMES);
    const { code, stderr } = await project.do("run", "no-such.yml");
    expect(code).toBe(2);
    expect(stderr).toContain("no-such.yml");
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });

  it("is 2 for misspelt keys, all reported with line and suggestion", async () => {
    const project = openFolder(NAMES);
    const text =
      "map:\n  input: items.json\n  max_paralel: 2\n  isolation: none\n  agent_template:\n    - shel: echo x >> $L\n";
    const { code, stderr } = await project.runWorkflow(text);
    expect(code).toBe(2);
    expect(stderr).toMatch(/:3:3: .*max_paralel.*max_parallel/);
    expect(stderr).toMatch(/:6:7: .*shel.*shell/);
    expect(project.ledger).toEqual([]);
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });
});

describe("--dry-run", () => {
  const workflow = {
    setup: [{ shell: "echo setup >> $L" }],
    map: mapOver('echo ${item.id} "${who}" >> $L', {
      input: { command: "cat items.json" },
      json_path: "$.all[*]",
      filter: "item.size > 1",
      sort_by: "size DESC",
      max_items: 2,
      max_parallel: 3,
    }),
    error_policy: {
      retry_config: { max_attempts: 4, backoff: "fixed", initial_delay: "2s" },
      max_failures: 5,
    },
  };
  const files = {
    "items.json": JSON.stringify({ all: [1, 2, 3, 4].map((size) => ({ id: `n${size}`, size })) }),
  };

  it("shows the items after filter, sort and limits, the first commands and the policy", async () => {
    const project = openProject(files);
    const { code, stdout } = await project.runWorkflow(workflow, ["--dry-run", "--var", "who=it's me"]);
    expect(code).toBe(0);
    expect(stdout).toContain("2 items of 4 read, 1 left out by the filter, 1 beyond max_items.");
    expect(stdout).toContain(`1. shell: echo 'n4' "it's me" >> $L`);
    expect(stdout).toContain("3 at a time, each in a worktree");
    expect(stdout).toContain("It is tried 4 times, 2.0 s apart, then it goes to the dead letter queue.");
    expect(stdout).toContain("The job stops when 5 items have died.");
    expect(stdout).toContain("Setup (1 step) would run first");
  });

  it("prints one JSON document", async () => {
    const project = openProject(files);
    const { json } = await project.runWorkflow(workflow, ["--dry-run", "--json", "--var", "who=me"]);
    expect(json()).toMatchObject({
      dry_run: true,
      counts: { read: 4, filtered: 1, beyond: 1, selected: 2 },
      items: [{ item_id: "n4", data: { size: 4 } }, { item_id: "n3" }],
      max_parallel: 3,
      isolation: "worktree",
    });
  });

  it("runs nothing: no step, no job, no worktree, no branch", async () => {
    const project = openProject(files);
    const before = project.userSide;
    await project.runWorkflow(workflow, ["--dry-run", "--var", "who=me"]);
    expect(project.ledger).toEqual([]);
    expect(project.userSide).toEqual(before);
    expect(project.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(project.jobBranches).toEqual([]);
    expect(existsSync(project.path("redrive/worktrees"))).toBe(false);
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });
});

describe("--max-parallel", () => {
  it("is the number of concurrent agents, whatever the workflow's setting", async () => {
    const project = openFolder(itemsJson("a", "b", "c", "d"));
    const open = project.path("open");
    const shell = `echo in >> $L; ${gate(open)}; echo out >> $L`;
    const workflow = { map: plainMap(shell, { max_parallel: 4 }) };
    const running = project.startWorkflow(workflow, ["--max-parallel", "2"]);
    await project.untilLedger("two are in", (lines) => lines.length === 2);
    expect(await project.events("--type", "attempt_started")).toHaveLength(2);
    project.write("open", "");
    expect((await running.ended).code).toBe(0);
    let inside = 0;
    for (const line of project.ledger) {
      inside += line === "in" ? 1 : -1;
      expect(inside).toBeLessThanOrEqual(2);
    }
  });
});

describe("--var", () => {
  it("gives a variable to every phase, quoted for the shell", async () => {
    const project = openFolder(itemsJson("a"));
    const say = (phase: string) => ({ shell: `echo ${phase} "\${greeting}" >> $L` });
    const workflow = {
      setup: [say("setup")],
      map: plainMap([say("map")]),
      reduce: [say("reduce")],
      merge: [say("merge")],
    };
    const result = await project.runWorkflow(workflow, ["--var", 'greeting=it\'s $HOME; "x"']);
    expect(result.code).toBe(0);
    const value = `it's $HOME; "x"`;
    expect(project.ledger).toEqual(["setup", "map", "reduce", "merge"].map((phase) => `${phase} ${value}`));
  });

  it("is required if the workflow uses the variable: an unknown variable is an error, and nothing runs", async () => {
    const project = openFolder(itemsJson("a"));
    const result = await project.runWorkflow({
      setup: [{ shell: "echo x >> $L" }],
      map: plainMap("echo ${greeting}"),
    });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("greeting");
    expect(project.ledger).toEqual([]);
  });
});

describe("--merge", () => {
  it.each(["never", "ask"])(
    "%s leaves the job's branch, without a terminal, and says how to merge it",
    async (mode) => {
      const project = openProject(NAMES);
      const before = project.userSide;
      const { code, stderr } = await project.runWorkflow({ map: mapOver([WRITE]) }, ["--merge", mode]);
      expect(code).toBe(0);
      expect(project.userSide).toEqual(before);
      const command = /To merge it: (.+)/.exec(stderr)?.[1] ?? "";
      project.sh(command);
      expect(project.get("a.txt") + project.get("c.txt")).toBe("work of a\nwork of c\n");
    },
  );

  it("leaves the branch if the user's own work conflicts, with the files named and the checkout unchanged", async () => {
    const project = openProject({ ...itemsJson("a"), "a.txt": "before\n" });
    const meanwhile = `cd ${project.top} && echo mine > a.txt && git commit -qam mine`;
    const { code, stderr } = await project.runWorkflow({
      map: mapOver([WRITE]),
      reduce: [{ shell: meanwhile }],
    });
    expect(code).toBe(0);
    expect(stderr).toContain("a.txt");
    expect(stderr).toContain("To merge it: git switch main && git merge --no-ff redrive/");
    expect(project.get("a.txt")).toBe("mine\n");
    expect(project.git("status", "--porcelain")).toBe("");
  });
});

describe("redrive init and validate", () => {
  it("writes a valid workflow that runs unchanged, in a folder without git", async () => {
    const project = openFolder();
    expect((await project.do("init")).code).toBe(0);
    expect((await project.do("validate", "workflow.yml")).stdout).toBe("workflow.yml is valid.\n");
    const result = await project.do("run", "workflow.yml", "--json");
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({
      name: expect.stringMatching(/^first/),
      total: 3,
      succeeded: 3,
    });
  });

  it("init overwrites nothing without --force", async () => {
    const project = openFolder({ "workflow.yml": "mine\n" });
    expect((await project.do("init")).code).toBe(2);
    expect(project.get("workflow.yml")).toBe("mine\n");
    expect((await project.do("init", "--force")).code).toBe(0);
    expect(project.get("workflow.yml")).toContain("agent_template");
  });

  it("validate reports every problem with line and column, in JSON too, and runs nothing", async () => {
    const project = openFolder();
    const path = project.workflow(
      "map:\n  input: x\n  agent_template:\n    - shell: echo ${nope}\n      tiemout: 3s\nrduce: []\n",
    );
    const result = await project.do("validate", path, "--json");
    expect(result.code).toBe(2);
    const { valid, problems } = result.json<{ valid: boolean; problems: Record<string, unknown>[] }>();
    expect(valid).toBe(false);
    expect(problems.map(({ line, suggestion }) => [line, suggestion])).toEqual([
      [4, undefined],
      [5, "timeout"],
      [6, "reduce"],
    ]);
  });
});
