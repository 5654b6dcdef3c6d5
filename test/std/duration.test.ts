import { describe, expect, test } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import { formatDuration, parseDuration } from "../../src/std/duration.ts";

describe("reading a duration", () => {
  test.each([
    ["250ms", 250],
    ["30s", 30_000],
    ["1.5s", 1500],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["10", 10_000],
    [" 10 s ", 10_000],
    ["0", 0],
  ])("%s is %d ms", (text, ms) => {
    expect(parseDuration(text, "--timeout")).toBe(ms);
  });

  test.each(["", "s", "-1s", "1w", "1e3", "Infinity", "5 minutes", "1.s"])("%j is a usage error", (text) => {
    expect(() => parseDuration(text, "--timeout")).toThrow(RedriveError);
    expect(() => parseDuration(text, "--timeout")).toThrow(`--timeout: "${text}" is not a duration`);
  });
});

test.each([
  [0, "0 ms"],
  [340, "340 ms"],
  [2400, "2.4 s"],
  [185_000, "3m 05s"],
  [7_620_000, "2h 07m"],
  [3 * 86_400_000 + 4 * 3_600_000, "3d 04h"],
])("%d ms is shown as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
