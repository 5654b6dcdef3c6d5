import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tellingLine } from "../../src/triage/telling-line.ts";

describe("the telling line of", () => {
  test.each([
    [
      "cargo build",
      "   Compiling x v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:2:5\n\nerror: aborting due to 1 previous error\nerror: could not compile `x`\n",
      "error[E0308]: mismatched types",
    ],
    [
      "a Rust panic, with the message on the next line",
      "thread 'main' panicked at src/main.rs:42:5:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n",
      "thread 'main' panicked at src/main.rs:42:5: index out of bounds",
    ],
    [
      "Python",
      'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: bad value\n',
      "ValueError: bad value",
    ],
    [
      "Python with an exception of any name",
      'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    raise Oops("x")\nmypkg.Oops: x\nbye\n',
      "mypkg.Oops: x",
    ],
    [
      "Node",
      '/a/x.js:3\nthrow new Error("boom")\n^\n\nError: boom\n    at Object.<anonymous> (/a/x.js:3:7)\n    at ModuleError: (x)\n\nNode.js v20.1.0\n',
      "Error: boom",
    ],
    [
      "Java, at the root cause",
      'Exception in thread "main" java.lang.RuntimeException: x\n\tat A.main(A.java:1)\nCaused by: java.io.IOException: disk\n\tat B.b(B.java:2)\n\t... 3 more\n',
      "Caused by: java.io.IOException: disk",
    ],
    [
      "Go",
      "panic: runtime error: nil map\n\ngoroutine 1 [running]:\nexit status 2\n",
      "panic: runtime error: nil map",
    ],
    ["git", "hint: x\nfatal: not a git repository\n", "fatal: not a git repository"],
    ["a shell", "sh: 1: crago: not found\n", "sh: 1: crago: not found"],
    ["cat", "cat: x: No such file or directory\n", "cat: x: No such file or directory"],
    ["tsc", "src/a.ts(1,2): error TS2345: no\nFound 1 problem.\n", "src/a.ts(1,2): error TS2345: no"],
    ["make, when it says no more", "cc x.c\nmake: *** [all] Error: 2\n", "make: *** [all] Error: 2"],
    ["colours", "\u001b[31merror:\u001b[0m   red\u0007 \n", "error: red"],
    ["a progress bar", "10%\r50%\rerror: disk\rbye", "error: disk"],
    ["a program that marks nothing", "one\ntwo\n\n  three  \n\n", "three"],
  ])("%s", (_name, stderr, line) => {
    expect(tellingLine(stderr, undefined)).toBe(line);
  });
});

test("bytes that are no text tell nothing", () => {
  expect(tellingLine("\ufffdP\ufffd\ufffdNG x\n", undefined)).toBeUndefined();
  expect(tellingLine("cannot decode\n\ufffd\ufffd\ufffdE\n", undefined)).toBe("cannot decode");
  expect(tellingLine("no such file: caf\ufffd.txt\n", undefined)).toBe("no such file: caf\ufffd.txt");
});

test("stderr goes before stdout, but a mark on stdout before the noise on stderr", () => {
  expect(tellingLine("error: a", "error: b")).toBe("error: a");
  expect(tellingLine("warming up", "FAILED tests/test_x.py::test_y")).toBe("FAILED tests/test_x.py::test_y");
  expect(tellingLine("warming up", "all is well")).toBe("warming up");
  expect(tellingLine("", "bye")).toBe("bye");
});

test("a command that said nothing has none", () => {
  expect(tellingLine(undefined, undefined)).toBeUndefined();
  expect(tellingLine(" \n\n", "\t\n")).toBeUndefined();
});

test("whatever a command prints, the line is one line, bounded, and not empty", () => {
  const output = fc.array(
    fc.constantFrom("error:", " ", "\n", "\r", "Traceback (most recent call last):", "x", "\u001b[", "at "),
    {
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(output, fc.string({ unit: "binary" }), (parts, noise) => {
      const line = tellingLine(parts.join(""), noise);
      if (line === undefined) return;
      expect(line).not.toMatch(/[\n\r]/);
      expect(line.trim()).not.toBe("");
      expect(line.length).toBeLessThanOrEqual(300);
    }),
  );
});

test("a line of a million characters is cut", () => {
  expect(tellingLine(`error: ${"x".repeat(1_000_000)}`, undefined)?.length).toBe(300);
});
