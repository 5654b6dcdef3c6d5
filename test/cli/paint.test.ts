import { describe, expect, test } from "vitest";
import { canRedraw, clean, fit as cut, paintFor, width } from "../../src/cli/render/text.ts";
import { fc } from "../support/properties.ts";

const RED = "\x1b[31mx\x1b[39m";

describe("paint", () => {
  test("a terminal gets colours", () => {
    expect(paintFor({ isTty: true, env: {} }).red("x")).toBe(RED);
    expect(paintFor({ isTty: true, env: {} }).bold("")).toBe("");
  });

  test.each([
    ["a pipe or a file", false, {}],
    ["NO_COLOR", true, { NO_COLOR: "1" }],
    ["NO_COLOR with FORCE_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }],
    ["a dumb terminal", true, { TERM: "dumb" }],
    ["CI", true, { CI: "true" }],
  ])("%s gets none", (_what, isTty, env) => {
    expect(paintFor({ isTty, env }).red("x")).toBe("x");
  });

  test.each([
    ["an empty NO_COLOR", { NO_COLOR: "" }],
    ["CI that is set to false", { CI: "false" }],
    ["CI with FORCE_COLOR", { CI: "1", FORCE_COLOR: "1" }],
  ])("%s does not take them away", (_what, env) => {
    expect(paintFor({ isTty: true, env }).red("x")).toBe(RED);
  });

  test("lines are rewritten only on a real terminal outside of CI", () => {
    expect(canRedraw({ isTty: true, env: { TERM: "xterm", NO_COLOR: "1" } })).toBe(true);
    expect(canRedraw({ isTty: false, env: {} })).toBe(false);
    expect(canRedraw({ isTty: true, env: { TERM: "dumb" } })).toBe(false);
    expect(canRedraw({ isTty: true, env: { CI: "1" } })).toBe(false);
  });
});

describe("clean", () => {
  test("escape codes become visible and do nothing", () => {
    expect(clean("\x1b[2J\x1b]0;title\x07 \x9b31m \x7f")).toBe("␛[2J␛]0;title␇ \ufffd31m ␡");
  });

  test("line breaks and tabs keep the text on one line", () => {
    expect(clean("a\nb\r\nc\td\u2028e\rf")).toBe("a↵b↵c d↵e␍f");
  });

  test("characters that reverse or hide text are removed, and emoji stay joined", () => {
    expect(clean("user\u202egnp.exe \u200bx\ufeff")).toBe("usergnp.exe x");
    expect(clean("👩\u200d🚀")).toBe("👩\u200d🚀");
    expect(clean("half \ud83d pair")).toBe("half \ufffd pair");
  });

  test("no text keeps anything that a terminal obeys", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(clean(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
        expect(clean(clean(text))).toBe(clean(text));
      }),
    );
  });
});

describe("width and fit", () => {
  test.each([
    ["plain", 5],
    ["日本", 4],
    ["한국", 4],
    ["ｶﾀ", 2],
    ["é", 1],
    ["e\u0301", 1],
    ["🚀", 2],
    ["⚠️", 2],
    ["🇩🇪", 2],
    ["a\nb", 3],
  ])("%j takes %i columns", (text, columns) => {
    expect(width(text)).toBe(columns);
  });

  test("a text that fits is unchanged, and a longer one ends with an ellipsis", () => {
    expect(cut("exactly", 7)).toBe("exactly");
    expect(cut("exactly", 6)).toBe("exact…");
    expect(cut("exactly", 1)).toBe("…");
    expect(cut("exactly", 0)).toBe("");
  });

  test("a wide character is not cut in half", () => {
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("日本語", 6)).toBe("日本語");
  });

  test("a huge text is cut without being read to its end", () => {
    expect(cut("x".repeat(50_000_000), 10)).toBe("xxxxxxxxx…");
    expect(cut(`a${"\u0301".repeat(1000)}`, 10).length).toBeLessThan(100);
  });

  test("no text is ever wider than allowed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 30 }), (text, columns) => {
        expect(width(cut(text, columns))).toBeLessThanOrEqual(columns);
        if (width(text) <= columns && text.length <= columns) expect(cut(text, columns)).toBe(clean(text));
      }),
    );
  });
});
