import { describe, expect, test } from "vitest";
import { ERROR_CLASSES, ERROR_TYPE_NAMES, errorTypeToJson } from "../../src/item/error-type.ts";
import { classify, type FailureFacts } from "../../src/retry/classify.ts";
import { parseReportedFailure } from "../../src/retry/reported-failure.ts";
import { fc } from "../support/properties.ts";

const command = "cargo test";
/** Type and class as they are written outside. */
const kindOf = (facts: FailureFacts) => {
  const { errorType, errorClass } = classify(facts);
  return [errorTypeToJson(errorType), errorClass];
};
const reported = (json: unknown) => parseReportedFailure(JSON.stringify(json), 0);

describe("how a command ended", () => {
  test.each<[string, FailureFacts, unknown, string]>([
    ["a timeout", { timedOutMs: 5000, exitCode: 143, signal: "SIGTERM" }, "Timeout", "transient"],
    ["exit code 1", { exitCode: 1 }, { CommandFailed: { exit_code: 1, command } }, "unknown"],
    ["exit code 101", { exitCode: 101 }, { CommandFailed: { exit_code: 101, command } }, "unknown"],
    ["a bare 64", { exitCode: 64 }, { CommandFailed: { exit_code: 64, command } }, "unknown"],
    ["a bare 65", { exitCode: 65 }, { CommandFailed: { exit_code: 65, command } }, "unknown"],
    ["EX_TEMPFAIL", { exitCode: 75 }, { CommandFailed: { exit_code: 75, command } }, "transient"],
    ["EX_NOPERM", { exitCode: 77 }, { PermissionError: { exit_code: 77 } }, "permanent"],
    ["137 from a shell", { exitCode: 137 }, { CommandFailed: { exit_code: 137, command } }, "unknown"],
    ["SIGSEGV", { signal: "SIGSEGV" }, { CommandFailed: { signal: "SIGSEGV", command } }, "unknown"],
  ])("%s", (_name, facts, type, errorClass) => {
    expect(kindOf({ ...facts, command })).toEqual([type, errorClass]);
  });
});

describe("a command that cannot be started", () => {
  test.each(["ENOENT", "ENOEXEC", "ENOTDIR", "E2BIG"])("%s is permanent", (startError) => {
    expect(kindOf({ startError, command })).toEqual([
      { CommandFailed: { errno: startError, command } },
      "permanent",
    ]);
  });

  test.each(["ENOMEM", "EAGAIN", "EMFILE", "ENOSPC"])("%s passes", (startError) => {
    expect(kindOf({ startError, command })).toEqual([
      { ResourceExhausted: { errno: startError } },
      "transient",
    ]);
  });

  test("EACCES is a permission failure", () => {
    expect(kindOf({ startError: "EACCES", command })).toEqual([
      { PermissionError: { errno: "EACCES" } },
      "permanent",
    ]);
  });

  test("an unknown errno is not permanent", () => {
    expect(kindOf({ startError: "EWHAT" })).toEqual([{ CommandFailed: { errno: "EWHAT" } }, "unknown"]);
    expect(kindOf({ startError: "constructor" })[1]).toBe("unknown");
  });

  test("the message has a hint", () => {
    expect(classify({ startError: "E2BIG", command }).message).toContain("read it from stdin");
    expect(classify({ startError: "ENOENT", command: "crago" }).message).toMatch(
      /^crago cannot be started.*PATH/,
    );
    expect(classify({ startError: "EWHAT" }).message).toBe("the command cannot be started (EWHAT)");
  });
});

describe("the error line of a command", () => {
  test.each<[string, string, string]>([
    ["cp: cannot create regular file 'x': Permission denied", "PermissionError", "permanent"],
    ["Error: EACCES: permission denied, open '/etc/shadow'", "PermissionError", "permanent"],
    ["chown: changing ownership of 'x': Operation not permitted", "PermissionError", "permanent"],
    ["ssh: connect to host db port 22: Operation timed out", "Timeout", "transient"],
    ["Error: connect ETIMEDOUT 10.0.0.1:443", "Timeout", "transient"],
    ["cp: error writing 'x': No space left on device", "ResourceExhausted", "transient"],
    ["sh: fork: Cannot allocate memory", "ResourceExhausted", "transient"],
    ["FATAL ERROR: JavaScript heap out of memory", "ResourceExhausted", "transient"],
    ["Error: EMFILE: too many open files", "ResourceExhausted", "transient"],
  ])("%j is %s", (stderrTail, name, errorClass) => {
    expect(kindOf({ exitCode: 1, command, stderrTail })).toEqual([name, errorClass]);
    expect(classify({ exitCode: 1, command, stderrTail }).message).toContain(stderrTail);
  });

  test("is the line of the message: a warning above it does not decide", () => {
    const stderrTail = "find: '/root': Permission denied\nError: 3 rows are wrong\n";
    expect(kindOf({ exitCode: 1, stderrTail })).toEqual([{ CommandFailed: { exit_code: 1 } }, "unknown"]);
  });

  test("does not take precedence over the command's own report, nor over the exit codes 75 and 77", () => {
    const stderrTail = "Permission denied";
    const said = { exitCode: 1, stderrTail, reported: reported({ type: "ITException" }) };
    expect(kindOf(said)).toEqual(["ITException", "transient"]);
    expect(kindOf({ exitCode: 75, stderrTail })[1]).toBe("transient");
  });
});

describe("SIGKILL", () => {
  test("that Redrive did not send is the kernel's, out of memory", () => {
    expect(kindOf({ signal: "SIGKILL", command })).toEqual(["ResourceExhausted", "transient"]);
    expect(kindOf({ signal: "SIGKILL", timedOutMs: 5 })).toEqual(["Timeout", "transient"]);
    expect(kindOf({ signal: "SIGTERM" })).toEqual([{ CommandFailed: { signal: "SIGTERM" } }, "unknown"]);
  });

  test("that a shell reports as 137 is recognised by the word that it prints", () => {
    const killed = { exitCode: 137, stderrTail: "sh: line 1: 4711 Killed   ./big\n" };
    expect(kindOf(killed)).toEqual(["ResourceExhausted", "transient"]);
    expect(kindOf({ exitCode: 137 })).toEqual([{ CommandFailed: { exit_code: 137 } }, "unknown"]);
  });
});

describe("answers of another service", () => {
  test.each<[number, string, string]>([
    [400, "ClientError", "permanent"],
    [401, "PermissionError", "permanent"],
    [403, "PermissionError", "permanent"],
    [404, "ClientError", "permanent"],
    [408, "Timeout", "transient"],
    [409, "ClientError", "permanent"],
    [425, "ClientError", "transient"],
    [429, "RateLimited", "throttled"],
    [500, "ServerError", "transient"],
    [502, "ServerError", "transient"],
    [503, "ServerError", "outage"],
    [504, "ServerError", "transient"],
    [302, "Unknown", "unknown"],
  ])("HTTP %d is %s, %s", (httpStatus, name, errorClass) => {
    expect(kindOf({ httpStatus })).toEqual([{ [name]: { http_status: httpStatus } }, errorClass]);
  });

  test.each<[number, string, string]>([
    [-32700, "ClientError", "permanent"],
    [-32601, "ClientError", "permanent"],
    [-32602, "ClientError", "permanent"],
    [-32603, "ServerError", "transient"],
    [-32001, "ServerError", "unknown"],
    [42, "Unknown", "unknown"],
  ])("JSON-RPC %d inside HTTP 200 is %s, %s", (jsonRpcCode, name, errorClass) => {
    const kind = [{ [name]: { json_rpc_code: jsonRpcCode } }, errorClass];
    expect(kindOf({ jsonRpcCode, httpStatus: 200 })).toEqual(kind);
    expect(kindOf({ jsonRpcCode })).toEqual(kind);
  });

  test("an HTTP error takes precedence over the JSON-RPC code in its body", () => {
    expect(kindOf({ httpStatus: 429, jsonRpcCode: -32603 })[1]).toBe("throttled");
  });
});

describe("what a function threw", () => {
  test.each<[string, string, string]>([
    ["ECONNRESET", "TransportError", "transient"],
    ["ETIMEDOUT", "Timeout", "transient"],
    ["EACCES", "PermissionError", "permanent"],
    ["ENOSPC", "ResourceExhausted", "transient"],
  ])("%s is %s, %s", (errno, name, errorClass) => {
    expect(kindOf({ errno, message: "permission denied" })).toEqual([{ [name]: { errno } }, errorClass]);
  });

  test.each<[string, unknown, string]>([
    ["Permission denied: cannot write", "PermissionError", "permanent"],
    ["ACCESS DENIED", "PermissionError", "permanent"],
    ["Operation timed out after 30s", "Timeout", "transient"],
    ["timeout of 30s exceeded", "Timeout", "transient"],
    ["no such customer", "Unknown", "unknown"],
  ])("with words only, %j is %s", (message, name, errorClass) => {
    expect(kindOf({ message, errno: "ENOENT" })).toEqual([name, errorClass]);
    expect(classify({ message }).message).toBe(message);
  });
});

describe("what the command reported", () => {
  test("its type and class take precedence over the exit code", () => {
    const facts = {
      exitCode: 1,
      reported: reported({ type: "RateLimited", class: "outage", message: "quota" }),
    };
    expect(classify(facts)).toEqual({
      errorType: { name: "RateLimited" },
      errorClass: "outage",
      message: "quota",
    });
  });

  test("a type alone implies its class", () => {
    const classes = [
      "BusinessException",
      "ValidationFailed",
      "RateLimited",
      "ITException",
      "GenericException",
    ].map((type) => kindOf({ exitCode: 1, reported: reported({ type }) })[1]);
    expect(classes).toEqual(["permanent", "unknown", "throttled", "transient", "unknown"]);
  });

  test("a class alone leaves the type to the exit code", () => {
    const facts = { exitCode: 3, command, reported: reported({ class: "permanent" }) };
    expect(kindOf(facts)).toEqual([{ CommandFailed: { exit_code: 3, command } }, "permanent"]);
  });

  test("its fields are kept beside what was observed", () => {
    const facts = { exitCode: 3, reported: reported({ type: { CommandFailed: { phase: "link" } } }) };
    expect(kindOf(facts)).toEqual([{ CommandFailed: { exit_code: 3, phase: "link" } }, "unknown"]);
  });

  test("it does not hide a timeout or a command that never started", () => {
    const report = reported({ type: "BusinessException", message: "no" });
    expect(kindOf({ timedOutMs: 10, reported: report })).toEqual(["Timeout", "transient"]);
    expect(kindOf({ startError: "ENOENT", reported: report })[1]).toBe("permanent");
    expect(classify({ timedOutMs: 10, reported: report, command }).message).toBe(
      "cargo test timed out after 10 ms",
    );
  });

  test("an unreadable report is mentioned in the message, and the exit code decides", () => {
    const facts = { exitCode: 2, command, reported: parseReportedFailure("{oops", 0) };
    expect(classify(facts).message).toBe(
      "cargo test failed with exit code 2 (its failure report is not valid JSON)",
    );
    expect(kindOf(facts)[1]).toBe("unknown");
  });
});

describe("the message", () => {
  test("it names the command, how it ended and the error line", () => {
    const stderrTail =
      "   Compiling x\nerror[E0308]: mismatched types\nerror: aborting due to 1 previous error\n";
    expect(classify({ exitCode: 101, command, stderrTail }).message).toBe(
      "cargo test failed with exit code 101: error[E0308]: mismatched types",
    );
    expect(classify({ signal: "SIGKILL", command }).message).toBe("cargo test was killed by SIGKILL");
    expect(classify({ exitCode: 139, command }).message).toBe(
      "cargo test failed with exit code 139 (SIGSEGV)",
    );
    expect(classify({ httpStatus: 503, command: "POST /r" }).message).toBe(
      "POST /r was answered with HTTP 503",
    );
    expect(classify({}).message).toBe("the command failed");
  });
});

test("any facts give a known type and class and a non-empty line", () => {
  const text = fc.string({ unit: "binary", maxLength: 200 });
  const facts = fc.record(
    {
      timedOutMs: fc.nat(),
      exitCode: fc.integer(),
      signal: text,
      startError: text,
      errno: text,
      reported: text.map((report) => parseReportedFailure(report, 0)),
      httpStatus: fc.integer(),
      jsonRpcCode: fc.integer(),
      stderrTail: text,
      stdoutTail: text,
      command: text,
      message: text,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(facts, (given) => {
      const { errorType, errorClass, message } = classify(given);
      expect(ERROR_TYPE_NAMES).toContain(errorType.name);
      expect(ERROR_CLASSES).toContain(errorClass);
      expect(message.trim()).not.toBe("");
      expect(message).not.toMatch(/[\n\r]/);
      expect(message.length).toBeLessThanOrEqual(1000);
    }),
  );
});

test("a message that is empty after cleaning is replaced by what was observed", () => {
  expect(classify({ message: "\u0000", exitCode: 3, command: "convert" }).message).toBe(
    "convert failed with exit code 3",
  );
  expect(classify({ message: "\u0000", timedOutMs: 2000, command: "convert" }).message).toBe(
    "convert timed out after 2.0 s",
  );
});
