/** The streams of all agents: what a whole stream reports, what a cut one still does, and how much memory a large one needs. */
import { expect, test } from "vitest";
import type { AgentReport } from "../../src/agent/agent-record.ts";
import { AgentStream, type AgentStreamOptions } from "../../src/agent/agent-stream.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { CLAUDE, CODEX, GEMINI, LINES, linesOf, OPENCODE, QWEN } from "./streams.ts";

const PRICES = {
  "gpt-9": { input: 2, cached: 0.5, output: 10 },
  "gemini-9-pro": { input: 1, output: 4 },
  "qwen-9": { input: 1, cached: 0.1, output: 4 },
};

function reportOf(text: Buffer | string, options: AgentStreamOptions = { prices: PRICES }): AgentReport {
  const stream = new AgentStream(options);
  stream.push(Buffer.from(text));
  stream.end();
  return stream.report();
}

test("Claude Code: the cost of the result, tokens of all models, turns, session and last action", () => {
  expect(reportOf(linesOf(CLAUDE))).toEqual({
    format: "claude",
    session: "5f1c7d3e-0000-4000-8000-000000000001",
    usage: {
      model: "claude-opus-9",
      costUsd: 0.4711,
      inputTokens: 3024,
      cachedTokens: 2700,
      outputTokens: 220,
      turns: 3,
    },
    action: { tool: "Bash", target: "npm test" },
    answer: "All tests pass.",
    end: "success",
  });
});

test("Claude Code, killed before its result: tokens per message, each message counted once", () => {
  const { usage, end, session } = reportOf(linesOf(CLAUDE.slice(0, -1)));
  expect(usage).toEqual({
    model: "claude-opus-9",
    inputTokens: 912 + 40 + 1014,
    cachedTokens: 900 + 1000,
    outputTokens: 31 + 5 + 12,
    turns: 2,
  });
  expect(end).toBeUndefined();
  expect(session).toBe("5f1c7d3e-0000-4000-8000-000000000001");
});

test("Codex: tokens of the turn at the price of the model that the command names", () => {
  expect(reportOf(linesOf(CODEX), { prices: PRICES, model: "gpt-9" })).toEqual({
    format: "codex",
    session: "0199a213-81c0-7800-8aa1-bbab2a035a53",
    usage: {
      model: "gpt-9",
      // (24763 - 24448) * 2 + 24448 * 0.5 + 122 * 10 dollars for a million tokens
      costUsd: 0.014074,
      inputTokens: 24763,
      cachedTokens: 24448,
      outputTokens: 122,
      turns: 1,
    },
    action: { tool: "edit", target: "src/a.rs, src/b.rs" },
    answer: "Fixed both files.",
    end: "success",
  });
});

test("Codex, resumed: the totals of the thread before this run are subtracted", () => {
  const before = { inputTokens: 20000, cachedTokens: 20000, outputTokens: 100 };
  expect(reportOf(linesOf(CODEX), { before }).usage).toMatchObject({
    inputTokens: 4763,
    cachedTokens: 4448,
    outputTokens: 22,
  });
});

test("Claude Code, resumed: cost and tokens continue from the totals of the session", () => {
  const before = { costUsd: 0.4, inputTokens: 3000, cachedTokens: 2700, outputTokens: 200 };
  expect(reportOf(linesOf(CLAUDE), { before }).usage).toMatchObject({
    costUsd: 0.0711,
    inputTokens: 24,
    cachedTokens: 0,
    outputTokens: 20,
  });
  // A total below the one before is that of a new session.
  expect(reportOf(linesOf(CLAUDE), { before: { costUsd: 9 } }).usage).toMatchObject({ costUsd: 0.4711 });
});

test("Gemini CLI: tokens of the result, turns by batches of tools", () => {
  expect(reportOf(linesOf(GEMINI))).toEqual({
    format: "gemini",
    session: "1d2c3b4a-0000-4000-8000-00000000000a",
    usage: {
      model: "gemini-9-pro",
      costUsd: 0.0014,
      inputTokens: 1000,
      cachedTokens: 400,
      outputTokens: 100,
      turns: 2,
    },
    action: { tool: "write_file", target: "b.ts" },
    answer: "Done with b.ts.",
    end: "success",
  });
});

test("opencode: cost and tokens are the sums of its steps", () => {
  expect(reportOf(linesOf(OPENCODE))).toEqual({
    format: "opencode",
    session: "ses_7d1",
    usage: { costUsd: 0.3, inputTokens: 1330, cachedTokens: 900, outputTokens: 75, turns: 2 },
    action: { tool: "bash", target: "cargo test" },
    answer: "Everything passes.",
    end: "success",
  });
});

test("Qwen Code: tokens of the result at the price of its model", () => {
  expect(reportOf(linesOf(QWEN))).toEqual({
    format: "claude",
    session: "q-1",
    usage: {
      model: "qwen-9",
      // 1500 * 1 + 500 * 0.1 + 100 * 4 dollars for a million tokens
      costUsd: 0.00195,
      inputTokens: 2000,
      cachedTokens: 500,
      outputTokens: 100,
      turns: 2,
    },
    action: { tool: "edit", target: "a.ts" },
    answer: "Done.",
    end: "success",
  });
});

test("any other program reports in its own lines, between other output", () => {
  expect(reportOf(linesOf(LINES))).toEqual({
    format: "redrive",
    session: "s-1",
    usage: { model: "m-1", costUsd: 0.07, inputTokens: 500, outputTokens: 40, turns: 3 },
    action: { tool: "patch", target: "x.py" },
    end: "success",
  });
});

const STREAMS = { CLAUDE, QWEN, CODEX, GEMINI, OPENCODE, LINES };

test.each(Object.keys(STREAMS))("a stream of %s that is cut at any byte reports what was there", (name) => {
  const bytes = Buffer.from(linesOf(STREAMS[name as keyof typeof STREAMS]));
  const random = seededRandom(7);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const stream = new AgentStream({ prices: PRICES });
    for (let at = 0; at < cut; ) {
      const end = Math.min(cut, at + 1 + Math.floor(random() * 200));
      stream.push(bytes.subarray(at, end));
      at = end;
    }
    stream.end();
    // The last line may be complete although its newline is missing.
    const whole = bytes.subarray(0, cut).lastIndexOf(10) + 1;
    const rest = bytes.subarray(whole, cut).toString();
    const isComplete = bytes[cut] === 10;
    expect(stream.report()).toEqual(
      reportOf(Buffer.concat([bytes.subarray(0, whole), Buffer.from(isComplete ? rest : "")])),
    );
  }
});

test("the reported use never shrinks while a stream is read", () => {
  for (const messages of Object.values(STREAMS)) {
    const stream = new AgentStream({ prices: PRICES });
    let [tokens, cost, turns] = [0, 0, 0];
    for (const message of messages) {
      stream.push(Buffer.from(linesOf([message])));
      const { inputTokens = 0, outputTokens = 0, costUsd = 0, turns: now = 0 } = stream.report().usage ?? {};
      expect([inputTokens + outputTokens >= tokens, costUsd >= cost, now >= turns]).toEqual([
        true,
        true,
        true,
      ]);
      [tokens, cost, turns] = [inputTokens + outputTokens, costUsd, now];
    }
  }
});

test.each([
  [
    "Codex",
    [
      { type: "thread.started", thread_id: "t" },
      { type: "turn.started" },
      { type: "turn.failed", error: { message: "usage limit" } },
    ],
  ],
  [
    "Gemini",
    [
      { type: "init", session_id: "s" },
      { type: "result", status: "error", error: { type: "TerminalQuotaError", message: "quota" } },
    ],
  ],
  [
    "opencode",
    [
      { type: "step_start", sessionID: "s" },
      {
        type: "error",
        sessionID: "s",
        error: { name: "APIError", data: { message: "busy", statusCode: 529 } },
      },
    ],
  ],
  ["another program", [{ redrive: { status: "failed", error: "no" } }]],
])("a stream of %s can end with an error", (_agent, messages) => {
  expect(reportOf(linesOf(messages))).toMatchObject({
    end: "failed",
    error: { message: expect.any(String) },
  });
});

test("a line of more than 32 MB is skipped, and the next one is read", () => {
  const stream = new AgentStream({ format: "claude" });
  stream.push(Buffer.from('{"type":"user","message":"'));
  const chunk = Buffer.alloc(1024 * 1024, "x");
  for (let n = 0; n < 33; n++) stream.push(chunk);
  stream.push(Buffer.from(`"}\n${linesOf(CLAUDE.slice(-1))}`));
  expect(stream.report()).toMatchObject({ end: "success", usage: { costUsd: 0.4711 } });
});
