import { describe, expect, test } from "vitest";
import { failureFromJson, failureToJson } from "../../src/item/failure.ts";
import { type Letter, letterFromJson, letterToJson } from "../../src/item/letter.ts";
import { compact, type JsonObject } from "../../src/std/json.ts";
import { PRODIGY_LETTER } from "../support/prodigy-letter.ts";
import { fc } from "../support/properties.ts";
import { failures, letters } from "./arbitraries.ts";

const throughText = (json: JsonObject) => JSON.parse(JSON.stringify(json)) as JsonObject;

test("a failure is read back from its JSON unchanged", () => {
  fc.assert(
    fc.property(failures, (failure) => {
      expect(failureFromJson(throughText(failureToJson(failure)))).toEqual(failure);
    }),
  );
});

test("a letter is read back from its JSON unchanged", () => {
  fc.assert(
    fc.property(letters, (letter) => {
      expect(letterFromJson(throughText(letterToJson(letter)))).toEqual(letter);
    }),
  );
});

describe("a letter of a predecessor", () => {
  const letter = letterFromJson(PRODIGY_LETTER);

  test("it keeps all its fields", () => {
    expect(letter).toMatchObject({
      itemId: "item-123",
      itemData: PRODIGY_LETTER.item_data,
      firstAttempt: Date.UTC(2025, 0, 11, 10, 25),
      lastAttempt: Date.UTC(2025, 0, 11, 10, 30),
      failureCount: 3,
      errorSignature: "CommandFailed::cargo test failed with exit",
      worktreeArtifacts: { branchName: "agent-1", errorLogs: "error.log contents..." },
    });
    expect(letter.failureHistory).toMatchObject([
      {
        errorType: { name: "CommandFailed", fields: { exit_code: 101 } },
        errorMessage: "cargo test failed with exit code 101",
        stepFailed: "shell: cargo test",
        durationMs: 45_000,
      },
    ]);
  });

  test("fields that came later have their defaults", () => {
    expect(letter).toMatchObject({ state: "dead", revision: 1, redriveCount: 0, errorPattern: "" });
    expect(letter.failureHistory[0]?.errorClass).toBe("unknown");
    expect(letter).not.toHaveProperty("lateResults");
  });

  test("written again, it has the same fields", () => {
    const { failure_history: history, ...rest } = letterToJson(letter);
    expect(rest).toMatchObject({
      item_data: PRODIGY_LETTER.item_data,
      worktree_artifacts: PRODIGY_LETTER.worktree_artifacts,
      first_attempt: "2025-01-11T10:25:00.000Z",
    });
    expect(history).toMatchObject([
      { ...PRODIGY_LETTER.failure_history[0], timestamp: "2025-01-11T10:30:00.000Z" },
    ]);
  });
});

/** A letter with everything that people and rules have added to it. */
const worked: Letter = {
  ...letterFromJson(PRODIGY_LETTER),
  state: "done",
  revision: 3,
  poison: true,
  amendments: [
    {
      revision: 2,
      at: Date.UTC(2026, 0, 2),
      author: "ada@host",
      note: "typo",
      operationId: "op-1",
      before: null,
    },
    { revision: 3, at: Date.UTC(2026, 0, 3), author: "ada@host", rule: "rule-1", before: { file: 7 } },
  ],
  notes: [{ at: Date.UTC(2026, 0, 4), author: "bob", text: "it was the disk" }],
  resolution: {
    kind: "auto_fix",
    at: Date.UTC(2026, 0, 5),
    author: "ada@host",
    reason: "r",
    operationId: "op-2",
  },
};

describe("the additions of people and rules to a letter", () => {
  test("are written with their public names and times", () => {
    expect(letterToJson(worked)).toMatchObject({
      poison: true,
      amendments: [
        {
          revision: 2,
          at: "2026-01-02T00:00:00.000Z",
          author: "ada@host",
          note: "typo",
          operation_id: "op-1",
          before: null,
        },
        { revision: 3, rule: "rule-1", before: { file: 7 } },
      ],
      notes: [{ at: "2026-01-04T00:00:00.000Z", author: "bob", text: "it was the disk" }],
      resolution: {
        kind: "auto_fix",
        at: "2026-01-05T00:00:00.000Z",
        author: "ada@host",
        reason: "r",
        operation_id: "op-2",
      },
    });
  });

  test("are read back unchanged", () => {
    expect(letterFromJson(throughText(letterToJson(worked)))).toEqual(worked);
  });

  test("are omitted if there are none", () => {
    const { poison: _t, amendments: _a, notes: _n, resolution: _r, ...plain } = worked;
    const json = letterToJson(plain);
    for (const key of ["poison", "amendments", "notes", "resolution", "late_results"])
      expect(json).not.toHaveProperty(key);
  });

  test("an unknown kind of resolution is read as the simplest one", () => {
    const letter = letterFromJson({ ...letterToJson(worked), resolution: { kind: "magic" } });
    expect(letter.resolution).toEqual({ kind: "requeue", at: 0 });
  });
});

test("fields of the wrong type are treated as missing", () => {
  const letter = letterFromJson({
    item_id: 7,
    failure_history: "none",
    failure_count: "3",
    late_results: {},
  });
  expect(letter).toMatchObject({ itemId: "", failureHistory: [], failureCount: 0, itemData: null });
  expect(failureFromJson({ error_class: "purple", error_context: ["a", 1] })).toMatchObject({
    errorClass: "unknown",
    errorContext: ["a"],
    errorType: { name: "Unknown" },
  });
});

test("compact removes undefined values, and nothing else", () => {
  expect(Object.keys(compact({ a: undefined, b: null, c: 0, d: "", e: false }))).toEqual([
    "b",
    "c",
    "d",
    "e",
  ]);
});
