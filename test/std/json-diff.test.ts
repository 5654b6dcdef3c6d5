/** Differences of data: applied to what was before, they give what is after. */
import { describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "../../src/std/json.ts";
import { type Change, diffJson, isSameJson } from "../../src/std/json-diff.ts";
import { parsePath, setAtPath } from "../../src/std/set-path.ts";
import { fc } from "../support/properties.ts";

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** Removals of list entries come from the end, so that the places before them stay. */
function apply(data: Json, changes: readonly Change[]): Json {
  const sets = changes.filter(({ after }) => after !== undefined);
  const removals = changes.filter(({ after }) => after === undefined).reverse();
  let result = data;
  for (const { path, after } of sets) {
    const changed = setAtPath(result, parsePath(path), after ?? null);
    if (!changed.ok) throw new Error(changed.message);
    result = changed.value;
  }
  return removals.reduce((rest, { path }) => without(rest, parsePath(path)), result);
}

function without(data: Json, [first, ...rest]: readonly (string | number)[]): Json {
  const entries = Object.entries(Object(data)) as [string, Json][];
  const kept = entries.flatMap(([name, value]): [string, Json][] => {
    if (name !== String(first)) return [[name, value]];
    return rest.length === 0 ? [] : [[name, without(value, rest)]];
  });
  return isJsonObject(data) ? Object.fromEntries(kept) : kept.map(([, value]) => value);
}

describe("diff", () => {
  it("names the smallest differing places", () => {
    const before = { url: "http://x", tags: ["a", "b"], deep: { n: 1, gone: true }, same: [1] };
    const after = { url: "https://x", tags: ["a", "c", "d"], deep: { n: 1 }, same: [1], new: null };
    expect(diffJson(before, after)).toEqual([
      { path: "url", before: "http://x", after: "https://x" },
      { path: "tags[1]", before: "b", after: "c" },
      { path: "tags[2]", after: "d" },
      { path: "deep.gone", before: true },
      { path: "new", after: null },
    ]);
  });

  it("reports another type of value as one change", () => {
    expect(diffJson({ a: 1 }, [1])).toEqual([{ path: ".", before: { a: 1 }, after: [1] }]);
    expect(diffJson("x", "y")).toEqual([{ path: ".", before: "x", after: "y" }]);
  });

  it("is empty for equal data, in any order of the fields", () => {
    expect(diffJson({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toEqual([]);
    fc.assert(
      fc.property(json, (data) => {
        expect(diffJson(data, structuredClone(data))).toEqual([]);
      }),
    );
  });

  it("applied to the old data gives the new data", () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(isSameJson(apply(before, diffJson(before, after)), after)).toBe(true);
      }),
    );
    const shape = fc.record({ a: json, b: fc.array(json), c: fc.dictionary(fc.string(), json) });
    fc.assert(
      fc.property(shape, shape, (before, after) => {
        expect(
          isSameJson(apply(before as Json, diffJson(before as Json, after as Json)), after as Json),
        ).toBe(true);
      }),
    );
  });
});
