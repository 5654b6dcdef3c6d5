/** Regular expressions of rules: the same answers as in JavaScript, in linear time; the rest is refused. */
import { describe, expect, test } from "vitest";
import { compilePattern } from "../../src/std/pattern.ts";
import { fc } from "../support/properties.ts";

describe("what it understands", () => {
  test.each([
    ["disk full", "the disk full of it", true],
    ["disk full", "the disk is full", false],
    ["^error: ", "error: x", true],
    ["^error: ", "an error: x", false],
    ["gone$", "all is gone", true],
    ["gone$", "gone west", false],
    ["HTTP 5\\d\\d", "got HTTP 503", true],
    ["HTTP 5\\d\\d", "got HTTP 403", false],
    ["(cat|dog)s?", "two dogs", true],
    ["a(b|c)+d", "abcbcd", true],
    ["a(?:b|c)*d", "axd", false],
    ["[A-Z]{2,3}-\\d+", "see ORA-942", true],
    ["^[A-Z]{2,3}$", "ABCD", false],
    ["x{3}", "xx", false],
    ["x{2,}y", "xxxxy", true],
    ["\\bfull\\b", "fullness", false],
    ["\\Bness", "fullness", true],
    ["a.c", "a\nc", false],
    ["a\\.c", "abc", false],
    ["[^x]+?y", "aay", true],
    ["[\\]a]b", "]b", true],
    ["", "anything", true],
    ["a||b", "z", true],
    ["(a*)*b", "aaab", true],
    ["é+", "café", true],
    [".{2}$", "😀😀", true],
    ["{", "a { b", true],
    ["\\p{Lu}x", "an Éx", true],
    ["(?<code>E\\d+)", "E42", true],
  ])("%s in %j: %j", (pattern, text, isThere) => {
    expect(compilePattern(pattern)(text)).toBe(isThere);
  });

  test("any expression of its parts matches like in JavaScript", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "[ab]",
      "[^a]",
      "\\d",
      "\\w",
      "\\s",
      "1",
      " ",
      "^",
      "$",
      "\\b",
    );
    const times = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "*?");
    const { pattern } = fc.letrec((tie) => ({
      piece: fc.oneof(
        { maxDepth: 2 },
        atom,
        tie("pattern").map((inner) => `(${inner})`),
      ),
      repeated: fc.tuple(tie("piece"), times).map(([piece, suffix]) => {
        return /^(?:[$^]|\\b)$/.test(String(piece)) ? String(piece) : `${piece}${suffix}`;
      }),
      sequence: fc.array(tie("repeated"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
      pattern: fc.array(tie("sequence"), { minLength: 1, maxLength: 2 }).map((parts) => parts.join("|")),
    }));
    const text = fc
      .array(fc.constantFrom("a", "b", "1", " ", "\n"), { maxLength: 8 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        fc.pre(String(source).length <= 200);
        expect(compilePattern(String(source))(given)).toBe(new RegExp(String(source), "u").test(given));
      }),
      { numRuns: 500 },
    );
  });
});

test("a pattern that makes others backtrack forever is matched, even in the longest text", () => {
  const long = "a".repeat(100_000);
  for (const pattern of ["(a+)+b", "(a|a)*b", "(a*)*b", ".*.*.*.*.*b", "(x?){30}b"]) {
    expect(compilePattern(pattern)(long)).toBe(false);
  }
});

test("only the beginning of a text is read", () => {
  const has = compilePattern("end");
  expect(has(`${"x".repeat(4093)}end`)).toBe(true);
  expect(has(`${"x".repeat(4094)}end`)).toBe(false);
});

describe("what it refuses", () => {
  test.each([
    ["(a)\\1", "\\1"],
    ["(?=a)", "(?="],
    ["a**", "**"],
    ["a{2}{3}", "{2}{3}"],
    ["*a", "*"],
    ["(a", "missing closing )"],
    ["a)", "unexpected )"],
    ["[a", "missing closing ]"],
    ["[z-a]", "z-a"],
    ["a{3,2}", "{3,2}"],
    ["a\\", "trailing backslash"],
    ["((a{99}){99}){99}", "repeat"],
    ["((abcdefghij){90}){3}x{900}", "too large"],
    ["a".repeat(201), "longer than 200 characters"],
  ])("%s", (pattern, why) => {
    expect(() => compilePattern(pattern)).toThrow(why);
  });
});
