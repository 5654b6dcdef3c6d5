import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MESSAGE_CHARS_MAX, normalise } from "../../src/triage/normalise.ts";

describe("what differs from item to item is masked", () => {
  test.each([
    ["failed at 2024-01-01T10:00:00.123Z", "failed at <time>"],
    ["failed at 2024-01-01 10:00:00,5 +0100: x", "failed at <time>: x"],
    ["Jan  3 10:00:00 host sshd", "<time> host sshd"],
    ["at 10:00:00.", "at <time>."],
    ["job 7c1811ed-e98f-4c9c-a9f9-58c757ff494f died", "job <uuid> died"],
    ["GET https://a.b/c?d=1, refused", "GET <url>, refused"],
    ["no user bob.x@example.com here", "no user <email> here"],
    ["cannot reach 10.0.0.1:5432.", "cannot reach <ip>."],
    ["cannot reach fe80::1 or 2001:db8:0:0:1:0:0:1", "cannot reach <ip> or <ip>"],
    ["src/a/main.rs:42:5: oops", "<path>: oops"],
    ["main.rs:42: oops", "<path>: oops"],
    ["app.ts(2,4): oops", "<path>: oops"],
    ["open /var/lib/x-1/y.z: denied", "open <path>: denied"],
    ["open ./a and ../b/c and ~/d", "open <path> and <path> and <path>"],
    ["open C:\\Users\\bob\\x.txt now", "open <path> now"],
    ["data_17.csv is empty", "<path> is empty"],
    ["segfault at 0xDEADbeef", "segfault at <hex>"],
    ["commit 9fceb02aab is gone", "commit <hash> is gone"],
    ["cannot find 'foo' in \"bar baz\" of `qux`", "cannot find '<str>' in \"<str>\" of `<str>`"],
    ["gave up after 30s, 1.5 ms and 3 minutes", "gave up after <dur>, <dur> and <dur>"],
    ["3 of 1,000 rows, 2.5GB, -7", "<num> of <num> rows, <num>GB, -<num>"],
    ["worker-12 lost item123 of v1.2.3", "worker-<num> lost item<num> of v<num>"],
  ])("%s", (message, pattern) => {
    expect(normalise(message)).toBe(pattern);
  });
});

describe("what tells failures apart stays", () => {
  test.each([
    "cargo test failed with exit code 101",
    "make exited with 2; exit status 1; code=7; code: -32601",
    "killed by signal 9",
    "HTTP 404 and HTTP/1.1 500",
    "the answer was 503 Service Unavailable",
    "error[E0308]: mismatched types",
    "error TS2345: no overload",
    "ENOENT: no such file or directory",
    "ORA-00942: table or view does not exist",
    "No such file or directory (os error 2)",
    "std::fmt::Error and and/or N/A text/html x86_64",
    "don't can't won't",
    "panicked at 'index out of bounds by far too much'",
  ])("%s", (message) => {
    expect(normalise(message)).toBe(message);
  });
});

describe("the item's own values", () => {
  test("they are masked wherever they stand alone", () => {
    expect(normalise("cannot pay alice: alice, but not malice", ["alice"])).toBe(
      "cannot pay <item>: <item>, but not malice",
    );
  });

  test("the longer value is masked before one within it, in whatever order they are given", () => {
    const masked = "no <item> and no <item>";
    expect(normalise("no red apple and no apple", ["apple", "red apple"])).toBe(masked);
    expect(normalise("no red apple and no apple", ["red apple", "apple"])).toBe(masked);
  });

  test("short ones and those that look like masks are left alone", () => {
    expect(normalise("a is no item, x", ["a", "", "is", "<num>"])).toBe("a is no item, x");
    expect(normalise("no such alice item", ["alice", "item"])).toBe("no such <item> <item>");
  });
});

test("colours, control characters and line breaks are gone", () => {
  expect(normalise("\u001b[1;31merror\u001b[0m:\u0000 bad\r\n\tthing \u001b]0;title\u0007here")).toBe(
    "error: bad thing here",
  );
});

const pieces = fc.constantFrom(
  ..."12 | |/|a/b/|.ts|:3:4|'|\"|`|<num>|<|>|<nu|item|alice|0x1f|10.0.0.1|::|-|_|,|.|@|x.y|https://|s |ms|exit code |\\|C:|é|😀|deadbeef1|10:00:00|2024-01-01|T|Z|+|~|$HOME".split(
    "|",
  ),
);
const messages = fc.oneof(
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 300 }),
);

test("normalising again changes nothing", () => {
  fc.assert(
    fc.property(messages, fc.constantFrom<string[]>([], ["alice", "item", "a/b"]), (message, known) => {
      const once = normalise(message, known);
      expect(normalise(once, known)).toBe(once);
    }),
    { numRuns: 3000 },
  );
});

describe("hostile input", () => {
  const million = 1_000_000;
  test.each([
    ["digits", "1".repeat(million)],
    ["dots", "+.".repeat(million / 2)],
    ["slashes", "/".repeat(million)],
    ["segments", "a/".repeat(million / 2)],
    ["percent signs", "%".repeat(million)],
    ["quotes", "'\"`".repeat(million / 3)],
    ["colons", "1:".repeat(million / 2)],
    ["masks", "<num>".repeat(million / 5)],
    ["mailboxes", "a@".repeat(million / 2)],
    ["escapes", "\u001b[".repeat(million / 2)],
    ["numbers that grow when masked", "1 ".repeat(million / 2)],
  ])("a million characters of %s are cut, and stay as they are the second time", (_name, text) => {
    const once = normalise(text);
    expect(once.length).toBeLessThanOrEqual(MESSAGE_CHARS_MAX);
    expect(normalise(once)).toBe(once);
    expect(normalise(text.slice(0, MESSAGE_CHARS_MAX))).toBe(once); // nothing behind the cut is looked at
  });
});
