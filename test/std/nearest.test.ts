import { expect, test } from "vitest";
import { editDistance, nearest } from "../../src/std/nearest.ts";
import { fc } from "../support/properties.ts";

test.each([
  ["max_paralel", "max_parallel"],
  ["fliter", "filter"],
  ["Filter", "filter"],
  ["offest", "offset"],
])("%s means %s", (word, meant) => {
  expect(nearest(word, ["filter", "max_parallel", "offset", "max_items"])).toBe(meant);
});

test("a word that resembles none has no suggestion", () => {
  expect(nearest("banana", ["filter", "offset"])).toBeUndefined();
  expect(nearest("x", [])).toBeUndefined();
});

test("the distance is a metric of typing errors: 0 for the same, 1 for one error, the same both ways", () => {
  expect([editDistance("ab", "ba"), editDistance("ab", "abc"), editDistance("ab", "ax")]).toEqual([1, 1, 1]);
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      expect(editDistance(a, a)).toBe(0);
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
