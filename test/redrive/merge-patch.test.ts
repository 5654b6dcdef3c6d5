/** JSON merge patch: the examples of RFC 7396, and what holds for all values. */
import { describe, expect, it } from "vitest";
import { mergePatch } from "../../src/redrive/recipe.ts";
import { isJsonObject, type Json } from "../../src/std/json.ts";
import { fc } from "../support/properties.ts";

/** Appendix A: original, patch, result. */
const EXAMPLES: readonly [Json, Json, Json][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);

describe("merge patch", () => {
  it.each(EXAMPLES)("RFC 7396: %j patched with %j is %j", (original, patch, result) => {
    expect(mergePatch(original, patch)).toEqual(result);
  });

  it("changes neither the data nor the patch", () => {
    fc.assert(
      fc.property(json, json, (data, patch) => {
        const before = JSON.stringify([data, patch]);
        mergePatch(data, patch);
        expect(JSON.stringify([data, patch])).toBe(before);
      }),
    );
  });

  it("applied twice is the same as once, and no null of an object patch remains", () => {
    fc.assert(
      fc.property(json, json, (data, patch) => {
        const once = mergePatch(data, patch);
        expect(mergePatch(once, patch)).toEqual(once);
        if (!isJsonObject(patch) || !isJsonObject(once)) return;
        for (const [name, value] of Object.entries(patch))
          expect(Object.hasOwn(once, name)).toBe(value !== null);
      }),
    );
  });

  it("a field called __proto__ is a field like any other", () => {
    const patched = mergePatch({}, JSON.parse('{"__proto__": {"admin": true}}'));
    expect(JSON.stringify(patched)).toBe('{"__proto__":{"admin":true}}');
    expect(Object.hasOwn(Object(patched), "admin")).toBe(false);
    expect(Reflect.get(Object(patched), "admin")).toBeUndefined();
  });
});
