/** That a message taken apart still says which texts are in it. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { BLANK, tracesOf, wordingOf } from "../../../src/engines/sqlite/wording.ts";

it("numbers are figures, and a wording has blanks in their places", () => {
  expect(wordingOf("No answer from 10.0.0.7 after 30 s")).toEqual({
    text: `no answer from ${BLANK}.${BLANK}.${BLANK}.${BLANK} after ${BLANK} s`,
    figures: `${BLANK}10${BLANK}0${BLANK}0${BLANK}7${BLANK}30${BLANK}`,
    isOpen: false,
  });
});

it("hashes and ids are figures, words are not", () => {
  const { text } = wordingOf("commit 9fceb02d0ae598e9 of abe, deed e2e: face");
  expect(text).toBe(`commit ${BLANK} of abe, deed ${BLANK}: face`);
});

it("of a message that is long, or cannot be written down, more is to be looked at", () => {
  expect(wordingOf(`x 1 ${"y".repeat(5000)}`)).toMatchObject({ isOpen: true, figures: "" });
  expect(wordingOf(`x 1 ${"y".repeat(5000)}`).text.startsWith(`x ${BLANK} yyy`)).toBe(true);
  for (const message of [`a${BLANK}b`, "half \ud83d of it"]) {
    expect(wordingOf(message)).toEqual({ text: "", figures: "", isOpen: true });
  }
});

it("the traces of a text lead to every message that has it, and by the wording alone to no other", () => {
  const letters = fc.constantFrom(...("0aF1zZ-é😀 ".match(/./gu) ?? []));
  const texts = (maxLength: number) => fc.array(letters, { maxLength }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts(14), texts(5), (message, asked) => {
      const text = asked.toLowerCase();
      fc.pre(text !== "");
      const wording = wordingOf(message);
      const blanks = wording.text.split(BLANK).length - 1;
      const traces = tracesOf(text).filter(
        (trace) =>
          wording.text.includes(trace.text) &&
          trace.figures.every((figure) => wording.figures.includes(figure)),
      );
      const isClear = traces.some(
        (trace) =>
          trace.figures.length === 0 || trace.text === BLANK || (blanks === 1 && trace.figures.length === 1),
      );
      const isThere = message.toLowerCase().includes(text);
      if (isThere) expect(traces).not.toEqual([]);
      if (isClear) expect(isThere).toBe(true);
    }),
    { numRuns: 20_000 },
  );
});
