/** Regular expressions in filters and paths: matched in linear time, or refused. */
import { describe, expect, test } from "vitest";
import { compileExpression, FILTER_VARIABLES } from "../../src/std/expression.ts";
import { compileLinear, LINEAR_PATTERN_STEPS_MAX, PatternError } from "../../src/std/pattern.ts";

/** Takes longer than the age of the universe when every way is tried. */
const HOSTILE = `${"a".repeat(200)}!`;

function answerOf(text: string, item: unknown) {
  const compiled = compileExpression(text, FILTER_VARIABLES);
  return compiled.ok ? compiled.evaluate({ item: item as never }) : compiled;
}

describe("matches in CEL", () => {
  test.each([
    [`item.matches("(a+)+$")`, false],
    [`item . matches // a comment\n ("^(a|a)*b$")`, false],
    [`[item].exists(x, x.matches("(a*)*b"))`, false],
    [`[item].filter(x, !x.matches("(a|aa)+$")).map(x, x.matches("(a|aa)+$")) == [false]`, true],
    [`item.matches("a{3}!$") ? true : item.matches("(a+)+$")`, true],
    [`item.matches(item.matches("x") ? "y" : "(a+)+$")`, false],
  ])("%s ends at once", (text, value) => {
    expect(answerOf(text, HOSTILE)).toEqual({ ok: true, value });
  });

  test("a field with the name matches is a field", () => {
    expect(answerOf("item.matches == 3", { matches: 3 })).toEqual({ ok: true, value: true });
  });

  test("a pattern that cannot be matched in linear time is an error, not a match", () => {
    expect(answerOf(`item.matches("(?=a)a")`, "a")).toMatchObject({
      ok: false,
      message: expect.stringContaining("(?="),
    });
    expect(answerOf(`!item.matches("(")`, "a")).toMatchObject({ ok: false });
  });

  test("a call with a wrong type names matches", () => {
    expect(answerOf(`"a".matches(3)`, "a")).toMatchObject({
      ok: false,
      message: expect.stringContaining("string.matches(int)"),
    });
  });
});

test.each([
  ["!".repeat(50_001), "item"],
  ["-".repeat(50_001), "1 > 0"],
  ["", `1${" + 1".repeat(20_000)} > 0`],
  ["!".repeat(200_000), "item"],
])("an expression that is nested without end is an error", (before, after) => {
  expect(compileExpression(before + after, FILTER_VARIABLES)).toMatchObject({ ok: false });
});

test("backslashes in an unfinished text do not slow the reader down", () => {
  expect(compileExpression(`"""${"\\\\".repeat(2000)}`, FILTER_VARIABLES)).toMatchObject({ ok: false });
});

test("the parts of JavaScript's syntax that it reads", () => {
  for (const [pattern, text] of [
    ["\\u00e9", "café"],
    ["(?<year>\\d{4})", "2026"],
    ["^a\\/b$", "a/b"],
    ["^.$", "😀"],
  ] as const) {
    expect(compileLinear(pattern)(text)).toBe(true);
  }
});

test("a text that is too long for the size of the expression is refused", () => {
  const large = compileLinear("(a|b)*a(a|b){500}c");
  expect(() => large("a".repeat(LINEAR_PATTERN_STEPS_MAX / 1000))).toThrow(PatternError);
  expect(compileLinear("ab")("a".repeat(1_000_000))).toBe(false);
});

test.each(["(a)\\1", "(?!a)b", "(a{1000}){1000}", "(".repeat(5000) + ")".repeat(5000), "a".repeat(10_001)])(
  "a pattern is refused (%#)",
  (pattern) => {
    expect(() => compileLinear(pattern)).toThrow(PatternError);
  },
);
