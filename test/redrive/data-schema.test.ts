/** JSON Schema: what fits, what does not and why, and schemas that are refused as a whole. */
import { describe, expect, it } from "vitest";
import { compileSchema } from "../../src/redrive/data-schema.ts";
import type { Json } from "../../src/std/json.ts";

/** Schema, data that fit, data that do not. */
const CASES: readonly [Json, readonly Json[], readonly Json[]][] = [
  [true, [1, null], []],
  [false, [], [1, null]],
  [{}, [1, "x", null, {}], []],
  [{ type: "integer" }, [3, 3.0, -1], [1.5, "3", null]],
  [{ type: ["string", "null"] }, ["x", null], [1, false]],
  [{ enum: [1, "a", { b: [2] }] }, [1, "a", { b: [2] }], [2, { b: [3] }]],
  [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }, null]],
  [{ minimum: 2, maximum: 3 }, [2, 3, "x"], [1.9, 3.1]],
  [{ exclusiveMinimum: 2, exclusiveMaximum: 3 }, [2.5, "x"], [2, 3]],
  [{ multipleOf: 0.1 }, [0.3, 1, "x"], [0.35]],
  [{ multipleOf: 3 }, [9, 0], [10]],
  [{ minLength: 2, maxLength: 3 }, ["ab", "🎉🎉🎉", 1], ["a", "abcd", "🎉"]],
  [{ pattern: "^a+$" }, ["aa", 1], ["ab"]],
  [{ pattern: "^(a+)+$" }, ["aa"], [`${"a".repeat(200)}!`]],
  [{ required: ["a"] }, [{ a: null }, "no object"], [{}, { b: 1 }]],
  [{ properties: { a: { type: "string" } } }, [{ a: "x" }, {}, 1], [{ a: 1 }]],
  [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }, {}], [{ a: 1, b: 2 }]],
  [
    { patternProperties: { "^x": { type: "number" } }, additionalProperties: false },
    [{ x1: 1 }],
    [{ x1: "" }, { y: 1 }],
  ],
  [{ additionalProperties: { type: "number" } }, [{ a: 1 }], [{ a: "x" }]],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }, "x"], [{}, { a: 1, b: 2, c: 3 }]],
  [{ dependentRequired: { a: ["b"] } }, [{ a: 1, b: 1 }, { c: 1 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ["b"] } } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
  [
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    [
      { a: 1, b: 1 },
      { c: 1, d: 1 },
    ],
    [{ a: 1 }, { c: 1 }],
  ],
  [{ items: { type: "number" } }, [[1, 2], [], "x"], [[1, "x"]]],
  [{ prefixItems: [{ type: "string" }], items: false }, [["a"], []], [[1], ["a", 1]]],
  [{ items: [{ type: "string" }], additionalItems: { type: "number" } }, [["a", 1], []], [[1], ["a", "b"]]],
  [{ minItems: 1, maxItems: 2 }, [[1], "x"], [[], [1, 2, 3]]],
  [
    { uniqueItems: true },
    [[1, "1"], []],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ contains: { type: "string" } }, [[1, "x"], 1], [[1], []]],
  [{ contains: true, minContains: 2, maxContains: 3 }, [[1, 2]], [[1], [1, 2, 3, 4]]],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["x", 5], [4]],
  [{ oneOf: [{ type: "string" }, { minLength: 3, type: "string" }] }, ["ab"], ["abc", 1]],
  [{ not: { type: "string" } }, [1], ["x"]],
  [
    JSON.parse('{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 0}}'),
    ["ab", 1],
    ["a", -1],
  ],
  [{ $ref: "#/$defs/n", $defs: { n: { type: "number" } } }, [1], ["x"]],
  [{ $ref: "#/definitions/a~1b", definitions: { "a/b": { const: 1 } } }, [1], [2]],
  [
    { properties: { next: { $ref: "#" }, value: { type: "number" } }, required: ["value"] },
    [{ value: 1, next: { value: 2 } }],
    [
      { value: 1, next: { value: "x" } },
      { value: 1, next: {} },
    ],
  ],
];

describe("data and its schema", () => {
  it.each(CASES)("%j", (schema, fitting, unfit) => {
    const check = compileSchema(schema);
    for (const data of fitting) expect([data, check(data)]).toEqual([data, undefined]);
    for (const data of unfit) expect([data, check(data)]).toEqual([data, expect.any(String)]);
  });

  it.each<[Json, Json, string]>([
    [{ properties: { a: { items: { type: "number" } } } }, { a: [1, "x"] }, "a[1] is string, not number"],
    [{ required: ["url"] }, {}, "the data has no url"],
    [{ properties: { n: { minimum: 3 } } }, { n: 1 }, "n (1) is less than 3"],
    [{ additionalProperties: false }, { "odd key": 1 }, '["odd key"] is not allowed'],
  ])("%j says of %j: %s", (schema, data, reason) => {
    expect(compileSchema(schema)(data)).toBe(reason);
  });

  it.each<Json>([
    3,
    { type: "strnig" },
    { minimum: "3" },
    { required: "a" },
    { properties: [] },
    { allOf: {} },
    { pattern: "(" },
    { pattern: "(?=a)" },
    { $ref: "https://example.org/schema" },
    { $ref: "#/$defs/none" },
    { properties: { a: { unevaluatedProperties: false } } },
  ])("%j is refused, and no data is let through", (schema) => {
    expect(() => compileSchema(schema)).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it("a schema with an endless reference is refused", () => {
    const check = compileSchema({
      $ref: "#/$defs/a",
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
    });
    expect(() => check(1)).toThrow("refers to itself");
  });
});
