/** Every mistake that a workflow can have, with the place and the words in which it is told. */
import { describe, expect, test } from "vitest";
import { parseWorkflow, problemText } from "../../src/workflow/read-workflow.ts";

/** The problems of a text as lines. */
function problemsOf(text: string, variables?: readonly string[]): string[] {
  const parsed = parseWorkflow(text, { file: "w.yml", ...(variables && { variables }) });
  return "problems" in parsed ? parsed.problems.map((problem) => problemText(problem, "w")) : [];
}

/** A workflow whose map phase has these lines besides the ones it needs; they begin at line 4. */
function withMap(...lines: readonly string[]): string {
  return [
    "map:",
    "  input: i.json",
    "  agent_template: [{ shell: x }]",
    ...lines.map((line) => `  ${line}`),
  ].join("\n");
}

/** A workflow whose only step begins at line 4, column 7. */
function withStep(...lines: readonly string[]): string {
  const step = lines.map((line, index) => (index === 0 ? `    - ${line}` : `      ${line}`));
  return ["map:", "  input: i.json", "  agent_template:", ...step].join("\n");
}

test("all problems are reported at once, in line order", () => {
  const text = `name: 3
mode: batch
maps: {}
map:
  input: items.json
  max_paralel: 4
  max_parallel: 0
  filter: itm.x > 3
  json_path: $.items[
  agent_template:
    - shell: echo \${itm.name}
      timeout: 5 parsecs
    - shel: x
    - shell: a
      claude: b
    - id: lonely
error_policy:
  failure_threshold: 1.5
  retry_config: { max_attempts: 0 }
`;
  expect(problemsOf(text)).toEqual([
    "w:1:7: name: expected a text, but this is a number",
    "w:2:7: mode: the only mode is mapreduce",
    'w:3:1: maps: unknown key "maps". Did you mean map?',
    'w:6:3: map.max_paralel: unknown key "max_paralel". Did you mean max_parallel?',
    "w:7:17: map.max_parallel: expected a whole number of at least 1",
    'w:8:11: map.filter: unknown variable "itm". Did you mean item?',
    "w:9:14: map.json_path: unclosed bracketed selection",
    'w:11:19: map.agent_template[0].shell: ${itm.name}: there is no variable "itm". Did you mean ${item}?',
    "w:12:16: map.agent_template[0].timeout: expected a duration: a number and a unit, such as 250ms, 30s, 5m or 2h; a plain number is seconds",
    'w:13:7: map.agent_template[1].shel: unknown key "shel". Did you mean shell?',
    "w:15:7: map.agent_template[2].claude: a step can have only one action, and this one already has shell",
    "w:16:7: map.agent_template[3]: a step needs an action: shell, claude, agent, write_file, foreach",
    "w:18:22: error_policy.failure_threshold: expected a number from 0 to 1",
    "w:19:33: error_policy.retry_config.max_attempts: expected a whole number of at least 1",
  ]);
});

describe("the YAML itself", () => {
  test.each([
    ["", ["w:1:1: the file is empty; `redrive init` writes an example workflow"]],
    ["a", ["w:1:1: a workflow must be a mapping with keys such as name and map"]],
    ["map:\n  input: [a", [expect.stringMatching(/^w:2:12: /)]],
    ["map:\n\tinput: x", [expect.stringMatching(/^w:2:1: /)]],
    [
      "map: { input: i, agent_template: [{ shell: echo ${item} }] }",
      ["w:1:50: inside { } and [ ] a text with ${ must be quoted"],
    ],
    ["a: 1\n---\nb: 2", [expect.stringMatching(/^w:2:1: source contains multiple documents/)]],
  ])("%j", (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  test("a repeated key", () => {
    expect(problemsOf(withMap("offset: 1", "offset: 2"))).toEqual(["w:5:3: this key is duplicated"]);
  });

  test("aliases that multiply are refused", () => {
    const levels = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(9)}]`);
    expect(problemsOf(`l0: &l0 [x]\n${levels.join("\n")}`)).toEqual([expect.stringContaining("alias")]);
  });
});

describe("keys and values of the map phase", () => {
  test.each([
    ["json_path: items[*]", "w:4:14: map.json_path: a path begins with $"],
    ["json_path: $[?fuu(@.a)]", 'w:4:14: map.json_path: unknown function "fuu"'],
    ["json_path: $[?length(@.a)]", "w:4:14: map.json_path: result of length() must be compared"],
    ["filter: item.n >", "w:4:11: map.filter: unexpected token: EOF"],
    ["filter: item.n + 1", null],
    ["filter: '\"a\"'", "w:4:11: map.filter: the result is a string, not true or false"],
    ["filter: size(item) > 1 && foo", 'w:4:29: map.filter: unknown variable "foo"'],
    ["filter: ''", "w:4:11: map.filter: expected an expression, but it is empty"],
    ["filter: map.total > 1", 'w:4:11: map.filter: unknown variable "map"'],
    [
      "sort_by: a b c",
      'w:4:12: map.sort_by: "a b c" is not a sort key. Write FIELD [ASC|DESC] [NULLS FIRST|LAST]',
    ],
    [
      "sort_by: [a, 'b DSC']",
      'w:4:16: map.sort_by[1]: "b DSC" is not a sort key. Write FIELD [ASC|DESC] [NULLS FIRST|LAST]',
    ],
    ["offset: -1", "w:4:11: map.offset: expected a whole number of at least 0"],
    ["max_items: many", "w:4:14: map.max_items: expected a whole number"],
    ["isolation: worktre", "w:4:14: map.isolation: expected one of worktree, none. Did you mean worktree?"],
    ["agent_timeout_secs: 5m", "w:4:23: map.agent_timeout_secs: expected a number, but this is a text"],
    ["distinct: [a]", "w:4:13: map.distinct: expected a text or true or false, but this is a list"],
    ["keep:", "w:4:3: map.keep: expected a list, but this is empty"],
  ])("%s", (line, problem) => {
    expect(problemsOf(withMap(line))).toEqual(problem === null ? [] : [problem]);
  });

  test("a missing key is reported at the mapping that lacks it", () => {
    expect(problemsOf("name: x")).toEqual(['w:1:1: the key "map" is missing, or "steps"']);
    expect(problemsOf("name: x\nmap:\n  max_items: 3")).toEqual([
      'w:3:3: map: the key "input" is missing',
      'w:3:3: map: the key "agent_template" is missing',
    ]);
    expect(problemsOf("map: { input: 3, agent_template: [] }")).toEqual([
      "w:1:15: map.input: expected a text or a mapping, but this is a number",
      "w:1:34: map.agent_template: the list of steps is empty",
    ]);
    expect(problemsOf("map: { input: i, agent_template: { commands: [] } }")).toEqual([
      "w:1:34: map.agent_template: the list of steps is empty",
    ]);
  });
});

describe("steps", () => {
  test.each<[readonly string[], string]>([
    [["shell: ''"], "w:4:14: map.agent_template[0].shell: expected a script, but it is empty"],
    [["shell: [a]"], "w:4:14: map.agent_template[0].shell: expected a text, but this is a list"],
    [
      ["shell: x", "capture: a b"],
      "w:5:16: map.agent_template[0].capture: a name may contain only letters, digits and _",
    ],
    [
      ["shell: x", "capture: item"],
      'w:5:16: map.agent_template[0].capture: the name "item" is already used; choose another',
    ],
    [
      ["shell: x", "capture: list"],
      'w:5:16: map.agent_template[0].capture: the name "list" is already used; choose another',
    ],
    [
      ["shell: x", "capture: a", "capture_format: yaml"],
      "w:6:23: map.agent_template[0].capture_format: expected one of string, json, lines, number, boolean, success",
    ],
    [
      ["shell: x", "capture_format: json"],
      "w:5:7: map.agent_template[0].capture_format: capture_format has no effect without capture",
    ],
    [
      ["shell: x", "on_exit_code: { 256: { shell: y } }"],
      "w:5:23: map.agent_template[0].on_exit_code.256: expected an exit code from 0 to 255",
    ],
    [
      ["shell: x", "on_exit_code: { -1: { shell: y } }"],
      "w:5:23: map.agent_template[0].on_exit_code.-1: expected an exit code from 0 to 255",
    ],
    [
      ["shell: x", "on_failure: { claud: y }"],
      'w:5:21: map.agent_template[0].on_failure.claud: unknown key "claud". Did you mean claude?',
    ],
    [
      ["shell: x", "on_failure: { steps: [], shell: y }"],
      "w:5:32: map.agent_template[0].on_failure.shell: shell must be inside one of the steps, not next to them",
    ],
    [
      ["shell: x", "retry: { backoff: expnential }"],
      "w:5:25: map.agent_template[0].retry.backoff: expected one of exponential, linear, fixed, fibonacci, list. Did you mean exponential?",
    ],
    [
      ["shell: x", "retry: { backoff: fixed, factor: 2 }"],
      "w:5:32: map.agent_template[0].retry.factor: factor has no effect for fixed backoff",
    ],
    [
      ["shell: x", "retry: { attempts: 2, max_attempts: 2 }"],
      "w:5:16: map.agent_template[0].retry.attempts: attempts is an alias of max_attempts: use only one of them",
    ],
    [
      ["shell: x", "retry: { initial_delay: 1m, max_delay: 1s }"],
      "w:5:35: map.agent_template[0].retry.max_delay: max_delay is shorter than initial_delay",
    ],
    [
      ["shell: x", "retry: { backoff: list }"],
      "w:5:16: map.agent_template[0].retry.backoff: backoff: list needs delays",
    ],
    [
      ["shell: x", "validate: { shell: y, threshold: 101 }"],
      "w:5:40: map.agent_template[0].validate.threshold: expected a number from 0 to 100",
    ],
    [
      ["shell: x", "validate: { threshold: 1 }"],
      "w:5:17: map.agent_template[0].validate: a step needs an action: shell, claude, agent, write_file, foreach",
    ],
    [
      ["write_file: { path: a, content: b, mode: 0644 }"],
      'w:4:48: map.agent_template[0].write_file.mode: expected permissions in quotes, such as "0644"',
    ],
    [
      ["foreach: { items: [1], steps: [] }"],
      "w:4:16: map.agent_template[0].foreach: the list of steps is empty",
    ],
    [
      ["foreach: { steps: [{ shell: x }] }"],
      'w:4:16: map.agent_template[0].foreach: the key "items" is missing',
    ],
    [
      ["foreach: { items: [1], list: [1], steps: [{ shell: x }] }"],
      "w:4:30: map.agent_template[0].foreach.list: list is an alias of items: use only one of them",
    ],
    [
      ["shell: x", "when: itemm.a"],
      'w:5:13: map.agent_template[0].when: unknown variable "itemm". Did you mean item?',
    ],
    [
      ["shell: x", "env: { A-B: 1 }"],
      'w:5:14: map.agent_template[0].env.A-B: "A-B" is not a valid variable name',
    ],
    [
      ["shell: x", "id: a", "on_success: { shell: y, id: a }"],
      'w:6:35: map.agent_template[0].on_success.id: the id "a" is already used by another step',
    ],
  ])("%j", (lines, problem) => {
    expect(problemsOf(withStep(...lines))).toEqual([problem]);
  });

  test("a step with the id of one in another phase", () => {
    expect(
      problemsOf("setup: [{ shell: x, id: a }]\nmap: { input: i, agent_template: [{ shell: x, id: a }] }"),
    ).toEqual(['w:2:51: map.agent_template[0].id: the id "a" is already used by another step']);
  });
});

describe("variables", () => {
  test.each<[string, string]>([
    [
      "${HOME}",
      'there is no variable "HOME". For an environment variable write $HOME in a script, or ${env.HOME}',
    ],
    [
      "${#x}",
      "${#x} is not a variable. Write one like ${item.name} or ${item.list[0]}; for a literal ${ write $${",
    ],
    ["${map.total}", 'there is no variable "map"'],
    ["${later}", 'there is no variable "later"'],
    ["${setup.fils}", 'there is no "fils" in setup. Did you mean ${setup.files}?'],
    ["${error.message}", 'there is no variable "error"'],
    ["${itm.x:-none}", 'there is no variable "itm". Did you mean ${item}?'],
    ["`echo ${item}`", "it is inside `…`"],
  ])("%s in a step of the map phase", (template, message) => {
    const text = [
      "setup: [{ shell: ls, capture: files }]",
      "map:",
      "  input: i",
      "  agent_template:",
      `    - shell: "true ${template}"`,
      "    - { shell: x, capture: later }",
    ].join("\n");
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
    expect(problems[0]).toMatch(new RegExp(`^w:5:${20 + Math.max(0, template.indexOf("${"))}: `));
  });

  test("a captured name is known after its step, and in later phases under setup", () => {
    const text = [
      "setup:",
      "  - { shell: ls, capture: files }",
      "  - shell: echo ${files}",
      "map:",
      "  input: ${setup.files}",
      "  agent_template:",
      "    - { shell: x, capture: a, on_success: { shell: 'echo ${a}', capture: b } }",
      "    - { shell: 'echo ${a} ${b} ${setup.files} ${item.x} ${item_id} ${index} ${env.HOME}', when: a == b }",
      "reduce:",
      "  - { shell: 'echo ${map.total}', capture: sum, when: map.failed == 0 && size(setup.files) > 1 }",
      "  - shell: echo ${sum}",
      "merge:",
      "  - shell: echo ${map.results}",
    ].join("\n");
    expect(problemsOf(text)).toEqual([]);
    expect(problemsOf(text.replace("echo ${files}", "echo ${sum}"))).toHaveLength(1);
    expect(problemsOf(text.replace("echo ${map.results}", "echo ${sum} ${files}"))).toEqual([]);
    expect(problemsOf(text.replace("echo ${map.results}", "echo ${a}"))).toHaveLength(1);
    expect(problemsOf(text.replace("map.failed", "map.faled"))).toEqual([
      'w:10:59: reduce[0].when: unknown field "faled". Did you mean failed?',
    ]);
    expect(problemsOf(text.replace("${map.results}", "${map.totl}"))).toEqual([
      'w:13:17: merge[0].shell: ${map.totl}: there is no "totl" in map. Did you mean ${map.total}?',
    ]);
    expect(problemsOf(text.replace("${map.results}", "${item.x}"))).toHaveLength(1);
  });

  test("a handler knows the failure, and an iteration of foreach its element", () => {
    const handler = withStep(
      "shell: x",
      "on_failure: { claude: 'mend ${error.stderr}', capture: mended }",
      "on_success: { foreach: { items: [a], do: [{ shell: 'echo ${foreach.item} ${item.x} ${mended}' }] } }",
    );
    expect(problemsOf(handler)).toEqual([]);
    expect(problemsOf(handler.replace("error.stderr", "error.sdterr"))).toEqual([
      expect.stringContaining("Did you mean ${error.stderr}?"),
    ]);
    expect(problemsOf(handler.replace("foreach.item}", "foreach.itm}"))).toHaveLength(1);
    expect(problemsOf(withStep('agent: { command: "codex \'x", prompt: y }'))).toEqual([
      "w:4:25: map.agent_template[0].agent.command: a quote is not closed",
    ]);
  });

  test("a variable of the command line is known, and one with a default may be omitted", () => {
    const text = withStep("shell: echo ${model} ${size:-10}");
    expect(problemsOf(text)).toEqual([expect.stringContaining('${model}: there is no variable "model"')]);
    expect(problemsOf(text, ["model"])).toEqual([]);
  });

  test("a problem in a block of text is reported at its own line", () => {
    const text = withStep("shell: |", "  cd x", "  echo ${itm.a}", "  date", "  sh -c 'ls ${item.b}'");
    expect(problemsOf(text)).toEqual([
      'w:6:14: map.agent_template[0].shell: ${itm.a}: there is no variable "itm". Did you mean ${item}?',
      expect.stringMatching(/^w:8:\d+: .*second shell/),
    ]);
  });
});

describe("error_policy", () => {
  test.each([
    [
      "on_item_failure: dql",
      "w:5:20: error_policy.on_item_failure: expected one of dlq, retry, skip, stop, custom. Did you mean dlq?",
    ],
    [
      "on_item_failure: custom",
      "w:5:20: error_policy.on_item_failure: custom needs steps: add custom_handler below it",
    ],
    [
      "custom_handler: { shell: x }",
      "w:5:3: error_policy.custom_handler: custom_handler has no effect without on_item_failure: custom",
    ],
    ["max_failures: 0", "w:5:17: error_policy.max_failures: expected a whole number of at least 1"],
    ["failure_threshold: 20%", "w:5:22: error_policy.failure_threshold: expected a number from 0 to 1"],
    [
      "circuit_breaker: { timeout: soon }",
      "w:5:31: error_policy.circuit_breaker.timeout: expected a duration: a number and a unit, such as 250ms, 30s, 5m or 2h; a plain number is seconds",
    ],
    [
      "circuit_breaker: { failure_treshold: 3 }",
      'w:5:22: error_policy.circuit_breaker.failure_treshold: unknown key "failure_treshold". Did you mean failure_threshold?',
    ],
    [
      "continue_on_failure: maybe",
      "w:5:24: error_policy.continue_on_failure: expected true or false, but this is a text",
    ],
  ])("%s", (line, problem) => {
    expect(
      problemsOf(`${withMap()}
error_policy:
  ${line}`),
    ).toEqual([problem]);
  });
});

test("sessions that cannot be continued are reported", () => {
  const unknown = withStep("agent: { command: own run, prompt: x }", "continue_session: true");
  expect(problemsOf(unknown)).toEqual([
    "w:5:7: map.agent_template[0].continue_session: own has no built-in resume command: add resume, the command that continues ${agent.session}",
  ]);
  const resume = "agent: { command: own, resume: 'own ${agent.sesion}', prompt: x }";
  expect(problemsOf(withStep(resume, "continue_session: true"))).toHaveLength(1);
  expect(problemsOf(withStep(resume.replace("sesion", "session"), "continue_session: true"))).toEqual([]);
  expect(problemsOf(withStep(resume.replace("sesion", "session")))).toEqual([
    "w:4:30: map.agent_template[0].agent.resume: resume has no effect without continue_session: true",
  ]);
  expect(problemsOf(withStep("shell: x", "continue_session: true"))).toEqual([
    "w:5:7: map.agent_template[0].continue_session: continue_session is for steps with claude or agent",
  ]);
});

test("merge options for items are reported where they have no effect", () => {
  const merge = ["merge:", "  strategy: squash", "  message: Fix ${item.id} ${missing}"];
  expect(problemsOf([withMap(), ...merge].join("\n"))).toEqual([
    'w:6:27: merge.message: ${missing}: there is no variable "missing". For a shell expansion ${…} write $${…}',
  ]);
  const conflict = ["merge:", "  on_conflict: [{ claude: '${conflict.files} ${conflict.x}' }]"];
  expect(problemsOf([withMap(), ...conflict].join("\n"))).toEqual([
    'w:5:46: merge.on_conflict[0].claude: ${conflict.x}: there is no "x" in conflict',
  ]);
  const branches = ["merge:", "  strategy: branch-per-item", "  on_conflict: { shell: x }"];
  expect(problemsOf([withMap(), ...branches].join("\n"))).toEqual([
    "w:6:3: merge.on_conflict: on_conflict has no effect with branch-per-item: nothing is merged",
  ]);
  expect(problemsOf([withMap("isolation: none"), ...merge.slice(0, 2)].join("\n"))).toEqual([
    "w:6:3: merge.strategy: strategy has no effect with isolation: none",
  ]);
  expect(problemsOf(["steps: [{ shell: x }]", ...merge.slice(0, 2)].join("\n"))).toEqual([
    "w:3:3: merge.strategy: strategy has no effect for steps; it is for the items of map",
  ]);
});

test("verify needs a map in worktrees whose work is combined, and steps", () => {
  const verify = "verify: [{ shell: x }]";
  expect(problemsOf(`${withMap("isolation: none")}\n${verify}`)).toEqual([
    "w:5:1: verify: verify needs worktrees; it has no effect with isolation: none",
  ]);
  expect(problemsOf(`steps: [{ shell: x }]\n${verify}`)).toEqual([
    "w:2:1: verify: verify needs map; in a file with steps, check the work in the last step",
  ]);
  expect(problemsOf(`${withMap()}\n${verify}\nmerge: { strategy: branch-per-item }`)).toEqual([
    "w:4:1: verify: verify has no effect with branch-per-item, which does not combine the work of items",
  ]);
  expect(problemsOf(`${withMap()}\nverify: { steps: [], batch: 0 }`)).toEqual([
    "w:4:9: verify: the list of steps is empty",
    expect.stringContaining("verify.batch"),
  ]);
  expect(problemsOf(`${withMap()}\nverify: [{ shell: "echo \${item}" }]`)).toEqual([
    expect.stringContaining("item"),
  ]);
  expect(problemsOf(`${withMap()}\nverify: { steps: [{ shell: x }], batch: 4, timeout: 5m }`)).toEqual([]);
});
