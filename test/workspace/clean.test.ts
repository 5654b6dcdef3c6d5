/** Listing and cleaning: nothing leaks, and nothing that holds work goes without being asked for. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanWorktrees } from "../../src/workspace/clean.ts";
import { listWorktrees } from "../../src/workspace/inventory.ts";
import type { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import type { AgentWorktree } from "../../src/workspace/pool.ts";
import { commit, git, put, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
let job: JobWorktrees;
beforeEach(async () => {
  workshop = new Workshop();
  job = await workshop.open();
});
afterEach(() => workshop.remove());

const ENDED = { hasEnded: () => true, isNeeded: () => false };

function branches(): string {
  return git(workshop.top, "branch", "--format=%(refname:short)", "--list", "redrive*");
}

/** As a process that was killed would leave it. */
function abandon({ path }: AgentWorktree): void {
  const record = JSON.parse(readFileSync(`${path}.json`, "utf8"));
  writeFileSync(`${path}.json`, JSON.stringify({ ...record, owner: null }));
}

describe("the list of worktrees", () => {
  it("shows each with its job, item and state", async () => {
    const inUse = await job.acquire("one", 2);
    const kept = await job.acquire("two", 1);
    job.keep(kept, "it failed");
    await job.release(await job.acquire("three", 1));
    const root = await job.jobWorktree();
    const entries = await listWorktrees(workshop.home);
    expect(entries.map(({ state, itemId }) => `${state} ${itemId}`).sort()).toEqual([
      "free undefined",
      "in_use one",
      "in_use undefined",
      "kept two",
    ]);
    expect(entries.find(({ path }) => path === inUse.path)).toMatchObject({
      repo: "project",
      jobId: "job-1",
      attempt: 2,
      branch: inUse.branch,
      pid: process.pid,
      isOwnerHere: true,
    });
    expect(entries.find(({ path }) => path === kept.path)).toMatchObject({ why: "it failed", pid: null });
    expect(entries.map(({ path }) => path)).toContain(root);
    expect(await listWorktrees(workshop.home, { job: "other" })).toEqual([]);
  });

  it("finds folders without a record, and worktrees of git that are gone", async () => {
    const orphan = await job.acquire("one", 1);
    rmSync(`${orphan.path}.json`);
    const missing = await job.acquire("two", 1);
    rmSync(`${missing.path}.json`);
    rmSync(missing.path, { recursive: true });
    const entries = await listWorktrees(workshop.home);
    expect(entries.map(({ path, state }) => [path, state])).toEqual([
      [orphan.path, "orphan"],
      [missing.path, "missing"],
    ]);
  });

  it("is empty without a home", async () => {
    expect(await listWorktrees(join(workshop.root, "nowhere"))).toEqual([]);
  });
});

describe("cleaning", () => {
  it("removes everything of a job that has ended and is merged", async () => {
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    await job.merge(worktree, "one");
    await job.release(worktree);
    await job.jobWorktree();
    await job.finishInto();
    await job.close();
    const plan = await cleanWorktrees(workshop.home, { ...ENDED, dryRun: true });
    expect(existsSync(worktree.path)).toBe(true);
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.removed.map(({ name }) => name)).toEqual([worktree.name, "main"]);
    expect(report.branchesRemoved).toEqual(["redrive/job-1"]);
    expect(report.left).toEqual([]);
    expect(plan).toEqual(report);
    expect(branches()).toBe("");
    expect(git(workshop.top, "worktree", "list").split("\n")).toHaveLength(1);
    expect(existsSync(join(workshop.home, "worktrees/project/job-1"))).toBe(false);
    expect(await listWorktrees(workshop.home)).toEqual([]);
  });

  it("keeps what a living process uses, even with --force", async () => {
    const worktree = await job.acquire("one", 1);
    const report = await cleanWorktrees(workshop.home, { ...ENDED, force: true });
    expect(report.left).toEqual([
      { entry: expect.objectContaining({ path: worktree.path }), why: `process ${process.pid} is using it` },
    ]);
    expect(existsSync(join(worktree.path, "a.txt"))).toBe(true);
    expect(branches()).toContain(worktree.branch);
  });

  it("keeps unmerged commits, and reports them, without --force", async () => {
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    const head = commit(worktree.path, "x");
    abandon(worktree);
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.left.map(({ why }) => why)).toEqual(["it has commits that are not merged"]);
    expect(git(workshop.top, "rev-parse", worktree.branch)).toBe(head);
    expect(existsSync(worktree.path)).toBe(true);
    const forced = await cleanWorktrees(workshop.home, { ...ENDED, force: true });
    expect(forced.left).toEqual([]);
    expect(forced.branchesRemoved).toContain(worktree.branch);
    expect(existsSync(worktree.path)).toBe(false);
  });

  it.each([
    ["a changed file", "a.txt"],
    ["a new file", "new.txt"],
  ])("leaves %s that is not committed", async (_what, file) => {
    const worktree = await job.acquire("one", 1);
    put(worktree.path, file, "work");
    abandon(worktree);
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.left.map(({ why }) => why)).toEqual(["it has uncommitted changes"]);
    expect(readFileSync(join(worktree.path, file), "utf8")).toBe("work");
  });

  it("keeps what a letter needs", async () => {
    const worktree = await job.acquire("one", 1);
    job.keep(worktree, "it failed");
    const needed = await cleanWorktrees(workshop.home, { hasEnded: () => true });
    expect(needed.left.map(({ why }) => why)).toEqual(["a letter needs it"]);
    expect(existsSync(worktree.path)).toBe(true);
    const free = await cleanWorktrees(workshop.home, ENDED);
    expect(free.removed.map(({ path }) => path)).toEqual([worktree.path]);
  });

  it("removes the free ones of an unfinished job, and keeps its branch and its phases' worktree", async () => {
    await job.release(await job.acquire("one", 1));
    const root = await job.jobWorktree();
    await job.close();
    const report = await cleanWorktrees(workshop.home, { hasEnded: () => false });
    expect(report.removed).toHaveLength(1);
    expect(report.left.map(({ why }) => why)).toEqual(["its job has not ended"]);
    expect(existsSync(root)).toBe(true);
    expect(branches()).toBe("redrive/job-1");
    expect(await (await workshop.open()).jobWorktree()).toBe(root);
  });

  it("never removes the branch of a job whose work is nowhere else", async () => {
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    await job.merge(worktree, "one");
    await job.release(worktree);
    await job.close();
    const report = await cleanWorktrees(workshop.home, { ...ENDED, force: true });
    expect(report.branchesLeft).toEqual([{ branch: "redrive/job-1", why: "it is not merged into main" }]);
    expect(branches()).toBe("redrive/job-1");
  });

  it("removes orphans without work and worktrees of git that are gone, and none of the user's", async () => {
    const own = join(workshop.root, "user", "own");
    git(workshop.top, "worktree", "add", "-q", "-b", "own", own);
    renameSync(own, `${own}-unmounted`);
    const orphan = await job.acquire("one", 1);
    rmSync(`${orphan.path}.json`);
    const missing = await job.acquire("two", 1);
    rmSync(`${missing.path}.json`);
    rmSync(missing.path, { recursive: true });
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.removed.map(({ path }) => path)).toEqual([orphan.path, missing.path]);
    expect(branches()).toBe("");
    expect(git(workshop.top, "worktree", "list", "--porcelain")).toContain(own);
  });

  it("removes orphans only if they are empty", async () => {
    const orphan = await job.acquire("one", 1);
    put(orphan.path, "x", "x");
    rmSync(`${orphan.path}.json`);
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.left.map(({ why }) => why)).toEqual(["it has uncommitted changes"]);
    expect(existsSync(join(orphan.path, "x"))).toBe(true);
  });

  it("keeps the worktrees of a missing repository, without --force", async () => {
    const worktree = await job.acquire("one", 1);
    abandon(worktree);
    renameSync(workshop.top, `${workshop.top}-moved`);
    const report = await cleanWorktrees(workshop.home, ENDED);
    expect(report.left.map(({ why }) => why)).toEqual(["its repository no longer exists"]);
    expect(existsSync(worktree.path)).toBe(true);
    await cleanWorktrees(workshop.home, { ...ENDED, force: true });
    expect(existsSync(worktree.path)).toBe(false);
  });

  it("cleans one job of several", async () => {
    const other = await workshop.open("job-2");
    for (const each of [job, other]) {
      await each.release(await each.acquire("one", 1));
      await each.close();
    }
    await cleanWorktrees(workshop.home, { ...ENDED, job: "job-2" });
    expect((await listWorktrees(workshop.home)).map(({ jobId }) => jobId)).toEqual(["job-1"]);
    expect(branches()).toBe("redrive/job-1");
  });

  it("ignores unrelated files in the folder", async () => {
    mkdirSync(join(workshop.home, "worktrees/project/notes"), { recursive: true });
    writeFileSync(join(workshop.home, "worktrees/README"), "hello");
    await job.release(await job.acquire("one", 1));
    await job.close();
    expect((await cleanWorktrees(workshop.home, ENDED)).removed).toHaveLength(1);
    expect(existsSync(join(workshop.home, "worktrees/README"))).toBe(true);
  });
});
