/** The end of a job: its work comes into the branch that it started from, or everything stays as it was. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { commit, git, put, userSide, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
let job: JobWorktrees;
beforeEach(async () => {
  workshop = new Workshop();
});
afterEach(() => workshop.remove());

async function doWork(files: Readonly<Record<string, string>>): Promise<void> {
  job = await workshop.open();
  const worktree = await job.acquire("one", 1);
  for (const [path, content] of Object.entries(files)) put(worktree.path, path, content);
  commit(worktree.path, "work");
  await job.merge(worktree, "one");
  await job.release(worktree);
}

function has(branch: string, file: string): boolean {
  return git(workshop.top, "ls-tree", "-r", "--name-only", branch, file) !== "";
}

function hook(name: string, script: string): void {
  writeFileSync(join(workshop.top, ".git/hooks", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

describe("the final merge", () => {
  it("is a merge commit in the user's checkout if that is on the branch", async () => {
    await doWork({ "out.txt": "done\n" });
    const end = await job.finishInto();
    expect(end).toEqual({
      kind: "merged",
      into: "main",
      commit: git(workshop.top, "rev-parse", "main"),
      checkout: workshop.top,
    });
    expect(readFileSync(join(workshop.top, "out.txt"), "utf8")).toBe("done\n");
    expect(git(workshop.top, "status", "--porcelain")).toBe("");
    expect(git(workshop.top, "rev-list", "--count", "--first-parent", "main")).toBe("2");
    expect(await job.finishInto()).toEqual({ kind: "nothing", into: "main" });
  });

  it("does nothing for a job without work", async () => {
    job = await workshop.open();
    const before = userSide(workshop.top);
    expect(await job.finishInto()).toEqual({ kind: "nothing", into: "main" });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("keeps uncommitted changes of the user in other files", async () => {
    await doWork({ "out.txt": "done\n" });
    put(workshop.top, "a.txt", "my own\n");
    put(workshop.top, "mine.txt", "mine\n");
    expect((await job.finishInto()).kind).toBe("merged");
    expect(readFileSync(join(workshop.top, "a.txt"), "utf8")).toBe("my own\n");
    expect(git(workshop.top, "status", "--porcelain")).toBe(" M a.txt\n?? mine.txt");
  });

  it("changes nothing if uncommitted changes are in the way", async () => {
    await doWork({ "a.txt": "done\n" });
    put(workshop.top, "a.txt", "my own\n");
    const before = userSide(workshop.top);
    const end = await job.finishInto();
    expect(end).toMatchObject({ kind: "left", why: "dirty", detail: expect.stringContaining("a.txt") });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("changes nothing if an untracked file is in the way", async () => {
    await doWork({ "out.txt": "done\n" });
    put(workshop.top, "out.txt", "my own\n");
    const before = userSide(workshop.top);
    expect(await job.finishInto()).toMatchObject({ kind: "left", why: "dirty" });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("changes nothing if changes are staged and the user's branch has moved", async () => {
    await doWork({ "out.txt": "done\n" });
    put(workshop.top, "later.txt", "later\n");
    commit(workshop.top, "later");
    put(workshop.top, "a.txt", "my own\n");
    git(workshop.top, "add", "a.txt");
    const before = userSide(workshop.top);
    expect(await job.finishInto()).toMatchObject({ kind: "left", why: "dirty" });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("moves only the branch if another one is checked out", async () => {
    await doWork({ "out.txt": "done\n" });
    git(workshop.top, "switch", "-q", "-c", "elsewhere");
    put(workshop.top, "b.txt", "my own\n");
    const end = await job.finishInto();
    expect(end).toMatchObject({ kind: "merged", into: "main", checkout: null });
    expect(has("main", "out.txt")).toBe(true);
    expect(has("elsewhere", "out.txt")).toBe(false);
    expect(git(workshop.top, "branch", "--show-current")).toBe("elsewhere");
    expect(git(workshop.top, "status", "--porcelain")).toBe(" M b.txt");
  });

  it("uses the user's worktree that has the branch", async () => {
    await doWork({ "out.txt": "done\n" });
    git(workshop.top, "switch", "-q", "-c", "elsewhere");
    const other = join(workshop.root, "user", "other checkout");
    git(workshop.top, "worktree", "add", "-q", other, "main");
    expect(await job.finishInto()).toMatchObject({ kind: "merged", checkout: other });
    expect(readFileSync(join(other, "out.txt"), "utf8")).toBe("done\n");
  });

  it("is left to the user if the run started from a detached HEAD", async () => {
    git(workshop.top, "checkout", "-q", "--detach");
    await doWork({ "out.txt": "done\n" });
    const before = userSide(workshop.top);
    expect(await job.finishInto()).toEqual({
      kind: "left",
      why: "detached",
      detail: expect.any(String),
      files: [],
      command: "git merge --no-ff redrive/job-1",
    });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("is left if it conflicts, with the files and a command that shows the same conflict", async () => {
    await doWork({ "a.txt": "done\n", "out.txt": "done\n" });
    put(workshop.top, "a.txt", "changed meanwhile\n");
    commit(workshop.top, "meanwhile");
    const before = userSide(workshop.top);
    const end = await job.finishInto();
    expect(end).toMatchObject({ kind: "left", why: "conflict", files: ["a.txt"] });
    expect(userSide(workshop.top)).toEqual(before);
    expect(has("redrive/job-1", "out.txt")).toBe(true);
    expect(end.kind === "left" && end.command).toBe("git switch main && git merge --no-ff redrive/job-1");
  });

  it.each(["pre-merge-commit", "commit-msg"])("is left when the hook %s refuses it", async (name) => {
    await doWork({ "out.txt": "done\n" });
    put(workshop.top, "b.txt", "my own\n");
    hook(name, "echo not today >&2; exit 1");
    const before = userSide(workshop.top);
    const end = await job.finishInto();
    expect(end).toMatchObject({ kind: "left", why: "hook", detail: expect.stringContaining("not today") });
    expect(userSide(workshop.top)).toEqual(before);
    expect(has("redrive/job-1", "out.txt")).toBe(true);
  });

  it("is left on request, or if the branch is gone", async () => {
    await doWork({ "out.txt": "done\n" });
    const before = userSide(workshop.top);
    expect(await job.finishInto({ mode: "leave" })).toMatchObject({ kind: "left", why: "asked" });
    expect(await job.finishInto({ startBranch: "no such" })).toMatchObject({
      kind: "left",
      why: "branch_gone",
      command: "git switch 'no such' && git merge --no-ff redrive/job-1",
    });
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("is refused with a message if git is busy there", async () => {
    await doWork({ "out.txt": "done\n" });
    writeFileSync(join(workshop.top, ".git/index.lock"), "");
    const end = await job.finishInto();
    expect(end).toMatchObject({ kind: "left", detail: expect.stringContaining("index.lock") });
    expect(has("main", "out.txt")).toBe(false);
    expect(existsSync(join(workshop.top, ".git/MERGE_HEAD"))).toBe(false);
  });
});
