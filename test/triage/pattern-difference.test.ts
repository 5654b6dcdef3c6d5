/** The parts in which two patterns differ. */
import { expect, test } from "vitest";
import { patternDifferences } from "../../src/triage/pattern-difference.ts";

test.each([
  ["values do not count", "CommandFailed::cannot open <path>", "CommandFailed::cannot open <str>", []],
  [
    "words count",
    "CommandFailed::sh failed with exit code 1: mv: missing operand",
    "CommandFailed::sh failed with exit code 1: ln: missing operand",
    [{ part: "words", here: "mv", there: "ln" }],
  ],
  [
    "a part that only one has counts",
    "CommandFailed::the disk is full",
    "CommandFailed::the disk is full again",
    [{ part: "words", here: "", there: "again" }],
  ],
  [
    "the type, the command and the frames count",
    "CommandFailed::make failed with exit code 2: no rule (in load)",
    "Timeout::make failed with exit code 1: no rule (in save)",
    [
      { part: "type", here: "CommandFailed", there: "Timeout" },
      { part: "command", here: "make failed with exit code 2", there: "make failed with exit code 1" },
      { part: "stack frames", here: "(in load)", there: "(in save)" },
    ],
  ],
  [
    "a name that a person gave is compared as a whole",
    "broken disk",
    "CommandFailed::no space",
    [{ part: "name", here: "broken disk", there: "CommandFailed::no space" }],
  ],
])("%s", (_what, here, there, differences) => {
  expect(patternDifferences(here, there)).toEqual(differences);
});
