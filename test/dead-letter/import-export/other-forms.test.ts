/** Entries of other forms that become letters: undelivered receipts, and the bodies of error queues. */
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exportLetters } from "../../../src/dead-letter/import-export/export.ts";
import { contentId } from "../../../src/intake/identity.ts";
import { selectLetters } from "../../../src/redrive/select.ts";
import type { JsonObject } from "../../../src/std/json.ts";
import { ExchangeKit } from "./exchange-kit.ts";

let kit: ExchangeKit;
beforeEach(() => {
  kit = new ExchangeKit();
});
afterEach(() => kit.remove());

/** A document in each line. */
const written = (name: string) =>
  readFileSync(kit.path(name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
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
      reason: "out of retries (5 attempts used)",
      failure_history: [{ attempt_number: 5, timestamp: "2024-01-15T10:30:45.000Z" }],
      reprocess_eligible: true,
    });
    expect(documents[0]?.item_id).not.toBe(documents[1]?.item_id);
  });

  test("a second import adds only the new entries", async () => {
    write("receipts.json", [entry("l", "t-1")]);
    const engine = await kit.store();
    await kit.import(engine, "receipts.json");
    write("receipts.json", [entry("k", "t-0"), entry("l", "t-1")]);
    expect(await kit.import(engine, "receipts.json")).toMatchObject({ imported: 1, existing: 1 });
  });
});

describe("exported receipts.json", () => {
  const letter = (itemId: string, more: JsonObject = {}): JsonObject => ({
    item_id: itemId,
    item_data: { lease_id: "l", task_id: "t-1" },
    last_attempt: "2024-01-15T10:30:45Z",
    failure_history: [1, 2, 3].map((attempt_number) => ({
      attempt_number,
      timestamp: "2024-01-15T10:30:45Z",
      error_type: "ServerError",
      error_message: "HTTP 500",
      step_failed: "POST http://x/",
      duration_ms: 1,
    })),
    ...more,
  });
  const exported = async (letters: readonly JsonObject[]) => {
    write("letters.json", { items: letters });
    const engine = await kit.store();
    await kit.import(engine, "letters.json", { job: "gate" });
    const path = kit.path("receipts.json");
    await exportLetters(selectLetters(engine, { filter: {} }, { order: "oldest" }), {
      path,
      format: "receipts",
    });
    return JSON.parse(readFileSync(path, "utf8")) as readonly JsonObject[];
  };

  test("has the receipt, the time of its failure and its number of attempts, one entry per line", async () => {
    const itemId = contentId({ lease_id: "l", task_id: "t-1" });
    expect(await exported([letter(itemId)])).toEqual([
      { receipt: { lease_id: "l", task_id: "t-1" }, failed_at: "2024-01-15T10:30:45.000Z", attempts: 3 },
    ]);
    expect(readFileSync(kit.path("receipts.json"), "utf8").split("\n").length).toBe(4);
  });

  test("has the key if it does not follow from the receipt, and keeps it when it is imported again", async () => {
    const entries = await exported([letter("k-1")]);
    expect(entries).toMatchObject([{ idempotency_key: "k-1" }]);
    const { documents } = await kit.imported("receipts.json");
    expect(documents).toMatchObject([{ item_id: "k-1", failure_history: [{ attempt_number: 3 }] }]);
  });

  test("is an empty array when there are no letters", async () => {
    expect(await exported([])).toEqual([]);
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

  test("one of the framework becomes a letter with all its fields as data", async () => {
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
          evidence: [{ path: "C:\\Screenshots\\error.jpg" }],
          source: {
            execution_id: "20260216143022",
            flow: "DF0001-GenerateGuide",
            subflow: "Main",
            action: "5",
            action_name: "Click UI Element in Window",
          },
        },
      ],
    });
  });

  test("those exported by Redrive are imported with their items, data and history", async () => {
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
          evidence: [{ path: "/tmp/shot.png" }],
        },
        { attempt_number: 2, timestamp: "2025-01-11T10:35:00.000Z" },
      ],
    });
  });

  test("an exported one begins with the seven fields of the framework, and has the source that the work reported", async () => {
    const source = { execution_id: "20260216143022", flow: "DF1", subflow: "Main", action: "5" };
    const told = { ...failure, agent_id: "robot-3:17:abcdef/1" };
    const files = [{ path: "/tmp/shot.png", kept: "/home/evidence/ab/ab12", bytes: 7 }, { path: "/tmp/b" }];
    write("in.json", [
      {
        item_id: "item-123",
        item_data: data,
        job_id: "j",
        failure_history: [
          { ...told, source, evidence: files },
          { ...told, attempt_number: 2, log: "/logs/2.log" },
        ],
      },
    ]);
    const { engine, documents } = await kit.imported("in.json");
    await kit.export(engine, "out.json", "error-body");
    const bodies = written("out.json");
    expect(Object.keys(bodies[0] ?? {}).slice(0, 7)).toEqual(Object.keys(body));
    expect(bodies).toMatchObject([
      {
        ExecutionId: "20260216143022",
        DesktopFlow: "DF1",
        Subflow: "Main",
        Action: "5",
        "Action name": "shell: cargo test",
        "Error Message": told.error_message,
        "Error Evidence": "/home/evidence/ab/ab12",
      },
      {
        ExecutionId: "robot-3:17:abcdef/1#2",
        DesktopFlow: "j",
        Subflow: "shell: cargo test",
        Action: "2",
        "Action name": "shell: cargo test",
        "Error Evidence": "/logs/2.log",
      },
    ]);
    const again = await kit.imported("out.json");
    const history = (again.documents[0] as JsonObject).failure_history as readonly JsonObject[];
    expect(history.map((one) => one.source)).toEqual([source, undefined]);
    expect((documents[0] as JsonObject).item_id).toBe((again.documents[0] as JsonObject).item_id);
  });

  test("one of the framework is exported with its original fields", async () => {
    write("errors.json", [body]);
    const { engine } = await kit.imported("errors.json");
    await kit.export(engine, "out.json", "error-body");
    expect(written("out.json")).toMatchObject([body]);
  });

  test("those of an earlier version, with the item in the place of the subflow, are imported unchanged", async () => {
    const old = {
      ...body,
      ...{ ExecutionId: "j", DesktopFlow: "j", Subflow: "item-123", "Action name": "shell: cargo test" },
      ...{ "Error Type": "Timeout", Timestamp: "2025-01-11T10:35:00.000Z", "Item Data": data },
    };
    write("old.json", [
      { ...old, Action: "1" },
      { ...old, Action: "4" },
    ]);
    const { documents } = await kit.imported("old.json");
    expect(documents).toHaveLength(1);
    expect(documents[0]).toMatchObject({
      ...{ item_id: "item-123", job_id: "j", item_data: data },
      failure_history: [{ attempt_number: 1, step_failed: "shell: cargo test" }, { attempt_number: 4 }],
    });
    const [first] = (documents[0] as JsonObject).failure_history as readonly JsonObject[];
    expect(first).not.toHaveProperty("source");
  });
});

test("fields of a letter that version 0.1 exported under old names are read", async () => {
  const late = { at: "2026-01-15T10:30:45.000Z", attempt_number: 1, outcome: "succeeded", note: "late" };
  const failure = { attempt_number: 1, timestamp: late.at, error_message: "no", error_class: "unknown" };
  write("old.json", [
    { item_id: "a", job_id: "j", item_data: 1, failure_history: [failure], toxic: true, evidence: [late] },
  ]);
  const { documents, report } = await kit.imported("old.json");
  expect(report).toMatchObject({ imported: 1, ignoredFields: [] });
  expect(documents[0]).toMatchObject({ poison: true, late_results: [late] });
});
