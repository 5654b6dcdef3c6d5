/** Letters that others wrote: what they lack is worked out, what they say stays. */

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/std/json.ts";
import { signatureOf } from "../../../src/triage/signature.ts";
import { PRODIGY_LETTER } from "../../support/prodigy-letter.ts";
import { ExchangeKit } from "./exchange-kit.ts";

let kit: ExchangeKit;
beforeEach(() => {
  kit = new ExchangeKit();
});
afterEach(() => kit.remove());

function write(name: string, content: unknown): void {
  const path = kit.path(name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}

const prodigy = { ...PRODIGY_LETTER, worktree_artifacts: null };

const HOME = "dlq/repo/mapreduce-1/mapreduce/dlq/mapreduce-1";

describe("a folder of Prodigy", () => {
  beforeEach(() => {
    write(`${HOME}/items/item-123.json`, prodigy);
    write(`${HOME}/items/item-456.json`, { ...prodigy, item_id: "item-456" });
    write(`${HOME}/index.json`, { job_id: "mapreduce-1", item_count: 2, item_ids: ["item-456", "item-123"] });
  });

  test.each(["dlq", "dlq/repo", "dlq/repo/mapreduce-1", HOME, `${HOME}/items`, `${HOME}/`])(
    "comes in from %s",
    async (folder) => {
      const { documents, report } = await kit.imported(folder);
      expect(report).toMatchObject({
        imported: 2,
        refusedCount: 0,
        jobs: [{ jobId: "mapreduce-1", isNew: true }],
      });
      expect(documents.map(({ item_id }) => item_id)).toEqual(["item-456", "item-123"]);
    },
  );

  test("its letters keep their fields, and have those of ours", async () => {
    const { documents } = await kit.imported(HOME);
    const { signature, pattern } = signatureOf({
      errorType: { name: "CommandFailed" },
      errorMessage: "cargo test failed with exit code 101",
    });
    expect(documents[1]).toMatchObject({
      item_id: "item-123",
      item_data: prodigy.item_data,
      first_attempt: "2025-01-11T10:25:00.000Z",
      last_attempt: "2025-01-11T10:30:00.000Z",
      failure_history: [
        {
          attempt_number: 1,
          error_type: { CommandFailed: { exit_code: 101 } },
          error_class: "unknown",
          exit_code: 101,
          json_log_location: PRODIGY_LETTER.failure_history[0]?.json_log_location,
        },
      ],
      error_signature: signature,
      error_pattern: pattern,
      reprocess_eligible: true,
      job_id: "mapreduce-1",
      state: "dead",
      reason: "out of retries (3 attempts used)",
    });
  });

  test("the created job has ended, and says where its letters came from", async () => {
    const { engine } = await kit.imported(HOME);
    expect(await engine.findJob("mapreduce-1")).toMatchObject({
      kind: "imported",
      status: "completed",
      intakeComplete: true,
      spec: { source: kit.path(HOME) },
    });
  });

  test("files that are being written, and unrelated files, are skipped", async () => {
    write(`${HOME}/items/.draft-1`, "{");
    write(`${HOME}/items/notes.txt`, "{");
    const { report } = await kit.imported("dlq");
    expect(report).toMatchObject({ imported: 2, refusedCount: 0 });
  });

  test("links are not followed, wherever they are", async () => {
    write("secret.json", { ...prodigy, item_id: "secret" });
    write("elsewhere/items/other.json", { ...prodigy, item_id: "other" });
    symlinkSync(kit.path("secret.json"), kit.path(`${HOME}/items/link.json`));
    mkdirSync(kit.path("dlq/repo/job-2"));
    symlinkSync(kit.path("elsewhere/items"), kit.path("dlq/repo/job-2/items"));
    symlinkSync(kit.path("elsewhere"), kit.path("dlq/repo/job-3"));
    const { report, documents } = await kit.imported("dlq");
    expect(documents.map(({ item_id }) => item_id)).toEqual(["item-456", "item-123"]);
    expect(report.refused).toEqual(
      ["dlq/repo/job-2/items", `${HOME}/items/link.json`].map((name) => ({
        where: kit.path(name),
        why: "a symbolic link, which is not followed",
      })),
    );
  });

  test("an unreadable letter is reported with its file, and the others are imported", async () => {
    write(`${HOME}/items/broken.json`, '{"item_id": "x", ');
    write(`${HOME}/items/list.json`, "[]");
    const { report } = await kit.imported("dlq");
    expect(report).toMatchObject({ imported: 2, refusedCount: 2 });
    expect(report.refused).toEqual([
      {
        where: expect.stringContaining(`${HOME}/items/broken.json`),
        why: expect.stringMatching(/^invalid JSON: /),
      },
      { where: kit.path(`${HOME}/items/list.json`), why: "not an object" },
    ]);
  });
});

describe("a folder of mmm", () => {
  const mmm = (id: string, type: unknown = "Timeout"): JsonObject => ({
    item_id: id,
    item_data: { id },
    first_attempt: "2025-01-29T08:00:00Z",
    last_attempt: "2025-01-29T08:05:00Z",
    failure_count: 2,
    failure_history: [1, 2].map((number) => ({
      attempt_number: number,
      timestamp: `2025-01-29T08:0${number}:00Z`,
      error_type: type as string,
      error_message: "agent timed out",
      stack_trace: null,
      agent_id: "agent",
      step_failed: "claude: /fix",
      duration_ms: 10,
    })),
    error_signature: "Timeout::agent timed out",
    worktree_artifacts: null,
    reprocess_eligible: true,
    manual_review_required: false,
  });
  const ROOT = ".mmm/mapreduce/dlq";

  test("has a folder for each job, and all are imported", async () => {
    write(`${ROOT}/job-1/items/a.json`, mmm("a"));
    write(`${ROOT}/job-1/index.json`, {});
    write(`${ROOT}/job-1/patterns.json`, {});
    write(`${ROOT}/job-1/metrics.json`, {});
    write(`${ROOT}/job-2/items/a.json`, mmm("a"));
    write(`${ROOT}/global/retention-policy.json`, {});
    const { documents, report } = await kit.imported(ROOT);
    expect(report).toMatchObject({ imported: 2, refusedCount: 0 });
    expect(documents.map(({ job_id, item_id }) => [job_id, item_id])).toEqual([
      ["job-1", "a"],
      ["job-2", "a"],
    ]);
    expect(documents[0]).toMatchObject({
      failure_count: 2,
      failure_history: [{ error_class: "transient" }, {}],
    });
  });

  test("its stream of all letters adds those without a file, and duplicates none", async () => {
    write(`${ROOT}/job-1/items/a.json`, mmm("a"));
    write(`${ROOT}/global/all-items.jsonl`, `${JSON.stringify(mmm("a"))}\n${JSON.stringify(mmm("b"))}\n`);
    const { documents, report } = await kit.imported(ROOT);
    expect(report).toMatchObject({ imported: 2, existing: 1 });
    expect(documents.map(({ job_id, item_id }) => [job_id, item_id])).toEqual([
      ["job-1", "a"],
      ["dlq", "b"],
    ]);
  });

  test("its stream alone is imported too", async () => {
    write(`${ROOT}/global/all-items.jsonl`, `${JSON.stringify(mmm("a"))}\n`);
    expect((await kit.imported(ROOT)).report).toMatchObject({ imported: 1, jobs: [{ jobId: "dlq" }] });
    expect((await kit.imported(`${ROOT}/global/all-items.jsonl`, { job: "j" })).report).toMatchObject({
      jobs: [{ jobId: "j", imported: 1 }],
    });
  });

  test("an archive beside the letters is not read, unless it is named", async () => {
    write("dlq/job-1/items/a.json", mmm("a"));
    write("dlq/archive/job-1/op-1.jsonl", `${JSON.stringify({ ...mmm("gone"), job_id: "job-1" })}\n`);
    expect((await kit.imported("dlq")).documents.map(({ item_id }) => item_id)).toEqual(["a"]);
    expect((await kit.imported("dlq/archive")).documents.map(({ item_id }) => item_id)).toEqual(["gone"]);
  });

  test("an unknown error type is kept by its name", async () => {
    write("x.json", [mmm("a", "DiskOnFire")]);
    const { documents } = await kit.imported("x.json");
    expect(documents[0]?.failure_history).toMatchObject([
      { error_type: { Unknown: { type: "DiskOnFire" } } },
      {},
    ]);
  });
});

describe("missing fields of a letter", () => {
  const one = async (letter: JsonObject) => {
    write("one.jsonl", JSON.stringify(letter));
    const { documents, report } = await kit.imported("one.jsonl");
    expect(report).toMatchObject({ imported: 1, refusedCount: 0 });
    return documents[0] as JsonObject;
  };

  test("the eligibility follows from the type, as for our letters", async () => {
    const letter = await one({
      item_id: "a",
      item_data: 1,
      failure_history: [{ error_type: "PermissionError" }],
    });
    expect(letter).toMatchObject({ reprocess_eligible: false, manual_review_required: true });
    expect(letter.failure_history).toMatchObject([{ error_class: "permanent" }]);
  });

  test("a given eligibility is kept", async () => {
    const history = [{ error_type: "PermissionError" }];
    const letter = await one({
      item_id: "a",
      item_data: 1,
      failure_history: history,
      reprocess_eligible: true,
    });
    expect(letter).toMatchObject({ reprocess_eligible: true, manual_review_required: true });
  });

  test("without any failure, the signature has the cause of death", async () => {
    const letter = await one({
      item_id: "a",
      item_data: 1,
      error_signature: "Timeout::agent timed out",
      failure_count: 4,
    });
    expect(letter).toMatchObject({
      error_pattern: "Timeout::agent timed out",
      reason: "out of retries (4 attempts used)",
      failure_count: 4,
      failure_history: [],
      source_signature: "Timeout::agent timed out",
    });
    expect(letter.error_signature).toMatch(/^[0-9a-f]{16}$/);
  });

  test("a failure without a message gets the pattern of the signature, and is otherwise unchanged", async () => {
    const letter = await one({
      item_id: "a",
      item_data: 1,
      error_signature: "Timeout::agent timed out",
      failure_history: [{ error_type: "Timeout", error_message: "" }],
    });
    expect(letter).toMatchObject({ error_pattern: "Timeout::agent timed out" });
    expect(letter.failure_history).toMatchObject([{ error_message: "" }]);
  });

  test("the values of an item do not split its group", async () => {
    const letter = await one({
      item_id: "a",
      item_data: { file: "src/very/special.rs" },
      failure_history: [{ error_type: "Unknown", error_message: "cannot open src/very/special.rs" }],
    });
    expect(letter.error_pattern).not.toContain("special");
  });

  test("an id is made from the content, and never from the position", async () => {
    const entry = (n: number) =>
      JSON.stringify({ item_data: { n }, failure_history: [{ error_message: "x" }] });
    write("one.jsonl", [entry(1), entry(2), entry(1)].join("\n"));
    write("two.jsonl", [entry(1), entry(1), entry(2)].join("\n"));
    const ids = async (name: string) =>
      (await kit.imported(name, { job: "j" })).documents.map(({ item_id }) => item_id).sort();
    const found = await ids("one.jsonl");
    expect(found).toHaveLength(3);
    expect(new Set(found).size).toBe(3);
    expect(await ids("two.jsonl")).toEqual(found);
  });

  test("unknown fields are dropped, and named", async () => {
    write(
      "x.jsonl",
      JSON.stringify({ item_id: "a", item_data: 1, mood: "bad", failure_history: [{ colour: "red" }] }),
    );
    expect((await kit.imported("x.jsonl")).report.ignoredFields).toEqual([
      "mood",
      "failure_history[].colour",
    ]);
  });
});

test("letters without a job belong to the folder with the name of the file", async () => {
  write(join("a", "old letters.json"), [{ ...prodigy }]);
  expect((await kit.imported("a/old letters.json")).report.jobs).toMatchObject([{ jobId: "old letters" }]);
});

test("a folder whose name cannot be a job's is reported, and needs --job", async () => {
  write("bad\nname/items/a.json", prodigy);
  const { report } = await kit.imported("bad\nname");
  expect(report).toMatchObject({
    imported: 0,
    refused: [{ why: expect.stringContaining("control character") }],
  });
  expect((await kit.imported("bad\nname", { job: "good" })).report).toMatchObject({ imported: 1 });
});
