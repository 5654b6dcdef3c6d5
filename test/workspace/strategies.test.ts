/** How the work of items is merged: squashed into one commit each, or left in a branch each; once, also after a kill. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MergeStrategy } from "../../src/workflow/model.ts";
import type { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { until } from "../support/until.ts";
import { startMerging } from "./other-process.ts";
import { commit, git, idsMerged, put, userSide, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
const children: ChildProcess[] = [];
beforeEach(() => {
  workshop = new Workshop();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  workshop.remove();
});

const open = (strategy: MergeStrategy) => workshop.open("job-1", [], strategy);

/** Two commits of an agent. */
async function work(job: JobWorktrees, itemId: string, file: string, content: string) {
  const worktree = await job.acquire(itemId, 1);
  put(worktree.path, `${file}.draft`, "draft");
  commit(worktree.path, "draft");
  git(worktree.path, "mv", "-f", `${file}.draft`, file);
  put(worktree.path, file, content);
  commit(worktree.path, `change ${file}`);
  return worktree;
}

const subjects = (range: string) => git(workshop.top, "log", "--format=%s", range).split("\n");

describe("squash", () => {
  it("adds one ordinary commit for each item", async () => {
    const before = userSide(workshop.top);
    const job = await open("squash");
    const worktrees = await Promise.all(["one", "two", "three"].map((id) => work(job, id, `${id}.txt`, id)));
    await Promise.all(worktrees.map((worktree) => job.merge(worktree, `Do ${worktree.itemId}`)));
    expect(subjects("main..redrive/job-1").sort()).toEqual(["Do one", "Do three", "Do two"]);
    expect(git(workshop.top, "rev-list", "--merges", "main..redrive/job-1")).toBe("");
    expect(await idsMerged(job)).toEqual(["one", "three", "two"]);
    expect(userSide(workshop.top)).toEqual(before);
    await Promise.all(worktrees.map((worktree) => job.release(worktree, { discard: true })));
    expect(git(workshop.top, "branch", "--list", "redrive-agent/*")).toBe("");
  });

  it("made twice adds the work once, and commits that change nothing add none", async () => {
    const job = await open("squash");
    const worktree = await work(job, "one", "x", "x");
    expect(await job.merge(worktree, "one")).toMatchObject({ kind: "merged" });
    const tip = await job.tip();
    expect((await job.merge(worktree, "one")).kind).toBe("empty");
    const idle = await job.acquire("idle", 1);
    git(idle.path, "commit", "-q", "--allow-empty", "-m", "nothing");
    expect((await job.merge(idle, "idle")).kind).toBe("empty");
    expect(await job.tip()).toBe(tip);
  });

  it("of a stale attempt is not repeated after another runner has merged the item", async () => {
    const [stale, current] = [await open("squash"), await open("squash")];
    const late = await work(stale, "one", "x", "stale");
    await current.merge(await work(current, "one", "x", "current"), "one");
    expect((await stale.merge(late, "one")).kind).toBe("empty");
    expect(git(workshop.top, "show", "redrive/job-1:x")).toBe("current");
  });

  it("conflicts like a merge", async () => {
    const job = await open("squash");
    const [first, second] = [await work(job, "one", "a.txt", "one"), await work(job, "two", "a.txt", "two")];
    await job.merge(first, "one");
    const tip = await job.tip();
    expect(await job.merge(second, "two")).toMatchObject({ kind: "conflict", files: ["a.txt"], tip });
    expect(await job.tip()).toBe(tip);
  });

  it("moves the user's branch without a merge commit, unless it has moved", async () => {
    const job = await open("squash");
    await job.merge(await work(job, "one", "x", "x"), "Do one");
    expect(await job.finishInto()).toMatchObject({ kind: "merged", into: "main" });
    expect(subjects("main")).toEqual(["Do one", "first"]);
    expect(git(workshop.top, "status", "--porcelain")).toBe("");
    put(workshop.top, "mine", "mine");
    commit(workshop.top, "by the user");
    await job.merge(await work(job, "two", "y", "y"), "Do two");
    expect(await job.finishInto()).toMatchObject({ kind: "merged", into: "main" });
    expect(subjects("main").slice(1).sort()).toEqual(["Do one", "Do two", "by the user", "first"]);
    expect(git(workshop.top, "show", "main:y")).toBe("y");
  });
});

describe("branch-per-item", () => {
  it("leaves the agent's commits in a branch for each item, and merges nothing", async () => {
    const before = userSide(workshop.top);
    const job = await open("branch-per-item");
    const worktrees = await Promise.all(["one", "Two!"].map((id) => work(job, id, "same.txt", id)));
    const ends = await Promise.all(
      worktrees.map((worktree) => job.merge(worktree, "redrive", { hasOwnMessage: false })),
    );
    const branches = ends.map((end) => (end.kind === "merged" ? (end.branch ?? "") : end.kind));
    expect(branches[0]).toBe("redrive-items/job-1/one");
    expect(branches[1]).toMatch(/^redrive-items\/job-1\/two\.[a-z0-9]+$/);
    for (const branch of branches) expect(subjects(`main..${branch}`)).toEqual(["change same.txt", "draft"]);
    expect(subjects("redrive/job-1")).toEqual(["first"]);
    expect(await job.finishInto()).toEqual({ kind: "nothing", into: "main" });
    const merged = await job.mergedItems();
    expect(["one", "Two!", "two", "three"].map((id) => merged.has(id))).toEqual([true, true, false, false]);
    const git_ = userSide(workshop.top) as { refs: readonly string[] };
    expect({ ...git_ }).toEqual(before);
  });

  it("is named after the item, and found by its id whatever its name is now", async () => {
    const job = await open("branch-per-item");
    const worktree = await work(job, "cjy9azg8c5c7d4kn", "x", "x");
    const end = await job.merge(worktree, "m", { hasOwnMessage: false, name: "src/Some File.ts" });
    const branch = end.kind === "merged" ? (end.branch ?? "") : "";
    expect(branch).toMatch(/^redrive-items\/job-1\/src-some-file-ts\.[a-z0-9]+$/);
    const commit = (await job.mergedItems()).get("cjy9azg8c5c7d4kn") ?? "";
    expect(await job.mergeOf(commit)).toMatchObject({ branch, changes: { files: 1 } });
    expect((await job.mergedItems()).has("src/Some File.ts")).toBe(false);
  });

  it("with a message, the branch has one commit", async () => {
    const job = await open("branch-per-item");
    const worktree = await work(job, "one", "x", "x");
    expect(await job.merge(worktree, "Fix one\n\nAs asked.")).toMatchObject({ kind: "merged" });
    expect(subjects("main..redrive-items/job-1/one")).toEqual(["Fix one"]);
    expect(git(workshop.top, "show", "redrive-items/job-1/one:x")).toBe("x");
  });

  it("a branch that exists is not replaced by a later attempt", async () => {
    const job = await open("branch-per-item");
    const [first, late] = [await work(job, "one", "x", "first"), await work(job, "one", "x", "late")];
    await job.merge(first, "one");
    expect(await job.merge(late, "one")).toMatchObject({ kind: "merged" });
    expect(git(workshop.top, "show", "redrive-items/job-1/one:x")).toBe("first");
  });
});

it.each(["squash", "branch-per-item"] as const)(
  "invariant 9: with %s, a runner that is killed at any moment loses no item and repeats none",
  { timeout: 60_000 },
  async (strategy) => {
    const range = strategy === "squash" ? ["redrive/job-1"] : ["--glob=refs/heads/redrive-items/job-1/*"];
    const doneItems = () => {
      const { stdout } = spawnSync("git", ["log", "--format=%s", ...range, "--not", "main"], {
        cwd: workshop.top,
        encoding: "utf8",
      });
      return stdout.split("\n").filter((subject) => subject === "work").length;
    };
    for (const merged of [1, 3, 6]) {
      const child = startMerging(workshop, "left", strategy);
      children.push(child);
      await until(`${merged} merges`, () => child.exitCode !== null || doneItems() >= merged);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    const last = startMerging(workshop, "left", strategy);
    children.push(last);
    expect(await once(last, "exit")).toEqual([0, null]);
    expect(doneItems()).toBe(8);
    const merged = await (await open(strategy)).mergedItems();
    const items = Array.from({ length: 8 }, (_, index) => `left ${index}`);
    expect(items.filter((item) => !merged.has(item))).toEqual([]);
  },
);

describe("a new branch for the work", () => {
  it("gets the work without a merge commit, and the user's branch stays", async () => {
    const before = userSide(workshop.top) as { refs: readonly string[] };
    const { openRepository } = await import("../../src/workspace/repository.ts");
    const { JobWorktrees: Worktrees } = await import("../../src/workspace/job-worktrees.ts");
    const job = await Worktrees.open(await openRepository(workshop.top), "job-1", {
      home: workshop.home,
      newBranch: "fix/lint",
    });
    expect(git(workshop.top, "rev-parse", "fix/lint")).toBe(git(workshop.top, "rev-parse", "main"));
    await job.merge(await work(job, "one", "x", "x"), "Do one");
    expect(await job.finishInto()).toMatchObject({ kind: "merged", into: "fix/lint" });
    expect(git(workshop.top, "rev-parse", "fix/lint")).toBe(await job.tip());
    const after = userSide(workshop.top) as { refs: readonly string[] };
    expect({ ...after, refs: after.refs.filter((ref) => !ref.includes("fix/lint")) }).toEqual(before);
    await job.merge(await work(job, "two", "y", "y"), "Do two");
    expect(await job.finishInto()).toMatchObject({ kind: "merged", into: "fix/lint" });
    expect(git(workshop.top, "rev-parse", "fix/lint")).toBe(await job.tip());
  });
});
