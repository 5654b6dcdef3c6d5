/** A job's branch on a git remote: two clones merge into it, and no lost answer or stale attempt merges an item twice. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunGit, runWithNode } from "../../src/workspace/git.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { commit, git, idsMerged, put, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
let remote: string;
beforeEach(() => {
  workshop = new Workshop();
  remote = join(workshop.root, "shared.git");
  git(workshop.root, "clone", "-q", "--bare", workshop.top, remote);
});
afterEach(() => workshop.remove());

/** A clone on another machine, with a home of its own. */
async function openClone(name: string, run?: RunGit): Promise<JobWorktrees> {
  const top = join(workshop.root, name);
  git(workshop.root, "clone", "-q", remote, top);
  git(top, "config", "user.name", name);
  git(top, "config", "user.email", `${name}@example.org`);
  const repository = await openRepository(top, run && { run });
  return JobWorktrees.open(repository, "job-1", {
    home: join(workshop.root, `${name}-home`),
    remote: "origin",
  });
}

async function work(job: JobWorktrees, itemId: string, attempt: number, content: string) {
  const worktree = await job.acquire(itemId, attempt);
  put(worktree.path, `${itemId}.txt`, content);
  commit(worktree.path, `change ${itemId}`);
  return worktree;
}

const mergesOf = (itemId: string) =>
  git(remote, "log", "--merges", "--format=%(trailers:key=Redrive-Item,valueonly)", "redrive/job-1")
    .split("\n")
    .filter((item) => item === JSON.stringify(itemId)).length;

it("both clones merge into the branch on the remote, at the same time", async () => {
  const [first, second] = [await openClone("first"), await openClone("second")];
  const jobs = [first, second, first, second];
  const worktrees = await Promise.all(jobs.map((job, index) => work(job, `i${index}`, 1, `${index}`)));
  const ends = await Promise.all(worktrees.map((worktree, index) => jobs[index]?.merge(worktree, "work")));
  expect(ends.map((end) => end?.kind)).toEqual(Array(4).fill("merged"));
  expect(git(remote, "ls-tree", "--name-only", "redrive/job-1").match(/^i\d\.txt$/gm)).toHaveLength(4);
  expect(await first.tip()).toBe(await second.tip());
  expect(await idsMerged(second)).toEqual(["i0", "i1", "i2", "i3"]);
});

it("the work of a stale attempt is not merged if another machine has merged the item", async () => {
  const [first, second] = [await openClone("first"), await openClone("second")];
  const stale = await work(second, "x", 1, "stale");
  expect(await first.merge(await work(first, "x", 2, "current"), "work")).toMatchObject({ kind: "merged" });
  expect(await second.merge(stale, "work")).toMatchObject({ kind: "empty" });
  expect([mergesOf("x"), git(remote, "show", "redrive/job-1:x.txt")]).toEqual([1, "current"]);
});

it("a push whose answer is lost is not repeated", async () => {
  let lost = 0;
  const run: RunGit = async (argv, options) => {
    const result = await runWithNode(argv, options);
    const isMerge = argv.includes("push") && lost === 0 && argv.at(-1)?.startsWith("0000") === false;
    if (!isMerge) return result;
    lost += 1;
    return { ...result, exitCode: 128, stderr: "fatal: the remote end hung up unexpectedly" };
  };
  await openClone("first");
  const second = await openClone("second", run);
  expect(await second.merge(await work(second, "x", 1, "x"), "work")).toMatchObject({ kind: "merged" });
  expect([lost, mergesOf("x")]).toEqual([1, 1]);
});

it("an unreachable remote is tried again", async () => {
  let failures = 0;
  const run: RunGit = async (argv, options) => {
    const isRemote = argv.includes("push") || argv.includes("fetch");
    if (!isRemote || failures >= 3) return runWithNode(argv, options);
    failures += 1;
    return { exitCode: 128, stdout: "", stderr: "fatal: unable to connect" };
  };
  const job = await openClone("first", run);
  expect(await job.merge(await work(job, "x", 1, "x"), "work")).toMatchObject({ kind: "merged" });
  expect([failures, mergesOf("x")]).toEqual([3, 1]);
});
