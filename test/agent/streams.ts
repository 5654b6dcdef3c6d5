/** One stream of each agent, as its documentation and types describe it. */

export function linesOf(messages: readonly unknown[]): string {
  return messages
    .map((message) => `${typeof message === "string" ? message : JSON.stringify(message)}\n`)
    .join("");
}

const session_id = "5f1c7d3e-0000-4000-8000-000000000001";

const assistant = (id: string, content: unknown, usage: object, parent: string | null = null) => ({
  type: "assistant",
  session_id,
  uuid: `u-${id}`,
  parent_tool_use_id: parent,
  message: {
    id,
    model: parent === null ? "claude-opus-9" : "claude-haiku-9",
    role: "assistant",
    content: [content],
    stop_reason: null,
    usage,
  },
});

export const CLAUDE: readonly unknown[] = [
  {
    type: "system",
    subtype: "init",
    session_id,
    model: "claude-opus-9",
    cwd: "/w",
    tools: ["Bash"],
    claude_code_version: "2.1.325",
  },
  assistant(
    "msg_1",
    { type: "text", text: "I look at the tests — först." },
    { input_tokens: 2, cache_creation_input_tokens: 10, cache_read_input_tokens: 900, output_tokens: 1 },
  ),
  assistant(
    "msg_1",
    { type: "tool_use", id: "t1", name: "Read", input: { file_path: "src/a.ts" } },
    { input_tokens: 2, cache_creation_input_tokens: 10, cache_read_input_tokens: 900, output_tokens: 31 },
  ),
  {
    type: "user",
    session_id,
    message: { content: [{ type: "tool_result", tool_use_id: "t1", is_error: false, content: "…" }] },
  },
  assistant(
    "msg_sub",
    { type: "text", text: "I am a subagent." },
    { input_tokens: 40, output_tokens: 5 },
    "t9",
  ),
  { type: "system", subtype: "api_retry", session_id, attempt: 1, max_retries: 10, error: "overloaded" },
  { type: "rate_limit_event", session_id, rate_limit_info: { status: "allowed", resetsAt: 1774447200 } },
  assistant(
    "msg_2",
    { type: "tool_use", id: "t2", name: "Bash", input: { command: "npm test" } },
    { input_tokens: 4, cache_creation_input_tokens: 10, cache_read_input_tokens: 1000, output_tokens: 12 },
  ),
  { type: "something_new", session_id },
  {
    type: "result",
    subtype: "success",
    is_error: false,
    session_id,
    num_turns: 3,
    total_cost_usd: 0.4711,
    result: "All tests pass.",
    usage: { input_tokens: 9, output_tokens: 9 },
    modelUsage: {
      "claude-opus-9": {
        inputTokens: 10,
        outputTokens: 200,
        cacheReadInputTokens: 2700,
        cacheCreationInputTokens: 264,
        costUSD: 0.47,
      },
      "claude-haiku-9": {
        inputTokens: 50,
        outputTokens: 20,
        cacheReadInputTokens: 0,
        cacheCreationInputTokens: 0,
        costUSD: 0.0011,
      },
    },
  },
];

export const CODEX: readonly unknown[] = [
  { type: "thread.started", thread_id: "0199a213-81c0-7800-8aa1-bbab2a035a53" },
  { type: "turn.started" },
  { type: "item.completed", item: { id: "item_0", type: "reasoning", text: "**Searching**" } },
  {
    type: "item.started",
    item: {
      id: "item_1",
      type: "command_execution",
      command: "bash -lc ls",
      aggregated_output: "",
      exit_code: null,
      status: "in_progress",
    },
  },
  { type: "error", message: "stream disconnected before completion: retrying" },
  {
    type: "item.completed",
    item: {
      id: "item_1",
      type: "command_execution",
      command: "bash -lc ls",
      aggregated_output: "a\n",
      exit_code: 0,
      status: "completed",
    },
  },
  {
    type: "item.completed",
    item: {
      id: "item_2",
      type: "file_change",
      changes: [
        { path: "src/a.rs", kind: "update" },
        { path: "src/b.rs", kind: "add" },
      ],
      status: "completed",
    },
  },
  { type: "item.completed", item: { id: "item_3", type: "agent_message", text: "Fixed both files." } },
  {
    type: "turn.completed",
    usage: {
      input_tokens: 24763,
      cached_input_tokens: 24448,
      output_tokens: 122,
      reasoning_output_tokens: 64,
    },
  },
];

const at = { timestamp: "2026-11-16T10:00:00.000Z" };

export const GEMINI: readonly unknown[] = [
  { type: "init", ...at, session_id: "1d2c3b4a-0000-4000-8000-00000000000a", model: "gemini-9-pro" },
  { type: "message", ...at, role: "user", content: "the prompt" },
  { type: "message", ...at, role: "assistant", content: "I begin ", delta: true },
  { type: "message", ...at, role: "assistant", content: "now.", delta: true },
  { type: "tool_use", ...at, tool_name: "read_file", tool_id: "r1", parameters: { path: "a.ts" } },
  {
    type: "tool_use",
    ...at,
    tool_name: "write_file",
    tool_id: "w1",
    parameters: { file_path: "b.ts", content: "x" },
  },
  { type: "tool_result", ...at, tool_id: "r1", status: "success", output: "…" },
  { type: "tool_result", ...at, tool_id: "w1", status: "success" },
  { type: "error", ...at, severity: "warning", message: "loop detected" },
  { type: "message", ...at, role: "assistant", content: "Done with ", delta: true },
  { type: "message", ...at, role: "assistant", content: "b.ts.", delta: true },
  {
    type: "result",
    ...at,
    status: "success",
    stats: {
      total_tokens: 1150,
      input_tokens: 1000,
      output_tokens: 100,
      cached: 400,
      input: 600,
      duration_ms: 9,
      tool_calls: 2,
      models: {},
    },
  },
];

const opencode = (type: string, part: object) => ({ type, timestamp: 1, sessionID: "ses_7d1", part });

export const OPENCODE: readonly unknown[] = [
  opencode("step_start", { type: "step-start" }),
  opencode("tool_use", {
    tool: "bash",
    callID: "c1",
    state: {
      status: "completed",
      input: { command: "cargo test" },
      output: "ok",
      title: "Runs tests",
      time: { start: 1, end: 2 },
    },
  }),
  opencode("step_finish", {
    reason: "tool-calls",
    cost: 0.1,
    tokens: { input: 300, output: 20, reasoning: 5, cache: { read: 400, write: 100 } },
  }),
  opencode("step_start", { type: "step-start" }),
  opencode("text", { text: "Everything passes." }),
  opencode("step_finish", {
    reason: "stop",
    cost: 0.2,
    tokens: { input: 30, output: 50, reasoning: 0, cache: { read: 500, write: 0 } },
  }),
];

export const LINES: readonly unknown[] = [
  "starting",
  { redrive: { session: "s-1", model: "m-1", cost_usd: 0.02, turns: 1, action: "read", target: "x.py" } },
  "some output { not json",
  { other: "json" },
  {
    redrive: {
      cost_usd: 0.07,
      turns: 3,
      input_tokens: 500,
      output_tokens: 40,
      action: "patch",
      target: "x.py",
    },
  },
  { redrive: { cost_usd: -1 } },
  { redrive: { status: "success" } },
];

/** Qwen Code prints the lines of Claude Code without a cost. */
export const QWEN: readonly unknown[] = [
  { type: "system", subtype: "init", session_id: "q-1", model: "qwen-9", cwd: "/w", tools: ["edit"] },
  {
    type: "assistant",
    session_id: "q-1",
    parent_tool_use_id: null,
    message: {
      id: "m1",
      model: "qwen-9",
      content: [{ type: "tool_use", id: "t1", name: "edit", input: { file_path: "a.ts" } }],
      usage: { input_tokens: 800, cache_read_input_tokens: 200, output_tokens: 50 },
    },
  },
  { type: "user", session_id: "q-1", message: { content: [{ type: "tool_result", tool_use_id: "t1" }] } },
  {
    type: "result",
    subtype: "success",
    is_error: false,
    session_id: "q-1",
    num_turns: 2,
    result: "Done.",
    usage: { input_tokens: 1500, cache_read_input_tokens: 500, output_tokens: 100 },
  },
];
