/** Paths into data: what is written is read back, and what is set is there and nothing else is changed. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/std/json.ts";
import { diffJson } from "../../src/std/json-diff.ts";
import { type Path, parsePath, pathText, setAtPath } from "../../src/std/set-path.ts";
import { fc } from "../support/properties.ts";

const step = fc.oneof(
  fc.string(),
  fc.constantFrom("a", "b-c", "x y", '"', "]", "__proto__"),
  fc.nat({ max: 3 }),
);

function set(data: Json, path: string, value: Json) {
  return setAtPath(data, parsePath(path), value);
}

describe("paths", () => {
  it.each<[string, Path]>([
    ["a", ["a"]],
    ["a.b[0].c", ["a", "b", 0, "c"]],
    ['["odd key"].x', ["odd key", "x"]],
    ['a["b.c"][2]', ["a", "b.c", 2]],
    ['["say \\"hi\\""]', ['say "hi"']],
    ["größe.x-y", ["größe", "x-y"]],
    ["[1]", [1]],
    [".", []],
  ])("%s is read", (text, path) => {
    expect(parsePath(text)).toEqual(path);
  });

  it.each(["", "a..b", "a.", ".a", "a[", "a[x]", "a[-1]", "a b", 'a["x]', "a[0]b", "[]"])(
    '"%s" is refused as usage',
    (text) => {
      expect(() => parsePath(text)).toThrow(expect.objectContaining({ code: "usage" }));
    },
  );

  it("every written path is read back", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (path) => {
        expect(parsePath(pathText(path))).toEqual(path);
      }),
    );
  });
});

describe("setting", () => {
  it("creates missing objects and lists, and treats null as missing", () => {
    expect(set({}, "a.b[0].c", 1)).toEqual({ ok: true, value: { a: { b: [{ c: 1 }] } } });
    expect(set({ a: null }, "a.b", 1)).toEqual({ ok: true, value: { a: { b: 1 } } });
    expect(set([1], "[1]", 2)).toEqual({ ok: true, value: [1, 2] });
    expect(set("old", ".", "new")).toEqual({ ok: true, value: "new" });
  });

  it("refuses a path that does not fit the data, with the position", () => {
    expect(set({ a: "x" }, "a.b", 1)).toEqual({ ok: false, message: "a is a string, not an object" });
    expect(set({ a: { b: 1 } }, "a[0]", 1)).toEqual({ ok: false, message: "a is an object, not a list" });
    expect(set("x", "a", 1)).toEqual({ ok: false, message: "the data is a string, not an object" });
    expect(set({ a: [1] }, "a[3]", 1)).toEqual({
      ok: false,
      message: "the list at a has 1 entries, so there is no [3]",
    });
  });

  it("the value that was set is the only difference, and the given data is unchanged", () => {
    const data = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.integer())));
    fc.assert(
      fc.property(data, fc.array(fc.string(), { minLength: 1, maxLength: 3 }), (before, path) => {
        const text = JSON.stringify(before);
        const after = setAtPath(before, path, "new value");
        expect(JSON.stringify(before)).toBe(text);
        if (!after.ok) return;
        const [only, ...others] = diffJson(before, after.value);
        expect(others).toEqual([]);
        expect(pathText(path).startsWith(only?.path ?? "?")).toBe(true);
      }),
    );
  });
});
