/** The short form of `npm run torture -- --workflow`: real runners, a real repository, and git as the witness. */
import { describe, expect, it } from "vitest";
import { judgeCheckout, judgeWorkflow, type WorkflowTestimony } from "../../bench/torture/workflow-judge.mjs";
import { tortureWorkflow } from "../../bench/torture/workflow-torture.mjs";
import { seeds } from "../support/seeds.ts";

describe.runIf(process.platform === "linux")("runners of a workflow that are killed in every phase", () => {
  it.each(seeds(20_262))(
    "merge each item once and leave nothing behind, seed %i",
    async (seed) => {
      const report = await tortureWorkflow({ seed, items: 16, kills: 5 });
      expect(report.violations, `seed ${seed}; everything is kept in ${report.home}`).toEqual([]);
      expect(report.figures).toMatchObject({ items: 16 });
      expect(report.figures.strikes).toBeGreaterThan(0);
    },
    300_000,
  );
});

describe("the judge of a workflow's torture", () => {
  const clean: WorkflowTestimony = {
    items: [
      { itemId: "a", state: "done" },
      { itemId: "b", state: "dead" },
    ],
    merges: ["a"],
    files: new Map([["a", "a\n"]]),
    letters: [{ itemId: "b", worktreePath: "/w/b", branchName: "agent/b" }],
    worktrees: ["/w/b"],
    branches: ["agent/b", "redrive/job"],
    folders: ["/w/b"],
    jobBranch: "redrive/job",
    checkout: { status: "", branch: "main", moves: ["Merge redrive/job: the work of job job"] },
    locks: [],
  };

  it("finds nothing in a correct record", () => {
    expect(judgeWorkflow(clean)).toEqual([]);
  });

  it.each<[string, Partial<WorkflowTestimony>, RegExp]>([
    ["work that is not there", { merges: [] }, /a is done and was merged 0 times/],
    ["work that came twice", { merges: ["a", "a"] }, /merged 2 times/],
    ["a file that was written twice", { files: new Map([["a", "a\na\n"]]) }, /its file holds "a\\na\\n"/],
    ["a letter's work that was merged", { merges: ["a", "b"] }, /b is dead and was merged 1 times/],
    ["a worktree too many", { worktrees: ["/w/b", "/w/c"] }, /worktree \/w\/c leaked/],
    ["a folder too many", { folders: ["/w/b", "/w/c"] }, /folder \/w\/c leaked/],
    ["a branch too many", { branches: ["agent/b", "redrive/job", "x"] }, /branch x leaked/],
    ["a letter's worktree that is gone", { worktrees: [] }, /worktree \/w\/b is gone/],
    ["a job's branch that letters need", { branches: ["agent/b"] }, /branch redrive\/job is gone/],
    ["a job's branch that nobody needs", { letters: [] }, /branch redrive\/job leaked/],
    ["a lock", { locks: ["index.lock"] }, /a lock was left/],
  ])("finds %s", (_what, change, sentence) => {
    expect(judgeWorkflow({ ...clean, ...change }).join("\n")).toMatch(sentence);
  });

  it.each([
    [{ status: " M a.txt" }, /dirty/],
    [{ branch: "redrive/job" }, /is at redrive\/job/],
    [{ moves: ["set up"] }, /has "set up"/],
  ])("finds a checkout that was touched: %j", (change, sentence) => {
    expect(judgeCheckout({ ...clean.checkout, ...change }).join("\n")).toMatch(sentence);
  });
});
