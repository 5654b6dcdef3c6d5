/** Where a text stops being JSON: told for every text that the engine refuses, and for no other. */
import { describe, expect, it } from "vitest";
import { jsonErrorOffset, lineAndColumn } from "../../src/std/json-error.ts";
import { fc } from "../support/properties.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("the error in a text", () => {
  it.each([
    ['{\n  "n": oops\n}', 9],
    ['{"a": 1,}', 8],
    ["[1 2]", 3],
    ['{"a" 1}', 5],
    ["{a: 1}", 1],
    ['{"a": 1', 7],
    ["", 0],
    ["1 1", 2],
    ["01", 0],
    ["[1}", 2],
    ['"\t"', 0],
  ])("of %j is at %i", (text, at) => {
    expect(jsonErrorOffset(text)).toBe(at);
  });

  it("is found in a text of any length", () => {
    const long = `{"a": "${"x".repeat(40_000_000)}\\n"`;
    expect([jsonErrorOffset(`${long}}`), jsonErrorOffset(long)]).toEqual([null, long.length]);
  });

  it("is found exactly if the engine refuses the text", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      "1",
      "-",
      "true",
      " ",
      "\n",
      "1.5e3",
      "x",
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
      fc.json(),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(jsonErrorOffset(given) === null).toBe(isJson(given));
      }),
      { numRuns: 2000 },
    );
  });

  it("has a line and a column", () => {
    expect(lineAndColumn('{\n  "n": oops\n}', 9)).toEqual({ line: 2, column: 8 });
    expect(lineAndColumn("x", 0)).toEqual({ line: 1, column: 1 });
  });
});
