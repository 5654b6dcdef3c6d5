/** The stream of a running agent as lines for people. */
import { expect, it } from "vitest";
import { agentLine } from "../../src/agent/agent-lines.ts";

const assistant = (...content: unknown[]) => JSON.stringify({ type: "assistant", message: { content } });

it("shows an agent's texts and the tools it calls, and nothing else of its stream", () => {
  expect(agentLine(assistant({ type: "text", text: "I look." }))).toBe("I look.");
  const call = assistant({ type: "tool_use", name: "Bash", input: { command: "ls" } });
  expect(agentLine(call)).toBe('[Bash] {"command":"ls"}');
  expect(agentLine(JSON.stringify({ type: "system", model: "m" }))).toBeNull();
  expect(agentLine("no JSON at all")).toBe("no JSON at all");
});

it.each([
  ["codex", { type: "item.completed", item: { type: "command_execution", command: "ls" } }, "[command] ls"],
  ["codex", { type: "item.completed", item: { type: "agent_message", text: "Done." } }, "Done."],
  ["codex", { type: "item.started", item: { type: "command_execution", command: "ls" } }, null],
  ["codex", { type: "turn.failed", error: { message: "no" } }, "[error] no"],
  ["gemini", { type: "tool_use", tool_name: "read", parameters: { path: "a" } }, '[read] {"path":"a"}'],
  ["gemini", { type: "message", role: "assistant", content: "Hi.", delta: true }, "Hi."],
  ["gemini", { type: "message", role: "user", content: "the prompt" }, null],
  ["opencode", { type: "text", part: { text: "Ok." } }, "Ok."],
  [
    "opencode",
    { type: "tool_use", part: { tool: "bash", state: { input: { command: "ls" } } } },
    '[bash] {"command":"ls"}',
  ],
  ["another program", { redrive: { cost_usd: 1 } }, null],
  ["another program", { step: 1 }, '{"step":1}'],
])("shows the messages of %s", (_agent, message, text) => {
  expect(agentLine(JSON.stringify(message))).toBe(text);
});
