/** Workflows with steps and no items: one worktree, one checkpoint, a letter like any other, and a merge at the end. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { openProject, type Project } from "./project.ts";
import { isAlive, type Summary } from "./workshop.ts";

const STEPS = ["one", "two", "three", "four"];

/** Each step writes down that it runs, waits for its gate, and leaves a commit or an uncommitted change. */
function gatedSteps(project: Project) {
  const wait = (name: string) =>
    `echo "${name} $$" >> $L; while [ ! -e ${project.path(`open-${name}`)} ]; do sleep 0.02; done`;
  return [
    { shell: `${wait("one")}; echo 1 > one.txt; git add -A; git commit -qm one; echo first`, id: "first" },
    { shell: `${wait("two")}; echo 2 > two.txt; date +%s%N`, capture: "stamp" },
    { shell: `${wait("three")}; echo \${stamp} \${steps.first.output} > three.txt` },
    { shell: `${wait("four")}; git add -A; git commit -qm four` },
  ];
}

const times = (project: Project, word: string) =>
  project.ledger.filter((line) => line.startsWith(`${word} `)).length;

describe("kill -9 at every step", () => {
  it("continues at the killed step, with its variables and its uncommitted changes", async () => {
    const project = openProject();
    const file = project.workflow({ steps: gatedSteps(project) });
    let command = ["run", file];
    for (const name of STEPS) {
      const running = project.start(command, { ...project.here, stdin: "" });
      await running.until(`the step ${name}`, () => times(project, name) > 0);
      running.signal("SIGKILL");
      await running.ended;
      const pid = Number(project.ledger.findLast((line) => line.startsWith(`${name} `))?.split(" ")[1]);
      await until("its children are gone with it", () => !isAlive(pid));
      project.write(`open-${name}`, "");
      command = ["resume"];
    }
    const result = await project.do("resume", "--json");
    expect(result.code).toBe(0);
    expect(result.json<Summary>()).toMatchObject({ status: "completed", total: 1, succeeded: 1, dead: 0 });
    expect(STEPS.map((name) => times(project, name))).toEqual([2, 2, 2, 2]);
    expect([project.get("one.txt"), project.get("two.txt")]).toEqual(["1\n", "2\n"]);
    expect(project.get("three.txt")).toMatch(/^\d{15,} first\n$/);
    expect(project.subjects().slice(0, 2)).toEqual(["four", "one"]);
    expect(await project.worktrees()).toEqual([]);
  });
});

describe("kill -9 inside of a step", () => {
  /** Runs, kills the runner at each of the words, opens its gate and resumes. Returns the ledger without process ids. */
  async function killedAt(
    words: readonly string[],
    steps: readonly object[],
    project: Project,
    flags: string[] = [],
  ) {
    const file = project.workflow({ steps });
    let command = ["run", file, ...flags];
    for (const word of words) {
      const running = project.start(command, { ...project.here, stdin: "" });
      await running.until(`the step ${word}`, () => times(project, word) > 0);
      running.signal("SIGKILL");
      await running.ended;
      const pid = Number(project.ledger.findLast((line) => line.startsWith(`${word} `))?.split(" ")[1]);
      await until("its children are gone with it", () => !isAlive(pid));
      project.write(`open-${word}`, "");
      command = ["resume"];
    }
    const result = await project.do("resume", "--json");
    expect(result.json<Summary>()).toMatchObject({ status: "completed", dead: 0 });
    return project.ledger.map((line) => line.split(" ")[0]);
  }

  const gated = (project: Project, word: string) =>
    `echo "${word} $$" >> $L; while [ ! -e ${project.path("open-")}${word} ]; do sleep 0.02; done`;

  it("in an element of foreach continues with that step, not with those before it", async () => {
    const project = openProject();
    const each = {
      items: ["x", "y"],
      do: [{ shell: gated(project, "each-$ITEM"), env: { ITEM: "${foreach.item}" } }],
    };
    project.write("open-each-x", "");
    const steps = [{ shell: "echo before >> $L" }, { foreach: each }, { shell: "echo after >> $L" }];
    const ledger = await killedAt(["each-y"], steps, project);
    expect(ledger.filter((word) => word === "before")).toHaveLength(1);
    expect(ledger.slice(-2)).toEqual(["each-y", "after"]);
  });

  it("in a handler repeats the step and its handler, and no step before it", async () => {
    const project = openProject();
    const handler = {
      steps: [{ shell: gated(project, "handler") }, { shell: "touch repaired" }],
      max_attempts: 1,
    };
    const steps = [
      { shell: "echo before >> $L" },
      { shell: "echo work >> $L; test -e repaired", on_failure: handler },
      { shell: "echo after >> $L" },
    ];
    expect(await killedAt(["handler"], steps, project)).toEqual([
      "before",
      "work",
      "handler",
      "work",
      "handler",
      "work",
      "after",
    ]);
  });

  it("in a validation repeats its step with the work so far, and no step before it", async () => {
    const project = openProject();
    const validate = {
      shell: "test -e complete && echo score: 100 || echo score: 20",
      threshold: 90,
      on_incomplete: { shell: `${gated(project, "completing")}; touch complete`, max_attempts: 2 },
    };
    const steps = [
      { shell: "echo before >> $L" },
      { shell: "echo work >> $L", validate },
      { shell: "echo after >> $L" },
    ];
    expect(await killedAt(["completing"], steps, project)).toEqual([
      "before",
      "work",
      "completing",
      "work",
      "completing",
      "after",
    ]);
  });

  it("in a later iteration continues there, at its step", async () => {
    const project = openProject();
    const steps = [
      { shell: "echo first-${workflow.iteration} >> $L" },
      { shell: gated(project, "second-$N"), env: { N: "${workflow.iteration}" } },
      { shell: "echo third-${workflow.iteration} >> $L" },
    ];
    for (const open of ["open-second-1", "open-second-3"]) project.write(open, "");
    expect(await killedAt(["second-2"], steps, project, ["-n", "3"])).toEqual([
      "first-1",
      "second-1",
      "third-1",
      "first-2",
      "second-2",
      "second-2",
      "third-2",
      "first-3",
      "second-3",
      "third-3",
    ]);
  });
});

describe("a step that fails", () => {
  const steps = (project: Project) => [
    { shell: "echo one >> $L; echo 1 > one.txt" },
    { shell: `echo two >> $L; test -e ${project.path("fixed")}` },
    { shell: "echo three >> $L; cat one.txt > three.txt" },
  ];

  it("leaves a letter with the worktree, merges nothing, and is repeated alone after the cause is corrected", async () => {
    const project = openProject();
    const before = project.userSide;
    expect((await project.runWorkflow({ steps: steps(project) })).code).toBe(1);
    expect(project.userSide).toEqual(before);
    const letter = await project.onlyLetter();
    expect(letter).toMatchObject({ item_id: "steps", failure_count: 1 });
    expect(letter.worktree_artifacts?.uncommitted_changes).toContain("one.txt");
    project.write("fixed", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["one", "two", "two", "three"]);
    expect([project.get("one.txt"), project.get("three.txt")]).toEqual(["1\n", "1\n"]);
    expect(await project.letters()).toEqual([]);
  });

  it("is retried by dlq retry too; then resume merges", async () => {
    const project = openProject();
    await project.runWorkflow({ steps: steps(project) });
    project.write("fixed", "");
    const retried = await project.do("dlq", "retry", "--yes");
    expect(project.get("three.txt")).toBe("");
    expect(retried.stdout + retried.stderr).toContain("redrive resume");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["one", "two", "two", "three"]);
    expect(project.get("three.txt")).toBe("1\n");
  });

  it("does not let the work be merged while its letter is left", async () => {
    const project = openProject();
    await project.runWorkflow({ steps: steps(project) });
    const result = await project.do("resume", "--no-dlq");
    expect([result.code, project.get("one.txt")]).toEqual([3, ""]);
    expect(result.stderr).toContain("their work is not merged");
  });
});

describe("a checkpoint of Prodigy", () => {
  it("is continued at its step, also after that step has failed", async () => {
    const project = openProject();
    const checkpoint = { execution_state: { current_step_index: 1 }, variable_state: { version: "1.2" } };
    project.write("checkpoint.json", JSON.stringify(checkpoint));
    const text = [
      '- shell: "echo never >> $L"\n  capture: version',
      `- shell: "echo at \${version} >> $L; test -e ${project.path("fixed")}"`,
      '- shell: "echo end > done.txt"',
    ].join("\n");
    const given = ["--checkpoint", project.path("checkpoint.json")];
    expect((await project.runWorkflow(text, given)).code).toBe(1);
    project.write("fixed", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual(["at 1.2", "at 1.2"]);
    expect(project.get("done.txt")).toBe("end\n");
  });
});

describe("iterations and arguments", () => {
  it("run one after another in the same worktree, the later ones with the work of the earlier", async () => {
    const project = openProject();
    const step = { shell: "cat n.txt 2>/dev/null | wc -l >> $L; echo ${workflow.iteration} >> n.txt" };
    const result = await project.runWorkflow({ steps: [step] }, ["-n", "3", "--json"]);
    expect(result.json<Summary>()).toMatchObject({ total: 3, succeeded: 3 });
    expect(project.ledger.map(Number)).toEqual([0, 1, 2]);
    expect(project.get("n.txt")).toBe("1\n2\n3\n");
  });

  it("stop at a failed argument, which is finished before the next one begins", async () => {
    const project = openProject();
    const text = [
      '- shell: "echo begin $ARG >> $L"',
      `- shell: "test \${ARG} != b -o -e ${project.path("fixed")}"`,
      '- claude: "/check $ARG"',
      '- shell: "echo end ${item} >> $L"',
    ].join("\n");
    const flags = ["a", "b", "c"].flatMap((value) => ["--args", value]);
    expect((await project.runWorkflow(text, flags)).code).toBe(1);
    expect(project.ledger).toEqual(["begin a", "end a", "begin b"]);
    project.write("fixed", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger.slice(3)).toEqual(["end b", "begin c", "end c"]);
  });

  it("may be files that match a pattern", async () => {
    const project = openProject({
      "specs/b.md": "",
      "specs/a.md": "",
      "specs/c.txt": "",
      "specs/sub/d.md": "",
    });
    const text = '- shell: "echo $FILE >> $L"\n';
    expect((await project.runWorkflow(text, ["--map", "specs/*.md"])).code).toBe(0);
    expect(project.ledger).toEqual(["specs/a.md", "specs/b.md"]);
    expect((await project.runWorkflow(text, ["--map", "specs/**/d.md"])).code).toBe(0);
    expect(project.ledger.slice(2)).toEqual(["specs/sub/d.md"]);
    const none = await project.runWorkflow(text, ["--map", "*.rs"]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("No file matches *.rs.")]);
  });

  it("are refused for a workflow with a map phase", async () => {
    const project = openProject();
    const map = { input: "items.json", agent_template: [{ shell: "true" }] };
    const result = await project.runWorkflow({ map }, ["-n", "2"]);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("for workflows with steps")]);
  });
});

it("without git the steps run in the folder itself", async () => {
  const project = openProject();
  project.sh("rm -rf .git");
  const steps = [{ shell: "echo one > here.txt" }];
  expect((await project.runWorkflow({ steps, isolation: "none" })).code).toBe(0);
  expect(project.get("here.txt")).toBe("one\n");
});
