import { describe, expect, test } from "vitest";
import { explainFailure, explainWords } from "../../src/triage/explain.ts";
import { MASKS } from "../../src/triage/mask/masker.ts";
import { signatureOf } from "../../src/triage/signature.ts";
import { failures } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";

const silent = { errorType: { name: "CommandFailed" as const }, errorMessage: "" };

describe("an explanation", () => {
  test("a recorded message is shown where it was printed, with the reason for the choice of that line", () => {
    const told = explainFailure({
      errorType: { name: "CommandFailed" },
      errorMessage: "make failed with exit code 2: error: no rule for 'x'",
      stderrTail: "starting\nerror: no rule for 'x'\nmake: *** stopped\n",
    });
    expect(told).toMatchObject({
      source: "stderr",
      why: "the last line with an error marker",
      lines: ["error: no rule for 'x'"],
    });
  });

  test("it shows each mask that matched, with its reason, the original and the replacement", () => {
    const { hits, source, why } = explainFailure({
      ...silent,
      errorMessage: "cannot open /a/b.csv for ann: 3 left",
    });
    expect(source).toBe("message");
    expect(why).toBe("the recorded message");
    expect(hits).toEqual([
      { masker: "path", reason: MASKS.path, before: "/a/b.csv", after: "<path>" },
      { masker: "num", reason: MASKS.num, before: "3", after: "<num>" },
    ]);
  });

  test("it shows the chosen lines, their streams and reasons", () => {
    const stderr = "starting\nerror[E0308]: mismatched types\n --> src/main.rs:2:5\nbye\n";
    expect(explainFailure({ ...silent, stderrTail: stderr })).toMatchObject({
      source: "stderr",
      why: "the last line with an error marker",
      lines: ["error[E0308]: mismatched types", " --> src/main.rs:2:5"],
      pattern: "CommandFailed::error[E0308]: mismatched types --> <path>",
    });
  });

  test("it shows which frames counted and which did not", () => {
    const stackTrace =
      "Error: no\n    at parse (/a/node_modules/x/i.js:1:2)\n    at total (/a/cart.js:3:4)\n";
    const { language, framesCounted, framesSkipped, why } = explainFailure({ ...silent, stackTrace });
    expect(language).toBe("JavaScript");
    expect(why).toBe("the JavaScript stack trace in the record names it");
    expect(framesCounted).toEqual([{ function: "total", file: "/a/cart.js", inApp: true }]);
    expect(framesSkipped.map((frame) => frame.function)).toEqual(["parse"]);
  });

  test("a failure without any text is explained too", () => {
    expect(explainFailure(silent)).toMatchObject({
      source: "none",
      lines: [],
      hits: [],
      why: "the failure has no message and no output",
    });
  });
});

test("an explanation ends with the signature of the failure", () => {
  fc.assert(
    fc.property(failures, (failure) => {
      const { signature, pattern } = explainFailure(failure);
      expect({ signature, pattern }).toEqual(signatureOf(failure));
    }),
  );
});

test("each word is explained, and neighbours with the same reason are joined", () => {
  const words = explainWords(
    "sh failed with exit code 22: cannot open <path> of user=<val>: OutOfMemoryError in node-<num>",
  );
  expect(words.map(({ text, isVariable }) => [isVariable ? "variable" : "fixed", text])).toEqual([
    ["fixed", "sh failed with exit code 22"],
    ["fixed", "cannot open"],
    ["variable", "<path>"],
    ["fixed", "of"],
    ["fixed", "user"],
    ["variable", "<val>"],
    ["fixed", "OutOfMemoryError"],
    ["fixed", "in"],
    ["variable", "node-<num>"],
  ]);
  expect(words[0]?.why).toBe("how the command ended: another command or exit code means a different group");
  expect(words[2]?.why).toBe(MASKS.path);
  expect(words[8]?.why).toBe("a part of this word differs from item to item");
});
