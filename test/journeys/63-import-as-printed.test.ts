/** Imports the letters, receipts and error bodies that the documents of the predecessors print, unchanged. */
import { describe, expect, it } from "vitest";
import { openGate, recover } from "./gate.ts";
import { type LetterPageJson, type OperationJson, openWorkshop, SOUND } from "./workshop.ts";

/** With the marks that refer to the explanations below it. */
const PRODIGY = `{
  "item_id": "item-123",                    // (1)!
  "item_data": { "file": "src/main.rs", "url": "https://example.test/a//b" },  // (2)!
  "first_attempt": "2025-01-11T10:25:00Z",  // (3)!
  "last_attempt": "2025-01-11T10:30:00Z",
  "failure_count": 3,                       // (4)!
  "failure_history": [                      // (5)!
    {
      "attempt_number": 1,
      "timestamp": "2025-01-11T10:30:00Z",
      "error_type": { "CommandFailed": { "exit_code": 101 } },
      "error_message": "cargo test failed with exit code 101",
      "stack_trace": "thread 'main' panicked at src/main.rs:42...",
      "agent_id": "agent-1",
      "step_failed": "shell: cargo test",
      "duration_ms": 45000
    }
  ],
  "error_signature": "CommandFailed::cargo test failed with exit",  // (6)!
  "reprocess_eligible": true,               // (7)!
  "manual_review_required": false,
  "worktree_artifacts": {                   // (8)!
    "worktree_path": "/Users/user/.prodigy/worktrees/prodigy/agent-1",
    "preserved": true
  }
}
`;

const FAILURE = `# Source: src/cook/execution/dlq.rs:46-62 (FailureDetail struct)
{
  "attempt_number": 1,
  "timestamp": "2025-01-11T10:30:00Z",
  "error_type": { "CommandFailed": { "exit_code": 101 } },
  "error_message": "cargo test failed with exit code 101"
}
`;

const RECEIPTS = `// /var/lib/cognigate/dlq/receipts.json
[
  {
    "receipt": { "lease_id": "abc-123", "task_id": "task-456", "status": "complete" },
    "failed_at": "2024-01-15T10:30:45Z",
    "attempts": 5
  }
]
`;

const ERROR_BODY = {
  ExecutionId: "20260216143022",
  DesktopFlow: "DF0001-GenerateGuide",
  Subflow: "Main",
  Action: "5",
  "Action name": "Click UI Element in Window",
  "Error Message": "Element not found on screen within timeout",
  "Error Evidence": "C:\\Log\\2026-02-16_143025-Error-DF0001-GenerateGuide.jpg",
};

interface ImportJson {
  readonly imported: number;
  readonly refused: readonly { readonly why: string }[];
  readonly foreign_signatures: number;
  readonly jobs: readonly { readonly job_id: string }[];
}

describe("letters as the documents print them", () => {
  it("are imported with comments, their own times, all their counts, and their signature", async () => {
    const shop = openWorkshop();
    shop.write("item-123.json", PRODIGY);
    const imported = await shop.run(["dlq", "import", "item-123.json", "--json"]);
    expect(imported.json<ImportJson>()).toMatchObject({ imported: 1, refused: [], foreign_signatures: 1 });
    const [letter] = await shop.letters();
    expect(letter).toMatchObject({
      item_data: { url: "https://example.test/a//b" },
      first_attempt: "2025-01-11T10:25:00.000Z",
      last_attempt: "2025-01-11T10:30:00.000Z",
      failure_count: 3,
      failure_history: [{ attempt_number: 1 }],
      source_signature: "CommandFailed::cargo test failed with exit",
      worktree_artifacts: { preserved: true },
    });
    expect((await shop.letters("--older-than", "1h")).length).toBe(1);
    expect((await shop.letters("--newer-than", "1h")).length).toBe(0);
    const { total } = (await shop.run(["dlq", "stats", "--json"])).json<{ total: Record<string, number> }>();
    expect(total).toMatchObject({ size: 1, arrived_last_24_hours: 0 });
    expect(total.oldest_age_seconds).toBeGreaterThan(365 * 86_400);
    const analysis = (await shop.run(["dlq", "analyze", "--json"])).json<{
      pattern_groups: unknown[];
      temporal_distribution: [string, number][];
    }>();
    expect(analysis.pattern_groups).toMatchObject([
      { first_occurrence: "2025-01-11T10:25:00.000Z", last_occurrence: "2025-01-11T10:30:00.000Z" },
    ]);
    expect(analysis.temporal_distribution).toEqual([["2025-01-11T10:30:00.000Z", 1]]);
    const dry = await shop.run(["dlq", "maintain", "--dry-run", "--json"]);
    expect(dry.stdout).not.toMatch(/"purged": ?1/);
    expect(await shop.check()).toBe(SOUND);
  });

  it("are in the error log, as error bodies and failures", async () => {
    const shop = openWorkshop();
    shop.write("bodies.json", JSON.stringify([ERROR_BODY]));
    shop.write("item-123.json", PRODIGY);
    for (const file of ["bodies.json", "item-123.json"]) await shop.run(["dlq", "import", file]);
    const errors = async (...flags: string[]) =>
      (await shop.run(["errors", "--json", ...flags])).json<{ errors: unknown[] }>().errors;
    expect(await errors()).toMatchObject([
      {
        item_id: "item-123",
        timestamp: "2025-01-11T10:30:00.000Z",
        error_message: expect.stringContaining("cargo test"),
      },
      { flow: "DF0001-GenerateGuide", timestamp: "2026-02-16T14:30:22.000Z", action: "5" },
    ]);
    expect(await errors("--since", "1h")).toEqual([]);
  });

  it("an empty history stays empty, and a letter that only has a count can be inspected", async () => {
    const shop = openWorkshop();
    const letter = {
      item_id: "a",
      item_data: 1,
      failure_count: 4,
      failure_history: [],
      error_signature: "Timeout::agent timed out",
    };
    shop.write("letters.json", JSON.stringify([letter]));
    await shop.run(["dlq", "import", "letters.json"]);
    const page = (await shop.run(["dlq", "export", "-"])).json<LetterPageJson>();
    expect(page.items).toMatchObject([{ failure_count: 4, failure_history: [] }]);
    const inspected = await shop.run(["dlq", "inspect", "a"]);
    expect(inspected.code).toBe(0);
    expect((await shop.letters("--type", "Timeout")).length).toBe(1);
  });
});

describe("a record that is not a letter", () => {
  it("is refused: results of successes, a single failure, and other records", async () => {
    const shop = openWorkshop();
    const results = ["a", "b"].map((id) => ({ item_id: id, item_data: { id }, status: "Success" }));
    shop.write("results.json", JSON.stringify(results));
    shop.write("failure.json", FAILURE);
    for (const [file, why] of [
      ["results.json", /it has no failure/],
      ["failure.json", /not a letter/],
    ] as const) {
      const imported = await shop.run(["dlq", "import", file, "--json"]);
      expect(imported.code).toBe(2);
      expect(imported.json<ImportJson>()).toMatchObject({ imported: 0 });
      expect(imported.json<ImportJson>().refused[0]?.why).toMatch(why);
    }
    expect(await shop.letters()).toEqual([]);
  });
});

describe("a receipts.json", () => {
  it("is imported to the only target, and `receipts recover` sends it right after", async () => {
    const { shop, server } = await openGate();
    shop.write("receipts.json", RECEIPTS);
    const imported = await shop.run(["dlq", "import", "receipts.json", "--json"]);
    expect(imported.json<ImportJson>()).toMatchObject({ imported: 1, jobs: [{ job_id: "gate" }] });
    expect(await shop.letters("--queue", "gate")).toMatchObject([
      { failure_count: 5, last_attempt: "2024-01-15T10:30:45.000Z" },
    ]);
    const recovered = await recover(shop, "--yes", "--json");
    expect(recovered.json<OperationJson>()).toMatchObject({ selected: 1, succeeded: 1, failed: 0 });
    const posted = server.ledger.filter(({ method }) => method === "POST");
    expect(posted.map(({ body }) => JSON.parse(body))).toMatchObject([{ task_id: "task-456" }]);
    expect(await shop.letters("--queue", "gate")).toEqual([]);
  });
});
