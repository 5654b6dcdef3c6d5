import { describe, expect, test } from "vitest";
import { DELAY_MS_MAX } from "../../src/retry/backoff.ts";
import { parseReportedFailure } from "../../src/retry/reported-failure.ts";
import { fc } from "../support/properties.ts";

const NOW = Date.UTC(2025, 0, 1);
const parse = (json: unknown) => parseReportedFailure(JSON.stringify(json), NOW);

test("a complete report is read", () => {
  const report = parse({
    type: { CommandFailed: { exit_code: 9 } },
    class: "transient",
    message: "the index\nis locked",
    context: ["import", "row 7"],
    evidence: ["shot.png"],
    retry_after: 1.5,
    stack_trace: "at x\nat y",
  });
  expect(report).toEqual({
    type: { name: "CommandFailed", fields: { exit_code: 9 } },
    class: "transient",
    message: "the index is locked",
    context: ["import", "row 7"],
    evidence: ["shot.png"],
    retryAfterMs: 1500,
    stackTrace: "at x\nat y",
  });
});

test("its source may name places of the work, each a word or a number", () => {
  const said = { execution_id: "20260216143022", flow: "DF1\nGuide", subflow: "Main", action: 5 };
  expect(parse({ ...said, action_name: "Click" })).toEqual({
    source: {
      executionId: "20260216143022",
      flow: "DF1 Guide",
      subflow: "Main",
      action: "5",
      actionName: "Click",
    },
  });
  expect(parse({ flow: "", action: ["5"], subflow: true })).toEqual({
    problem: "parts of its failure report cannot be used: invalid subflow, action",
  });
});

test("a path that is too long is refused, because a shortened one would be another file's", () => {
  expect(parse({ evidence: ["a.png", "b".repeat(5000)] })).toEqual({
    evidence: ["a.png"],
    problem: "parts of its failure report cannot be used: invalid evidence",
  });
});

test("an empty file is no report", () => {
  expect(parseReportedFailure(" \n", NOW)).toEqual({});
});

test("an unknown type is kept within Unknown", () => {
  expect(parse({ type: "Quantum" })).toEqual({ type: { name: "Unknown", fields: { type: "Quantum" } } });
});

describe("retry_after", () => {
  test.each([
    [30, 30_000],
    ["30", 30_000],
    [0, 0],
    ["2025-01-01T00:00:20Z", 20_000],
    ["2025-01-01T01:00:20.500+01:00", 20_500],
    ["2024-01-01T00:00:00Z", 0],
    [1e300, DELAY_MS_MAX],
  ])("%j is %d ms", (given, ms) => {
    expect(parse({ retry_after: given })).toEqual({ retryAfterMs: ms });
  });

  test.each([-1, "soon", "2025-01-01", true, [1]])("%j is a problem, and no delay", (given) => {
    const report = parse({ retry_after: given });
    expect(report).toEqual({ problem: expect.stringContaining("invalid retry_after") });
  });
});

test("fields of the wrong type are named, and the others are used", () => {
  expect(
    parse({ type: 3, class: "purple", message: ["x"], context: "y", evidence: ["a", 1], stack_trace: "s" }),
  ).toEqual({
    evidence: ["a"],
    stackTrace: "s",
    problem: "parts of its failure report cannot be used: invalid type, class, message, context, evidence",
  });
});

test.each(["{", "nope", "{'a': 1}", '{"a":'])("%j is not JSON, and says so", (text) => {
  expect(parseReportedFailure(text, NOW)).toEqual({ problem: "its failure report is not valid JSON" });
});

test.each(["null", "[]", "3", '"Timeout"'])("%s is no object, and says so", (text) => {
  expect(parseReportedFailure(text, NOW)).toEqual({ problem: "its failure report is not a JSON object" });
});

test("long texts and lists are limited", () => {
  const report = parse({
    message: "m".repeat(1e6),
    stack_trace: "s".repeat(1e6),
    context: Array(1e4).fill("c"),
  });
  expect(report.message?.length).toBe(2000);
  expect(report.stackTrace?.length).toBe(16_384);
  expect(report.context?.length).toBe(50);
});

test("no report makes it throw, whatever it contains", () => {
  const keys = fc.constantFrom(
    "type",
    "class",
    "message",
    "context",
    "evidence",
    "retry_after",
    "stack_trace",
    "execution_id",
    "action",
  );
  fc.assert(
    fc.property(fc.dictionary(keys, fc.jsonValue()), fc.string(), (json, noise) => {
      expect(parse(json)).toBeTypeOf("object");
      expect(parseReportedFailure(noise, NOW)).toBeTypeOf("object");
    }),
  );
});
