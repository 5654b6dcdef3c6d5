/** A workflow file as users write it, in every form that is accepted, and what becomes of it. */
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/retry/policy.ts";
import type { Step, Workflow } from "../../src/workflow/model.ts";
import { parseWorkflow, problemText, requireWorkflow } from "../../src/workflow/read-workflow.ts";

/** The workflow, or a failed test that lists its problems. */
function workflowOf(text: string): Workflow {
  const parsed = parseWorkflow(text, { file: "work.yml" });
  if ("workflow" in parsed) return parsed.workflow;
  throw new Error(parsed.problems.map((problem) => problemText(problem, "work.yml")).join("\n"));
}

/** The first step of the map phase, written with this indentation. */
function stepOf(yaml: string): Step {
  const lines = yaml.split("\n").map((line, index) => (index === 0 ? `    - ${line}` : `      ${line}`));
  const [step] = workflowOf(`map:\n  input: i.json\n  agent_template:\n${lines.join("\n")}\n`).map.steps;
  if (!step) throw new Error("there is no step");
  return step;
}

const BARE = { env: {}, onSuccess: [], onExitCode: {}, commitRequired: false };

test("the shortest workflow has every default", () => {
  expect(workflowOf("map:\n  input: items.json\n  agent_template:\n    - shell: echo hi\n")).toEqual({
    name: "work",
    env: {},
    secrets: [],
    envFiles: [],
    setup: [],
    map: {
      input: { file: "items.json" },
      sortBy: [],
      offset: 0,
      maxParallel: 10,
      isolation: "worktree",
      keep: [],
      steps: [{ ...BARE, action: { kind: "shell", script: "echo hi" } }],
    },
    reduce: [],
    merge: [],
    phaseTimeoutMs: {},
    policy: DEFAULT_POLICY,
    onItemFailureSteps: [],
  });
});

const EVERYTHING = `
name: nightly
mode: mapreduce
env: { LEVEL: 3, DEBUG: true, REGION: eu }
secrets: [API_KEY]
env_files: .env
setup:
  commands:
    - shell: ls
      capture_output: files
      capture_format: lines
  timeout: 5m
map:
  input: { command: "cat \${setup.files[0]}" }
  json_path: $.items[*]
  id_field: path
  filter: item.priority > 3 && has(item.name)
  sort_by: "priority DESC NULLS FIRST, meta.size"
  distinct: path
  offset: 2
  max_items: 50
  max_parallel: 4
  agent_timeout_secs: 1.5
  isolation: none
  keep: [node_modules]
  agent_template:
    commands:
      - claude: "/fix \${item.path}"
        id: fix
        commit_required: true
reduce:
  - shell: echo \${map.total} \${map.results_file} \${setup.files}
merge:
  commands: [{ shell: "true" }]
error_policy:
  on_item_failure: { custom: { shell: 'notify \${item_id} \${error}' } }
  continue_on_failure: false
  max_failures: 7
  failure_threshold: 0.25
  retry_config: { max_attempts: 5, backoff: fibonacci, initial_delay: 2s, max_delay: 1m, jitter: false }
  circuit_breaker: { failure_threshold: 2, success_threshold: 1, timeout: 10s, half_open_requests: 4 }
retry: { attempts: 9 }
`;

test("every key is read", () => {
  const workflow = workflowOf(EVERYTHING);
  expect(workflow).toMatchObject({
    name: "nightly",
    env: { LEVEL: "3", DEBUG: "true", REGION: "eu" },
    secrets: ["API_KEY"],
    envFiles: [".env"],
    setup: [{ capture: { name: "files", format: "lines" } }],
    phaseTimeoutMs: { setup: 300_000 },
    merge: [{ action: { kind: "shell", script: "true" } }],
    onItemFailureSteps: [{ action: { script: "notify ${item_id} ${error}" } }],
  });
  expect(workflow.map).toMatchObject({
    input: { command: "cat ${setup.files[0]}" },
    jsonPath: "$.items[*]",
    idField: "path",
    filter: "item.priority > 3 && has(item.name)",
    sortBy: [
      { path: "priority", descending: true, nulls: "first" },
      { path: "meta.size", descending: false, nulls: "last" },
    ],
    distinct: "path",
    offset: 2,
    maxItems: 50,
    maxParallel: 4,
    agentTimeoutMs: 1500,
    isolation: "none",
    keep: ["node_modules"],
  });
  expect(workflow.policy).toEqual({
    maxAttempts: 5,
    backoff: { kind: "fibonacci", initialMs: 2000, maxMs: 60_000, jitter: false },
    onItemFailure: "custom",
    lossesMax: DEFAULT_POLICY.lossesMax,
    continueOnFailure: false,
    maxFailures: 7,
    failureThreshold: 0.25,
    breaker: { failureThreshold: 2, successThreshold: 1, timeoutMs: 10_000, halfOpenRequests: 4 },
  });
});

test("a workflow is plain JSON, so that a job can keep it", () => {
  const workflow = workflowOf(EVERYTHING);
  expect(JSON.parse(JSON.stringify(workflow))).toEqual(workflow);
});

test("claude runs in print mode with a JSON log, and without asking for permission", () => {
  const { action } = stepOf('claude: "/fix ${item.path}"');
  expect(action).toEqual({
    kind: "agent",
    command: ["claude", "--print", "--output-format", "stream-json", "--verbose"],
    prompt: "/fix ${item.path}",
    protocol: "claude",
  });
  expect(JSON.stringify(action)).not.toContain("dangerously");
});

describe("the forms of a step", () => {
  test.each([
    [
      "agent: { command: codex  exec, prompt: 'do ${item}' }",
      { kind: "agent", command: ["codex", "exec"], prompt: "do ${item}", protocol: "plain" },
    ],
    [
      "agent: { command: [my agent, -p], prompt: x }",
      { kind: "agent", command: ["my agent", "-p"], prompt: "x", protocol: "plain" },
    ],
    [
      'write_file: { path: "${item_id}.txt", content: "${item}", mode: "0600" }',
      { kind: "write_file", path: "${item_id}.txt", content: "${item}", mode: 0o600 },
    ],
    [
      "foreach: { list: [1, a], do: [{ shell: 'echo ${item}' }], parallel: 2, max_items: 9 }",
      {
        kind: "foreach",
        items: [1, "a"],
        steps: [{ ...BARE, action: { kind: "shell", script: "echo ${item}" } }],
        parallel: 2,
        maxItems: 9,
      },
    ],
    ["foreach: { items: '${item.files}', steps: [{ shell: x }] }", { items: "${item.files}", parallel: 1 }],
  ])("%s", (yaml, action) => {
    expect(stepOf(yaml).action).toMatchObject(action);
  });

  test("options", () => {
    const step = stepOf(
      [
        "shell: test",
        "timeout: 90",
        "env: { A: 1 }",
        "working_dir: sub",
        "when: item.x == 1",
        "capture: out",
        "output_file: out.txt",
        "on_success: { shell: 'echo ${out}' }",
        "on_exit_code: { 0: [{ shell: a }], 75: { shell: b } }",
        "retry: { attempts: 2, backoff: { type: fixed, initial_delay: 1s } }",
      ].join("\n"),
    );
    expect(step).toMatchObject({
      timeoutMs: 90_000,
      env: { A: "1" },
      workingDir: "sub",
      when: "item.x == 1",
      capture: { name: "out", format: "string" },
      outputFile: "out.txt",
      onSuccess: [{ action: { script: "echo ${out}" } }],
      onExitCode: { 0: [{ action: { script: "a" } }], 75: [{ action: { script: "b" } }] },
      retry: { maxAttempts: 2, backoff: { kind: "fixed", delayMs: 1000, jitter: false } },
    });
  });

  test.each([
    ["{ shell: mend }", 1, true, 1],
    ["[{ shell: mend }, { shell: again }]", 1, true, 2],
    ["{ shell: mend, max_attempts: 3, fail_workflow: false }", 3, false, 1],
    ["{ steps: [{ shell: mend }, { shell: b }], max_attempts: 0 }", 0, true, 2],
    ["{ commands: [{ shell: mend }], fail_workflow: false }", 1, false, 1],
  ])("on_failure: %s", (yaml, maxAttempts, failWorkflow, count) => {
    const { onFailure } = stepOf(`shell: test\non_failure: ${yaml}`);
    expect(onFailure).toMatchObject({ maxAttempts, failWorkflow });
    expect(onFailure?.steps).toHaveLength(count);
    expect(onFailure?.steps[0]).toEqual({ ...BARE, action: { kind: "shell", script: "mend" } });
  });

  test("validate with a threshold and steps below it", () => {
    const { validate } = stepOf(
      "shell: work\nvalidate:\n  shell: score\n  threshold: 80\n  on_incomplete: { claude: 'add ${validation.missing}', max_attempts: 2 }",
    );
    expect(validate).toMatchObject({
      step: { action: { kind: "shell", script: "score" } },
      threshold: 80,
      onIncomplete: { maxAttempts: 2, steps: [{ action: { prompt: "add ${validation.missing}" } }] },
    });
    expect(stepOf("shell: work\nvalidate: { shell: score }").validate?.threshold).toBe(100);
  });
});

describe("backoff", () => {
  test.each([
    ["{}", { kind: "exponential", initialMs: 1000, factor: 2, maxMs: 30_000, jitter: true }],
    [
      "{ backoff: exponential, initial_delay: 5m, multiplier: 3 }",
      { kind: "exponential", initialMs: 300_000, factor: 3, maxMs: 300_000, jitter: true },
    ],
    ["{ backoff: linear, jitter: false }", { kind: "linear", initialMs: 1000, stepMs: 1000, jitter: false }],
    ["{ backoff: fixed, initial_delay: 250ms }", { kind: "fixed", delayMs: 250 }],
    ["{ delays: [1, 5s, 1m] }", { kind: "list", delaysMs: [1000, 5000, 60_000] }],
    ["{ backoff: { type: exponential, factor: 1.5 } }", { kind: "exponential", factor: 1.5 }],
  ])("retry: %s", (yaml, backoff) => {
    expect(stepOf(`shell: x\nretry: ${yaml}`).retry?.backoff).toMatchObject(backoff);
  });

  test("the retry of the file is the default of retry_config", () => {
    const text =
      "map:\n  input: i\n  agent_template: [{ shell: x }]\nretry: { max_attempts: 6, backoff: fixed }\n";
    expect(workflowOf(text).policy).toMatchObject({ maxAttempts: 6, backoff: { kind: "fixed" } });
    const own = workflowOf(`${text}error_policy: { retry_config: { max_attempts: 2 } }\n`).policy;
    expect(own).toMatchObject({ maxAttempts: 2, backoff: { kind: "exponential" } });
  });
});

test("on_item_failure: custom takes its steps from custom_handler too", () => {
  const { policy, onItemFailureSteps } = workflowOf(
    "map:\n  input: i\n  agent_template: [{ shell: x }]\nerror_policy:\n  on_item_failure: custom\n  custom_handler: [{ shell: a }, { shell: b }]\n",
  );
  expect(policy.onItemFailure).toBe("custom");
  expect(onItemFailureSteps).toHaveLength(2);
});

test("an anchor can be used again", () => {
  const text = "setup: &steps\n  - shell: x\nmap:\n  input: i\n  agent_template: *steps\n";
  expect(workflowOf(text).map.steps).toEqual(workflowOf(text).setup);
});

test("requireWorkflow returns the workflow, or one error with every problem", () => {
  expect(requireWorkflow(EVERYTHING, "work.yml").name).toBe("nightly");
  expect(() => requireWorkflow("mode: x\nmap: {}\n", "dir/work.yml")).toThrow(
    expect.objectContaining({
      code: "usage",
      message: expect.stringMatching(
        /^dir\/work\.yml has 3 problems:\n {2}dir\/work\.yml:1:7: mode: [\s\S]*:2:6: map: /,
      ),
    }),
  );
});
