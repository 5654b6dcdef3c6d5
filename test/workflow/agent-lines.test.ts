/** The stream of a running agent as lines for people. */
import { expect, it } from "vitest";
import { agentLine } from "../../src/workflow/agent-log.ts";

const assistant = (...content: unknown[]) => JSON.stringify({ type: "assistant", message: { content } });

it("shows an agent's texts and the tools it calls, and nothing else of its stream", () => {
  expect(agentLine(assistant({ type: "text", text: "I look." }))).toBe("I look.");
  const call = assistant({ type: "tool_use", name: "Bash", input: { command: "ls" } });
  expect(agentLine(call)).toBe('[Bash] {"command":"ls"}');
  expect(agentLine(JSON.stringify({ type: "system", model: "m" }))).toBeNull();
  expect(agentLine("no JSON at all")).toBe("no JSON at all");
});
