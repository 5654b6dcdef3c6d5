/** The text of a stack trace as it is kept with a failure. */
import { expect, test } from "vitest";
import { traceTextFor } from "../../../src/triage/frames/trace.ts";

const JAVA = `loading
Exception in thread "main" java.lang.RuntimeException: outer
\tat a.B.c(B.java:1)
Caused by: java.io.IOException: inner
\tat a.D.e(D.java:2)
\t... 1 more
done`;

test("a Java trace begins with the outer exception and ends with its last line", () => {
  const text = traceTextFor("java failed with exit code 1: Caused by: java.io.IOException: inner", [JAVA]);
  expect(text).toBe(JAVA.split("\n").slice(1, 6).join("\n"));
});

const PYTHON = `reading
Traceback (most recent call last):
  File "t.py", line 4, in <module>
    f(1)
KeyError: 1

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "t.py", line 6, in <module>
    raise ValueError("bad order") from e
ValueError: bad order
bye`;

test("a chain of Python exceptions is kept from the first cause to the last", () => {
  const text = traceTextFor("python3 failed with exit code 1: ValueError: bad order", [PYTHON]);
  expect(text).toBe(PYTHON.split("\n").slice(1, 12).join("\n"));
});

const RUST = "thread 'main' panicked at src/main.rs:42:5:\nindex out of bounds";

test("a Rust panic without a backtrace is kept with its message", () => {
  const output = `starting\n${RUST}\nnote: run with RUST_BACKTRACE=1\n`;
  const message =
    "cargo test failed with exit code 101: thread 'main' panicked at src/main.rs:42:5: index out of";
  expect(traceTextFor(message, [undefined, output])).toBe(RUST);
});

test("the trace of another failure is not used, nor a text without one", () => {
  expect(traceTextFor("java failed with exit code 1: 3 rows are wrong", [JAVA])).toBeUndefined();
  expect(traceTextFor("x failed", ["x failed"])).toBeUndefined();
});
