/** Workflows as the pages of Prodigy write them, run by the command line: each test fails if one of its keys is ignored. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { itemsJson, openProject } from "./project.ts";
import type { Summary } from "./workshop.ts";

/** Runs a workflow that must succeed, and returns what its steps wrote to the ledger. */
async function ledgerOf(workflow: string, files: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const project = openProject({ "items.json": '[{"id":"a","n":1},{"id":"b","n":2}]', ...files });
  const result = await project.runWorkflow(workflow);
  expect(result.stderr + result.stdout).not.toContain("Nothing was run");
  expect(result.code).toBe(0);
  return project.ledger;
}

const hasJq = spawnSync("jq", ["--version"]).status === 0;

/** Two commits: a new file, and a change of another one. */
const WORK = [
  '  - shell: "echo 1 > one.txt; git add -A; git commit -qm first-part"',
  '  - shell: "echo 2 >> README.md; git add -A; git commit -qm second-part"',
];

describe("captures", () => {
  it("under the names that outputs always have are those outputs", async () => {
    const text = [
      "- { shell: echo one, capture: shell.output }",
      '- { shell: "echo ${shell.output} >> $L" }',
      "- { shell: echo two, capture_output: last.output }",
      '- { shell: "echo ${last.output} >> $L" }',
    ];
    expect(await ledgerOf(text.join("\n"))).toEqual(["one", "two"]);
  });

  it("with a variable in their name are dropped with a warning", async () => {
    const project = openProject();
    const text = [
      "- foreach: [a, b]",
      "  do:",
      '    - { shell: "echo ${item} >> $L", capture_output: "result_${item}" }',
    ].join("\n");
    const checked = await project.do("validate", project.workflow(text));
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringContaining("capture_output has no effect"),
    ]);
    expect((await project.runWorkflow(text)).code).toBe(0);
    expect(project.ledger).toEqual(["a", "b"]);
  });
});

describe("validate as a step", () => {
  it("checks what the steps before it did, and repairs it", async () => {
    const text = [
      "- { shell: echo half > work.txt }",
      "- validate:",
      '    shell: "grep -q whole work.txt && echo score: 100 || echo score: 10"',
      "    threshold: 90",
      '    on_incomplete: { shell: "echo repaired ${validation.score} >> $L; echo whole > work.txt", max_attempts: 2 }',
      "- { shell: cat work.txt >> $L }",
    ];
    expect(await ledgerOf(text.join("\n"))).toEqual(["repaired 10", "whole"]);
  });

  it("fails the run if the threshold is not reached", async () => {
    const project = openProject();
    const text = '- { shell: "true" }\n- validate: { shell: "echo score: 10", threshold: 90 }\n';
    expect((await project.runWorkflow(text)).code).toBe(1);
    expect((await project.onlyLetter()).failure_history.at(-1)?.error_message).toContain("10");
  });
});

describe("iterations", () => {
  const steps = 'commands:\n  - shell: "echo round ${workflow.iteration} >> $L"\n';

  it("of the file are run, and those of the command line take precedence", async () => {
    expect(await ledgerOf(`max_iterations: 3\n${steps}`)).toEqual(["round 1", "round 2", "round 3"]);
    const project = openProject();
    const result = await project.runWorkflow(`iterations: 3\n${steps}`, ["-n", "2", "--json"]);
    expect(result.json<Summary>()).toMatchObject({ total: 2, succeeded: 2 });
    expect(project.ledger).toEqual(["round 1", "round 2"]);
  });

  it("apply to each argument", async () => {
    const project = openProject();
    const text = 'iterations: 2\nsteps:\n  - shell: "echo ${item} >> $L"\n';
    expect((await project.runWorkflow(text, ["--args", "x", "--args", "y"])).code).toBe(0);
    expect(project.ledger).toEqual(["x", "y", "x", "y"]);
  });

  it("are refused beside a map phase", async () => {
    const project = openProject(itemsJson("a"));
    const map = { input: "items.json", agent_template: [{ shell: "true" }] };
    const result = await project.runWorkflow({ iterations: 2, map });
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("iterations has no effect")]);
  });
});

describe("variables", () => {
  it("of the results have their other names, also with a default", async () => {
    const text = [
      "mode: mapreduce",
      "map: { input: items.json, max_parallel: 1, sort_by: id, agent_template: [{ shell: 'echo done ${worker.id} >> $L' }], id_field: id }",
      "reduce:",
      '  - shell: "echo ${map.success_count:-9} ${map.failure_count} >> $L"',
      "  - shell: \"echo '${map.results_json}' | tr ',' '\\n' | grep -c item_id >> $L\"",
    ];
    const [first, second, ...rest] = await ledgerOf(text.join("\n").replace(", id_field: id", ""));
    expect([first, second]).toEqual([
      expect.stringMatching(/^done \w+$/),
      expect.stringMatching(/^done \w+$/),
    ]);
    expect(first).not.toBe(second);
    expect(rest).toEqual(["2 0", "2"]);
  });

  it("of a test is what its command printed", async () => {
    const text = [
      "- test:",
      '    command: "echo broken; [ -e fixed ]"',
      '    on_failure: { shell: "echo saw ${test.output} >> $L; touch fixed", max_attempts: 2, fail_workflow: true }',
    ];
    expect(await ledgerOf(text.join("\n"))).toEqual(["saw broken"]);
  });

  it("that cannot be read stay in the text", async () => {
    const text = ["commands:", "  - shell: \"echo '${count|length:100}' >> $L\""];
    expect(await ledgerOf(text.join("\n"))).toEqual(["${count|length:100}"]);
  });

  it("of the merge phase describe what is merged", async () => {
    const text = [
      "commands:",
      ...WORK,
      "merge:",
      '  - shell: "echo ${merge.commit_count} ${merge.file_count} ${merge.file_list} >> $L"',
      "  - shell: \"echo '${merge.commit_ids}' | tr ',' '\\n' | wc -l | tr -d ' ' >> $L\"",
    ];
    expect(await ledgerOf(text.join("\n"))).toEqual(["2 2 README.md,one.txt", "2"]);
  });

  // Their scripts use jq, as the workflows that read them do.
  it.skipIf(!hasJq)("of the merge phase list commits and files as JSON", async () => {
    const text = [
      "commands:",
      ...WORK,
      "merge:",
      "  - shell: \"echo '${merge.commits}' | jq -r '.[] | .message, .files_changed[]' >> $L\"",
      "  - shell: \"echo '${merge.modified_files}' | jq -r '.[] | .path, .modification_type' >> $L\"",
    ];
    expect(await ledgerOf(text.join("\n"))).toEqual([
      ...["second-part", "README.md", "first-part", "one.txt"],
      ...["README.md", "Modified", "one.txt", "Added"],
    ]);
  });
});

describe("a handler without fail_workflow", () => {
  const steps = [
    '  - { shell: "echo deploy >> $L; false", on_failure: { shell: echo rollback >> $L } }',
    "  - { shell: echo after >> $L }",
  ];

  it("lets a workflow with commands continue, and does not run the step again after a script", async () => {
    expect(await ledgerOf(["commands:", ...steps].join("\n"))).toEqual(["deploy", "rollback", "after"]);
  });

  it("fails a workflow with steps, after one more attempt", async () => {
    const project = openProject();
    expect((await project.runWorkflow(["steps:", ...steps].join("\n"))).code).toBe(1);
    expect(project.ledger).toEqual(["deploy", "rollback", "deploy"]);
  });
});

it("a converted workflow runs and means the same, also with a name that only --var defines", async () => {
  const project = openProject();
  const text = [
    "commands:",
    '  - { shell: "echo ${spec_file} >> $L; false", on_failure: { shell: echo handled >> $L } }',
    "  - { shell: echo after >> $L }",
  ];
  const old = project.workflow(text.join("\n"));
  const made = project.path("new.yml");
  expect((await project.do("migrate-workflow", old, "--output", made)).code).toBe(0);
  const result = await project.do("run", made, "--var", "spec_file=s.md");
  expect([result.code, project.ledger]).toEqual([0, ["s.md", "handled", "after"]]);
});

it("each step of the merge phase finds the commits of those before it in the branch of the job", async () => {
  const text = [
    "commands:",
    '  - shell: "echo 1 > one.txt; git add -A; git commit -qm work"',
    "merge:",
    '  - shell: "echo 2 > two.txt; git add -A; git commit -qm resolved"',
    '  - shell: "git log -1 --format=%s ${merge.source_branch} >> $L"',
  ];
  expect(await ledgerOf(text.join("\n"))).toEqual(["resolved"]);
});

it("the outputs of a skipped step are not looked for", async () => {
  const text = [
    '- { shell: "true", id: a, when: "1 == 2", outputs: { spec: { file_pattern: "*.md" } } }',
    '- { shell: "echo next >> $L" }',
  ];
  expect(await ledgerOf(text.join("\n"))).toEqual(["next"]);
});

it("a filter with item. leaves out items without the field", async () => {
  const text =
    "mode: mapreduce\nmap: { input: items.json, filter: item.n > 1, agent_template: [{ shell: 'echo ${item.id} >> $L' }] }\n";
  expect(await ledgerOf(text, { "items.json": '[{"id":"a","n":1},{"id":"b","n":2},{"id":"c"}]' })).toEqual([
    "b",
  ]);
});

it("a time limit at the top of the file is that of each agent", async () => {
  const project = openProject(itemsJson("a"));
  const text = [
    "mode: mapreduce",
    "agent_timeout_secs: 1",
    "retry_defaults: { attempts: 1 }",
    'map: { input: items.json, agent_template: [{ shell: "sleep 60" }] }',
  ];
  expect((await project.runWorkflow(text.join("\n"))).code).toBe(3);
  expect((await project.onlyLetter()).failure_history.at(-1)?.error_type).toBe("Timeout");
});

it("a secret of a vault must be in the environment, and is masked", async () => {
  const project = openProject();
  const text = 'secrets: { KEY: "${vault:a/b}" }\ncommands: [{ shell: "echo key is $KEY; false" }]\n';
  const missing = await project.runWorkflow(text);
  expect([missing.code, missing.stderr]).toEqual([
    2,
    expect.stringContaining("cannot read secrets from vault"),
  ]);
  const env = { ...project.here.env, KEY: "hunter22" };
  const result = await project.run(["run", project.workflow(text)], { ...project.here, env });
  expect(result.code).toBe(1);
  expect(JSON.stringify(await project.onlyLetter())).toContain("key is ***");
});
