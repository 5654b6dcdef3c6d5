/** How teams take over work: squashed commits, a branch for each item, and a new branch for a pull request. */
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { itemsJson, lines, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { SOUND } from "./workshop.ts";

/** Two commits of an agent, who captures what the message needs. */
const WORK = [
  { shell: "echo draft > ${item.id}.txt; git add -A; git commit -qm draft" },
  {
    shell: "echo ${item.id} > ${item.id}.txt; git commit -qam final; echo spelled ${item.id}",
    capture: "note",
  },
];

const subjects = (project: Project, range: string) => lines(project.git("log", "--format=%s", range));

it("squash makes one commit for each item with the message of the workflow, and no merge commit", async () => {
  const project = openProject(itemsJson("a", "b", "c"));
  const merge = { strategy: "squash", message: "Correct ${item.id}: ${note}" };
  const summary = await project.runJson({ map: mapOver(WORK), merge });
  expect(summary).toMatchObject({ status: "completed", succeeded: 3 });
  const expected = ["a", "b", "c"].map((id) => `Correct ${id}: spelled ${id}`);
  expect(subjects(project, "HEAD~3..HEAD").sort()).toEqual(expected);
  expect(project.git("rev-list", "--merges", "HEAD")).toBe("");
  expect([project.get("a.txt"), project.git("status", "--porcelain")]).toEqual(["a\n", ""]);
  expect(project.jobBranches).toEqual([]);
  expect(await project.worktrees()).toEqual([]);
});

it("a retried letter is merged with the strategy of its job", async () => {
  const project = openProject(itemsJson("a", "b"));
  const fails = { shell: `test \${item.id} != b || test -e ${project.home}/mended` };
  const merge = { strategy: "squash", message: "Correct ${item.id}" };
  const { job_id: job } = await project.runJson({
    map: mapOver([...WORK, fails]),
    merge,
    error_policy: ONE_TRY,
  });
  expect(subjects(project, "HEAD~1..HEAD")).toEqual(["Correct a"]);
  project.write("mended", "");
  expect((await project.do("dlq", "retry", job)).code).toBe(0);
  expect(subjects(project, "HEAD~2..HEAD")).toEqual(["Correct b", "Correct a"]);
});

it("branch-per-item leaves a branch for each item, whose name the merge phase can use", async () => {
  const project = openProject(itemsJson("a", "b"));
  const before = project.userSide;
  const write = { write_file: { path: "results.json", content: "${map.results}" } };
  const print = { shell: "{ cat results.json; echo; } > $L; rm results.json" };
  const result = await project.runWorkflow({
    map: mapOver(WORK),
    merge: { strategy: "branch-per-item", commands: [write, print] },
  });
  expect(result.code).toBe(0);
  const branches = lines(
    project.git("for-each-ref", "--format=%(refname:short)", "refs/heads/redrive-items"),
  );
  expect(branches.map((name) => name.split("/").at(-1))).toEqual(["a", "b"]);
  expect(result.stdout + result.stderr).toContain(
    `git branch --list '${branches[0]?.replace(/\/a$/, "")}/*'`,
  );
  for (const branch of branches) expect(subjects(project, `main..${branch}`)).toEqual(["final", "draft"]);
  const results = JSON.parse(project.ledger.join("\n")) as readonly {
    readonly item_id: string;
    readonly result: { readonly branch: string; readonly changes: object };
  }[];
  expect(results.map(({ result: { branch } }) => branch).sort()).toEqual(branches);
  expect(results[0]?.result.changes).toEqual({ files: 1, insertions: 1, deletions: 0 });
  expect(project.userSide).toEqual(before);
});

it("--branch leaves a branch for a pull request, and the user's side as it was", async () => {
  const project = openProject(itemsJson("a", "b"));
  const before = project.userSide;
  const fails = { shell: `test \${item.id} != b || test -e ${project.home}/mended` };
  const workflow = {
    map: mapOver([...WORK, fails]),
    merge: { message: "Correct ${item.id}" },
    error_policy: ONE_TRY,
  };
  const result = await project.runWorkflow(workflow, ["--branch", "fix/spelling"]);
  expect(result.code).toBe(3);
  expect(result.stdout + result.stderr).toContain("git push -u origin fix/spelling");
  expect(project.userSide).toEqual(before);
  expect(subjects(project, "main..fix/spelling")).toEqual(["Correct a", "final", "draft"]);
  project.write("mended", "");
  expect((await project.do("dlq", "retry", "--yes")).code).toBe(0);
  expect(project.git("show", "fix/spelling:b.txt")).toBe("b");
  expect(project.userSide).toEqual(before);
  expect(project.jobBranches).toEqual([]);
});

it("--branch refuses a branch that exists, and is refused where it has no effect", async () => {
  const project = openProject(itemsJson("a"));
  const workflow = { map: mapOver(WORK) };
  for (const [more, flags] of [
    [{}, ["--branch", "main"]],
    [{}, ["--branch", "main/x"]],
    [{}, ["--branch", "bad..name"]],
    [{}, ["--branch", "x", "--merge", "never"]],
    [{ merge: { strategy: "branch-per-item" } }, ["--branch", "x"]],
  ] as const)
    expect((await project.runWorkflow({ ...workflow, ...more }, flags)).code).toBe(2);
  expect((await project.json<{ jobs: readonly unknown[] }>("jobs")).jobs).toEqual([]);
});

it("redrive report says what was done, what failed and why, and what it cost", async () => {
  const project = openProject(itemsJson("a", "b", "c"));
  const agent = {
    command: ["echo", '{"redrive":{"cost_usd":0.25,"turns":2,"input_tokens":100}}'],
    prompt: "go",
  };
  const fails = { shell: "test ${item.id} != b || { echo no such word >&2; exit 3; }" };
  const { job_id: job } = await project.runJson({
    map: mapOver([...WORK, { agent }, fails]),
    error_policy: ONE_TRY,
  });
  const { stdout } = await project.do("report");
  expect(stdout).toContain("2 of 3 items done");
  expect(stdout).toContain("$0.75 · 300 tokens · 6 turns");
  expect(stdout).toMatch(/\| `a` \| 1 file, \+1 −0 \| \$0\.25 \| `[0-9a-f]{10}` \|/);
  expect(stdout).toContain("**Changes:** 2 files, +2 −0.");
  expect(stdout).toContain("**1 item:** `no such word`");
  const document = await project.json<{ items: readonly object[]; failures: readonly object[] }>(
    "report",
    job,
  );
  expect(document.items).toHaveLength(2);
  expect(document.failures).toMatchObject([{ count: 1, items: [{ item_id: "b" }] }]);
  const { items } = (await project.do("report", job, "--format", "json")).json<typeof document>();
  expect(items).toEqual(document.items);
  expect((await project.do("report", job, "--format", "html", "--output", "report.html")).code).toBe(0);
  expect(project.get("report.html")).toContain("<td>1 file, +1 −0</td>");
  expect((await project.do("report", "nobody")).code).toBe(4);
});

it.each(["squash", "branch-per-item"])(
  "invariant 9: with %s, items are merged once although the runner is killed three times",
  { timeout: 120_000 },
  async (strategy) => {
    const ids = Array.from({ length: 12 }, (_, index) => `i${index}`);
    const project = openProject(itemsJson(...ids));
    const steps = [{ shell: "echo ${item.id} >> ${item.id}.txt; git add -A; git commit -qm work" }];
    const merge = { strategy, message: "Correct ${item.id}" };
    const file = project.workflow({ map: mapOver(steps, { max_parallel: 3 }), merge });
    const done = () =>
      lines(project.git("log", "--branches", "--format=%s")).filter((line) => /^Correct/.test(line));
    let args = ["run", file, "-q"];
    for (const count of [2, 5, 8]) {
      const running = project.start(args, { ...project.here, stdin: "" });
      await until(`${count} items are merged`, () => done().length >= count);
      running.signal("SIGKILL");
      await running.ended;
      args = ["resume", "-q"];
    }
    const last = await project.do(...args, "--json");
    expect(last.json()).toMatchObject({ status: "completed", succeeded: 12 });
    expect(done().sort()).toEqual(ids.map((id) => `Correct ${id}`).sort());
    const of = (id: string) =>
      strategy === "squash"
        ? "main"
        : lines(project.git("for-each-ref", "--format=%(refname)", "refs/heads/redrive-items")).find((ref) =>
            ref.endsWith(`/${id}`),
          );
    for (const id of ids) expect(project.git("show", `${of(id)}:${id}.txt`)).toBe(id);
    expect(await project.check()).toBe(SOUND);
  },
);
