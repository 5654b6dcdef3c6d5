/** Entries of other forms that become letters: undelivered receipts, and the bodies of error queues. */
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/kit/json.ts";
import { ExchangeKit } from "./exchange-kit.ts";

let kit: ExchangeKit;
beforeEach(() => {
  kit = new ExchangeKit();
});
afterEach(() => kit.remove());

const write = (name: string, content: unknown) => writeFileSync(kit.path(name), JSON.stringify(content));

describe("receipts.json", () => {
  const entry = (lease: string, task: string) => ({
    receipt: { lease_id: lease, task_id: task, worker_id: "cognigate-0", status: "complete" },
    failed_at: "2024-01-15T10:30:45Z",
    attempts: 5,
  });

  test("each entry is a letter with the receipt as its data", async () => {
    write("receipts.json", [entry("l", "t-1"), entry("l", "t-2")]);
    const { documents, report } = await kit.imported("receipts.json");
    expect(report).toMatchObject({ imported: 2, jobs: [{ jobId: "receipts" }], ignoredFields: [] });
    expect(documents[0]).toMatchObject({
      item_data: entry("l", "t-1").receipt,
      last_attempt: "2024-01-15T10:30:45.000Z",
      reason: "attempts spent (5)",
      failure_history: [{ attempt_number: 5, timestamp: "2024-01-15T10:30:45.000Z" }],
      reprocess_eligible: true,
    });
    expect(documents[0]?.item_id).not.toBe(documents[1]?.item_id);
  });

  test("imported again after more were added, only those come in", async () => {
    write("receipts.json", [entry("l", "t-1")]);
    const engine = await kit.store();
    await kit.import(engine, "receipts.json");
    write("receipts.json", [entry("k", "t-0"), entry("l", "t-1")]);
    expect(await kit.import(engine, "receipts.json")).toMatchObject({ imported: 1, existing: 1 });
  });
});

describe("error bodies", () => {
  const failure = {
    attempt_number: 1,
    timestamp: "2025-01-11T10:30:00Z",
    error_type: { CommandFailed: { exit_code: 101 } },
    error_message: "cargo test failed with exit code 101",
    step_failed: "shell: cargo test",
  };
  const data = { file: "src/main.rs" };
  const body = {
    ExecutionId: "20260216143022",
    DesktopFlow: "DF0001-GenerateGuide",
    Subflow: "Main",
    Action: "5",
    "Action name": "Click UI Element in Window",
    "Error Message": "Element not found on screen within timeout",
    "Error Evidence": "C:\\Screenshots\\error.jpg",
  };

  test("one of the framework becomes a letter with all that it says as its data", async () => {
    write("errors.json", [body, { ...body, Action: "6" }]);
    const { documents } = await kit.imported("errors.json");
    expect(documents).toHaveLength(2);
    expect(documents[0]).toMatchObject({
      item_data: body,
      job_id: "errors",
      last_attempt: "2026-02-16T14:30:22.000Z",
      failure_history: [
        {
          error_type: "GenericException",
          error_message: body["Error Message"],
          step_failed: "Main 5 Click UI Element in Window",
          evidence: ["C:\\Screenshots\\error.jpg"],
        },
      ],
    });
  });

  test("those that were exported here come back with their items, data and history", async () => {
    write("in.json", [
      {
        item_id: "item-123",
        item_data: data,
        job_id: "j",
        failure_history: [
          { ...failure, evidence: ["/tmp/shot.png"] },
          { ...failure, attempt_number: 2, timestamp: "2025-01-11T10:35:00Z" },
        ],
      },
    ]);
    const { engine, documents } = await kit.imported("in.json");
    await kit.export(engine, "out.txt", "error-body");
    const again = await kit.imported("out.txt");
    expect(again.documents).toHaveLength(1);
    const before = documents[0] as JsonObject;
    expect(again.documents[0]).toMatchObject({
      item_id: "item-123",
      item_data: data,
      job_id: "j",
      error_signature: before.error_signature,
      failure_history: [
        {
          attempt_number: 1,
          error_type: { CommandFailed: { exit_code: 101 } },
          step_failed: "shell: cargo test",
          evidence: ["/tmp/shot.png"],
        },
        { attempt_number: 2, timestamp: "2025-01-11T10:35:00.000Z" },
      ],
    });
  });
});
