/** What changed from one failed attempt to the next. */
import { expect, test } from "vitest";
import type { Failure } from "../../src/item/failure.ts";
import { compareFailures } from "../../src/triage/compare-failures.ts";
import { failureOf } from "../support/settlements.ts";

const failure = (change: Partial<Failure>) => failureOf({ ref: 1, attempt: 1 }, change);

test("the same failure again has no difference, whatever its numbers and times", () => {
  const before = failure({
    errorMessage: "cannot connect to 10.0.0.1:5432",
    stderrTail: "12:00:01 retry 1\nerror at 0x7ffe",
  });
  const after = failure({
    errorMessage: "cannot connect to 10.0.0.2:5432",
    stderrTail: "12:00:09 retry 2\nerror at 0x7fff",
  });
  expect(compareFailures(before, after)).toEqual({ facts: [], goneLines: [], newLines: [] });
});

test("type, exit code, signal, step and message are compared, and so are lines that only one has", () => {
  const before = failure({
    exitCode: 1,
    errorMessage: "disk full",
    stderrTail: "writing\nENOSPC",
    stdoutTail: "a",
  });
  const { exitCode, ...killed } = before;
  const after: Failure = {
    ...killed,
    errorType: { name: "Timeout" },
    signal: "SIGKILL",
    errorMessage: "timed out",
    stderrTail: "writing\nstill writing",
  };
  const { facts, goneLines, newLines } = compareFailures(before, after);
  expect(facts).toEqual([
    { name: "type", before: "CommandFailed", after: "Timeout" },
    { name: "exit code", before: "1", after: "" },
    { name: "signal", before: "", after: "SIGKILL" },
    { name: "message", before: "disk full", after: "timed out" },
  ]);
  expect([goneLines, newLines]).toEqual([["ENOSPC"], ["still writing"]]);
});
