/** Groups over all queues: how they are joined, listed and found. */
import { describe, expect, test } from "vitest";
import type { LetterGroup } from "../../src/engine.ts";
import {
  groupToJson,
  joinGroups,
  listGroups,
  requireGroup,
  requireLiveGroup,
  sampleItems,
  viewGroup,
} from "../../src/redrive/groups.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { A, B, C, GroupKit } from "./group-kit.ts";

const PART: LetterGroup = {
  queue: "job-1",
  signature: A,
  pattern: "small",
  errorType: "Timeout",
  errorClass: "transient",
  count: 2,
  firstAt: 5,
  lastAt: 9,
  state: "open",
  isRegression: false,
  algorithm: ALGORITHM,
};

describe("parts of a group", () => {
  test("are one group: counts add up, times span all, the largest part names it", () => {
    const large = {
      ...PART,
      queue: "job-2",
      pattern: "large",
      errorType: "CommandFailed",
      count: 3,
      firstAt: 7,
      lastAt: 20,
    } as const;
    expect(joinGroups([PART, large])).toEqual([
      {
        signature: A,
        pattern: "large",
        errorType: "CommandFailed",
        errorClass: "transient",
        count: 5,
        firstAt: 5,
        lastAt: 20,
        jobs: ["job-2", "job-1"],
        state: "open",
        isRegression: false,
        algorithms: [ALGORITHM],
      },
    ]);
  });

  test("of several signatures stay separate, the largest group first", () => {
    const parts = [
      PART,
      { ...PART, signature: B, count: 1 },
      { ...PART, signature: B, queue: "job-2", count: 4, algorithm: "old" },
    ];
    const groups = joinGroups(parts);
    expect(groups.map(({ signature, count }) => [signature, count])).toEqual([
      [B, 5],
      [A, 2],
    ]);
    expect(groups[0]?.algorithms).toEqual(["old", ALGORITHM]);
  });
});

describe("a list", () => {
  test("has the requested states, and counts the others", async () => {
    const kit = new GroupKit();
    await kit.bury({
      a1: { signature: A },
      a2: { signature: A, queue: "job-2" },
      b1: { signature: B },
      c1: { signature: C },
    });
    await kit.engine.changeGroup(B, { author: "ann", state: "ignored" });
    await kit.engine.changeGroup(C, { author: "ann", state: "resolved" });
    const open = await listGroups(kit.engine, { states: ["open"] });
    expect(open.groups).toMatchObject([
      { signature: A, count: 2, jobs: expect.arrayContaining(["job-1", "job-2"]) },
    ]);
    expect(open.leftOut).toEqual({ open: 0, resolved: 1, ignored: 1 });
    const others = await listGroups(kit.engine, { states: ["ignored", "resolved"] });
    expect(others.groups.map(({ signature }) => signature).sort()).toEqual([B, C]);
    expect(others.leftOut).toEqual({ open: 1, resolved: 0, ignored: 0 });
    const ofJob = await listGroups(kit.engine, { queue: "job-2", states: ["open", "ignored", "resolved"] });
    expect(ofJob.groups).toMatchObject([{ signature: A, count: 1, jobs: ["job-2"] }]);
  });

  test("reports which letters an older algorithm grouped", async () => {
    const kit = new GroupKit();
    await kit.bury({
      a1: { signature: A, algorithm: "redrive-0" },
      b1: { signature: B, algorithm: ALGORITHM },
      c1: { signature: C, algorithm: "imported" },
    });
    const { outdated } = await listGroups(kit.engine, { states: ["open"] });
    expect(outdated).toEqual({ letters: 1, algorithms: ["redrive-0"] });
  });

  test("keeps a resolved group whose letters are gone", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A } });
    await kit.engine.changeGroup(A, { author: "ann", state: "resolved" });
    const purge = await kit.engine.beginOperation({
      id: "op-p",
      kind: "purge",
      queue: "job-1",
      filter: { queue: "job-1" },
      force: false,
      author: "ann",
      plan: {},
    });
    await kit.engine.advance(purge.id, { max: 10 });
    const { groups } = await listGroups(kit.engine, { states: ["resolved"] });
    expect(groups).toMatchObject([{ signature: A, count: 0, jobs: [] }]);
    const view = await viewGroup(kit.engine, await kit.record(A));
    expect(groupToJson(view.group, view.samples)).toMatchObject({
      count: 0,
      first_occurrence: null,
      sample_items: [],
    });
  });

  test("has the newest letters as samples, of all queues or of one", async () => {
    const kit = new GroupKit();
    await kit.bury({
      a1: { signature: A, queue: "job-2" },
      a2: { signature: A },
      a3: { signature: A },
      a4: { signature: A },
    });
    expect(await sampleItems(kit.engine, A)).toEqual(["a4", "a3", "a2"]);
    expect(await sampleItems(kit.engine, A, "job-2")).toEqual(["a1"]);
  });
});

describe("a group is found", () => {
  test("by its signature, a prefix of it, or its name", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A, pattern: "bbbb" }, b1: { signature: B, pattern: "a long name" } });
    expect((await requireGroup(kit.engine, A)).signature).toBe(A);
    expect((await requireGroup(kit.engine, "aa")).signature).toBe(A);
    expect((await requireGroup(kit.engine, "a long name")).signature).toBe(B);
    expect((await requireGroup(kit.engine, "bbbb")).signature).toBe(A); // a whole name goes before a beginning
    await expect(requireGroup(kit.engine, "a long")).rejects.toMatchObject({ code: "group_not_found" });
  });

  test("or it is an error: none, or several, which are listed", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, a2: { signature: "aaaa000000000009" } });
    for (const word of ["dddd", "", "  ", "%", "*"]) {
      await expect(requireGroup(kit.engine, word)).rejects.toMatchObject({ code: "group_not_found" });
    }
    const asking = requireGroup(kit.engine, "aaaa");
    await expect(asking).rejects.toMatchObject({ code: "ambiguous" });
    await expect(asking).rejects.toThrow(`2 groups:\n  ${A}  pattern of ${A}\n  aaaa000000000009`);
  });

  test("where its letters are if it was merged", async () => {
    const kit = new GroupKit();
    await kit.bury({ a1: { signature: A }, b1: { signature: B } });
    await kit.engine.correct({ from: A, to: B, pattern: "b", author: "ann" });
    expect((await requireGroup(kit.engine, "aa")).signature).toBe(A);
    expect((await requireLiveGroup(kit.engine, "aa")).signature).toBe(B);
  });
});
