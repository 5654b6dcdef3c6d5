/** The values of --group: signatures, prefixes, names and merged groups become signatures, or are refused. */
import { expect, test } from "vitest";
import { checkSelection, selectionIn } from "../../src/cli/selection.ts";
import { A, B, GroupKit } from "../redrive/group-kit.ts";

async function kitWithGroups(): Promise<GroupKit> {
  const kit = new GroupKit();
  await kit.bury({ a1: { signature: A }, b1: { signature: B, pattern: "storage" } });
  return kit;
}

test("prefixes, names and complete signatures are signatures, beside everything else", async () => {
  const { engine } = await kitWithGroups();
  const flags = {
    groups: ["aaa", "storage", "ffffffffffffffff"],
    types: ["Timeout"],
    where: "true",
  } as const;
  expect(await selectionIn(engine, flags)).toEqual({
    filter: { signatures: [A, B, "ffffffffffffffff"], types: ["Timeout"] },
    where: "true",
  });
  expect(await selectionIn(engine, {})).toEqual({ filter: {} });
});

test("a merged group means the group that has its letters", async () => {
  const { engine } = await kitWithGroups();
  await engine.correct({ from: A, to: B, pattern: "storage", author: "ann" });
  expect(await selectionIn(engine, { groups: ["aaa", A] })).toEqual({ filter: { signatures: [B, B] } });
});

test("a word that means no group, or several, is refused and never means all", async () => {
  const kit = await kitWithGroups();
  await kit.bury({ a2: { signature: "aaaa000000000009" } });
  const meaning = (...groups: string[]) => selectionIn(kit.engine, { groups });
  for (const word of ["xyz", "stor", "AAA", "a1"]) {
    await expect(meaning(word)).rejects.toMatchObject({ code: "filter_invalid" });
  }
  await expect(meaning("aaa")).rejects.toMatchObject({ code: "ambiguous" });
  for (const groups of [[""], ["aaa", ""]]) {
    expect(() => checkSelection({ groups })).toThrow(expect.objectContaining({ code: "filter_invalid" }));
  }
});
