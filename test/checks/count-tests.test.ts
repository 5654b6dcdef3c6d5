/** The last line of CI tells the truth: a run that ended badly is never "0 failed". */
import { spawnSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ROOT } from "./sources.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

function count(report: unknown, exitStatus: number): { line: string; status: number | null } {
  const path = directory.file("report.json");
  if (report !== undefined) writeFileSync(path, JSON.stringify(report));
  const script = join(ROOT, "scripts/count-tests.mjs");
  const { stdout, status } = spawnSync(process.execPath, [script, path, String(exitStatus)], {
    encoding: "utf8",
  });
  return { line: stdout, status };
}

const file = (status: string, ...assertions: string[]) => ({
  status,
  assertionResults: assertions.map((one) => ({ status: one })),
});

describe("the count of CI", () => {
  it("is that of the report", () => {
    const good = { numPassedTests: 12, numFailedTests: 0, testResults: [file("passed", "passed")] };
    expect(count(good, 0)).toEqual({ line: "12 passed, 0 failed\n", status: 0 });
    const bad = { numPassedTests: 11, numFailedTests: 1, testResults: [file("failed", "passed", "failed")] };
    expect(count(bad, 1)).toEqual({ line: "11 passed, 1 failed\n", status: 1 });
  });

  it("counts a file that could not be loaded as failed", () => {
    const report = {
      numPassedTests: 5,
      numFailedTests: 0,
      testResults: [file("failed"), file("passed", "passed")],
    };
    expect(count(report, 1)).toEqual({ line: "5 passed, 1 failed\n", status: 1 });
  });

  it("is never good if the run was not, or if nothing ran", () => {
    const report = { numPassedTests: 5, numFailedTests: 0, testResults: [] };
    expect(count(report, 137)).toEqual({ line: "5 passed, 1 failed\n", status: 1 });
    expect(count(undefined, 1)).toEqual({ line: "0 passed, 1 failed\n", status: 1 });
    expect(count({ ...report, numPassedTests: 0 }, 0).status).toBe(1);
  });

  it("CI's script can be executed", () => {
    expect(statSync(join(ROOT, ".ci/run")).mode & 0o111).toBe(0o111);
  });
});
