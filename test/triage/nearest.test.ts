import { expect, test } from "vitest";
import { nearestPatterns } from "../../src/triage/explain.ts";

const group = (pattern: string) => ({ pattern });
const OTHERS = [
  group("CommandFailed::cannot open <path>: no such file or directory"),
  group("CommandFailed::cannot open <path>: permission denied"),
  group("Timeout::the command timed out after <dur>"),
  group("CommandFailed::cannot close <path>: permission denied"),
];

test("the patterns with the most words in common come first, without the pattern itself", () => {
  const near = nearestPatterns("CommandFailed::cannot open <path>: permission denied", OTHERS, 2);
  expect(near.map(({ other }) => other.pattern)).toEqual([
    "CommandFailed::cannot close <path>: permission denied",
    "CommandFailed::cannot open <path>: no such file or directory",
  ]);
  expect(near[0]?.distance).toBeCloseTo(1 / 4);
});

test("the order of the groups does not matter, and there may be many", () => {
  const many = Array.from({ length: 500 }, (_, at) => group(`Unknown::${"x ".repeat(at % 9)}${at}`));
  const forward = nearestPatterns("Unknown::x x x", [...many, ...OTHERS], 5);
  expect(nearestPatterns("Unknown::x x x", [...OTHERS, ...many.toReversed()], 5)).toEqual(forward);
  expect(forward).toHaveLength(5);
});

test("patterns without a word in common have the maximum distance", () => {
  expect(nearestPatterns("a b", [group("c d")], 1)).toEqual([{ other: group("c d"), distance: 1 }]);
  expect(nearestPatterns("a", [], 3)).toEqual([]);
});
