/** What the pages of Prodigy promise, observed in runs with a scripted `claude`: commits, variables, repairs, policies, phases. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lines, openProject, type Project } from "./project.ts";
import type { Summary } from "./workshop.ts";

/** Writes its prompt into the ledger and does what the first word says. */
const CLAUDE = `#!/bin/sh
prompt=$(cat)
printf '%s\\n' "$prompt" >> "$L"
set -- $prompt
case $1 in
  /write) echo "$3" > "$2"; git add -A; git commit -qm "write $2" ;;
  /score) printf '{"completion_percentage": %s, "status": "incomplete", "gaps": ["no %s"]}' "$2" "$4" > "$3" ;;
  /better) echo x >> steps.txt; git add -A; git commit -qm better; echo "last $PRODIGY_VALIDATION_SCORE" >> "$L" ;;
  /fail) echo "it broke" >&2; exit 1 ;;
esac
printf '{"type":"result","subtype":"success","is_error":false,"result":"said %s"}\\n' "$1"
`;

const ITEMS = JSON.stringify({
  items: [
    { id: "a", score: 9, file: "x" },
    { id: "b", score: 3, file: "x" },
    { id: "c", score: 7, file: "y" },
    { id: "d", score: 8, file: "z" },
    { id: "e", score: 6, file: "x" },
    { id: "f", file: "w" },
  ],
});

function open(files: Readonly<Record<string, string>> = {}): Project {
  const project = openProject({ "items.json": ITEMS, ...files });
  mkdirSync(project.path("bin"));
  writeFileSync(project.path("bin/claude"), CLAUDE);
  chmodSync(project.path("bin/claude"), 0o755);
  return project;
}

/** Runs a workflow that must end with this code, and returns the ledger. */
async function ledgerOf(text: string, { code = 0, flags = [] as readonly string[], project = open() } = {}) {
  const result = await project.runWorkflow(text, flags);
  expect([result.code, result.stderr]).toEqual([code, expect.not.stringContaining("Nothing was run")]);
  return project.ledger;
}

describe("agents that repair", () => {
  it("goal_seek repeats its agent until the score is reached, and tells it the last score", async () => {
    const text = `
- goal_seek:
    goal: "enough steps"
    claude: "/better"
    validate: "echo score: $(( $(wc -l < steps.txt) * 30 ))"
    threshold: 80
    max_attempts: 5
  commit_required: true
- shell: "wc -l < steps.txt | tr -d ' ' >> $L"
`;
    expect(await ledgerOf(text)).toEqual([
      "/better",
      "last ",
      "/better",
      "last 30",
      "/better",
      "last 60",
      "3",
    ]);
  });

  it("goal_seek that does not reach its score fails the run, unless fail_on_incomplete is false", async () => {
    const seek = (more: string) =>
      `- goal_seek: { goal: g, shell: "echo try >> $L", validate: "echo 40%", threshold: 90, max_attempts: 2${more} }\n- { shell: echo after >> $L }\n`;
    expect(await ledgerOf(seek(", fail_on_incomplete: false"))).toEqual(["try", "try", "after"]);
    expect(await ledgerOf(seek(""), { code: 1 })).toEqual(["try", "try"]);
  });

  it("validate reads its result_file, and on_incomplete gets the gaps and the number of the repair", async () => {
    const text = `
commands:
  - claude: "/write a.txt 1"
    commit_required: true
    validate:
      commands:
        - claude: "/score 60 r.json tests"
      result_file: r.json
      threshold: 90
      on_incomplete:
        claude: "/write b.txt \${validation.attempt_number}-\${validation.gaps}"
        max_attempts: 2
        fail_workflow: false
        commit_required: true
  - shell: "cat b.txt >> $L"
`;
    expect(await ledgerOf(text)).toEqual([
      ...["/write a.txt 1", "/score 60 r.json tests"],
      ...['/write b.txt 1-["no tests"]', "/score 60 r.json tests"],
      ...['/write b.txt 2-["no tests"]', "/score 60 r.json tests"],
      '2-["no',
    ]);
  });

  it("on_failure runs the agent with the output and the step again, at most max_attempts times", async () => {
    const step = (more: string) => `
- shell: "echo run >> $L; echo broken; test -e mended"
  on_failure: { claude: "/write \${FILE_NAME:-other} now \${shell.output}"${more} }
- shell: "echo after >> $L"
`;
    const mends = step(", max_attempts: 3, fail_workflow: true").replace("${FILE_NAME:-other}", "mended");
    expect(await ledgerOf(mends)).toEqual(["run", "/write mended now broken", "run", "after"]);
    const never = step(", max_attempts: 2, fail_workflow: false");
    expect((await ledgerOf(never)).filter((line) => line === "run" || line === "after")).toEqual([
      ...["run", "run", "run", "after"],
    ]);
    const fatal = step(", max_attempts: 1, fail_workflow: true");
    expect(await ledgerOf(fatal, { code: 1 })).not.toContain("after");
  });

  it("commit_required fails an agent that has not committed", async () => {
    const project = open();
    const text = '- { claude: "/nothing", commit_required: true }\n';
    await ledgerOf(text, { code: 1, project });
    expect((await project.onlyLetter()).failure_history.at(-1)?.error_type).toBe("CommitValidationFailed");
  });
});

describe("steps", () => {
  it("capture text, JSON, lines, numbers and booleans, with exit code and success", async () => {
    const text = `
name: captures
mode: standard
commands:
  - { shell: 'echo "{\\"n\\": {\\"v\\": [4, 5]}}"', capture: data, capture_format: json }
  - { shell: "printf 'x y\\\\nz\\\\n'", capture_output: list, capture_format: lines }
  - { shell: "echo 7", capture_output: count, capture_format: number }
  - { shell: "echo false", capture: flag, capture_format: boolean }
  - { shell: "echo out; exit 3", id: bad, capture: bad_out, allow_failure: true }
  - { claude: "/answer", capture_output: answer }
  - shell: "echo \${data.n.v[1]} \${list[1]} $((\${count} + 1)) \${flag} \${bad.exit_code} \${bad.success} \${answer} >> $L"
  - { shell: "echo no >> $L", when: "\${flag}" }
  - { shell: "echo yes >> $L", when: "\${count} >= 7 && !\${flag} && \${bad.exit_code} == 3" }
  - { shell: "exit 4", on_exit_code: { 4: { shell: "echo four >> $L" } } }
  - { shell: "true", on_success: { shell: "echo well >> $L", on_success: { shell: "echo chained >> $L" } } }
`;
    expect(await ledgerOf(text)).toEqual([
      ...["/answer", "5 z 8 false 3 false said /answer"],
      ...["yes", "four", "well", "chained"],
    ]);
  });

  it("foreach takes lines of a command, a limit, and goes on after a failure", async () => {
    const text = `
- foreach:
    foreach: "printf 'a\\\\nb\\\\nc\\\\nd\\\\n'"
    max_items: 3
    continue_on_error: true
    do:
      - shell: "echo \${item} \${index}/\${total} >> $L; test \${item} != b"
      - shell: "echo done \${item} >> $L"
`;
    expect(await ledgerOf(text)).toEqual(["a 0/3", "done a", "b 1/3", "c 2/3", "done c"]);
  });

  it("know the files that the last step has changed", async () => {
    const text = `
- claude: "/write src/new.rs 1"
- shell: "echo '\${step.files_added}' '\${step.files_added:*.md:json}' \${workflow.commit_count} >> $L"
`;
    const project = open({ "src/old.rs": "" });
    expect(await ledgerOf(text, { project })).toEqual(["/write src/new.rs 1", "src/new.rs [] 1"]);
  });

  it("write files, and read variables of env, profiles and secrets, which are masked", async () => {
    const project = open();
    const text = `
env: { A: base, B: "\${A}-b", SECRET: { secret: true, value: "hidden-word" } }
profiles: { prod: { A: deep } }
commands:
  - { shell: "echo $A \${B} >> $L; echo $SECRET" }
  - write_file: { path: out/c.json, format: json, create_dirs: true, content: { a: "\${A}", list: [1] } }
`;
    expect(await ledgerOf(text, { flags: ["--profile", "prod"], project })).toEqual(["deep deep-b"]);
    expect(JSON.parse(project.get("out/c.json"))).toEqual({ a: "deep", list: [1] });
    const [{ job_id: job = "" } = {}] = (await project.json<{ jobs: readonly Summary[] }>("jobs")).jobs;
    const log = (await project.do("logs", job, "steps")).stdout;
    expect([log.includes("hidden-word"), log.includes("***")]).toEqual([false, true]);
  });

  it("retry with a budget of attempts, and go on with the fallback", async () => {
    const text = `
commands:
  - shell: "echo try >> $L; echo 'connection refused' >&2; exit 1"
    retry_config:
      attempts: 3
      backoff: { fixed: { delay: 1ms } }
      retry_on: [network]
      on_failure: { fallback: { command: "echo cached >> $L" } }
  - shell: "echo once >> $L; echo 'no such user' >&2; exit 1"
    retry_config: { attempts: 3, initial_delay: 1ms, retry_on: [network], on_failure: continue }
`;
    expect(await ledgerOf(text)).toEqual(["try", "try", "try", "cached", "once"]);
  });
});

describe("a map phase", () => {
  it("selects by path, filter, order, distinct, offset and limit; setup outputs and results reach reduce and merge", async () => {
    const text = `
name: all
mode: mapreduce
setup:
  commands:
    - shell: "echo first; echo second"
    - shell: "echo '{\\"v\\": {\\"n\\": 5}}'"
  capture_outputs:
    last: { command_index: 0, multiline: last_line }
    number: { command_index: 1, json_path: "$.v.n" }
map:
  input: items.json
  json_path: "$.items[*]"
  filter: "score >= 5"
  sort_by: "score DESC"
  distinct: file
  offset: 1
  max_items: 2
  max_parallel: 1
  agent_template:
    commands:
      - claude: "/write \${item.id}.txt \${last}-\${number}"
        commit_required: true
reduce:
  commands:
    - shell: "cat d.txt c.txt >> $L; echo \${map.successful}/\${map.total} \${map.results[0].success} >> $L"
    - shell: "awk 'BEGIN { exit !(\${map.total_duration_secs} > 0 && \${map.average_duration_secs} * 2 - \${map.total_duration_secs} < 0.01) }' && echo timed >> $L"
merge:
  - shell: "echo \${merge.target_branch} \${merge.commit_count} >> $L"
`;
    const project = open();
    const ledger = await ledgerOf(text, { project });
    expect(ledger.slice(0, 5)).toEqual([
      ...["/write d.txt second-5", "/write c.txt second-5"],
      ...["second-5", "second-5", "2/2 true"],
    ]);
    expect(ledger.slice(5)).toEqual(["timed", expect.stringMatching(/^main \d+$/)]);
    expect(lines(project.git("log", "--format=%s", "--no-merges"))).toContain("write d.txt");
    expect([project.get("d.txt"), existsSync(`${project.top}/a.txt`)]).toEqual(["second-5\n", false]);
  });

  const failing = (policy: string, more = "") =>
    `mode: mapreduce\n${policy}\nmap:\n  input: items.json\n  json_path: "$.items[*]"\n  sort_by: id\n  max_parallel: 1\n${more}  agent_template:\n    - shell: "echo \${item.id} >> $L; exit 1"\nreduce:\n  - shell: "echo reduce \${map.failed} >> $L"\n`;

  it.each<[string, string, string, number, readonly string[]]>([
    [
      "dlq keeps letters and goes on",
      "on_item_failure: dlq\nretry_config: { attempts: 1 }",
      "",
      3,
      [..."abcdef", "reduce 6"],
    ],
    [
      "max_failures stops",
      "error_policy: { max_failures: 2, retry_config: { max_attempts: 1 } }",
      "",
      1,
      ["a", "b"],
    ],
    [
      "continue_on_failure: false stops",
      "continue_on_failure: false\nretry_config: { attempts: 1 }",
      "",
      1,
      ["a"],
    ],
    [
      "stop stops",
      "error_policy: { on_item_failure: stop, retry_config: { max_attempts: 1 } }",
      "",
      1,
      ["a"],
    ],
    [
      "skip leaves no letter",
      "on_item_failure: skip\nretry_config: { attempts: 1 }",
      "",
      0,
      [..."abcdef", "reduce 0"],
    ],
    [
      "retry_on_failure tries again",
      "max_failures: 1",
      "  retry_on_failure: 1\n  max_items: 1\n",
      1,
      ["a", "a"],
    ],
    [
      "a list of steps at the policy of the map",
      "name: x",
      "  max_items: 1\n  error_policy: { max_failures: 1, retry_config: { max_attempts: 2, backoff: { fixed: { delay: 1ms } } } }\n",
      1,
      ["a", "a"],
    ],
  ])("%s", async (_name, policy, more, code, expected) => {
    expect(await ledgerOf(failing(policy, more), { code })).toEqual(expected);
  });

  it("ends a command that is over its own time limit, and keeps or skips the item as the action says", async () => {
    const text = (action: string) =>
      `mode: mapreduce\nretry_defaults: { attempts: 1 }\nmap:\n  input: items.json\n  json_path: "$.items[0:1]"\n  timeout_config: { command_timeouts: { shell: 1 }, timeout_action: ${action} }\n  agent_template:\n    - shell: "echo began >> $L; sleep 60"\n`;
    const project = open();
    expect(await ledgerOf(text("dlq"), { code: 3, project })).toEqual(["began"]);
    expect((await project.onlyLetter()).failure_history.at(-1)?.error_type).toBe("Timeout");
    expect(await ledgerOf(text("skip"))).toEqual(["began"]);
  });
});

describe("several files", () => {
  const files = {
    "shared/checks.yml": 'commands: [{ shell: "echo check >> $L" }]\n',
    "bases/ci.yml":
      'mode: standard\nenv: { LEVEL: info, NAME: shop }\ncommands: [{ shell: "echo base $LEVEL $NAME >> $L" }]\n',
    ".prodigy/templates/ship.yml":
      'parameters: { required: [target] }\ncommands: [{ shell: "echo ship ${target} >> $L" }]\n',
  };

  it("extends, imports and template run what they take, with parameters from the command line and a file", async () => {
    const project = open(files);
    const text =
      "extends: ci\nenv: { LEVEL: debug }\nimports: [{ path: shared/checks.yml }]\ntemplate: { name: t, source: ship, with: { target: eu } }\ncommands: [{ shell: 'echo own ${size} $size >> $L' }]\ndefaults: { size: 1 }\n";
    const sizes = project.write("sizes.json", '{"size": 3, "target": "us"}');
    expect(await ledgerOf(text, { project })).toEqual(["own 1 1", "check", "ship eu"]);
    expect(
      (await ledgerOf(text, { project, flags: ["--var-file", sizes, "--var", "target=asia"] })).slice(3),
    ).toEqual(["own 3 3", "check", "ship asia"]);
    expect(await ledgerOf("extends: ci\nenv: { LEVEL: debug }\n", { project: open(files) })).toEqual([
      "base debug shop",
    ]);
  });

  it("a file of variables that is no mapping of names is refused, by run and by validate", async () => {
    const project = open();
    const path = project.workflow("- { shell: 'true' }\n");
    for (const [text, problem] of [
      ["[1]", "variables must be a mapping"],
      ['{"a b": 1}', '"a b" is not the name of a variable'],
      ["a: [", "--var-file: "],
    ] as const) {
      const file = project.write("vars.yml", text);
      for (const command of ["run", "validate"]) {
        const result = await project.do(command, path, "--var-file", file);
        expect([result.code, result.stderr]).toEqual([2, expect.stringContaining(problem)]);
      }
    }
    const missing = await project.do("run", path, "--var-file", "none.json");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("none.json cannot be read")]);
  });
});
