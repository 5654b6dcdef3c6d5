import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { OpenAttempt } from "../../src/attempt/handler.ts";
import { reportFilesOf, withReports } from "../../src/attempt/run-process.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { failureOf } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const done: Outcome = { kind: "succeeded" };
let attempts = 0;

function setUp() {
  attempts += 1;
  const files = reportFilesOf(join(directory.path, `slot-${attempts}`));
  const attempt = new OpenAttempt({
    attempt: 1,
    slot: 1,
    agentId: "host:1/1",
    stop: new AbortController().signal,
    mayStart: () => true,
    author: "robot",
  });
  return { files, attempt, notes: () => attempt.notes?.map(({ text }) => text) ?? [] };
}

it("a command that writes neither file reports nothing", () => {
  const { files, attempt, notes } = setUp();
  expect(withReports(done, files, attempt)).toEqual(done);
  expect(notes()).toEqual([]);
});

it("the result of a success is kept, and the files are removed afterwards", () => {
  const { files, attempt, notes } = setUp();
  writeFileSync(files.resultFile, '{"invoice": 7}\n');
  writeFileSync(files.notesFile, "first\n\n  second  \n");
  expect(withReports(done, files, attempt)).toEqual({ kind: "succeeded", result: { invoice: 7 } });
  expect(notes()).toEqual(["first", "second"]);
  expect([files.resultFile, files.notesFile].filter((path) => existsSync(path))).toEqual([]);
});

it("a result of null is a result", () => {
  const { files, attempt } = setUp();
  writeFileSync(files.resultFile, "null");
  expect(withReports(done, files, attempt)).toEqual({ kind: "succeeded", result: null });
});

it("a failure has no result, but its notes", () => {
  const { files, attempt, notes } = setUp();
  const failed: Outcome = { kind: "failed", failure: failureOf({ ref: 1, attempt: 1 }) };
  writeFileSync(files.resultFile, "1");
  writeFileSync(files.notesFile, "the portal asked for a captcha");
  expect(withReports(failed, files, attempt)).toEqual(failed);
  expect(notes()).toEqual(["the portal asked for a captcha"]);
  expect(existsSync(files.resultFile)).toBe(false);
});

it.each<[string, (path: string) => void, RegExp]>([
  ["that is no JSON", (path) => writeFileSync(path, "{half"), /not valid JSON/],
  ["that is empty", (path) => writeFileSync(path, ""), /not valid JSON/],
  ["that is too large", (path) => writeFileSync(path, `"${"x".repeat(1_100_000)}"`), /1100002 bytes/],
  ["that is a folder", (path) => mkdirSync(path), /regular file/],
])("a result %s does not undo the success: a note says so", (_what, write, why) => {
  const { files, attempt, notes } = setUp();
  write(files.resultFile);
  expect(withReports(done, files, attempt)).toEqual(done);
  expect(notes()).toEqual([expect.stringMatching(why)]);
  expect(existsSync(files.resultFile)).toBe(false);
});

it("notes are limited in number and length, and the last one has the number of omitted ones", () => {
  const { files, attempt, notes } = setUp();
  writeFileSync(files.notesFile, `${"x".repeat(5000)}\n${"y\n".repeat(200)}`);
  withReports(done, files, attempt);
  expect(notes()).toHaveLength(101);
  expect(notes().at(-1)).toBe("101 more notes of this attempt were dropped: at most 100 are kept.");
  expect(notes()[0]).toHaveLength(4000);
});
