/** That a message taken apart still says which texts are in it. */
import { expect, it } from "vitest";
import { BLANK, candidatesOf, templateOf } from "../../../src/engines/sqlite/message-template.ts";
import { fc } from "../../support/properties.ts";

it("numbers are parameters, and a template has blanks in their places", () => {
  expect(templateOf("No answer from 10.0.0.7 after 30 s")).toEqual({
    text: `no answer from ${BLANK}.${BLANK}.${BLANK}.${BLANK} after ${BLANK} s`,
    parameters: `${BLANK}10${BLANK}0${BLANK}0${BLANK}7${BLANK}30${BLANK}`,
    isOpen: false,
  });
});

it("hashes and ids are parameters, words are not", () => {
  const { text } = templateOf("commit 9fceb02d0ae598e9 of abe, deed e2e: face");
  expect(text).toBe(`commit ${BLANK} of abe, deed ${BLANK}: face`);
});

it("more must be read of a message that is long or cannot be written as a template", () => {
  expect(templateOf(`x 1 ${"y".repeat(5000)}`)).toMatchObject({ isOpen: true, parameters: "" });
  expect(templateOf(`x 1 ${"y".repeat(5000)}`).text.startsWith(`x ${BLANK} yyy`)).toBe(true);
  for (const message of [`a${BLANK}b`, "half \ud83d of it"]) {
    expect(templateOf(message)).toEqual({ text: "", parameters: "", isOpen: true });
  }
});

it("the candidates of a text include every message that has it, and by the template alone no other", () => {
  const letters = fc.constantFrom(...("0aF1zZ-é😀 ".match(/./gu) ?? []));
  const texts = (maxLength: number) => fc.array(letters, { maxLength }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts(14), texts(5), (message, asked) => {
      const text = asked.toLowerCase();
      fc.pre(text !== "");
      const template = templateOf(message);
      const blanks = template.text.split(BLANK).length - 1;
      const candidates = candidatesOf(text).filter(
        (candidate) =>
          template.text.includes(candidate.text) &&
          candidate.parameters.every((parameter) => template.parameters.includes(parameter)),
      );
      const isClear = candidates.some(
        (candidate) =>
          candidate.parameters.length === 0 ||
          candidate.text === BLANK ||
          (blanks === 1 && candidate.parameters.length === 1),
      );
      const isThere = message.toLowerCase().includes(text);
      if (isThere) expect(candidates).not.toEqual([]);
      if (isClear) expect(isThere).toBe(true);
    }),
    { numRuns: 20_000 },
  );
});
