import { describe, expect, test } from "vitest";
import {
  asText,
  canonicalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  mayHaveLongInteger,
  parseJson,
  stringifyJson,
} from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";

describe("canonical JSON", () => {
  test("the order of keys does not matter, at any depth", () => {
    expect(canonicalJson({ b: [{ y: 1, x: null }], a: "ü" })).toBe('{"a":"ü","b":[{"x":null,"y":1}]}');
    expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
  });

  test("the order of a list matters", () => {
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  });

  test("is read back as the same value", () => {
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

test("a list and null are not objects", () => {
  expect([{}, [], null, "x", 1].map(isJsonObject)).toEqual([true, false, false, false, false]);
});

test("a string is passed to a command unchanged, anything else as JSON", () => {
  expect([asText('a "b"'), asText(3), asText({ a: [1] })]).toEqual(['a "b"', "3", '{"a":[1]}']);
});

describe("JSON with integers beyond 2^53", () => {
  const integer = fc
    .tuple(fc.boolean(), fc.stringMatching(/^[1-9]\d{14,60}$/))
    .map(([isNegative, digits]) => `${isNegative ? "-" : ""}${digits}`);

  test("each keeps its digits, at any position", () => {
    const texts = fc.array(fc.tuple(fc.string(), integer, fc.jsonValue()), { maxLength: 5 });
    fc.assert(
      fc.property(texts, (entries) => {
        const parts = entries.map(([name, digits, rest]) => {
          return `{${JSON.stringify(name)}:${digits},"list":[${digits},${JSON.stringify(digits)}],"rest":${JSON.stringify(rest)}}`;
        });
        const text = `[${parts.join(",")}]`;
        expect(canonicalJson(parseJson(stringifyJson(parseJson(text), 2)))).toBe(
          canonicalJson(parseJson(text)),
        );
        for (const [at, [, digits]] of entries.entries()) {
          expect(stringifyJson((parseJson(text) as { list: Json }[])[at]?.list)).toBe(
            `[${digits},"${digits}"]`,
          );
        }
      }),
    );
  });

  test("a safe integer is a number, and so is every number that JavaScript writes", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(parseJson(JSON.stringify(number))).toBe(JSON.parse(JSON.stringify(number)));
      }),
    );
    expect(parseJson("[9007199254740992,9007199254740993,1152921504606846976,-0,1e20]")).toEqual([
      9007199254740992,
      9007199254740993n,
      1152921504606846976n,
      -0,
      1e20,
    ]);
  });

  test("any JSON is read and written like JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(text)).toEqual(JSON.parse(text));
        expect(stringifyJson(value)).toBe(text);
        expect(stringifyJson([value, 1n], 2)).toBe(JSON.stringify([value, 1], null, 2));
      }),
    );
  });

  test("a run of 16 digits is found at every offset, a shorter one never", () => {
    for (let before = 0; before < 40; before += 1) {
      const text = (digits: number) => `${" ".repeat(before)}${"9".repeat(digits)} `;
      expect([15, 16, 17, 31].map((digits) => mayHaveLongInteger(text(digits)))).toEqual([
        false,
        true,
        true,
        true,
      ]);
    }
  });

  test("a key called __proto__, a date and an absent field are written as usual", () => {
    const parsed = parseJson('{"__proto__":12345678901234567890}') as JsonObject;
    expect(Object.entries(parsed)).toEqual([["__proto__", 12345678901234567890n]]);
    expect(stringifyJson({ at: new Date(0), no: undefined, big: 2n ** 70n })).toBe(
      '{"at":"1970-01-01T00:00:00.000Z","big":1180591620717411303424}',
    );
    expect(asText(2n ** 64n)).toBe("18446744073709551616");
  });

  test("a program that adds toJSON to bigints changes nothing", () => {
    Object.assign(BigInt.prototype, { toJSON: () => "text" });
    try {
      expect(stringifyJson({ id: 12345678901234567890n })).toBe('{"id":12345678901234567890}');
    } finally {
      Reflect.deleteProperty(BigInt.prototype, "toJSON");
    }
  });

  test("an integer of more than a thousand digits is read like JSON.parse", () => {
    expect(parseJson("9".repeat(1001))).toBe(Number.POSITIVE_INFINITY);
  });
});
