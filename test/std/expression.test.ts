/** Expressions in CEL: typed before they run, and never true by mistake. */
import { describe, expect, test } from "vitest";
import {
  compileExpression,
  compileValue,
  FILTER_VARIABLES,
  requireExpression,
  requireValue,
} from "../../src/std/expression.ts";
import type { Json } from "../../src/std/json.ts";
import { MAP_FIELDS } from "../../src/workflow/step-variables.ts";
import { fc } from "../support/properties.ts";

const ITEM: Json = { n: 5, f: 5.5, s: "abc", list: [1, 2, 3], nothing: null, yes: true, deep: { k: 1 } };

function ask(text: string, item: Json = ITEM) {
  return requireExpression(text, FILTER_VARIABLES, "filter")({ item });
}

test.each([
  ["item.n > 3", true],
  ["item.f > 5", true],
  ["item.f > 6", false],
  ["item.n == 5 && item.n == 5.0", true],
  ["item.n + 1 == 6", true],
  ["1 + item.f == 6.5", true],
  ["item.n % 2 == 1", true],
  ["item.n / 2 == 2.5", true],
  ["double(item.n) == 5", true],
  ["item.n in [1, 5, 'x']", true],
  ["item.list.exists(x, x > 2)", true],
  ["item.list.map(x, x * 2) == [2, 4, 6]", true],
  ["size(item.list) == 3", true],
  ["has(item.gone)", false],
  ["has(item.gone) && item.gone > 3", false],
  ["item.?gone.orValue(1) > 3", false],
  ["item.?n.orValue(1) > 3", true],
  ["item.nothing == null", true],
  ["item.s.startsWith('a') && item.s.matches('^a.c$')", true],
  ["item.deep.k == 1 && item['n'] == 5", true],
  ["item.yes", true],
  ["item.s == 3", false],
  ["item.n == 5 || item.gone", true],
])("%s is %s", (text, value) => {
  expect(ask(text)).toEqual({ ok: true, value });
});

test.each([
  ["item.gone > 3", 'no field "gone". Check with has(…) first'],
  ["item.gone", 'no field "gone"'],
  ["!has(item.gone.deeper)", 'no field "gone"'],
  ["item.s > 3", "no such overload"],
  ["item.n", "the result is a number, not true or false"],
  ["item.s", "the result is a string"],
  ["item.list", "the result is a list"],
  ["item.nothing", "the result is null"],
  ["item.constructor == null", 'no field "constructor"'],
  ["item.list[7] == 1", "index out of bounds"],
])("%s has no answer for an item", (text, message) => {
  expect(ask(text)).toEqual({ ok: false, message: expect.stringContaining(message) });
});

test.each([
  ["item.n >", "nexpected token"],
  ["itm.n > 3", 'unknown variable "itm"'],
  ["1 > 'a'", "no such overload"],
  ["size(item)", "the result is a int, not true or false"],
  ["foo(item)", "foo"],
  ["'x'", "the result is a string"],
  ["", "nexpected"],
])("%j is refused before it is asked", (text, message) => {
  expect(compileExpression(text, FILTER_VARIABLES)).toMatchObject({
    ok: false,
    message: expect.stringContaining(message),
  });
  expect(() => requireExpression(text, FILTER_VARIABLES, "filter")).toThrow(
    expect.objectContaining({ code: "filter_invalid" }),
  );
});

describe("map, which is a type in CEL, is a variable here", () => {
  const known = new Map<string, readonly string[] | "any">([
    ["map", MAP_FIELDS],
    ["item", "any"],
  ]);
  const variables = { map: { total: 3, failed: 0 }, item: { map: 1, list: [1, 2] } };

  test.each([
    ["map.total == 3 && map.failed == 0", true],
    ["'map.total' == 'map.total' && map . total > 2", true],
    ["item.map == 1 && item.list.map(x, x + 1) == [2, 3]", true],
    ['"map\\\\" == "map" + "\\\\" && """map""" == \'map\'', true],
  ])("%s", (text, value) => {
    expect(requireExpression(text, known, "when")(variables)).toEqual({ ok: true, value });
  });

  test("an unknown field is refused, with a suggestion", () => {
    expect(compileExpression("map.totl > 1", known)).toMatchObject({
      message: 'unknown field "totl"',
      suggestion: "total",
    });
  });

  test("has() of a field that can never exist is refused too", () => {
    expect(compileExpression("!has(map.totl)", known)).toMatchObject({
      message: 'unknown field "totl"',
      suggestion: "total",
    });
    expect(compileExpression("has(map.total)", known)).toMatchObject({ ok: true });
    expect(compileExpression("has(item.totl)", known)).toMatchObject({ ok: true });
  });
});

test("comparing with an integer is the same as in JSON, for any number", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(number, fc.integer({ min: -1000, max: 1000 }), (n, limit) => {
      expect(ask(`item > ${limit}`, n)).toEqual({ ok: true, value: n > limit });
      expect(ask(`item == ${limit}`, n)).toEqual({ ok: true, value: n === limit });
    }),
  );
});

test("invariant 10: any text has an answer or an error, and never matches by accident", () => {
  const words = [
    "item",
    ".",
    "n",
    ">",
    "3",
    "&&",
    "||",
    "!",
    "(",
    ")",
    "'a'",
    "==",
    "has",
    "in",
    "[",
    "]",
    "map",
    "?",
  ];
  const texts = fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((parts) => parts.join(" "));
  fc.assert(
    fc.property(fc.oneof(texts, fc.string()), (text) => {
      const compiled = compileExpression(text, FILTER_VARIABLES);
      if (!compiled.ok) {
        expect(compiled.message).not.toBe("");
        return;
      }
      const answer = compiled.evaluate({ item: ITEM });
      if (answer.ok) expect(typeof answer.value).toBe("boolean");
      else expect(answer.message).not.toBe("");
    }),
    { numRuns: 500 },
  );
});

describe("an integer of the data beyond 2^53", () => {
  const BIG = 9007199254740993n;
  test.each([
    ["item.id == 9007199254740993", true],
    ["item.id == 9007199254740992", false],
    ["item.id > 5 && item.id > 5.5 && 5 < item.id", true],
    ["item.id == 5.5", false],
    ["item.near == 9007199254740993", false],
    ["item.near < item.id && item.near != item.id", true],
    ["item.id in [1, 9007199254740993]", true],
    ["item.id + 1 == 9007199254740994", true],
    ["string(item.id) == '9007199254740993'", true],
    ["item.larger > item.id", true],
    ["string(item.larger) == '18446744073709551616'", true],
  ])("%s is %s", (text, expected) => {
    const item = { id: BIG, near: 9007199254740992, larger: 2n ** 64n };
    expect(requireExpression(text, FILTER_VARIABLES, "--filter")({ item })).toEqual({
      ok: true,
      value: expected,
    });
  });
});

describe("a value", () => {
  const value = (text: string) => requireValue(text, FILTER_VARIABLES, "--set x")({ item: ITEM });

  test.each<[string, Json]>([
    ["item.n + 1", 6],
    ["7", 7],
    ["7 / 2", 3],
    ["item.s + 'd'", "abcd"],
    ["item.s.replace('b', '$&')", "a$&c"],
    ["'a.b.c'.replace('.', '')", "abc"],
    ["null", null],
    ["item.deep", { k: 1 }],
    ["{'a': 1, 'b': [1, 2.5, null]}", { a: 1, b: [1, 2.5, null] }],
    ["item.list.filter(x, x > 1)", [2, 3]],
    ["size(item.s)", 3],
    ["item.yes ? 'y' : 'n'", "y"],
    ["timestamp('2020-01-01T00:00:00Z')", "2020-01-01T00:00:00.000Z"],
    ["9223372036854775807", 9223372036854775807n],
    ["9007199254740991 + 1", 9007199254740992],
    ["9007199254740992 + 1", 9007199254740993n],
  ])("%s is JSON as it is written", (text, expected) => {
    expect(value(text)).toEqual({ ok: true, value: expected });
  });

  test.each([
    ["b'abc'", "bytes"],
    ["1.0 / 0.0", "Infinity"],
    ["[1, b'x']", "bytes"],
    ["{'a': b'x'}", "bytes"],
    ["item.?gone", "not JSON"],
    ["item.gone", 'no field "gone"'],
  ])("%s has no answer, because JSON cannot hold it", (text, message) => {
    expect(value(text)).toEqual({ ok: false, message: expect.stringContaining(message) });
  });

  test("a text without quotes is an unknown variable, and nothing is changed", () => {
    expect(compileValue("hello", FILTER_VARIABLES)).toMatchObject({ ok: false });
    expect(() => requireValue("itm.n", FILTER_VARIABLES, "--set x")).toThrow(
      expect.objectContaining({
        code: "filter_invalid",
        message: expect.stringContaining("did you mean item"),
      }),
    );
  });
});
