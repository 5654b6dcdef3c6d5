import { describe, expect, test } from "vitest";
import { errorLine, pickErrorLine } from "../../src/triage/error-line.ts";
import { fc } from "../support/properties.ts";

describe("the error line of", () => {
  test.each([
    [
      "cargo build",
      "   Compiling x v0.1.0\nerror[E0308]: mismatched types\n --> src/main.rs:2:5\n\nerror: aborting due to 1 previous error\nerror: could not compile `x`\n",
      "error[E0308]: mismatched types --> src/main.rs:2:5",
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
    [
      "make, before it stops",
      "Makefile:2: *** missing separator.  Stop.\nThe run ended.\n",
      "Makefile:2: *** missing separator. Stop.",
    ],
    [
      "mkdir",
      "mkdir: cannot create directory 'carts': File exists\nThe run ended.\n",
      "mkdir: cannot create directory 'carts': File exists",
    ],
    [
      "a program without a marker",
      "sed: -e expression #1, char 3: unterminated `s' command\nThe run ended.\n",
      "sed: -e expression #1, char 3: unterminated `s' command",
    ],
    ["Perl", "cart is locked at main.pl line 2.\nThe run ended.\n", "cart is locked at main.pl line 2."],
    [
      "Perl without a module",
      "Can't locate Cart.pm in @INC\nBEGIN failed--compilation aborted at a.pl line 1.\n",
      "Can't locate Cart.pm in @INC",
    ],
    [
      "npm without the script",
      'npm error Missing script: "carts"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run\n',
      'npm error Missing script: "carts"',
    ],
    ["make, when it says no more", "cc x.c\nmake: *** [all] Error: 2\n", "make: *** [all] Error: 2"],
    [
      "cargo test",
      "running 1 test\ntest cart ... FAILED\n\nthread 'cart' panicked at src/cart.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with `RUST_BACKTRACE=1`\n\nfailures:\n    cart\n\ntest result: FAILED. 0 passed; 1 failed\nerror: test failed, to rerun pass `--lib`\n",
      "thread 'cart' panicked at src/cart.rs:3:5: assertion `left == right` failed left: 1 right: 2",
    ],
    [
      "gcc and its linker",
      "cart.c:3:5: error: 'totl' undeclared\n    3 |     totl = 1;\n      |     ^~~~\nmake[1]: *** [Makefile:9: cart.o] Error 1\nmake: *** [Makefile:2: all] Error 2\n",
      "cart.c:3:5: error: 'totl' undeclared",
    ],
    [
      "a linker",
      "/usr/bin/ld: main.o: undefined reference to `cart_total'\ncollect2: error: ld returned 1 exit status\n",
      "/usr/bin/ld: main.o: undefined reference to `cart_total'",
    ],
    [
      "eslint",
      "/app/cart.js\n  3:5  warning  Unexpected console  no-console\n  9:1  error  'totl' is not defined  no-undef\n\n✖ 2 problems (1 error, 1 warning)\n",
      "9:1 error 'totl' is not defined no-undef",
    ],
    [
      "pytest",
      "    def test_total():\n>       assert total() == 3\nE       assert 2 == 3\n\ntests/test_cart.py:3: AssertionError\n=========== short test summary info ===========\nFAILED tests/test_cart.py::test_total - assert 2 == 3\n=========== 1 failed, 4 passed in 0.12s ===========\n",
      "FAILED tests/test_cart.py::test_total - assert 2 == 3",
    ],
    [
      "vitest",
      " FAIL  test/cart.test.ts > the total\nAssertionError: expected 2 to be 3 // Object.is equality\n\nExpected: 3\nReceived: 2\n\n ❯ test/cart.test.ts:9:3\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
      "AssertionError: expected 2 to be 3 // Object.is equality Expected: 3 Received: 2",
    ],
    [
      "maven",
      "[ERROR] /app/Cart.java:[3,5] cannot find symbol\n[ERROR] Failed to execute goal x:compile\n[ERROR] -> [Help 1]\n[ERROR] \n[ERROR] Re-run Maven using the -X switch\n",
      "[ERROR] /app/Cart.java:[3,5] cannot find symbol",
    ],
    [
      "gradle",
      "FAILURE: Build failed with an exception.\n\n* What went wrong:\nCould not resolve com.shop:cart:1.0.\n\n* Try:\n> Run with --info\nBUILD FAILED in 3s\n",
      "* What went wrong: Could not resolve com.shop:cart:1.0.",
    ],
    [
      "npm",
      'npm error Missing script: "biuld"\nnpm error\nnpm error A complete log of this run can be found in: /x.log\n',
      'npm error Missing script: "biuld"',
    ],
    [
      "make without a rule",
      "make: *** No rule to make target 'cart.o', needed by 'all'.  Stop.\n",
      "make: *** No rule to make target 'cart.o', needed by 'all'. Stop.",
    ],
    [
      "git in a conflict",
      "Auto-merging cart.js\nCONFLICT (content): Merge conflict in cart.js\nAutomatic merge failed; fix conflicts and then commit the result.\n",
      "CONFLICT (content): Merge conflict in cart.js",
    ],
    [
      "docker",
      "Unable to find image\ndocker: Error response from daemon: pull access denied for shop\nRun 'docker run --help' for more information\n",
      "docker: Error response from daemon: pull access denied for shop",
    ],
    [
      "terraform",
      "╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line 3:\n╵\n",
      "Error: Unsupported argument",
    ],
    [
      "psql",
      'psql:in.sql:3: ERROR:  relation "cart" does not exist\nLINE 1: x\n',
      'psql:in.sql:3: ERROR: relation "cart" does not exist',
    ],
    [
      "go test",
      "--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: error: got 2, want 3\nFAIL\nFAIL\tshop/cart\t0.01s\n",
      "cart_test.go:9: error: got 2, want 3",
    ],
    ["colours", "\u001b[31merror:\u001b[0m   red\u0007 \n", "error: red"],
    ["a progress bar", "10%\r50%\rerror: disk\rbye", "error: disk"],
    ["a program that marks nothing", "one\ntwo\n\n  three  \n\n", "three"],
  ])("%s", (_name, stderr, line) => {
    expect(errorLine(stderr, undefined)).toBe(line);
  });
});

test("an error line is found far from the end", () => {
  const noise = Array.from({ length: 500 }, (_, at) => `cleaning up ${at}\n`).join("");
  expect(errorLine(`error: the disk is full\n${noise}`, undefined)).toBe("error: the disk is full");
});

test("the chosen line has its stream, its reason and the lines that belong to it", () => {
  const rustc =
    "error[E0308]: mismatched types\n --> src/main.rs:2:5\n  |\n2 |     1\n  |     ^ expected `()`\n\nerror: aborting due to 1 previous error\n";
  expect(pickErrorLine(undefined, rustc)).toEqual({
    stream: "stdout",
    message: "error[E0308]: mismatched types --> src/main.rs:2:5",
    lines: [
      "error[E0308]: mismatched types",
      " --> src/main.rs:2:5",
      "  |",
      "2 |     1",
      "  |     ^ expected `()`",
    ],
    why: "the last line with an error marker",
  });
  expect(pickErrorLine("bye\n", undefined)?.why).toBe(
    "no line has an error marker, so the last line was used",
  );
});

test("bytes that are not text have no line", () => {
  expect(errorLine("\ufffdP\ufffd\ufffdNG x\n", undefined)).toBeUndefined();
  expect(errorLine("cannot decode\n\ufffd\ufffd\ufffdE\n", undefined)).toBe("cannot decode");
  expect(errorLine("no such file: caf\ufffd.txt\n", undefined)).toBe("no such file: caf\ufffd.txt");
});

test("stderr precedes stdout, but a marker on stdout precedes noise on stderr", () => {
  expect(errorLine("error: a", "error: b")).toBe("error: a");
  expect(errorLine("warming up", "FAILED tests/test_x.py::test_y")).toBe("FAILED tests/test_x.py::test_y");
  expect(errorLine("warming up", "all is well")).toBe("warming up");
  expect(errorLine("", "bye")).toBe("bye");
});

test("a command without output has none", () => {
  expect(errorLine(undefined, undefined)).toBeUndefined();
  expect(errorLine(" \n\n", "\t\n")).toBeUndefined();
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
      const line = errorLine(parts.join(""), noise);
      if (line === undefined) return;
      expect(line).not.toMatch(/[\n\r]/);
      expect(line.trim()).not.toBe("");
      expect(line.length).toBeLessThanOrEqual(300);
    }),
  );
});

test("a line of a million characters is cut", () => {
  expect(errorLine(`error: ${"x".repeat(1_000_000)}`, undefined)?.length).toBe(300);
});

test("a marker in stdout precedes a summary in stderr", () => {
  const stdout = "thread 'adds' panicked at src/lib.rs:2:13: cart sum\n";
  expect(pickErrorLine("error: test failed, to rerun pass `--lib`\n", stdout)).toMatchObject({
    stream: "stdout",
    message: stdout.trim(),
  });
});
