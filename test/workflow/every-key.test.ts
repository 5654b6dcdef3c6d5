/** Every key of the format, and every key of Prodigy's, changes the workflow or is reported: none is accepted and ignored. */
import { describe, expect, test } from "vitest";
import { parseWorkflow } from "../../src/workflow/read-workflow.ts";
import { workflowJsonSchema } from "../../src/workflow/yaml-form.ts";

type Keys = Readonly<Record<string, unknown>>;

/** What a run and a reader see of a workflow: itself, its problems and its warnings. */
function seen(workflow: Keys): string {
  return JSON.stringify(parseWorkflow(JSON.stringify(workflow), { file: "w.yml" }));
}

function isValid(workflow: Keys): boolean {
  return "workflow" in parseWorkflow(JSON.stringify(workflow), { file: "w.yml" });
}

const STEP = { shell: "a" };
const MAP = { input: "items.json", agent_template: [STEP] };

/** Where the keys of a part of the format stand, and a value for each that is not the default. */
interface Part {
  readonly around: (keys: Keys) => Keys;
  readonly values: Keys;
}

const inStep = (step: Keys) => ({ map: { ...MAP, agent_template: [step] } });

const OURS: Readonly<Record<string, Part>> = {
  root: {
    around: (keys) =>
      "steps" in keys || "iterations" in keys || "isolation" in keys
        ? { steps: [STEP], ...keys }
        : { map: MAP, ...keys },
    values: {
      name: "n",
      env: { A: "b" },
      secrets: ["S"],
      env_files: ".env",
      setup: [STEP],
      steps: [{ shell: "other" }],
      isolation: "none",
      iterations: 2,
      map: { ...MAP, input: "other.json" },
      verify: [STEP],
      reduce: [STEP],
      merge: [STEP],
      error_policy: { max_failures: 2 },
      budget: { usd: 1 },
      retry: { max_attempts: 2 },
    },
  },
  map: {
    around: (keys) => ({ map: { ...MAP, ...keys } }),
    values: {
      input: "b.json",
      json_path: "$.a",
      id_field: "id",
      filter: "item.x > 1",
      sort_by: "x",
      distinct: true,
      offset: 1,
      max_items: 1,
      max_parallel: 1,
      agent_timeout_secs: 1,
      isolation: "none",
      remote: "origin",
      keep: ["a"],
      keep_worktrees: "never",
      agent_template: [{ shell: "b" }],
    },
  },
  step: {
    around: (keys) =>
      inStep(
        ["claude", "agent", "write_file", "foreach"].some((key) => key in keys) ? keys : { ...STEP, ...keys },
      ),
    values: {
      shell: "b",
      claude: "p",
      agent: { command: "a", prompt: "p" },
      write_file: { path: "p", content: "c" },
      id: "i",
      name: "n",
      timeout: "1s",
      continue_session: undefined,
      silence_timeout: "1s",
      env: { A: "b" },
      working_dir: "w",
      when: "1 == 1",
      capture: "c",
      capture_output: "c",
      capture_format: undefined,
      retry: { max_attempts: 2 },
      commit_required: true,
      output_file: "o",
      foreach: { items: ["a"], do: [STEP] },
      on_failure: [STEP],
      on_success: [STEP],
      on_exit_code: { 1: [STEP] },
      validate: STEP,
    },
  },
  retry: {
    around: (keys) => inStep({ ...STEP, retry: { backoff: kindOf(keys), ...keys } }),
    values: {
      max_attempts: 2,
      attempts: 2,
      backoff: "fixed",
      initial_delay: "2s",
      max_delay: "9s",
      factor: 3,
      multiplier: 3,
      increment: "2s",
      jitter: false,
      delays: ["2s"],
      retry_on: ["x"],
      retry_budget: "1m",
    },
  },
  error_policy: {
    around: (keys) => ({ map: MAP, error_policy: { ...more(keys), ...keys } }),
    values: {
      on_item_failure: "skip",
      custom_handler: [{ shell: "b" }],
      continue_on_failure: false,
      max_failures: 1,
      failure_threshold: 0.5,
      retry_config: { max_attempts: 2 },
      on_outage: "wait",
      on_timeout: "skip",
      max_outage: "1h",
      circuit_breaker: { failure_threshold: 2 },
    },
  },
  budget: {
    around: (keys) => ({ map: MAP, budget: { turns: 9, ...keys } }),
    values: { usd: 1, tokens: 1, turns: 1, attempt: { turns: 1 } },
  },
  "budget of an attempt": {
    around: (keys) => ({ map: MAP, budget: { attempt: { turns: 9, ...keys } } }),
    values: { usd: 1, tokens: 1, turns: 1 },
  },
  circuit_breaker: {
    around: (keys) => ({ map: MAP, error_policy: { circuit_breaker: keys } }),
    values: { failure_threshold: 2, success_threshold: 2, timeout: "1s", half_open_requests: 2 },
  },
  on_item_failure: {
    around: (keys) => ({
      map: MAP,
      error_policy: { on_item_failure: "custom" in keys ? keys : { custom: [STEP] } },
    }),
    values: { custom: [{ shell: "b" }] },
  },
  backoff: {
    around: (keys) => inStep({ ...STEP, retry: { backoff: { type: kindOf(keys), ...keys } } }),
    values: {
      type: "fixed",
      initial_delay: "2s",
      max_delay: "9s",
      factor: 3,
      multiplier: 3,
      increment: "2s",
      jitter: false,
      delays: ["2s"],
    },
  },
  agent: {
    around: (keys) =>
      inStep({
        agent: { command: "a", prompt: "p", ...keys },
        ...("resume" in keys && { continue_session: true }),
      }),
    values: { command: "b", resume: "b --resume ${agent.session}", prompt: "q", prompt_by: "argument" },
  },
  write_file: {
    around: (keys) => inStep({ write_file: { path: "p", content: "{}", ...keys } }),
    values: { path: "q", content: "[]", mode: "0600", format: "json" },
  },
  foreach: {
    around: (keys) =>
      inStep({
        foreach: {
          ...("list" in keys ? {} : { items: ["a"] }),
          ...("steps" in keys ? {} : { do: [STEP] }),
          ...keys,
        },
      }),
    values: {
      items: ["b"],
      list: ["b"],
      steps: [{ shell: "b" }],
      do: [{ shell: "b" }],
      parallel: 2,
      max_items: 1,
      continue_on_error: true,
      own_item: true,
    },
  },
  "items of foreach": {
    around: (keys) => inStep({ foreach: { items: "command" in keys ? keys : { command: "a" }, do: [STEP] } }),
    values: { command: "b" },
  },
  on_failure: {
    around: (keys) =>
      inStep({
        ...STEP,
        on_failure: { ...("steps" in keys || "commands" in keys ? {} : { steps: [STEP] }), ...keys },
      }),
    values: {
      steps: [{ shell: "b" }],
      commands: [{ shell: "b" }],
      max_attempts: 2,
      fail_workflow: false,
      handler_failure_fatal: true,
    },
  },
  validate: {
    around: (keys) => inStep({ ...STEP, validate: { ...("steps" in keys ? {} : STEP), ...keys } }),
    values: {
      steps: [{ shell: "b" }],
      result_file: "r.json",
      threshold: 50,
      on_incomplete: [{ shell: "b" }],
    },
  },
  verify: {
    around: (keys) => ({ map: MAP, verify: { steps: [STEP], ...keys } }),
    values: { steps: [{ shell: "b" }], batch: 4, timeout: "1s" },
  },
  "a phase": {
    around: (keys) => ({ map: MAP, setup: { commands: [STEP], ...keys } }),
    values: { commands: [{ shell: "b" }], timeout: "1s" },
  },
  merge: {
    around: (keys) => ({ map: MAP, merge: { commands: [STEP], ...keys } }),
    values: {
      commands: [{ shell: "b" }],
      timeout: "1s",
      strategy: "squash",
      on_conflict: [STEP],
      message: "m",
    },
  },
  "a secret": {
    around: (keys) => ({ map: MAP, secrets: [{ name: "S", file: "f", ...keys }] }),
    values: { name: "T", file: "g" },
  },
  "a file of variables": {
    around: (keys) => ({ map: MAP, env_files: [{ path: "p", ...keys }] }),
    values: { path: "q", required: false },
  },
  "input by a command": {
    around: (keys) => ({ map: { ...MAP, input: { command: "a", ...keys } } }),
    values: { command: "b" },
  },
  "the template of an agent": {
    around: (keys) => ({ map: { ...MAP, agent_template: { commands: [STEP], ...keys } } }),
    values: { commands: [{ shell: "b" }] },
  },
};

/** The kind of backoff that uses the key. */
function kindOf(keys: Keys): string {
  if ("increment" in keys) return "linear";
  return "delays" in keys ? "list" : "exponential";
}

/** What a key of the policy needs beside it. */
function more(keys: Keys): Keys {
  if ("custom_handler" in keys) return { on_item_failure: "custom", custom_handler: [STEP] };
  return "max_outage" in keys ? { on_outage: "wait" } : {};
}

/** Keys for people, and keys that have a meaning only beside another one or an option; they have tests of their own. */
const WITHOUT_SAMPLE = [
  ...["root.description", "root.mode", "root.profiles"],
  ...["step.continue_session", "step.capture_format"],
];

type Schema = { readonly [key: string]: unknown };

/** The keys of every mapping of the schema, wherever it stands. A mapping that is a step with more keys has only those. */
function mappingsIn(schema: unknown, stepKeys: readonly string[]): readonly (readonly string[])[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties } = schema as Schema;
  const inner = Object.values(schema).flatMap((one: unknown) => mappingsIn(one, stepKeys));
  if (typeof properties !== "object" || properties === null) return inner;
  const keys = Object.keys(properties);
  const more = keys.filter((key) => !stepKeys.includes(key));
  const isStep = more.length < keys.length && stepKeys.every((key) => keys.includes(key));
  return [isStep && more.length > 0 ? more : keys, ...inner];
}

describe("keys of the format", () => {
  const schema = workflowJsonSchema() as { readonly $defs: { readonly step: { readonly properties: Keys } } };
  const mappings = mappingsIn(schema, Object.keys(schema.$defs.step.properties));
  const sampled = Object.entries(OURS).map(([part, { values }]) => [
    ...Object.keys(values),
    ...WITHOUT_SAMPLE.filter((key) => key.startsWith(`${part}.`)).map((key) => key.slice(part.length + 1)),
  ]);
  const listed = (keys: readonly string[]) => [...new Set(keys)].sort().join(" ");

  test("every mapping of the schema has a sample of each of its keys", () => {
    const known = new Set(sampled.map(listed));
    expect(mappings.length).toBeGreaterThan(20);
    expect(mappings.map(listed).filter((keys) => !known.has(keys))).toEqual([]);
    const written = new Set(mappings.map(listed));
    expect([...known].filter((keys) => !written.has(keys))).toEqual([]);
  });

  const keys = Object.entries(OURS).flatMap(([part, { values }]) =>
    Object.keys(values).map((key) => [part, key] as const),
  );

  test.each(keys.filter(([part, key]) => !WITHOUT_SAMPLE.includes(`${part}.${key}`)))(
    "%s: %s changes the workflow",
    (part, key) => {
      const { around, values } = OURS[part] ?? { around: (given: Keys) => given, values: {} };
      const [bare, given] = [around({}), around({ [key]: values[key] })];
      expect(isValid(given)).toBe(true);
      expect(seen(given)).not.toBe(seen(bare));
    },
  );
});

const SCRIPTS = { shell: "a", on_failure: { shell: "b", max_attempts: 1, fail_workflow: true } };

/** Keys that only Prodigy has: around what, and a value. */
const THEIRS: Readonly<Record<string, readonly [around: (keys: Keys) => Keys, values: Keys]>> = {
  "the file": [
    (keys) => ({
      ...("commands" in keys || "workflow" in keys || "max_iterations" in keys
        ? { steps: [STEP] }
        : { map: MAP }),
      ...keys,
    }),
    {
      version: 1,
      max_iterations: 2,
      retry_defaults: { attempts: 2 },
      secrets: { A: "${env:B}" },
      parameters: { required: [{ name: "a" }] },
      agent_merge: [STEP],
      agent_timeout_secs: 5,
      timeout_config: { agent_timeout_secs: 5 },
      checkpoint: { max_age: 1 },
      on_item_failure: "skip",
      continue_on_failure: false,
      max_failures: 1,
      failure_threshold: 0.5,
      error_collection: "immediate",
      circuit_breaker: { failure_threshold: 2 },
      retry_config: { attempts: 2 },
      imports: ["a"],
      extends: "a",
      template: { source: "a" },
      templates: { a: [] },
      sub_workflows: { a: {} },
      workflows: { a: {} },
    },
  ],
  map: [
    (keys) => ({ mode: "mapreduce", map: { ...MAP, ...keys } }),
    {
      timeout_per_agent: "5s",
      retry_on_failure: 1,
      timeout_config: { command_timeouts: { shell: 3 } },
      error_policy: { max_failures: 2 },
      on_item_failure: "skip",
      max_parallel: "3",
    },
  ],
  timeout_config: [
    (keys) => ({ mode: "mapreduce", map: { ...MAP, timeout_config: keys } }),
    {
      agent_timeout_secs: 5,
      command_timeouts: { shell: 3 },
      timeout_action: "skip",
      cleanup_grace_period_secs: 3,
      default: 5,
      per_command: 5,
    },
  ],
  "a step": [
    (keys) => ({
      commands: [{ ...("goal_seek" in keys || "test" in keys || "analyze" in keys ? {} : STEP), ...keys }],
    }),
    {
      goal_seek: { goal: "g", shell: "a", validate: "b", threshold: 3 },
      test: { command: "b" },
      analyze: { force_refresh: true },
      outputs: { spec: { file_pattern: "*.md" } },
      cwd: "w",
      condition: "1 == 1",
      retry_config: { attempts: 2 },
      max_attempts: 2,
      fail_workflow: false,
      continue_on_error: true,
      ignore_errors: true,
      allow_failure: true,
      capture_streams: { stderr: true },
      context: { file: "x" },
      analysis: { force_refresh: true },
      auto_commit: true,
      commit_config: { message: "m" },
      temporary: true,
      clear_env: true,
      git_context: true,
      metadata: { retries: 2 },
    },
  ],
  "a handler": [
    (keys) => ({ commands: [{ ...SCRIPTS, on_failure: { ...SCRIPTS.on_failure, ...keys } }] }),
    {
      timeout: 3,
      handler_failure_fatal: true,
      capture: { x: "handler_output" },
      claude: "/c",
    },
  ],
  "a handler without attempts": [
    (keys) => ({ commands: [{ shell: "a", on_failure: { claude: "/b", ...keys } }] }),
    { strategy: "cleanup", max_retries: 3, fail_workflow: true, retry_original: false },
  ],
  validate: [
    (keys) => ({ commands: [{ shell: "a", validate: { shell: "b", ...keys } }] }),
    {
      claude: "/c",
      expected_schema: "s.json",
      force_refresh: true,
      max_cache_age: 3,
      threshold: "80",
      timeout: 3,
      result_file: "r.json",
      on_incomplete: { shell: "c", prompt: "go?" },
    },
  ],
  foreach: [
    (keys) => ({
      commands: [
        {
          foreach: { ...("foreach" in keys || "input" in keys ? {} : { items: ["a"] }), do: [STEP], ...keys },
        },
      ],
    }),
    { foreach: "ls", input: ["b"], parallel: true, max_items: "3", continue_on_error: true },
  ],
  write_file: [
    (keys) => ({ commands: [{ write_file: { path: "p", content: "c", ...keys } }] }),
    { create_dirs: false, content: { a: 1 }, format: "json", mode: "0600" },
  ],
  "setup with capture_outputs": [
    (keys) => ({
      map: MAP,
      setup: { commands: [STEP], capture_outputs: { x: { command_index: 0, ...keys } } },
    }),
    {
      source: "stderr",
      json_path: "$.a",
      pattern: "a(.*)",
      max_size: 3,
      default: "d",
      multiline: "first_line",
    },
  ],
};

describe("keys of Prodigy", () => {
  const keys = Object.entries(THEIRS).flatMap(([part, [around, values]]) =>
    Object.entries(values).map(([key, value]) => [part, key, around({}), around({ [key]: value })] as const),
  );

  test.each(keys)("%s: %s changes the workflow or is reported", (_part, _key, bare, given) => {
    expect(seen(given)).not.toContain("unknown key");
    expect(seen(given)).not.toBe(seen(bare));
  });
});
