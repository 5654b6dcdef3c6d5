import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Step } from "../../../src/workflow/model.ts";
import { CODEX, GEMINI, linesOf, OPENCODE } from "../../agent/streams.ts";
import { isAlive } from "../../attempt/launch-kit.ts";
import { TestClock } from "../../support/test-clock.ts";
import { agent, claude, openBench, openGitBench, shell } from "./step-kit.ts";

const FIXED = { kind: "fixed", delayMs: 0, jitter: false } as const;

test("an agent gets its arguments and, by standard input, its prompt, and no shell reads them", async () => {
  const bench = openBench({ variables: { item: { file: "a b; touch hacked" } } });
  await bench.run([agent("fix ${item.file}", "note-arguments note-prompt")]);
  expect(JSON.parse(bench.read("arguments.json"))).toEqual(["--go"]);
  expect(bench.read("prompt.txt")).toBe("fix a b; touch hacked");
  expect(bench.has("hacked")).toBe(false);
});

const HOSTILE_PROMPTS = ["--dangerously-skip-permissions", "--mcp-config=x.json\ndo it", "-p", "--", "-", ""];

test.each(HOSTILE_PROMPTS)("invariant 11: the prompt %j is not an option of an agent", async (prompt) => {
  const bench = openBench({ variables: { item: prompt } });
  await bench.run([claude("${item}", "note-arguments note-prompt")]);
  expect(JSON.parse(bench.read("arguments.json"))).toEqual([
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
  ]);
  expect(bench.read("prompt.txt")).toBe(prompt);
  await bench.run([byArgument(agent("${item}", "note-arguments note-prompt"))]);
  expect(JSON.parse(bench.read("arguments.json"))).toEqual(["--go", "--", prompt]);
  expect(bench.read("prompt.txt")).toBe(prompt);
});

function byArgument(step: Step): Step {
  if (step.action.kind !== "agent") throw new Error("no agent");
  return { ...step, action: { ...step.action, promptBy: "argument" } };
}

function withCommand(step: Step, ...words: string[]): Step {
  if (step.action.kind !== "agent") throw new Error("no agent");
  return { ...step, action: { ...step.action, command: [...step.action.command, ...words] } };
}

test("invariant 11: an argument of an agent that begins with the item's - is refused before anything runs", async () => {
  const bench = openBench({ variables: { item: { model: "--yolo" } } });
  const step = agent("go", "note-arguments");
  const failure = await bench.failure([withCommand(step, "--model", "${item.model}")]);
  expect(failure).toMatchObject({ errorType: { name: "ValidationFailed" }, errorClass: "permanent" });
  expect(failure.errorMessage).toContain("Put -- before ${item.model}");
  expect(bench.has("arguments.json")).toBe(false);
  await bench.run([withCommand(step, "--model=${item.model}", "--", "${item.model}")]);
  expect(JSON.parse(bench.read("arguments.json"))).toEqual(["--go", "--model=--yolo", "--", "--yolo"]);
});

test("$NAME of env is filled in a prompt; another $ and the values of items are unchanged", async () => {
  const bench = openBench({ env: { LANG_NAME: "Rust" }, variables: { item: "$LANG_NAME" } });
  const prompt = "/port to $LANG_NAME by $STYLE, not $HOME or $5 or \\$STYLE: ${item}";
  await bench.run([agent(prompt, "note-prompt", { env: { STYLE: "hand", FAKE_AGENT: "note-prompt" } })]);
  expect(bench.read("prompt.txt")).toBe("/port to Rust by hand, not $HOME or $5 or $STYLE: $LANG_NAME");
});

test("an agent that fails a few times succeeds with its retries", async () => {
  const bench = openBench();
  const failure = await bench.failure([agent("go", "fail-times:9")]);
  expect(failure).toMatchObject({ exitCode: 7, stderrTail: "the agent failed for the 1. time\n" });
  expect(failure.stepFailed).toBe("node: go");
  expect(
    await bench.run([agent("go", "fail-times:3", { retry: { maxAttempts: 3, backoff: FIXED } })]),
  ).toMatchObject({
    kind: "done",
  });
});

test("an agent that hangs is ended after its timeout", async () => {
  const bench = openBench();
  const failure = await bench.failure([agent("go", "hang", { timeoutMs: 3000 })]);
  expect(failure.errorType).toEqual({ name: "Timeout" });
  expect(isAlive(Number(bench.read("agent.pid")))).toBe(false);
});

test("claude's answer is captured, its use counted, and its JSON log kept", async () => {
  const bench = openBench();
  const end = await bench.run([
    claude("first", "", { capture: { name: "answer", format: "string" }, outputFile: "answer.md" }),
    claude("second"),
  ]);
  const jsonLog = join(dirname(bench.world.logPath), "1.2.jsonl");
  expect(end).toMatchObject({
    kind: "done",
    usage: { model: "fake-model-1", costUsd: 0.5, inputTokens: 30, outputTokens: 14 },
    jsonLog,
  });
  expect(bench.world.variables.answer).toBe("answer to: first");
  expect(bench.read("answer.md")).toBe("answer to: first");
  const lines = readFileSync(jsonLog, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(["system", "assistant", "result"]);
  expect(bench.log()).toContain(`== json log: ${jsonLog} ==\n== stdout (17 bytes) ==\nanswer to: second\n`);
});

test("an error in the result is a failure although the exit code is 0", async () => {
  const bench = openBench();
  const end = await bench.run([claude("go", "error-result")]);
  expect(end).toMatchObject({
    kind: "failed",
    usage: { costUsd: 0.5 },
    failure: { errorType: { name: "CommandFailed" }, errorMessage: "no turns are left", exitCode: 0 },
  });
  const jsonLog = end.kind === "failed" ? (end.failure.jsonLogLocation ?? "") : "";
  expect(readFileSync(jsonLog, "utf8")).toContain("error_max_turns");
});

test("a limit in the log throttles the item until it ends", async () => {
  const clock = new TestClock();
  const bench = openBench({ clock });
  const resetsAt = clock.now() / 1000 + 90;
  const retry = { maxAttempts: 3, backoff: FIXED };
  const end = await bench.run([
    claude("go", "rate-limit", { env: { RESETS_AT: String(resetsAt), FAKE_AGENT: "rate-limit" }, retry }),
  ]);
  expect(end).toMatchObject({
    kind: "failed",
    retryAfterMs: 90_000,
    failure: {
      errorType: { name: "RateLimited" },
      errorClass: "throttled",
      errorMessage: "You've hit your limit",
    },
  });
});

test("the user's own arguments for claude follow those of Redrive", async () => {
  const bench = openBench({ env: { REDRIVE_CLAUDE_ARGS: `--allowedTools "Bash Edit" --model 'm 1'` } });
  await bench.run([claude("go", "note-arguments")]);
  expect(JSON.parse(bench.read("arguments.json"))).toEqual([
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--allowedTools",
    "Bash Edit",
    "--model",
    "m 1",
  ]);
  const failure = await bench.failure([claude("go", "", { env: { REDRIVE_CLAUDE_ARGS: "--x 'open" } })]);
  expect(failure.errorMessage).toContain("REDRIVE_CLAUDE_ARGS");
});

test("50 MB of output that is not JSON are kept, and the agent has succeeded", async () => {
  const bench = openBench();
  expect(await bench.run([claude("go", "print-megabytes:50")])).toMatchObject({ kind: "done" });
  expect(statSync(join(dirname(bench.world.logPath), "1.1.jsonl")).size).toBeGreaterThan(50 * 1024 * 1024);
});

test("the failure of a later step names the JSON log of the agent before it", async () => {
  const bench = openBench();
  const failure = await bench.failure([claude("go"), shell("exit 1")]);
  expect(failure.jsonLogLocation).toBe(join(dirname(bench.world.logPath), "1.1.jsonl"));
});

test("commit_required is met by a commit of the step and by no older one", async () => {
  const bench = openGitBench();
  const failure = await bench.failure([agent("go", "", { commitRequired: true })]);
  expect(failure).toMatchObject({
    errorType: { name: "CommitValidationFailed" },
    errorMessage: "node made no commit, and commit_required is set",
  });
  expect(await bench.run([agent("go", "commit", { commitRequired: true })])).toMatchObject({ kind: "done" });
  await bench.failure([agent("go", "commit"), agent("go", "", { commitRequired: true })]);
});

test("a commit of an earlier attempt of the same step counts", async () => {
  const bench = openGitBench();
  const script = "test -e tried && exit 0; touch tried; git add -A; git commit -qm tried; exit 1";
  const step = shell(script, { commitRequired: true, retry: { maxAttempts: 2, backoff: FIXED } });
  expect(await bench.run([step])).toMatchObject({ kind: "done" });
});

test("commit_required without git is a clear error before anything runs", async () => {
  const bench = openBench();
  const failure = await bench.failure([shell("touch ran", { commitRequired: true })]);
  expect(failure.errorMessage).toBe("commit_required needs a git repository, and this folder is not in one");
  expect(bench.has("ran")).toBe(false);
});

test("an agent that exits with 0 without a final result has failed", async () => {
  const bench = openBench();
  const failure = await bench.failure([claude("go", "end-early")]);
  expect(failure).toMatchObject({ errorType: { name: "CommandFailed" }, exitCode: 0 });
  expect(failure.errorMessage).toContain("without a final result");
});

test("an agent that keeps running after its result is ended, and its result counts", async () => {
  const bench = openBench({ agents: { outliveMs: 1 } });
  const end = await bench.run([claude("go", "outlive-result")]);
  expect(end).toMatchObject({ kind: "done", usage: { costUsd: 0.25 } });
  expect(isAlive(Number(bench.read("agent.pid")))).toBe(false);
});

test("a silent agent is ended with all its processes", async () => {
  const bench = openBench();
  const command = ["sh", "-c", "echo $$ > agent.pid; sleep 1000 & wait"];
  const action = { kind: "agent", command, prompt: "", protocol: "plain" } as const;
  const failure = await bench.failure([{ ...agent("go"), action, silenceMs: 1500 }]);
  expect(failure).toMatchObject({ errorType: { name: "Timeout" } });
  expect(failure.errorMessage).toContain("the agent printed nothing for 1.5 s");
  expect(isAlive(Number(bench.read("agent.pid")))).toBe(false);
});

test.each([
  ["codex", CODEX, { costUsd: 0.014074, inputTokens: 24763 }, "Fixed both files."],
  ["opencode", OPENCODE, { costUsd: 0.3, turns: 2 }, "Everything passes."],
  ["gemini", GEMINI, { inputTokens: 1000, turns: 2 }, "Done with b.ts."],
])(
  "the stream of %s is recognized: its use, its answer and its JSON log",
  async (name, lines, usage, answer) => {
    const bench = openBench({ agents: { prices: { codex: { input: 2, cached: 0.5, output: 10 } } } });
    writeFileSync(join(bench.root, `${name}.jsonl`), linesOf(lines));
    const capture = { name: "answer", format: "string" } as const;
    const end = await bench.run([agent("go", `stream:${name}`, { capture })]);
    expect(end).toMatchObject({ kind: "done", usage });
    expect(bench.world.variables.answer).toBe(answer);
    expect(readFileSync(join(dirname(bench.world.logPath), "1.1.jsonl"), "utf8")).toBe(linesOf(lines));
  },
);

test("a program that reports its cost in lines keeps its output", async () => {
  const bench = openBench();
  const script =
    'printf \'{"redrive":{"cost_usd":0.02}}\\nhello\\n{"redrive":{"cost_usd":0.05,"turns":2}}\\n\'';
  const step = {
    ...agent("go"),
    action: { kind: "agent", command: ["sh", "-c", script], prompt: "", protocol: "plain" },
  } as const;
  const end = await bench.run([step]);
  expect(end).toMatchObject({ kind: "done", usage: { costUsd: 0.05, turns: 2 } });
  expect(bench.log()).toContain("hello");
});
