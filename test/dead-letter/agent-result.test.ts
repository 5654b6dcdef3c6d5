import { describe, expect, test } from "vitest";
import { type AgentResult, agentResultToDlqItem } from "../../src/dead-letter/reported-letter.ts";
import { letterFromJson, letterToJson } from "../../src/item/letter.ts";

const AT = Date.UTC(2025, 0, 11);
const item = { id: 1, file: "src/main.rs" };
const base: AgentResult = { status: "failed", itemId: "item-1", durationMs: 4500, at: AT };
const letterOf = (result: Partial<AgentResult>, attempt = 1) => {
  const letter = agentResultToDlqItem({ ...base, ...result }, item, attempt);
  if (letter === null) throw new Error("a failed agent gave no letter");
  return letter;
};

test("a success has no letter", () => {
  expect(
    agentResultToDlqItem({ ...base, status: "success", message: "timed out, but well" }, item, 1),
  ).toBeNull();
});

describe("a failed agent", () => {
  const letter = letterOf(
    {
      message: "cargo test failed with exit code 101",
      error: "thread 'main' panicked",
      exitCode: 101,
      stepFailed: "shell: cargo test",
      agentId: "agent-7",
      jsonLogLocation: "/logs/session.json",
      worktreePath: "/worktrees/agent-7",
      branchName: "agent-7",
      jobId: "job-1",
    },
    2,
  );

  test("its letter keeps the item's data, the times and the job", () => {
    expect(letter).toMatchObject({
      itemId: "item-1",
      itemData: item,
      firstAttempt: AT,
      lastAttempt: AT,
      failureCount: 1,
      jobId: "job-1",
      queue: "job-1",
      state: "dead",
      reason: "the agent failed (attempt 2)",
    });
  });

  test("its letter names the failed step, the log and the worktree", () => {
    expect(letter.failureHistory).toEqual([
      {
        attemptNumber: 2,
        timestamp: AT,
        errorType: { name: "CommandFailed", fields: { exit_code: 101, command: "shell: cargo test" } },
        errorClass: "unknown",
        errorMessage: "cargo test failed with exit code 101",
        stackTrace: "thread 'main' panicked",
        agentId: "agent-7",
        stepFailed: "shell: cargo test",
        durationMs: 4500,
        jsonLogLocation: "/logs/session.json",
        exitCode: 101,
      },
    ]);
    expect(letter.worktreeArtifacts).toEqual({ worktreePath: "/worktrees/agent-7", branchName: "agent-7" });
  });

  test("its letter is eligible, and is read back from JSON unchanged", () => {
    expect(letter).toMatchObject({ reprocessEligible: true, manualReviewRequired: false });
    expect(letterFromJson(letterToJson(letter))).toEqual(letter);
  });
});

test("an agent that timed out can be retried", () => {
  const letter = letterOf({ status: "timeout" });
  expect(letter.failureHistory[0]).toMatchObject({
    errorType: { name: "Timeout" },
    errorClass: "transient",
    errorMessage: "Agent execution timed out",
    agentId: "agent-item-1",
    stepFailed: "agent_execution",
  });
  expect(letter).toMatchObject({ reprocessEligible: true, reason: "the agent timed out (attempt 1)" });
  expect(letter).not.toHaveProperty("worktreeArtifacts");
});

describe("with only a message", () => {
  test.each([
    ["Operation timed out after 30s", "Timeout", false],
    ["Permission denied: cannot write to file", "PermissionError", true],
    ["critical: the disk is on fire", "CommandFailed", true],
    ["Test error", "CommandFailed", false],
  ])("%s is %s", (message, name, manualReviewRequired) => {
    const letter = letterOf({ message });
    expect(letter.failureHistory[0]?.errorType.name).toBe(name);
    expect(letter.manualReviewRequired).toBe(manualReviewRequired);
  });

  test("a failure without a message still has a text", () => {
    expect(letterOf({}).failureHistory[0]?.errorMessage).toBe("agent_execution failed");
  });
});

test("the signature has 16 hex digits, is the same for the same message, and does not depend on the item's values", () => {
  const one = letterOf({ message: "cannot compile src/main.rs" });
  expect(one.errorSignature).toMatch(/^[0-9a-f]{16}$/);
  expect(letterOf({ message: "cannot compile src/main.rs" }).errorSignature).toBe(one.errorSignature);
  const other = agentResultToDlqItem({ ...base, message: "cannot compile lib.rs" }, { file: "lib.rs" }, 1);
  expect(other?.errorSignature).toBe(one.errorSignature);
});
