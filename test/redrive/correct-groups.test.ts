/** Merges and splits: what is written down, where letters go, and that the same again does no harm. */
import { describe, expect, test } from "vitest";
import type { Correction } from "../../src/item/group.ts";
import {
  mergeGroups,
  planMerge,
  planSplit,
  requireCorrection,
  splitGroup,
} from "../../src/redrive/correct-groups.ts";
import { listGroups, mergedInto } from "../../src/redrive/groups.ts";
import { splitSignature } from "../../src/triage/grouping.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { A, B, C, type Death, GroupKit } from "./group-kit.ts";

const AUTHOR = { author: "ann" };
const group = (signature: string) => ({ signature, pattern: `pattern of ${signature}` });
const correction = (from: string, to: string, text?: string): Correction => ({
  from,
  to,
  pattern: `pattern of ${to}`,
  author: "bob",
  at: 1,
  ...(text !== undefined && { text }),
});

describe("the plan of a merge", () => {
  test("redirects what led to the group to its target", () => {
    const plan = planMerge(group(B), group(C), [correction(A, B), correction(A, B, "x")]);
    expect(plan).toEqual({
      remove: [],
      add: [
        { from: A, to: C, pattern: `pattern of ${C}` },
        { from: A, text: "x", to: C, pattern: `pattern of ${C}` },
        { from: B, to: C, pattern: `pattern of ${C}` },
      ],
    });
  });

  test("of a group that was split off removes the split", () => {
    const plan = planMerge(group(C), group(B), [correction(B, C, "x")]);
    expect(plan.remove).toEqual([{ from: B, text: "x" }]);
    expect(plan.add).toEqual([{ from: C, to: B, pattern: `pattern of ${B}` }]);
  });

  test("of a group with itself is empty", () => {
    expect(planMerge(group(A), group(A), [correction(B, A)])).toEqual({ remove: [], add: [] });
  });
});

test("chains of merges are followed to their end, and a cycle ends", () => {
  expect(mergedInto(A, [correction(A, B), correction(B, C)])).toBe(C);
  expect(mergedInto(A, [correction(A, B, "only some")])).toBe(A);
  expect([B, A]).toContain(mergedInto(A, [correction(A, B), correction(B, A)]));
});

test("a split is named after the group and the text, unless a name is given", () => {
  const to = splitSignature(A, "Full");
  expect(planSplit(group(A), { text: "Full" }, []).target).toEqual({
    signature: to,
    pattern: `pattern of ${A} (Full)`,
  });
  expect(planSplit(group(A), { text: "Full", name: "disk" }, [correction(to, B)])).toEqual({
    target: { signature: to, pattern: "disk" },
    remove: [{ from: to }],
    add: [{ from: A, text: "Full", to, pattern: "disk" }],
  });
});

describe("a merge", () => {
  test("moves existing letters, even resolved ones, and later failures follow", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, a2: { signature: A, queue: "job-2" }, b1: { signature: B } });
    await discard(kit, "a1");
    const merged = await mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
    expect(merged).toMatchObject({ target: { signature: B }, moved: 2 });
    await kit.bury({ a3: { signature: A } });
    expect(await kit.groups()).toEqual({ a1: B, a2: B, a3: B, b1: B });
    expect(await kit.engine.check()).toEqual([]);
  });

  test("of several into a merged one goes to that one's target, with everything that led to them", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, b1: { signature: B }, c1: { signature: C } });
    await mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
    await mergeGroups(kit.engine, { groups: [group(C)], into: group(A) }, AUTHOR);
    expect(await kit.groups()).toEqual({ a1: B, b1: B, c1: B });
    await kit.bury({ d1: { signature: "dddd000000000004" } });
    await mergeGroups(kit.engine, { groups: [group(B)], into: group("dddd000000000004") }, AUTHOR);
    const corrections = await kit.engine.listCorrections();
    expect(corrections.map(({ from, to }) => [from, to]).sort()).toEqual([
      [A, "dddd000000000004"],
      [B, "dddd000000000004"],
      [C, "dddd000000000004"],
    ]);
    expect(new Set(Object.values(await kit.groups()))).toEqual(new Set(["dddd000000000004"]));
  });

  test("that was interrupted continues when it is requested again, and changes nothing once it is complete", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, a2: { signature: A }, b1: { signature: B } });
    await kit.engine.correct({ from: A, to: B, pattern: "b", author: "ann" }); // and then it crashed
    const again = () => mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
    expect((await again()).moved).toBe(2);
    expect((await again()).moved).toBe(0);
    expect(await kit.engine.listCorrections()).toHaveLength(1);
  });

  test("into a resolved group opens it, because letters wait there", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, b1: { signature: B } });
    await kit.engine.changeGroup(B, { author: "ann", state: "resolved" });
    await mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
    expect(await kit.record(B)).toMatchObject({ state: "open", isRegression: false });
  });

  test("of many letters goes page by page, and reports its progress", async () => {
    const kit = new GroupKit();
    const many = Array.from({ length: 450 }, (_, index): [string, Death] => [`a${index}`, { signature: A }]);
    await kit.bury({ ...Object.fromEntries(many), b1: { signature: B } });
    const seen: number[] = [];
    const onProgress = (letters: number) => seen.push(letters);
    const merged = await mergeGroups(
      kit.engine,
      { groups: [group(A)], into: group(B) },
      { ...AUTHOR, onProgress },
    );
    expect(merged.moved).toBe(450);
    expect(seen).toEqual([200, 400, 450]);
  });

  test("regroups nothing: letters grouped by an older algorithm stay marked", async () => {
    const kit = new GroupKit();
    await kit.bury({
      a1: { signature: A, algorithm: ALGORITHM },
      b1: { signature: B, algorithm: "redrive-0" },
    });
    await mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
    const { outdated } = await listGroups(kit.engine, { states: ["open"] });
    expect(outdated).toEqual({ letters: 2, algorithms: ["redrive-0"] });
  });
});

describe("a split", () => {
  const DISK = { signature: A, message: "the Disk is full" };

  test("takes the existing and later letters that have the text in their message", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: DISK, a2: { signature: A, message: "no memory" } });
    const { target, moved } = await splitGroup(kit.engine, group(A), {
      ...AUTHOR,
      text: "disk",
      name: "storage",
    });
    expect([target.pattern, moved]).toEqual(["storage", 1]);
    await kit.bury({ a3: { ...DISK, message: "DISK gone" }, a4: { signature: A } });
    expect(await kit.groups()).toEqual({ a1: target.signature, a2: A, a3: target.signature, a4: A });
    expect(await kit.record(target.signature)).toMatchObject({ pattern: "storage", state: "open" });
  });

  test("of a group that others were merged into takes theirs too", async () => {
    const kit = new GroupKit();
    await kit.bury({ b1: { ...DISK, signature: B }, a1: { signature: A } });
    await mergeGroups(kit.engine, { groups: [group(B)], into: group(A) }, AUTHOR);
    const { target, moved } = await splitGroup(kit.engine, group(A), { ...AUTHOR, text: "disk" });
    await kit.bury({ b2: { ...DISK, signature: B }, b3: { signature: B } });
    expect(moved).toBe(1);
    expect(await kit.groups()).toEqual({ b1: target.signature, a1: A, b2: target.signature, b3: A });
  });

  test("can be merged back, and made again", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: DISK, a2: { signature: A } });
    const first = await splitGroup(kit.engine, group(A), { ...AUTHOR, text: "disk" });
    await mergeGroups(kit.engine, { groups: [first.target], into: group(A) }, AUTHOR);
    await kit.bury({ a3: DISK });
    expect(await kit.groups()).toEqual({ a1: A, a2: A, a3: A });
    const second = await splitGroup(kit.engine, group(A), { ...AUTHOR, text: "disk" });
    expect(second).toEqual({ target: first.target, moved: 2 });
    await kit.bury({ a4: DISK });
    const { signature } = first.target;
    expect(await kit.groups()).toEqual({ a1: signature, a2: A, a3: signature, a4: signature });
  });
});

test("a correction is identified by its number", async () => {
  const kit = new GroupKit();
  await expect(requireCorrection(kit.engine, 1)).rejects.toMatchObject({
    code: "usage",
    message: expect.stringContaining("correction 1"),
  });
  await kit.bury({ a1: { signature: A }, b1: { signature: B } });
  await mergeGroups(kit.engine, { groups: [group(A)], into: group(B) }, AUTHOR);
  expect(await requireCorrection(kit.engine, 1)).toMatchObject({ from: A, to: B, author: "ann" });
  await expect(requireCorrection(kit.engine, 2)).rejects.toMatchObject({
    hint: expect.stringContaining("1 to 1"),
  });
});

async function discard(kit: GroupKit, itemId: string): Promise<void> {
  const filter = { queue: "job-1", itemIds: [itemId] };
  const operation = {
    id: "op-d",
    kind: "discard",
    queue: "job-1",
    filter,
    force: false,
    author: "ann",
    plan: {},
    reason: "old",
  } as const;
  await kit.engine.beginOperation(operation);
  await kit.engine.advance("op-d", { max: 10 });
}
