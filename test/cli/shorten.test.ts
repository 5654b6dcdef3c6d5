import { describe, expect, test } from "vitest";
import { shorten, shortenApart, width } from "../../src/cli/render/text.ts";
import { seeds } from "../support/seeds.ts";

const URL_ERROR = "The requested URL returned error: ";

describe("a text that is too wide", () => {
  test("loses its middle and fits", () => {
    expect(shorten("src/components/checkout/deep/folder/package-a.tsx", 30)).toBe(
      "src/components/c…package-a.tsx",
    );
    expect(width(shorten("日本語のエラーメッセージが長すぎる場合", 20))).toBeLessThanOrEqual(20);
    expect(shorten("short", 20)).toBe("short");
    expect(shorten("a\x1b[2Jb", 20)).toBe("a␛[2Jb");
  });
});

describe("texts that are too wide stay distinguishable", () => {
  test.each([
    ["at the end", [`${URL_ERROR}422`, `${URL_ERROR}500`, `${URL_ERROR}400`], 30],
    [
      "in the middle",
      ["422", "500"].map((code) => `${URL_ERROR}${code} for this order, which was retried three times`),
      40,
    ],
    ["at the beginning", ["alpha", "beta"].map((word) => `${word}: ${URL_ERROR.repeat(3)}`), 30],
    [
      "after a long way",
      ["null", "undefined"].map(
        (value) => `TypeError: Cannot read properties of ${value} (reading 'length')`,
      ),
      30,
    ],
  ])("when they differ %s", (_, texts, columns) => {
    const shown = shortenApart(texts, columns);
    expect(new Set(shown).size).toBe(texts.length);
    for (const text of shown) expect(width(text)).toBeLessThanOrEqual(columns);
  });

  test("the part that differs is shown", () => {
    const texts = ["422", "500"].map(
      (code) => `${URL_ERROR}${code} for this order, which was retried three times`,
    );
    expect(shortenApart(texts, 30)).toEqual([
      "The req…422 for this order, w…",
      "The req…500 for this order, w…",
    ]);
  });

  test.each(seeds(1, 2, 3, 5, 8, 13, 21, 34))("two that differ in one place, seed %i", (seed) => {
    const words = Array.from({ length: 12 }, (_, index) => `word${(seed * 31 + index * 7) % 97}`);
    const other = words.with(seed % words.length, "another");
    const texts = [words.join(" "), other.join(" ")];
    for (const columns of [20, 30, 45, 60]) {
      const shown = shortenApart(texts, columns);
      expect(new Set(shown).size).toBe(2);
      for (const text of shown) expect(width(text)).toBeLessThanOrEqual(columns);
    }
  });
});
