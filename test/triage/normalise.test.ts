import { describe, expect, test } from "vitest";
import { MESSAGE_CHARS_MAX, normalise } from "../../src/triage/normalise.ts";
import { fc } from "../support/properties.ts";

describe("differences between failures are kept", () => {
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
    "SQLSTATE[42P01]: undefined table",
    "ERROR 1045: Access denied",
    "error CS0246: no type",
    "F401 unused and E501 too long",
    "request failed with status code 503",
    "HTTP 429 Too Many Requests",
    "Process finished with exit code 0xC0000005",
    "[Errno 13] Permission denied",
    "connect ECONNREFUSED",
    "std::fmt::Error and and/or N/A text/html x86_64",
    "don't can't won't",
    "panicked at 'index out of bounds by far too much'",
  ])("%s", (message) => {
    expect(normalise(message)).toBe(message);
  });

  test("two failures that differ only in their code are two", () => {
    for (const [one, other] of [
      ["HTTP 429", "HTTP 503"],
      ["exit code 1", "exit code 101"],
      ["error E0308: x", "error E0309: x"],
      ["ORA-00942: x", "ORA-00001: x"],
      ["SQLSTATE 42P01", "SQLSTATE 23505"],
      ["errno=13", "errno=2"],
    ] as const) {
      expect(normalise(one)).not.toBe(normalise(other));
    }
  });
});

test("colours, control characters and line breaks are removed", () => {
  expect(normalise("\u001b[1;31merror\u001b[0m:\u0000 bad\r\n\tthing \u001b]0;title\u0007here")).toBe(
    "error: bad thing here",
  );
});

const pieces = fc.constantFrom(
  ..."12 | |/|a/b/|.ts|:3:4|'|\"|`|<num>|<|>|<nu|item|alice|0x1f|10.0.0.1|::|-|_|,|.|@|x.y|https://|s |ms|exit code |\\|C:|é|😀|deadbeef1|10:00:00|2024-01-01|T|Z|+|~|$HOME|(|)|[|]|=|a=|{|}|table |user |from |SELECT | GROUP BY|NOT |and | or|type |<name>|<str>|<path>|Jan 3|5 sec|<1 sec|%|true|is |: |error |code |HTTP |/var/|part_1|E0308|and 5 more|a, b, c, |for |<ip>|lifetime 00:03|#|*| MB|1.2.3|3/5|1-2|ORD-1042|PO12345|notes|: No such file or directory|open |\u0000|\u001b[|\ud800".split(
    "|",
  ),
);
const messages = fc.oneof(
  fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 300 }),
);

test("normalising again changes nothing", () => {
  fc.assert(
    fc.property(messages, (message) => {
      const once = normalise(message);
      expect(normalise(once)).toBe(once);
    }),
    { numRuns: 20_000 },
  );
});

test("a normalised message does not depend on earlier ones", () => {
  fc.assert(
    fc.property(fc.array(messages, { maxLength: 8 }), (list) => {
      const forward = list.map((message) => normalise(message));
      expect(list.toReversed().map((message) => normalise(message))).toEqual(forward.toReversed());
    }),
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
    ["assignments", "a=".repeat(million / 2)],
    ["brackets", "([{<".repeat(million / 4)],
    ["open quotations", "'a ".repeat(million / 3)],
    ["surrogates", "\ud800".repeat(million)],
    ["statements", " GROUP BY".repeat(million / 9)],
    ["escapes", "\u001b[".repeat(million / 2)],
    ["numbers that grow when masked", "1 ".repeat(million / 2)],
  ])("a million characters of %s are cut, and stay as they are the second time", (_name, text) => {
    const once = normalise(text);
    expect(once.length).toBeLessThanOrEqual(MESSAGE_CHARS_MAX);
    expect(normalise(once)).toBe(once);
    expect(normalise(text.slice(0, MESSAGE_CHARS_MAX))).toBe(once); // nothing behind the cut is looked at
  });
});
