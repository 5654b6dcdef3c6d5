/** Names: git accepts every one, and no two things share one. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { agentBranch, itemKey, jobBranch } from "../../src/workspace/names.ts";
import { fc } from "../support/properties.ts";

function isBranchName(name: string): boolean {
  return spawnSync("git", ["check-ref-format", "--branch", name]).status === 0;
}

const ODD = [
  "a.lock",
  "..",
  ".",
  "a..b",
  "@",
  "@{",
  "a b",
  "-x",
  "~^:?*[\\",
  "é",
  "x/y",
  "a.",
  "HEAD",
  "\n",
  "\0",
  "%41",
];

describe("names", () => {
  it.each(ODD)("%j gives branches that git accepts", (text) => {
    expect(isBranchName(jobBranch(text))).toBe(true);
    expect(isBranchName(agentBranch(text, text, 1))).toBe(true);
    expect(isBranchName(agentBranch(text, text, 1, "x7k2m"))).toBe(true);
  });

  it("every text gives a branch that git accepts", () => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(text, text, (job, item) => isBranchName(agentBranch(job.slice(0, 60), item, 3))),
      { numRuns: 60 },
    );
  });

  it("other items have other keys, even on file systems that ignore case", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(one !== other);
        expect(itemKey(one).toLowerCase()).not.toBe(itemKey(other).toLowerCase());
      }),
    );
    expect(itemKey("README")).not.toBe(itemKey("readme"));
    expect(itemKey("a/b")).not.toBe(itemKey("a-b"));
  });

  it("other jobs have other branches", () => {
    const text = fc.string({ minLength: 1 });
    fc.assert(fc.property(text, text, (one, other) => one === other || jobBranch(one) !== jobBranch(other)));
  });

  it("keys are short and readable", () => {
    expect(itemKey("item-12")).toBe("item-12");
    expect(itemKey("src/Main File.ts")).toMatch(/^src-main-file-ts\.[0-9a-z]{10}$/);
    expect(itemKey("x".repeat(5000)).length).toBeLessThanOrEqual(51);
  });

  it("a job's branch and its agents' branches can exist together", () => {
    expect(agentBranch("job", "item", 1).startsWith(`${jobBranch("job")}/`)).toBe(false);
  });
});
