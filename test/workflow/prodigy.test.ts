/** Workflows in the format of Prodigy: each construct means the same as the form of Redrive beside it. */
import { describe, expect, test } from "vitest";
import { compileExpression, FILTER_VARIABLES } from "../../src/std/expression.ts";
import type { RewriteOptions } from "../../src/workflow/prodigy/rewriting.ts";
import { parseWorkflow, problemText } from "../../src/workflow/read-workflow.ts";

const read = (text: string, options: RewriteOptions = {}) =>
  parseWorkflow(text, { file: "w.yml", ...options });

function workflowOf(text: string, options?: RewriteOptions) {
  const parsed = read(text, options);
  if ("workflow" in parsed) return parsed.workflow;
  throw new Error(parsed.problems.map((problem) => problemText(problem, "w.yml")).join("\n"));
}

const indented = (text: string, by: number) => text.replaceAll(/^(?=.)/gm, " ".repeat(by));
const MAP = "map:\n  input: items.json\n  agent_template:\n    - shell: work\n";
const withStep = (step: string) =>
  `mode: mapreduce\nmap:\n  input: items.json\n  agent_template:\n    - ${indented(step, 6).trimStart()}\n`;
const withMapKey = (line: string) => `mode: mapreduce\nmap:\n${indented(line, 2)}\n${MAP.slice(5)}`;

describe("a step", () => {
  test.each([
    ["capture_streams", "shell: a\ncapture: x\ncapture_streams: { exit_code: true }", "shell: a\ncapture: x"],
    [
      "create_dirs",
      "write_file: { path: p, content: c, create_dirs: true }",
      "write_file: { path: p, content: c }",
    ],
    [
      "a known cause",
      "shell: a\nretry_config: { attempts: 2, retry_on: [timeout, { pattern: x+ }] }",
      "shell: a\nretry: { attempts: 2, retry_on: ['(?i)timeout|timed out', x+] }",
    ],
    [
      "an ignored failure",
      "shell: a\non_failure: true",
      "shell: a\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    ["a failure that is not ignored", "shell: a\non_failure: false", "shell: a"],
    [
      "the number of a repair",
      "claude: /a\nvalidate: { shell: b, on_incomplete: { claude: '/c ${validation.attempt_number}' } }",
      "claude: /a\nvalidate: { shell: b, on_incomplete: { claude: '/c ${validation.attempt_number}', max_attempts: 2 } }",
    ],
    [
      "a command as handler",
      "shell: a\non_failure: fix it",
      "shell: a\non_failure: { steps: [{ shell: fix it }], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "a prompt as handler",
      "shell: a\non_failure: /fix",
      "shell: a\non_failure: { steps: [{ claude: /fix }], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "commands as handler",
      "shell: a\non_failure: [b, /c]",
      "shell: a\non_failure: { steps: [{ shell: b }, { claude: /c }], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "max_retries",
      "shell: a\non_failure: { claude: /b, max_retries: 3, fail_workflow: true }",
      "shell: a\non_failure: { claude: /b, max_attempts: 3, fail_workflow: true }",
    ],
    [
      "retry_original: false",
      "shell: a\non_failure: { shell: b, retry_original: false, fail_workflow: true }",
      "shell: a\non_failure: { shell: b, max_attempts: 0, fail_workflow: true }",
    ],
    [
      "only fail_workflow",
      "shell: a\non_failure: { fail_workflow: false }",
      "shell: a\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "both actions in a handler",
      "shell: a\non_failure: { shell: b, claude: /c, fail_workflow: true }",
      "shell: a\non_failure: { steps: [{ shell: b }, { claude: /c }], fail_workflow: true }",
    ],
    [
      "a handler with a strategy",
      "shell: a\non_failure: { strategy: cleanup, commands: [{ shell: b, continue_on_error: true }], fail_workflow: true }",
      "shell: a\non_failure: { commands: [{ shell: b, on_failure: { steps: [], max_attempts: 0, fail_workflow: false } }], fail_workflow: true }",
    ],
    [
      "continue_on_error",
      "shell: a\ncontinue_on_error: true",
      "shell: a\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "allow_failure",
      "shell: a\nallow_failure: true",
      "shell: a\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "both actions after a success",
      "shell: a\non_success: { shell: b, claude: /c }",
      "shell: a\non_success: [{ shell: b }, { claude: /c }]",
    ],
    [
      "test",
      "test: { command: a, on_failure: { claude: /b, max_attempts: 2, fail_workflow: true } }",
      "shell: a\non_failure: { claude: /b, max_attempts: 2, fail_workflow: true }",
    ],
    [
      "goal_seek",
      "goal_seek: { goal: cover it, claude: /c, validate: score, threshold: 90, max_attempts: 4, timeout_seconds: 60 }",
      "claude: /c\nname: cover it\ntimeout: 60\nvalidate: { shell: score, threshold: 90, on_incomplete: { claude: /c, max_attempts: 3, env: { PRODIGY_VALIDATION_SCORE: '${validation.score}', PRODIGY_VALIDATION_GAPS: '${validation.gaps|json}', PRODIGY_VALIDATION_OUTPUT: '${validation.output}' } } }",
    ],
    [
      "goal_seek with one attempt",
      "goal_seek: { goal: fix, command: 'claude: /c', validate: check, max_attempts: 1, fail_on_incomplete: false, timeout: 9 }",
      "claude: /c\nname: fix\ntimeout: 9\nvalidate: { shell: check, on_incomplete: { steps: [], max_attempts: 0, fail_workflow: false } }",
    ],
    ["attempts of a step", "shell: a\nmax_attempts: 3", "shell: a\nretry: { max_attempts: 3 }"],
    [
      "attempts beside a handler",
      "shell: a\non_failure: { claude: /b }\nmax_attempts: 3\nfail_workflow: false",
      "shell: a\non_failure: { claude: /b, max_attempts: 3, fail_workflow: false }",
    ],
    [
      "attempts beside a list of steps",
      "shell: a\non_failure: [{ shell: b }]\nmax_attempts: 2",
      "shell: a\non_failure: { steps: [{ shell: b }], max_attempts: 2 }",
    ],
    [
      "only fail_workflow beside the action",
      "shell: a\nfail_workflow: false",
      "shell: a\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "a failure after retries that does not count",
      "shell: a\nretry_config: { max_attempts: 2, on_failure: continue }",
      "shell: a\nretry: { max_attempts: 2 }\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "a fallback after retries",
      "shell: a\nretry: { attempts: 2, on_failure: { fallback: { command: b } } }",
      "shell: a\nretry: { attempts: 2 }\non_failure: { steps: [{ shell: b }], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "metadata",
      "claude: /a\nmetadata: { retries: 1, timeout: 9, continue_on_error: true }",
      "claude: /a\nretry: { max_attempts: 2 }\ntimeout: 9\non_failure: { steps: [], max_attempts: 0, fail_workflow: false }",
    ],
    [
      "inputs of the oldest form",
      "name: implement\noptions: { fix: true, max: 8 }\ninputs: { x: { from: '${item.b}', pass_as: { argument: { position: 1 } } }, y: { from: '${item.a}', pass_as: { argument: { position: 0 } } }, z: { from: '${item.c}', pass_as: { environment: { name: GAPS } } } }",
      "claude: '/implement ${item.a} ${item.b} --fix --max 8'\nenv: { GAPS: '${item.c}' }",
    ],
    [
      "both actions in validate",
      "claude: /a\nvalidate: { shell: b, claude: /c, result_file: r.json, threshold: 75 }",
      "claude: /a\nvalidate: { steps: [{ shell: b }, { claude: /c }], result_file: r.json, threshold: 75 }",
    ],
    [
      "content that is not a text",
      "write_file: { path: p, format: json, content: { a: '${item.x}', b: [1, two] } }",
      'write_file: { path: p, format: json, content: "{\\n  \\"a\\": \\"${item.x}\\",\\n  \\"b\\": [\\n    1,\\n    \\"two\\"\\n  ]\\n}" }',
    ],
    ["text as a format", "shell: a\ncapture: x\ncapture_format: text", "shell: a\ncapture: x"],
    [
      "a boolean",
      "shell: a\ncapture: x\ncapture_format: boolean",
      "shell: a\ncapture: x\ncapture_format: success",
    ],
    [
      "results of steps in a condition",
      "shell: a\nid: one-step\ncapture: out\non_success: { shell: b, when: '!${out.success} && ${one-step.exit_code} == 3 && ${out.other}' }",
      `shell: a\nid: one-step\ncapture: out\non_success: { shell: b, when: '!(isTrue(vars.?steps.?out.?success.orValue(null))) && asNumber(vars.?steps[?"one-step"].?exit_code.orValue(null)) == 3 && isTrue(vars.?out.?other.orValue(null))' }`,
    ],
    [
      "an expression in braces",
      "shell: a\nwhen: \"${env_name == 'production' && passed}\"",
      `shell: a\nwhen: '(asText(vars.?env_name.orValue(null)) == "production" && isTrue(vars.?passed.orValue(null)))'`,
    ],
    [
      "a condition with bare names",
      "shell: a\nwhen: \"branch == 'main'\"",
      `shell: a\nwhen: 'asText(vars.?branch.orValue(null)) == "main"'`,
    ],
    [
      "a regular expression in a condition",
      "shell: a\nwhen: \"${url} =~ 'local' && ${url} !~ 'prod'\"",
      `shell: a\nwhen: 'asText(vars.?url.orValue(null)).matches("local") && !(asText(vars.?url.orValue(null)).matches("prod"))'`,
    ],
    [
      "what a failed step would have captured",
      "shell: a\ncapture_output: out\non_failure: { claude: '/fix ${out}', fail_workflow: true }",
      "shell: a\ncapture: out\non_failure: { claude: '/fix ${out}', fail_workflow: true }",
    ],
    [
      "the oldest form",
      "name: review\nargs: [a, b]\nfocus: security\nmetadata: { retries: 2, timeout: 9 }",
      "claude: /review a b --focus security\nretry: { max_attempts: 3 }\ntimeout: 9",
    ],
    [
      "a handler with a time limit, which must not fail",
      "shell: a\non_failure: { timeout: 9, handler_failure_fatal: true, fail_workflow: false, commands: [{ shell: b }] }",
      "shell: a\non_failure: { steps: [{ shell: b }], timeout: 9, handler_failure_fatal: true, fail_workflow: false }",
    ],
    [
      "the number of elements",
      "foreach: { foreach: [x], do: [{ shell: 'b ${index} ${total}' }] }",
      "foreach: { items: [x], do: [{ shell: 'b ${index} ${total}' }], own_item: true }",
    ],
    [
      "elements under the name of Redrive",
      "foreach: { items: [x], do: [{ shell: 'b ${item}' }] }",
      "foreach: { items: [x], do: [{ shell: 'b ${item}' }], own_item: true }",
    ],
    ["cwd", "shell: a\ncwd: sub", "shell: a\nworking_dir: sub"],
    ["capture_output: true", "shell: a\ncapture_output: true", "shell: a"],
    [
      "validate as a list",
      "shell: a\nvalidate: [{ shell: b }, { claude: /c, result_file: r.json }]",
      "shell: a\nvalidate: { steps: [{ shell: b }, { claude: /c }], result_file: r.json }",
    ],
    [
      "validate with commands",
      "shell: a\nvalidate: { commands: [{ shell: b }, { shell: c }], threshold: 80, timeout: 5 }",
      "shell: a\nvalidate: { steps: [{ shell: b }, { shell: c }], threshold: 80, timeout: 5 }",
    ],
    [
      "validate with command",
      "shell: a\nvalidate: { command: b, threshold: 80 }",
      "shell: a\nvalidate: { shell: b, threshold: 80 }",
    ],
    [
      "on_incomplete with commands",
      "shell: a\nvalidate: { shell: b, on_incomplete: { commands: [{ claude: /c, commit_required: true }], max_attempts: 5 } }",
      "shell: a\nvalidate: { shell: b, on_incomplete: { steps: [{ claude: /c, commit_required: true }], max_attempts: 5 } }",
    ],
    [
      "on_incomplete without attempts",
      "shell: a\nvalidate: { shell: b, on_incomplete: { claude: /c } }",
      "shell: a\nvalidate: { shell: b, on_incomplete: { claude: /c, max_attempts: 2 } }",
    ],
    [
      "a nested foreach with a command",
      "foreach: { foreach: ls, do: [{ shell: b }], parallel: true, continue_on_error: true }",
      "foreach: { items: { command: ls }, do: [{ shell: b }], parallel: 10, continue_on_error: true, own_item: true }",
    ],
    [
      "a nested foreach with a list",
      "foreach: { foreach: [x, y], do: [{ shell: b }], parallel: false }",
      "foreach: { items: [x, y], do: [{ shell: b }], parallel: 1, own_item: true }",
    ],
    [
      "a flat foreach",
      "foreach: ls\ndo: [{ shell: b }]\nmax_items: 3",
      "foreach: { items: { command: ls }, do: [{ shell: b }], max_items: 3, own_item: true }",
    ],
    [
      "retry_config",
      "shell: a\nretry_config: { attempts: 5, backoff: { exponential: { base: 3 } }, initial_delay: 2s }",
      "shell: a\nretry: { attempts: 5, backoff: { type: exponential, factor: 3 }, initial_delay: 2s }",
    ],
    [
      "a condition",
      "shell: a\nwhen: \"${branch} == 'main' && ${coverage} >= 80\"",
      `shell: a\nwhen: 'asText(vars.?branch.orValue(null)) == "main" && asNumber(vars.?coverage.orValue(null)) >= 80'`,
    ],
    [
      "a variable of the shell",
      'shell: "for f in *; do echo ${f%.js} ${HOME}; done"',
      'shell: "for f in *; do echo $${f%.js} $${HOME}; done"',
    ],
    [
      "a field of a step",
      "shell: a\nid: build\non_success: [{ shell: 'echo ${build.exit_code} ${build.output}' }]",
      "shell: a\nid: build\non_success: [{ shell: 'echo ${steps.build.exit_code} ${steps.build.output}' }]",
    ],
    [
      "changes in git",
      "shell: 'echo ${step.files_added} ${workflow.commit_count} ${step.files_added:*.md:json}'",
      "shell: 'echo ${step.files_added|words} ${workflow.commit_count} ${step.files_added|match:*.md|json}'",
    ],
    [
      "changes of a step with an id",
      "claude: 'see ${step.work.files_modified|pattern:src/*|basename}'",
      "claude: 'see ${steps.work.files_modified|match:src/*|basename|words}'",
    ],
    [
      "a captured list",
      "shell: ls\ncapture: files\non_success: [{ shell: 'echo ${files:lines}' }]",
      "shell: ls\ncapture: files\non_success: [{ shell: 'echo ${files|lines}' }]",
    ],
    [
      "a condition on changes",
      "shell: a\nwhen: \"${step.files_modified:*.rs} && ${workflow.files_added} contains 'x'\"",
      `shell: a\nwhen: 'isTrue(matching(vars.?step.?files_modified.orValue(null), "*.rs")) && includes(words(vars.?workflow.?files_added.orValue(null)), "x")'`,
    ],
    ["a default", "shell: 'echo ${item.x|default:none}'", "shell: 'echo ${item.x:-none}'"],
    [
      "validation.incomplete_specs",
      "shell: a\nvalidate: { shell: b, on_incomplete: { shell: 'c ${validation.incomplete_specs}', max_attempts: 1 } }",
      "shell: a\nvalidate: { shell: b, on_incomplete: { shell: 'c ${validation.missing}', max_attempts: 1 } }",
    ],
    [
      "validation.completion",
      "shell: a\nvalidate: { shell: b, on_incomplete: { shell: 'c ${validation.completion}', max_attempts: 1 } }",
      "shell: a\nvalidate: { shell: b, on_incomplete: { shell: 'c ${validation.score}', max_attempts: 1 } }",
    ],
  ])("%s", (_name, theirs, ours) => {
    expect(workflowOf(withStep(theirs)).map.steps).toEqual(workflowOf(withStep(ours)).map.steps);
  });
});

describe("a handler without fail_workflow", () => {
  const handlerOf = (text: string) => workflowOf(text).map.steps[0]?.onFailure;
  const step = (handler: string) => `shell: a\non_failure: ${handler}`;
  const sequence = (handler: string) => `commands:\n  - ${indented(step(handler), 4).trimStart()}\n`;

  test.each([
    ["{ claude: /b }", { maxAttempts: 1, failWorkflow: false }],
    ["{ shell: b }", { maxAttempts: 0, failWorkflow: false }],
    ["{ shell: b, fail_workflow: true }", { maxAttempts: 0, failWorkflow: true }],
    ["{ shell: b, max_attempts: 3 }", { maxAttempts: 3, failWorkflow: false }],
    ["[{ shell: b }]", { maxAttempts: 0, failWorkflow: false }],
    ["{ strategy: cleanup, commands: [{ shell: b }] }", { maxAttempts: 0, failWorkflow: true }],
    ["{ commands: [{ shell: b }, { claude: /c }] }", { maxAttempts: 1, failWorkflow: false }],
  ])(
    "%s continues as in Prodigy in its formats: with mode, with commands, and a list of steps",
    (handler, expected) => {
      expect(handlerOf(withStep(step(handler)))).toMatchObject(expected);
      expect(handlerOf(sequence(handler))).toMatchObject(expected);
      expect(handlerOf(`- shell: a\n  on_failure: ${handler}\n`)).toMatchObject(expected);
    },
  );

  test.each([
    ["steps", "steps: [{ shell: a, on_failure: { claude: /b } }]\n"],
    [
      "a key of Redrive",
      withMapKey("keep: [a]")
        .replace("shell: work", "shell: a, on_failure: { claude: /b }")
        .replace("- shell: a,", "- { shell: a,")
        .replace("/b }\n", "/b } }\n"),
    ],
  ])("fails the item after one more attempt with %s", (_name, text) => {
    expect(handlerOf(text)).toMatchObject({ maxAttempts: 1, failWorkflow: true });
  });

  test("stops the merge", () => {
    const text = "commands: [{ shell: a }]\nmerge: [{ shell: b, on_failure: { claude: /c } }]\n";
    expect(workflowOf(text).merge[0]?.onFailure).toMatchObject({ maxAttempts: 1, failWorkflow: true });
  });
});

test("a capture whose name has a meaning here gets another one, wherever it is read", () => {
  const text =
    "commands:\n  - { shell: ls, capture: list, capture_format: lines }\n  - { shell: a, capture_output: last }\n" +
    "  - { shell: 'b ${list[0]} ${list.1} ${last}', when: \"${list} != '' && ${last.success}\" }\n";
  const { steps } = workflowOf(text).map;
  expect(steps.map(({ capture }) => capture?.name)).toEqual(["list_1", "last_1", undefined]);
  expect(steps[2]).toMatchObject({
    action: { script: "b ${list_1[0]} ${list_1.1} ${last_1}" },
    when: 'asText(vars.?list_1.orValue(null)) != "" && isTrue(vars.?steps.?last_1.?success.orValue(null))',
  });
});

test("a number may stand where a program evaluates the text", () => {
  const text =
    "mode: mapreduce\nmap: { input: i.json, agent_template: [{ shell: a }] }\nreduce:\n" +
    "  - { shell: wc, capture: n, capture_format: number }\n  - { shell: who, capture: name }\n" +
    "  - shell: \"awk 'BEGIN { print ${map.total} + ${n} }'; echo $((${map.failed} + 1)) ${map.total}\"\n";
  expect(workflowOf(text).reduce[2]?.action).toMatchObject({
    script: "awk 'BEGIN { print ${raw:map.total} + ${raw:n} }'; echo $((${raw:map.failed} + 1)) ${map.total}",
  });
  const parsed = read(text.replace("+ ${n}", "+ ${name}"));
  expect("problems" in parsed && parsed.problems[0]?.message).toContain(
    "awk reads it as part of its program",
  );
});

test("the path of an optional file of variables uses what env has for them", () => {
  const text = `mode: mapreduce\nenv_files: ['.env.\${STAGE}', '.env.\${NONE}']\nenv: { STAGE: "\${STAGE:-dev}" }\n${MAP}`;
  expect(workflowOf(text).envFiles).toEqual([
    { path: ".env.${env.STAGE:-dev}", isOptional: true },
    { path: ".env.${env.NONE:-}", isOptional: true },
  ]);
});

test("a filter of Prodigy leaves out items without the field, also with item.", () => {
  expect(workflowOf(withMapKey("filter: item.score >= 5")).map.filter).toBe(
    "asNumber(item.?score.orValue(null)) >= 5",
  );
});

test("outputs is a step that captures a file that the step has changed", () => {
  const step = "claude: /c\nid: cov\noutputs: { spec: { file_pattern: '*-x.md' } }";
  const { steps } = workflowOf(`${withStep(step)}    - shell: cat \${cov.spec}\n`).map;
  expect(steps).toHaveLength(3);
  expect(steps[1]).toMatchObject({
    action: { script: expect.stringContaining("set -- ${steps.cov.files_added|match:*-x.md|words}") },
    capture: { name: "cov.spec" },
  });
});

test.each([
  ["cmd:git rev-parse HEAD", "git rev-parse HEAD"],
  ["file:VERSION", "cat -- 'VERSION'"],
  ["json:a.b:package.json", "jq -r '.a.b' 'package.json'"],
  ["date:%Y-%m-%d", "date '+%Y-%m-%d'"],
  ["uuid", "cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen"],
  ["git.branch", "git rev-parse --abbrev-ref HEAD"],
  ["git.commit", "git rev-parse HEAD"],
])("${%s} is captured by a step before", (inner, script) => {
  const { steps } = workflowOf(withStep(`claude: 'see \${${inner}}'\nwhen: "\${go}"`)).map;
  expect(steps.map(({ action }) => action)).toMatchObject([{ script }, { prompt: "see ${computed_1}" }]);
  expect(steps[0]).toMatchObject({ capture: { name: "computed_1" }, when: steps[1]?.when });
});

test.each([
  ["git.staged_files", "git diff --name-only --cached", "words"],
  ["git.unstaged_files:json", "git diff --name-only", "json"],
  ["git.modified_files|pattern:**/*.rs", "git diff --name-only HEAD", "match:**/*.rs|words"],
])("${%s} is a list of files", (inner, script, filters) => {
  const { steps } = workflowOf(withStep(`shell: 'see \${${inner}}'`)).map;
  expect(steps).toMatchObject([
    { action: { script }, capture: { format: "lines" } },
    { action: { script: `see \${computed_1|${filters}}` } },
  ]);
});

test("an expansion of the shell is not computed", () => {
  const script = "file=a; date=b; echo ${file:-x} ${file:0:3} ${date:1}";
  const { steps } = workflowOf(withStep(`shell: '${script}'\ncapture_output: true`)).map;
  expect(steps).toMatchObject([{ action: { script: script.replaceAll("${", () => "$${") } }]);
});

test("one value that is read twice is computed once, but each uuid is new", () => {
  const scripts = (text: string) => workflowOf(withStep(`claude: '${text}'`)).map.steps.length;
  expect([scripts("${cmd:ls} ${cmd:ls}"), scripts("${uuid} ${uuid}")]).toEqual([2, 3]);
});

describe("parameters", () => {
  const head =
    "parameters: { required: [{ name: target, type: string }], optional: [{ name: style, default: plain }] }\ndefaults: { level: 3 }\n";
  const text = `${head}commands: [{ claude: '/do \${target} \${style} \${level}' }]\n`;

  test("those with a default may be given with --var, and the others must be", () => {
    const given = { variables: ["target"], isRun: true };
    expect(workflowOf(text, given).map.steps[0]?.action).toMatchObject({
      prompt: "/do ${target} ${style:-plain} ${level:-3}",
    });
    const missing = read(text, { isRun: true });
    expect("problems" in missing && missing.problems[0]?.message).toBe(
      "the parameter target has no value. Pass one: --var target=VALUE",
    );
    expect(read(text)).toMatchObject({
      workflow: {},
      warnings: [{ message: expect.stringContaining("--var") }],
    });
  });

  test("a condition sees a default", () => {
    const when = `${head}commands: [{ shell: a, when: "\${style} == 'plain'" }]\n`;
    expect(workflowOf(when, { variables: ["target"] }).map.steps[0]?.when).toBe(
      'asText(vars.?style.orValue("plain")) == "plain"',
    );
  });
});

test.each([
  [
    "{ command_index: 0, json_path: '$.a[0]' }",
    `printf '%s\\n' "\${steps.output_1.output}" | jq -r '.a[0] // empty'`,
  ],
  ["{ command_index: 0, multiline: first_line }", `printf '%s\\n' "\${steps.output_1.output}" | head -n 1`],
  ["{ command_index: 0, multiline: last_line }", `printf '%s\\n' "\${steps.output_1.output}" | tail -n 1`],
  [
    "{ command_index: 0, source: stderr, max_size: 9 }",
    `printf '%s\\n' "\${steps.output_1.stderr}" | head -c 9`,
  ],
])("capture_outputs extracts a part: %s", (settings, script) => {
  const phase = `setup: { commands: [{ shell: a }, { shell: b }], capture_outputs: { x: ${settings} } }`;
  const { setup } = workflowOf(`${phase}\n${MAP}`);
  expect(setup).toMatchObject([
    { capture: { name: "output_1" } },
    { action: { script }, capture: { name: "x" } },
    { action: { script: "b" } },
  ]);
});

test("validate may have only the file that its step writes", () => {
  const { steps } = workflowOf(withStep("claude: /a\nvalidate: { result_file: r.json, threshold: 80 }")).map;
  expect(steps[0]?.validate).toMatchObject({ isSelfRated: true, resultFile: "r.json", threshold: 80 });
  expect("problems" in read(withStep("claude: /a\nvalidate: { threshold: 80 }"))).toBe(true);
});

test.each([
  ["setup: [{ shell: first }]\n", 2],
  ["", 1],
])("a variable of the environment that a command computes is captured in setup", (setup, count) => {
  const head = `env: { N: { command: nproc, cache: true }, M: m }\n${setup}`;
  const workflow = workflowOf(`${head}${MAP.replace("work", '"echo $N ${N}"')}`);
  expect(workflow.setup).toHaveLength(count);
  expect(workflow.setup[0]).toMatchObject({ action: { script: "nproc" }, capture: { name: "N" }, env: {} });
  expect(workflow.map.steps[0]).toMatchObject({ action: { script: "echo $N ${N}" }, env: { N: "${N}" } });
  expect(workflow.env).toEqual({ M: "m" });
});

test("the same in a workflow with steps, where numbers of steps stay those of the file", () => {
  const text = "env: { N: { command: nproc } }\ncommands: [{ shell: a }, { shell: b }]\n";
  expect(workflowOf(text).map.steps.map(({ env }) => env)).toEqual([{}, { N: "${N}" }, { N: "${N}" }]);
  expect(read(text)).toMatchObject({ stepStarts: [0, 2, 3] });
});

test("a number may be part of an arithmetic expression of the shell, other values may not", () => {
  const reduce = (script: string) =>
    `mode: mapreduce\n${MAP}reduce: [{ shell: nl, capture: n, capture_format: number }, { shell: '${script}' }]\n`;
  expect(workflowOf(reduce("echo $((${map.total} * ${n})) ${map.total}")).reduce[1]?.action).toMatchObject({
    script: "echo $((${raw:map.total} * ${raw:n})) ${map.total}",
  });
  expect("problems" in read(reduce("echo $((${map.results} + 1))"))).toBe(true);
});

test("what Prodigy does not know either has its default", () => {
  const text = `mode: mapreduce\n${MAP}reduce: [{ shell: 'echo \${map.duration|default:unknown}' }]\n`;
  expect(workflowOf(text).reduce[0]?.action).toMatchObject({ script: "echo unknown" });
});

test("outputs may be what a step prints", () => {
  const { steps } = workflowOf(withStep("claude: /a\nid: x\noutputs: { y: { extract_from: stdout } }")).map;
  expect(steps[1]).toMatchObject({
    action: { script: "printf '%s\\n' \"${steps.x.output}\"" },
    capture: { name: "x.y" },
  });
});

test("agent_merge is at the end of the steps of each item", () => {
  const { steps } = workflowOf(`agent_merge: [{ shell: b }, /c]\n${MAP}`).map;
  expect(steps.map(({ action }) => action)).toMatchObject([
    { script: "work" },
    { script: "b" },
    { prompt: "/c" },
  ]);
});

test("capture_outputs captures at the steps of these numbers", () => {
  const phase =
    "setup: { commands: [{ shell: a }, { shell: b }], capture_outputs: { x: 1, y: { command_index: 0 } } }";
  expect(workflowOf(`${phase}\n${MAP}`).setup.map(({ capture }) => capture?.name)).toEqual(["y", "x"]);
});

describe("the map phase", () => {
  test.each([
    ["a number as text", 'max_parallel: "3"', "max_parallel: 3"],
    [
      "a variable for a number",
      "max_parallel: $WORKERS\nmax_items: '${WORKERS}'",
      "max_parallel: 7\nmax_items: 7",
    ],
    ["a default for a number", "max_parallel: '${LIMIT:-4}'", "max_parallel: 4"],
    ["a time limit with a unit", "agent_timeout_secs: 10m", "agent_timeout_secs: 600"],
    ["timeout_per_agent", "timeout_per_agent: 60s", "agent_timeout_secs: 60"],
    ["an empty json_path", 'json_path: ""', ""],
    ["distinct by a field of the item", "distinct: item.id", "distinct: id"],
    [
      "bare fields",
      "filter: severity == 'high' OR score >= 5",
      `filter: 'asText(item.?severity.orValue(null)) == "high" || asNumber(item.?score.orValue(null)) >= 5'`,
    ],
  ])("%s", (_name, theirs, ours) => {
    const environment = (name: string) => (name === "WORKERS" ? "7" : undefined);
    expect(workflowOf(withMapKey(theirs), { environment }).map).toEqual(workflowOf(withMapKey(ours)).map);
  });

  test("a command as input", () => {
    const { map } = workflowOf(MAP.replace("items.json", "find . -name '*.js'"));
    expect(map.input).toEqual({ command: "find . -name '*.js'" });
  });

  test("limits of commands become limits of steps", () => {
    const config =
      "timeout_config: { agent_timeout_secs: 600, timeout_action: skip, command_timeouts: { claude: 300, shell: 60, claude_1: 9 } }";
    const text = withMapKey(config).replace(
      "- shell: work",
      "- claude: /a\n    - claude: /b\n    - shell: c\n    - shell: d\n      timeout: 5",
    );
    const { map, policy } = workflowOf(text);
    expect(map.agentTimeoutMs).toBe(600_000);
    expect(map.steps.map(({ timeoutMs }) => timeoutMs)).toEqual([300_000, 9000, 60_000, 5000]);
    expect(policy.onTimeout).toBe("skip");
  });

  test("a limit for each command", () => {
    const { map } = workflowOf(
      withMapKey("timeout_config: { agent_timeout_secs: 100, timeout_policy: per_command }"),
    );
    expect([map.agentTimeoutMs, map.steps[0]?.timeoutMs]).toEqual([undefined, 100_000]);
  });
});

describe("a sequential workflow", () => {
  const ours = "steps:\n  - shell: a\n  - claude: /b\n";
  test.each([
    ["a list", "- shell: a\n- /b\n"],
    ["commands", "commands:\n  - shell: a\n  - claude: /b\n"],
    ["a name without a slash", "- shell: a\n- b\n"],
    ["a wrapper", "workflow:\n  commands:\n    - shell: a\n    - /b\n"],
    ["a mode", "mode: sequential\ncommands:\n  - shell: a\n  - name: b\n"],
  ])("%s", (_name, theirs) => {
    expect(workflowOf(theirs)).toEqual(workflowOf(ours));
  });

  test("runs once, in one worktree, and stops at the first failure", () => {
    const { map, policy } = workflowOf(ours);
    expect(map).toMatchObject({ isSequential: true, maxParallel: 1, isolation: "worktree" });
    expect(map.input).toEqual({ items: [{ id: "steps", data: "steps" }] });
    expect(policy).toMatchObject({ maxAttempts: 1, continueOnFailure: false });
    expect(workflowOf(`${ours}retry: { attempts: 4 }\n`).policy.maxAttempts).toBe(4);
  });

  test("its argument is the item", () => {
    const [, step] = workflowOf("- shell: a\n- claude: /implement ${ARG} $ARG\n").map.steps;
    expect(step?.action).toMatchObject({ prompt: "/implement ${item} $ARG" });
  });

  test.each([
    ["steps: []", "the list of steps is empty"],
    [
      "steps: [{ shell: a }]\nmap: { input: i, agent_template: [{ shell: b }] }",
      "a workflow has either map or steps; write setup for steps before the items",
    ],
    [
      "isolation: none\nmap: { input: i, agent_template: [{ shell: b }] }",
      "isolation has no effect here; write it in map",
    ],
  ])("%s is refused", (text, message) => {
    const parsed = read(text);
    expect("problems" in parsed && parsed.problems.map((problem) => problem.message)).toEqual([message]);
  });
});

describe("the policy", () => {
  test.each([
    [
      "keys at the top",
      `on_item_failure: skip\ncontinue_on_failure: false\nmax_failures: 3\nfailure_threshold: 0.5\n${MAP}`,
    ],
    [
      "keys in map",
      withMapKey(
        "on_item_failure: skip\ncontinue_on_failure: false\nmax_failures: 3\nfailure_threshold: 0.5",
      ),
    ],
  ])("%s", (_name, text) => {
    const policy = { onItemFailure: "skip", continueOnFailure: false, maxFailures: 3, failureThreshold: 0.5 };
    expect(workflowOf(text).policy).toMatchObject(policy);
  });

  test("retry_on_failure counts retries", () => {
    expect(workflowOf(withMapKey("retry_on_failure: 2")).policy.maxAttempts).toBe(3);
  });

  test.each([
    ["{ exponential: { initial: 2s, multiplier: 3 } }", { kind: "exponential", initialMs: 2000, factor: 3 }],
    [
      "{ type: exponential, initial: 2s, multiplier: 3 }",
      { kind: "exponential", initialMs: 2000, factor: 3 },
    ],
    ["{ fixed: { delay: 5s } }", { kind: "fixed", delayMs: 5000 }],
    ["{ linear: { initial: 1s, increment: 500ms } }", { kind: "linear", initialMs: 1000, stepMs: 500 }],
    ["{ fibonacci: { initial: 3s } }", { kind: "fibonacci", initialMs: 3000 }],
    ["{ custom: { delays: [1s, 4s] } }", { kind: "list", delaysMs: [1000, 4000] }],
    ["fixed", { kind: "fixed", delayMs: 1000 }],
  ])("backoff: %s", (backoff, expected) => {
    const text = `${MAP}error_policy:\n  retry_config: { max_attempts: 4, backoff: ${backoff} }\n`;
    expect(workflowOf(text).policy).toMatchObject({ maxAttempts: 4, backoff: expected });
  });
});

describe("the environment", () => {
  const text = (head: string) => `${head}\nmode: mapreduce\n${MAP.replace("work", '"echo ${NAME} $NAME"')}`;
  const scriptOf = (head: string, options?: RewriteOptions) => {
    const { action } = workflowOf(text(head), options).map.steps[0] ?? {};
    return action?.kind === "shell" ? action.script : undefined;
  };

  test.each(["env: { NAME: a }", "secrets: [NAME]", "profiles: { dev: { NAME: a } }"])(
    "${NAME} of %s",
    (head) => {
      expect(scriptOf(head)).toBe("echo ${env.NAME} $NAME");
    },
  );

  test("a condition reads the environment", () => {
    const head = "env: { MODE: a }\ncommands: [{ shell: a, when: \"${MODE} == 'a' && ${CI} == 'true'\" }]\n";
    expect(workflowOf(head).map.steps[0]?.when).toBe(
      'asText(vars.?env.?MODE.orValue(null)) == "a" && asText(vars.?env.?CI.orValue(null)) == "true"',
    );
  });

  test("a variable may have a value for each profile, or depend on a condition", () => {
    const url = "env: { NAME: { default: a, prod: b } }";
    expect(workflowOf(text(url)).env).toEqual({ NAME: "a" });
    expect(workflowOf(text(`${url}\nprofiles: { prod: {} }`), { profile: "prod" }).env).toEqual({
      NAME: "b",
    });
    const level = "env: { NAME: { condition: \"env.CI == 'true'\", when_true: a, when_false: b } }";
    expect(workflowOf(text(level), { environment: () => "true" }).env).toEqual({ NAME: "a" });
    expect(read(text(level))).toMatchObject({
      workflow: { env: { NAME: "b" } },
      warnings: [{ message: expect.stringContaining("evaluated before the run") }],
    });
  });

  test("a profile adds its variables, and replaces those of env", () => {
    const head = "env: { NAME: a, OTHER: b }\nprofiles: { dev: { description: for development, NAME: c } }";
    expect(workflowOf(text(head)).env).toEqual({ NAME: "a", OTHER: "b" });
    expect(workflowOf(text(head), { profile: "dev" }).env).toEqual({ NAME: "c", OTHER: "b" });
    const unknown = read(text(head), { profile: "dve" });
    expect("problems" in unknown && unknown.problems[0]).toMatchObject({
      message: 'there is no profile "dve". Profiles: dev',
      suggestion: "dev",
    });
  });

  test("a profile decides about settings", () => {
    const map = withMapKey("max_parallel: $WORKERS");
    const head = "env: { WORKERS: 2 }\nprofiles: { prod: { WORKERS: 20 } }\n";
    expect(workflowOf(head + map).map.maxParallel).toBe(2);
    expect(workflowOf(head + map, { profile: "prod" }).map.maxParallel).toBe(20);
  });

  test.each([
    ["secrets: { NAME: '${env:TOKEN}' }", { NAME: "${env.TOKEN}" }],
    ["secrets: { NAME: '${env:NAME}' }", {}],
    ["secrets: { NAME: { provider: env, key: TOKEN } }", { NAME: "${env.TOKEN}" }],
    ["secrets: { NAME: { secret: true, value: abcdef } }", { NAME: "abcdef" }],
    ["env: { NAME: { secret: true, value: abcdef } }", { NAME: "abcdef" }],
  ])("%s", (head, env) => {
    expect(workflowOf(text(head))).toMatchObject({ env, secrets: ["NAME"] });
  });

  test("the variables of a profile may be under env", () => {
    const head = "profiles: { dev: { env: { NAME: c }, description: for development } }";
    expect(workflowOf(text(head), { profile: "dev" }).env).toEqual({ NAME: "c" });
  });

  test("a secret of another provider must be in the environment when the workflow runs", () => {
    const head = text("secrets: { NAME: { provider: vault, key: a/b } }");
    const parsed = read(head, { isRun: true, environment: () => undefined });
    expect("problems" in parsed && parsed.problems[0]?.message).toContain("Put NAME into the environment");
    const workflow = workflowOf(head, { isRun: true, environment: () => "abcdef" });
    expect(workflow.secrets).toEqual(["NAME"]);
  });

  test("a secret from a file", () => {
    const workflow = workflowOf(text("secrets: { NAME: { provider: file, key: /run/secrets/x } }"));
    expect(workflow).toMatchObject({ secrets: ["NAME"], secretFiles: { NAME: "/run/secrets/x" } });
  });

  test("a missing file is skipped, unless it is required", () => {
    const head = "env_files: [.env, { path: .env.local, required: true }]";
    expect(workflowOf(text(`env: { NAME: a }\n${head}`)).envFiles).toEqual([
      { path: ".env", isOptional: true },
      ".env.local",
    ]);
  });
});

describe("conditions", () => {
  const matches = (filter: string, item: object) => {
    const text = workflowOf(withMapKey(`filter: ${JSON.stringify(filter)}`)).map.filter ?? "";
    const compiled = compileExpression(text, FILTER_VARIABLES);
    return compiled.ok ? compiled.evaluate({ item: item as never }) : compiled;
  };

  test.each([
    ["status = 'active'", { status: "active" }, { status: "idle" }],
    ["priority > 5", { priority: 6 }, { priority: "high" }],
    ["priority > 5 AND NOT is_null(owner)", { priority: 6, owner: "a" }, { priority: 6 }],
    ["!(status == 'archived') && score >= 1", { score: 1 }, { score: 1, status: "archived" }],
    ["a.b.c >= 2", { a: { b: { c: 2 } } }, { a: 3 }],
    ["status in ['a', 'b']", { status: "b" }, { status: "c" }],
    ["contains(name, 'es') || name contains 'x'", { name: "test" }, { name: "tomcat" }],
    ["tags contains 'x'", { tags: ["x", "y"] }, { tags: ["xy"] }],
    ["starts_with(path, '/usr') and ends_with(path, '.rs')", { path: "/usr/a.rs" }, { path: "/usr/a.js" }],
    ["matches(path, '\\.rs$')", { path: "a.rs" }, { path: "a.rsx" }],
    ["path matches '^src/'", { path: "src/a" }, { path: "lib/src/a" }],
    ["length(tags) == 2", { tags: [1, 2] }, { tags: [1] }],
    ["is_number(score) && score > 1", { score: 2 }, { score: "2" }],
    ["is_string(x) or is_array(x) or is_object(x) or is_bool(x)", { x: [] }, { x: 1 }],
    ["active == true", { active: true }, {}],
    ["owner == null", {}, { owner: "a" }],
  ])("%s", (filter, match, other) => {
    expect([matches(filter, match), matches(filter, other)]).toEqual([
      { ok: true, value: true },
      { ok: true, value: false },
    ]);
  });

  test("a misspelt item is an error, not a field", () => {
    const parsed = read(withMapKey("filter: itm.x > 3"));
    expect("problems" in parsed && parsed.problems.map(({ message }) => message)).toEqual([
      'unknown variable "itm"',
    ]);
  });

  test("without a sign of Prodigy a bare field is an error", () => {
    expect("problems" in read(withMapKey("filter: x > 3").replace("mode: mapreduce\n", ""))).toBe(true);
  });
});

describe("what differs is reported", () => {
  const warningsOf = (text: string, options?: RewriteOptions) =>
    read(text, options).warnings.map(({ line, message }) => `${line}: ${message}`);

  test.each([
    [
      "error_collection",
      `error_policy: { error_collection: aggregate }\n${MAP}`,
      /^1: error_collection has no effect/,
    ],
    ["version", `version: 1\n${MAP}`, /^1: version has no effect/],
    ["checkpoint", `checkpoint: { max_age: 1 }\n${MAP}`, /^1: checkpoint has no effect/],
    [
      "a secret of a vault",
      `secrets: { NAME: { provider: vault, key: a/b } }\n${MAP}`,
      /^1: Redrive cannot read secrets from vault.*write secrets: \[NAME\]/,
    ],
    [
      "a capture of a handler",
      withStep("shell: a\non_failure: { commands: [{ shell: b }], capture: { x: y }, fail_workflow: true }"),
      /^6: the capture of a handler is the output of its last step/,
    ],
    [
      "a list of steps as handler",
      withStep("shell: a\non_failure: [{ shell: b }]"),
      /^6: fail_workflow is not set/,
    ],
    [
      "a file outside of the folder",
      `env: { OUT: /tmp/x }\n${withStep("write_file: { path: '${OUT}/a', content: c }")}`,
      /^6: path must be below the folder of the run/,
    ],
    [
      "a folder outside of the folder",
      withStep("shell: a\nworking_dir: /tmp"),
      /^6: working_dir must be below the folder/,
    ],
    ["context", withStep("claude: /a\ncontext: { file: x }"), /^6: context has no effect/],
    [
      "a format without a name",
      withStep("shell: a\ncapture_output: true\ncapture_format: json"),
      /^7: capture_format has no effect without the name/,
    ],
    [
      "settings of an analysis in validate",
      withStep("shell: a\nvalidate: { max_cache_age: 3 }"),
      /^6: max_cache_age has no effect/,
    ],
    ["a command as input", MAP.replace("items.json", "ls -1"), /^2: input contains spaces/],
    [
      "a filter over a field that may be missing",
      `retry_defaults: { attempts: 2 }\n${withMapKey("filter: item.x > 3").replace("mode: mapreduce\n", "")}`,
      /^3: an item without a field/,
    ],
    [
      "a handler without fail_workflow",
      withStep("shell: a\non_failure: { shell: b }"),
      /^6: fail_workflow is not set: as in Prodigy, the workflow continues/,
    ],
    [
      "a handler without fail_workflow in a file without mode or commands",
      "steps:\n  - cwd: w\n    shell: a\n    on_failure: { claude: /b }\n",
      /^4: fail_workflow is not set: the step is run again .* Prodigy would continue/,
    ],
    ["a failure that is not ignored", withStep("shell: a\non_failure: false"), /^6: on_failure: false means/],
    ["a timeout at the top", `mode: mapreduce\ntimeout: 60\n${MAP}`, /^2: timeout has no effect/],
    ["max_parallel at the top", `mode: mapreduce\nmax_parallel: 5\n${MAP}`, /^2: max_parallel has no effect/],
    ["analyze", withStep("analyze: { force_refresh: true }"), /^5: analyze has no effect/],
    ["auto_commit", withStep("shell: a\nauto_commit: true"), /^6: auto_commit has no effect/],
    [
      "expected_schema",
      withStep("shell: a\nvalidate: { shell: b, expected_schema: s.json }"),
      /^6: expected_schema has no effect/,
    ],
    [
      "a prompt for a person",
      withStep("shell: a\nvalidate: { shell: b, on_incomplete: { shell: c, prompt: go? } }"),
      /^6: prompt has no effect/,
    ],
    [
      "a grace period",
      withMapKey("timeout_config: { cleanup_grace_period_secs: 3 }"),
      /^3: cleanup_grace_period_secs has no effect/,
    ],
    [
      "a variable that is not set",
      withMapKey("max_parallel: $WORKERS"),
      /^3: \$WORKERS: the variable WORKERS is not set here/,
    ],
    [
      "a name that nothing defines",
      withStep("claude: /do ${spec_file}"),
      /^5: \$\{spec_file\} is not defined in the workflow/,
    ],
    [
      "a prompt that reads the environment",
      withStep("claude: /do ${TARGET}"),
      /^5: \$\{TARGET\} is read from the environment/,
    ],
  ])("%s", (_name, text, message) => {
    const parsed = read(text);
    expect("problems" in parsed ? parsed.problems : []).toEqual([]);
    expect(warningsOf(text)).toEqual([expect.stringMatching(message)]);
  });

  test("a workflow of Redrive has no warnings", () => {
    expect(warningsOf(`${MAP}      on_failure: { shell: b }\n`)).toEqual([]);
  });

  test.each([
    [
      "a capture of a command that is not there",
      "setup: { commands: [{ shell: a }], capture_outputs: { x: 3 } }",
      /there is no command with this index\. Write capture: NAME at the step/,
    ],
    [
      "a variable of the environment without a value",
      "env: { N: { cache: true } }",
      /the value of N must be a text\. Compute it in a step with capture: N/,
    ],
    [
      "an import",
      "imports: [{ path: a.yml }]",
      /imports: the other file cannot be read here\. Copy the steps/,
    ],
    ["a base", "extends: base", /extends: the other file cannot be read here\. Copy the keys/],
    [
      "a template",
      "template: { name: a, source: b }",
      /template: the other file cannot be read here\. Copy its steps/,
    ],
    ["templates", "templates: { a: [] }", /templates: .* Write the steps of the templates/],
    ["workflows inside", "sub_workflows: { a: { source: b } }", /sub_workflows: .* shell: redrive run FILE/],
    ["workflows in a file", "workflows: { a: { source: b } }", /workflows: .* shell: redrive run FILE/],
    [
      "an output without a pattern",
      "setup: [{ claude: /a, id: x, outputs: { y: { other: z } } }]",
      /this output cannot be read\. Write file_pattern/,
    ],
    ["a named handler", "on_item_failure: custom:mine", /Write on_item_failure: custom, and custom_handler/],
  ])("%s is refused with what to write instead", (_name, head, message) => {
    const parsed = read(`${head}\n${MAP}`);
    expect("problems" in parsed && parsed.problems).toEqual([
      expect.objectContaining({ line: 1, message: expect.stringMatching(message) as string }),
    ]);
  });

  test("a missing variable of the environment stops a run", () => {
    const run = { isRun: true };
    const [number, name] = [
      read(withMapKey("max_parallel: $WORKERS"), run),
      read(withStep("claude: /do ${spec}"), run),
    ];
    expect("problems" in number && number.problems[0]?.message).toBe(
      "$WORKERS: the variable WORKERS is not set. Set it under env, or in the environment",
    );
    expect("problems" in name && name.problems[0]?.message).toContain('there is no variable "spec"');
  });
});
