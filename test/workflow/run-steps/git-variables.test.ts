/** `${step.files_changed}` and its siblings, and the filters of lists, in steps that run in a git repository. */
import { expect, test } from "vitest";
import type { StepContext } from "../../../src/workflow/step-context.ts";
import { changesSince } from "../../../src/workspace/changes.ts";
import { Git } from "../../../src/workspace/git.ts";
import { keepPaths } from "../../../src/workspace/names.ts";
import { type Bench, openBench, openGitBench, shell, stepOf } from "./step-kit.ts";

async function trackedBench(): Promise<Bench> {
  const bench = openGitBench();
  const git = new Git(bench.root);
  const base = (await bench.world.head?.()) ?? "";
  const changes: StepContext["changes"] = async (since = base) => ({
    ...(await changesSince(git, since, keepPaths(["kept"]))),
  });
  Object.assign(bench.world, { changes });
  return bench;
}

const commit = "git add -A . && git commit -qm work";

test("the changes of the last step, and of all steps", async () => {
  const bench = await trackedBench();
  const seen = (name: string) => shell(`printf '%s\\n' "\${${name}|words}" >> seen; git add seen`);
  const steps = [
    shell(`mkdir -p src kept; echo 1 > src/a.rs; echo 2 > b.md; echo > kept/x; ${commit}`),
    shell('printf "%s" "${step.files_added|words} ${step.commit_count} ${step.insertions}" > seen.first'),
    shell(`echo 3 > b.md; git rm -q src/a.rs; echo 4 > c.md`),
    seen("step.files_modified"),
    seen("workflow.files_added"),
    shell(
      "git rev-parse HEAD > head; printf '%s %s' ${workflow.commits|words} ${workflow.commit_count} > commits",
    ),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen.first")).toBe("b.md src/a.rs 1 2");
  expect(bench.read("seen")).toBe("b.md\nb.md c.md seen seen.first\n");
  expect(bench.read("commits")).toBe(`${bench.read("head").trim()} 1`);
});

test("a handler sees the changes of the failed step, and a step with an id keeps its own", async () => {
  const bench = await trackedBench();
  const onFailure = {
    steps: [shell("echo ${step.files_added|words} > handled"), shell(commit)],
    maxAttempts: 0,
    failWorkflow: false,
  };
  const steps = [
    shell("touch new; exit 1", { id: "work", onFailure }),
    shell("echo ${steps.work.files_added|words} > later"),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect([bench.read("handled"), bench.read("later")]).toEqual(["new\n", "new\n"]);
});

test("outside a repository nothing has changed", async () => {
  const bench = openBench();
  const steps = [shell("touch a"), shell("echo [${step.files_added|words}] ${workflow.commit_count} > seen")];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("[] 0\n");
});

test("without these variables no step calls git", async () => {
  const bench = openGitBench();
  let asked = 0;
  Object.assign(bench.world, { changes: async () => ({ asked: ++asked }) });
  await bench.run([shell("true", { name: "step one" })]);
  expect(asked).toBe(0);
});

test("in a script, each element of a list is a separate word", async () => {
  const files = ["a b.rs", "src/$(touch hit).rs", "c.md"];
  const bench = openBench({ variables: { files } });
  const script = [
    'for f in ${files|words}; do echo "<$f>"; done > words',
    'one=${files|words}; echo "$one" > assigned',
    "echo \"${files|match:*.rs|words}\" '${files|match:s?c/*|basename}' > quoted",
    "printf '%s' \"${files|lines}\" > lines; echo ${files|csv} > csv; echo ${files|match:*.md|json} > json",
    "set -- ${files|match:none|words}; echo $# > none",
  ].join("\n");
  const file = {
    kind: "write_file" as const,
    path: "written",
    content: "${files|match:*.md|words} ${none|words:-no}",
  };
  expect(await bench.run([shell(script), stepOf(file)])).toMatchObject({ kind: "done" });
  expect(bench.read("words")).toBe("<a b.rs>\n<src/$(touch hit).rs>\n<c.md>\n");
  expect(bench.read("assigned")).toBe("a b.rs src/$(touch hit).rs c.md\n");
  expect(bench.read("quoted")).toBe("a b.rs src/$(touch hit).rs $(touch hit).rs\n");
  expect(bench.read("lines")).toBe(files.join("\n"));
  expect(bench.read("csv")).toBe(`${files.join(",")}\n`);
  expect(bench.read("json")).toBe('["c.md"]\n');
  expect(bench.read("none")).toBe("0\n");
  expect(bench.read("written")).toBe("c.md no");
  expect(bench.has("hit")).toBe(false);
});

test("a step reads its own name and number", async () => {
  const bench = openBench();
  const steps = [
    shell("echo ${step.index} ${step.name} >> seen", { name: "first one" }),
    shell("echo ${step.index} ${step.name} >> seen", { name: "second" }),
  ];
  expect(await bench.run(steps)).toMatchObject({ kind: "done" });
  expect(bench.read("seen")).toBe("0 first one\n1 second\n");
});
