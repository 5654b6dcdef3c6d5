/** The stream of Claude Code: answers, limits, errors and the use of killed agents. */
import { expect, test } from "vitest";
import { agentFailure } from "../../src/agent/agent-failure.ts";
import { AgentStream } from "../../src/agent/agent-stream.ts";

const NOW = Date.UTC(2026, 0, 1);

function read(...messages: unknown[]) {
  return readBytes(Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join("")));
}

function readBytes(...chunks: Buffer[]) {
  const stream = new AgentStream({ format: "claude" });
  for (const chunk of chunks) stream.push(chunk);
  stream.end();
  return stream.report();
}

const failing = (result: object) =>
  agentFailure(read({ type: "result", is_error: true, ...result }), true, NOW);

test.each([
  ["its own word", { type: "assistant", error: "rate_limit", message: {} }, { result: "wait" }],
  [
    "the API's word",
    { type: "error", error: { type: "overloaded_error", message: "busy" } },
    { result: "wait" },
  ],
  ["a status", { type: "system" }, { result: "wait", api_error_status: 529 }],
  [
    "a quoted API error",
    { type: "system" },
    { result: 'API Error: 500 {"type":"error","error":{"type":"rate_limit_error"}}' },
  ],
  ["a quoted status", { type: "system" }, { result: "API Error: 429 too many requests" }],
  ["words", { type: "system" }, { result: "5-hour usage limit reached" }],
])("a limit is known by %s", (_how, first, result) => {
  const report = agentFailure(read(first, { type: "result", is_error: true, ...result }), true, NOW);
  expect(report).toMatchObject({ type: { name: "RateLimited" }, class: "throttled" });
});

test("the end of a limit is read from the text that contains it", () => {
  const report = failing({ result: `Claude AI usage limit reached|${NOW / 1000 + 60}` });
  expect(report).toMatchObject({ class: "throttled", retryAfterMs: 60_000 });
});

test("a missing permission of the account is not a limit", () => {
  const summary = read(
    { type: "assistant", error: "authentication_failed", message: {} },
    { type: "result", is_error: true },
  );
  expect(agentFailure(summary, true, NOW)).toMatchObject({ type: { name: "PermissionError" } });
});

test("a warning about a limit is not a failure, nor is a limit before a success", () => {
  const warning = { type: "rate_limit_event", rate_limit_info: { status: "allowed_warning", resetsAt: 1 } };
  const result = { type: "result", subtype: "success", is_error: false, result: "fine" };
  expect(agentFailure(read(warning), true, NOW)).toBeUndefined();
  const rejected = { type: "rate_limit_event", rate_limit_info: { status: "rejected" } };
  expect(agentFailure(read(rejected, result), false, NOW)).toBeUndefined();
  expect(agentFailure(read(rejected), true, NOW)).toMatchObject({ class: "throttled" });
});

test("a mention of limits in a good answer is not a failure", () => {
  const summary = read({ type: "result", is_error: false, result: "I fixed the rate limit handling" });
  expect(agentFailure(summary, false, NOW)).toBeUndefined();
});

test("without a result, the use is the sum of the messages, each counted once", () => {
  const line = (id: string, output: number) => ({
    type: "assistant",
    message: {
      id,
      model: "m",
      usage: { input_tokens: 3, output_tokens: output },
      content: [{ type: "text", text: id }],
    },
  });
  const summary = read(line("a", 1), line("a", 4), line("b", 2), {
    type: "assistant",
    message: { model: "<synthetic>" },
  });
  expect(summary).toMatchObject({
    answer: "b",
    usage: { model: "m", inputTokens: 6, outputTokens: 6, turns: 2 },
  });
});

test("an empty result falls back to the last text of the assistant", () => {
  const said = { type: "assistant", message: { content: [{ type: "text", text: "Hello." }] } };
  expect(read(said, { type: "result", is_error: false, result: "" }).answer).toBe("Hello.");
});

test("lines that are not messages are skipped, even if they are split across chunks", () => {
  const text = 'noise\n{"broken\n{"type":"result","result":"né"}\n[1]\nnull\n';
  const bytes = Buffer.from(text);
  const chunks = Array.from(bytes, (byte) => Buffer.of(byte));
  expect(readBytes(...chunks)).toMatchObject({ answer: "né", end: "success" });
});
