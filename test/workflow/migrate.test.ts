/** `redrive migrate-workflow`: the converted file means the same, is in our format, and says what differs. */
import { expect, test } from "vitest";
import { migrateWorkflow } from "../../src/workflow/prodigy/migrate.ts";
import { parseWorkflow } from "../../src/workflow/read-workflow.ts";

const environment = (name: string) => (name === "WORKERS" ? "7" : undefined);

function migrated(text: string): string {
  const result = migrateWorkflow(text, { environment });
  if ("text" in result) return result.text;
  throw new Error(JSON.stringify(result.problems));
}

function workflowOf(text: string) {
  const parsed = parseWorkflow(text, { file: "w.yml", environment });
  if ("workflow" in parsed) return parsed.workflow;
  throw new Error(JSON.stringify(parsed.problems));
}

const OLD = `# A comment of the file.
name: old
mode: mapreduce
env: { TARGET: eu }
setup:
  - shell: "echo \${TARGET}" # beside a step
map:
  input: "ls -1"
  max_parallel: $WORKERS
  filter: size > 3 OR name contains 'x'
  agent_template:
    - claude: "/fix \${item.path}"
      validate:
        - shell: check
    - shell: test
      on_failure: true
error_collection: aggregate
max_failures: 3
`;

test("the converted workflow is the same workflow, in our format, without further warnings about it", () => {
  const text = migrated(OLD);
  expect(workflowOf(text)).toEqual(workflowOf(OLD));
  expect(parseWorkflow(text, { file: "w.yml" }).warnings).toEqual([]);
  expect(migrateWorkflow(text, { environment })).toMatchObject({ isChanged: false, text });
});

test("comments are kept, and each difference is a comment at its place", () => {
  const text = migrated(OLD);
  expect(text).toContain("# A comment of the file.");
  expect(text).toContain("# beside a step");
  expect(text.indexOf("# input contains spaces")).toBeGreaterThan(text.indexOf("map:"));
  expect(text.indexOf("# error_collection has no effect")).toBeLessThan(text.indexOf("name: old"));
});

test("a list of steps becomes steps", () => {
  expect(migrated("- shell: a\n- /b\n")).toBe("steps:\n  - shell: a\n  - claude: /b\n");
});

test("a workflow of Redrive is unchanged", () => {
  const text = "map: {input: i.json,   agent_template: [{shell: a}]}\n";
  expect(migrateWorkflow(text, { environment })).toEqual({
    text,
    notes: [],
    isChanged: false,
    variables: [],
  });
});

test("what comes from other files becomes part of the file", () => {
  const files = {
    ...{ path: "/p/w.yml", cwd: "/p", home: "/home" },
    read: (path: string) =>
      path === "/p/base.yml" ? "env: { A: 1 }\ncommands: [{ shell: a }]\n" : undefined,
  };
  const result = migrateWorkflow("# mine\nname: own\nextends: base.yml\nenv: { B: 2 }\n", {
    environment,
    files,
  });
  const text = "text" in result ? result.text : "";
  expect(text).toContain("# mine");
  expect(parseWorkflow(text, { file: "w.yml" })).toMatchObject({
    workflow: { env: { A: "1", B: "2" }, map: { steps: [{ action: { script: "a" } }] } },
  });
});

test("what cannot be converted is a problem with its line", () => {
  const result = migrateWorkflow("extends: base\nsteps: [{ shell: a }]\n", {
    environment,
  });
  expect("problems" in result && result.problems).toEqual([
    expect.objectContaining({
      line: 1,
      message: expect.stringContaining("extends: the other file cannot be read here") as string,
    }),
  ]);
});
