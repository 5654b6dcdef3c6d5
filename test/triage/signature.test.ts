import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ErrorTypeName } from "../../src/item/error-type.ts";
import { signatureOf } from "../../src/triage/signature.ts";
import { failures } from "../item/arbitraries.ts";

const failed = (errorMessage: string, name: ErrorTypeName = "CommandFailed") => ({
  errorType: { name },
  errorMessage,
});

test("the pattern is the type and the masked message, and the signature is its hash", () => {
  const { pattern, signature } = signatureOf(
    failed("cargo test failed with exit code 101: 3 of 7 at src/a/b.rs:1:2"),
  );
  expect(pattern).toBe("CommandFailed::cargo test failed with exit code 101: <num> of <num> at <path>");
  const hash = createHash("sha256").update(`redrive-3\nCommandFailed\n${pattern}`).digest("hex");
  expect(signature).toBe(hash.slice(0, 16));
});

describe("the same failure", () => {
  test("it is the same whatever differs from item to item", () => {
    const one = signatureOf(failed("cannot open /data/1.csv after 3 tries, 12 ms"));
    expect(signatureOf(failed("cannot open /data/99/x.csv after 5 tries, 3.4 s"))).toEqual(one);
  });

  test("it does not depend on what was signed before, or in which order", () => {
    fc.assert(
      fc.property(fc.array(failures, { maxLength: 10 }), (list) => {
        const forward = list.map((failure) => signatureOf(failure));
        const backward = list.toReversed().map((failure) => signatureOf(failure));
        expect(backward.toReversed()).toEqual(forward);
        for (const { signature } of forward) expect(signature).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});

test("another type, exit code or error code is another failure", () => {
  const messages = [
    "x failed with exit code 1",
    "x failed with exit code 101",
    "error E0308: x",
    "error E0309: x",
  ];
  const signatures = messages.map((message) => signatureOf(failed(message)).signature);
  signatures.push(signatureOf(failed("x failed with exit code 1", "Unknown")).signature);
  expect(new Set(signatures).size).toBe(5);
});

test("without a message the output speaks, and without any it says so", () => {
  const silent = failed("");
  expect(signatureOf({ ...silent, stderrTail: "a\nerror: 3 left\n" }).pattern).toBe(
    "CommandFailed::error: <num> left",
  );
  expect(signatureOf(silent).pattern).toBe("CommandFailed::(no message)");
});

describe("a failure with a stack trace", () => {
  const trace = "TypeError: no cart 7\n    at total (/app/cart.js:3:4)\n    at main (/app/main.js:1:2)\n";

  test("the frames of the recorded trace are part of the pattern", () => {
    expect(signatureOf({ ...failed("no cart 7"), stackTrace: trace }).pattern).toBe(
      "CommandFailed::no cart <num> (in total < main)",
    );
  });

  test("a trace in the output counts when the message tells of it, and not otherwise", () => {
    const told = "node x.js failed with exit code 1: TypeError: no cart 7";
    expect(signatureOf({ ...failed(told), stderrTail: trace }).pattern).toBe(
      "CommandFailed::node <path> failed with exit code 1: TypeError: no cart <num> (in total < main)",
    );
    expect(signatureOf({ ...failed("the disk is full"), stderrTail: trace }).pattern).toBe(
      "CommandFailed::the disk is full",
    );
  });

  test("the same message from another place is another failure, from another line it is not", () => {
    const at = (text: string) => signatureOf({ ...failed("x"), stackTrace: text }).signature;
    expect(at(trace.replace("total", "discount"))).not.toBe(at(trace));
    expect(at(trace.replace(":3:4", ":30:4"))).toBe(at(trace));
  });
});
