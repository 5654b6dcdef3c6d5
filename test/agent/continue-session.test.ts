/** The command lines that continue a session, and what shows that an agent could not. */
import { expect, test } from "vitest";
import { canResume, hasNotBegun, resumeCommand } from "../../src/agent/continue-session.ts";

test("known agents continue a session by its id", () => {
  const of = (...command: string[]) => resumeCommand(command, "a-1")?.join(" ");
  expect(of("claude", "--print", "--verbose")).toBe("claude --print --verbose --resume a-1");
  expect(of("/opt/bin/claude", "-p")).toBe("/opt/bin/claude -p --resume a-1");
  expect(of("codex", "exec", "--json", "-s", "read-only", "-")).toBe(
    "codex exec --json -s read-only resume a-1 -",
  );
  expect(of("codex", "exec", "--json")).toBe("codex exec --json resume a-1");
  expect(of("gemini", "-o", "stream-json")).toBe("gemini -o stream-json --resume a-1");
  expect(of("opencode", "run", "--format", "json")).toBe("opencode run --format json --session a-1");
  expect(of("my-agent")).toBeUndefined();
  expect(canResume("my-agent")).toBe(false);
});

test("an id that could be an option is not used", () => {
  for (const id of ["--help", "", "a b", "-x"]) expect(resumeCommand(["claude"], id)).toBeUndefined();
});

test("an agent that has printed nothing, or an error without a turn, has not begun", () => {
  expect(hasNotBegun({})).toBe(true);
  expect(hasNotBegun({ session: "s", end: "failed", usage: { costUsd: 0 } })).toBe(true);
  expect(hasNotBegun({ session: "s" })).toBe(false);
  expect(hasNotBegun({ session: "s", end: "failed", usage: { turns: 3 } })).toBe(false);
  expect(hasNotBegun({ session: "s", end: "failed", limit: {} })).toBe(false);
});
