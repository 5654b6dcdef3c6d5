/** Small charts in a terminal. */
import { expect, test } from "vitest";
import { bar, canShowBlocks, columnChart } from "../../src/cli/render/analysis.ts";

const MINUTE = 60_000;
const at = (minute: number) => Date.UTC(2026, 0, 1, 10, minute);
const STRETCHES = [
  [at(0), 1],
  [at(1), 4],
  [at(2), 0],
  [at(3), 8],
] as const;

test("columns have their scale on the left and the first and last time below", () => {
  expect(columnChart(STRETCHES, { widthMax: 8, blocks: true, height: 2 })).toEqual([
    "8 │   █",
    "  │▂█ █",
    "0 └────",
    "   2026-01-01 10:00   2026-01-01 10:03",
  ]);
});

test("a terminal without UTF-8 gets plain characters", () => {
  const lines = columnChart(STRETCHES, { widthMax: 8, blocks: false, height: 2 });
  expect(lines.slice(0, 3)).toEqual(["8 |   #", "  |## #", "0 +----"]);
  expect(lines.join("")).toMatch(/^[ -~]*$/);
  expect(bar(5, 10, { widthMax: 8, blocks: false })).toBe("####");
});

test("columns get wider where there is room, but never too wide", () => {
  const wide = columnChart(STRETCHES, { widthMax: 200, blocks: true });
  expect(wide[0]).toBe("8 │         ███");
});

test("the smallest count is never shown as nothing", () => {
  expect(bar(1, 1_000_000, { widthMax: 10, blocks: true })).toBe("▏");
  expect(bar(1, 1_000_000, { widthMax: 10, blocks: false })).toBe("#");
  expect(bar(0, 10, { widthMax: 10, blocks: true })).toBe("");
  const [, floor] = columnChart(
    [
      [at(0), 1],
      [at(0) + MINUTE, 1000],
    ],
    { widthMax: 20, blocks: true, height: 2 },
  );
  expect(floor).toContain("▁");
});

test.each([
  [{ LANG: "en_US.UTF-8" }, true],
  [{ LC_ALL: "C", LANG: "en_US.UTF-8" }, false],
  [{ LANG: "C.utf8", TERM: "dumb" }, false],
  [{}, false],
])("%j can show blocks: %s", (env, expected) => {
  expect(canShowBlocks(env)).toBe(expected);
});
