import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asText, canonicalJson, isJsonObject, type Json } from "../../src/kit/json.ts";

describe("canonical JSON", () => {
  test("the order of keys does not matter, at any depth", () => {
    expect(canonicalJson({ b: [{ y: 1, x: null }], a: "ü" })).toBe('{"a":"ü","b":[{"x":null,"y":1}]}');
    expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
  });

  test("the order of a list matters", () => {
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  });

  test("it reads back as the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as Json;
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  test("shuffled keys give the same text", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.integer()), (fields) => {
        const reversed = Object.fromEntries(Object.entries(fields).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(fields));
      }),
    );
  });
});

test("a list and null are no objects", () => {
  expect([{}, [], null, "x", 1].map(isJsonObject)).toEqual([true, false, false, false, false]);
});

test("a string is given to a command as it is, anything else as JSON", () => {
  expect([asText('a "b"'), asText(3), asText({ a: [1] })]).toEqual(['a "b"', "3", '{"a":[1]}']);
});
