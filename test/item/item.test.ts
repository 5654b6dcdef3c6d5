import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { fileNameOf } from "../../src/item/item.ts";
import { fc } from "../support/properties.ts";

describe("an item's id as a file name", () => {
  it("is unchanged if it is safe", () => {
    expect(fileNameOf("order-10.json")).toBe("order-10.json");
    expect(fileNameOf("a_b-C9")).toBe("a_b-C9");
  });

  it("cannot climb out of its folder, hide, or name another file", () => {
    for (const id of ["..", ".", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", ".hidden", "%2e%2e"]) {
      const name = fileNameOf(id);
      expect(posix.join("/folder", name)).toBe(`/folder/${name}`);
      expect(name).not.toMatch(/^\.|[/\\\0]/);
    }
  });

  it("differs for different ids, even long ones, and fits a file system", () => {
    const ids = fc.string({ minLength: 1, maxLength: 600, unit: "grapheme" });
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        expect(fileNameOf(a) === fileNameOf(b)).toBe(a === b);
        expect(Buffer.byteLength(fileNameOf(a))).toBeLessThanOrEqual(200);
      }),
    );
    expect(fileNameOf(`${"x".repeat(500)}1`)).not.toBe(fileNameOf(`${"x".repeat(500)}2`));
  });
});
