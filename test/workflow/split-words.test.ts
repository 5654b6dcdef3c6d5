/** The words of a command line in a workflow. */
import { expect, test } from "vitest";
import { splitWords } from "../../src/workflow/program.ts";

test("words are split like in a shell", () => {
  expect(splitWords(` a 'b c'"d \\" e"  f\\ g '' `)).toEqual(["a", 'b cd " e', "f g", ""]);
  expect(splitWords("")).toEqual([]);
  expect(() => splitWords("a 'b")).toThrow("quote is not closed");
  expect(() => splitWords('a "b')).toThrow("quote is not closed");
});
