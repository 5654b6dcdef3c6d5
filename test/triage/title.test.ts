import { describe, expect, test } from "vitest";
import { failureTitle, groupTitle, locationText, titleLine, titleToJson } from "../../src/triage/title.ts";

describe("a group's title is the error line, its location the command and how it ended", () => {
  test.each([
    [
      "CommandFailed::sh failed with exit code 22: curl: (<num>) The requested URL returned error: 501",
      "The requested URL returned error: 501",
      "curl · exit 22",
    ],
    [
      "CommandFailed::step fetch (curl -sSf …) failed with exit code 22: curl: (<num>) The requested URL returned error: 501",
      "The requested URL returned error: 501",
      "curl -sSf … · exit 22 · step fetch",
    ],
    [
      "CommandFailed::cargo test failed with exit code 101: error[E0308]: mismatched types",
      "error[E0308]: mismatched types",
      "cargo test · exit 101",
    ],
    [
      "CommandFailed::convert failed with exit code 1: convert: unable to open image <path>",
      "unable to open image <path>",
      "convert · exit 1",
    ],
    [
      "CommandFailed::sh failed with exit code 127: sh: <num>: frobnicate: not found",
      "frobnicate: not found",
      "sh · exit 127",
    ],
    [
      "CommandFailed::bash failed with exit code 127: bash: line <num>: x: command not found",
      "x: command not found",
      "bash · exit 127",
    ],
    [
      "CommandFailed::sh failed with exit code 2: grep: <path>: No such file",
      "grep: <path>: No such file",
      "sh · exit 2",
    ],
    [
      "CommandFailed::node failed with exit code 1: TypeError: x is not a function (in load < main)",
      "TypeError: x is not a function",
      "node · exit 1 · in load < main",
    ],
    ["CommandFailed::<path> failed with exit code 2: error TS2304", "error TS2304", "exit 2"],
    ["CommandFailed::<path> … failed with exit code 65: no title", "no title", "exit 65"],
    [
      "CommandFailed::cargo test failed with exit code 101",
      "cargo test failed with exit code 101",
      "cargo test · exit 101",
    ],
    [
      "ResourceExhausted::sh failed with exit code 137 (SIGKILL)",
      "sh failed with exit code 137 (SIGKILL)",
      "sh · exit 137 (SIGKILL)",
    ],
    ["CommandFailed::claude was killed by SIGSEGV: boom", "boom", "claude · SIGSEGV"],
    ["Timeout::cargo test timed out after <dur>", "cargo test timed out after <dur>", "cargo test"],
    [
      "Timeout::the item timed out after <dur> in npm test",
      "the item timed out after <dur> in npm test",
      "npm test",
    ],
    ["ServerError::hook was answered with HTTP 503: try later", "try later", "hook · HTTP 503"],
    ["ServerError::mcp was answered with JSON-RPC error code -32000: busy", "busy", "mcp · JSON-RPC -32000"],
    [
      "CommandFailed::tyop cannot be started (ENOENT): there is no such command",
      "tyop cannot be started (ENOENT): there is no such command",
      "tyop",
    ],
  ])("%s", (pattern, title, location) => {
    const found = groupTitle(pattern);
    expect([found.title, locationText(found.location)]).toEqual([title, location]);
  });

  test("a message without a command is the title", () => {
    expect(groupTitle("BusinessException::The invoice has no VAT number")).toMatchObject({
      type: "BusinessException",
      title: "The invoice has no VAT number",
    });
    expect(titleToJson("BusinessException::The invoice has no VAT number")).toEqual({
      title: "The invoice has no VAT number",
      location: null,
    });
  });

  test("a group that a person named or split off has its name, and its split text stays in the title", () => {
    expect(groupTitle("disk::full again")).toMatchObject({ type: "", title: "disk::full again" });
    expect(titleLine("Timeout::no answer (in load < main) (disk)")).toBe("no answer (disk) (in load < main)");
  });

  test("a failure has the same title without masks, and its recorded exit code", () => {
    const errorType = { name: "CommandFailed" } as const;
    const failed = failureTitle({
      errorType,
      errorMessage: "sh failed with exit code 6: curl: (6) Could not resolve host: url",
    });
    expect([failed.title, locationText(failed.location)]).toEqual([
      "Could not resolve host: url",
      "curl · exit 6",
    ]);
    const reported = failureTitle({ errorType, errorMessage: "disk full", exitCode: 3 });
    expect([reported.title, locationText(reported.location)]).toEqual(["disk full", "exit 3"]);
    expect(failureTitle({ errorType, errorMessage: "" }).title).toBe("(no message)");
  });
});
