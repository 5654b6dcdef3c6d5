/** A letter in the format of Prodigy: no class, no pattern, no state, times without milliseconds. */
export const PRODIGY_LETTER = {
  item_id: "item-123",
  item_data: { file: "src/main.rs", priority: 5 },
  first_attempt: "2025-01-11T10:25:00Z",
  last_attempt: "2025-01-11T10:30:00Z",
  failure_count: 3,
  failure_history: [
    {
      attempt_number: 1,
      timestamp: "2025-01-11T10:30:00Z",
      error_type: { CommandFailed: { exit_code: 101 } },
      error_message: "cargo test failed with exit code 101",
      stack_trace: "thread 'main' panicked at src/main.rs:42...",
      agent_id: "agent-1",
      step_failed: "shell: cargo test",
      duration_ms: 45_000,
      json_log_location: "/Users/user/.local/state/claude/logs/session-abc123.json",
    },
  ],
  error_signature: "CommandFailed::cargo test failed with exit",
  reprocess_eligible: true,
  manual_review_required: false,
  worktree_artifacts: {
    worktree_path: "/Users/user/.prodigy/worktrees/prodigy/agent-1",
    branch_name: "agent-1",
    uncommitted_changes: "src/main.rs modified",
    error_logs: "error.log contents...",
  },
};
