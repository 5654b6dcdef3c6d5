/** The end of a job and what comes after it: what is removed, what stays, and how the job is found again. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { thisHost } from "../../src/std/process-identity.ts";
import type { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { hashOf } from "../../src/workspace/names.ts";
import type { AgentWorktree } from "../../src/workspace/pool.ts";
import { commit, everythingIn, git, idsMerged, put, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
let job: JobWorktrees;
beforeEach(async () => {
  workshop = new Workshop();
  job = await workshop.open();
});
afterEach(() => workshop.remove());

const NOTHING_NEEDED = { isNeeded: async () => false, hasLetters: () => false };
const LETTERS = { isNeeded: async () => false, hasLetters: () => true };

async function finishOne(of: JobWorktrees, itemId: string): Promise<void> {
  const worktree = await of.acquire(itemId, 1);
  put(worktree.path, `${itemId}.txt`, itemId);
  commit(worktree.path, itemId);
  expect((await of.merge(worktree, itemId)).kind).toBe("merged");
  await of.release(worktree);
}

function branches(): string[] {
  return git(workshop.top, "branch", "--format=%(refname:short)").split("\n");
}

function folder(): string {
  return join(workshop.home, "worktrees/project/job-1");
}

/** As a process that was killed would leave the record. */
function abandon({ path }: AgentWorktree, change: object = {}): void {
  const record = JSON.parse(readFileSync(`${path}.json`, "utf8"));
  const owner = { ...record.owner, pid: spawnSync("true").pid, processStart: "1" };
  writeFileSync(`${path}.json`, JSON.stringify({ ...record, owner, ...change }));
}

describe("tidying up", () => {
  it("leaves nothing of a merged job", async () => {
    await finishOne(job, "one");
    await job.jobWorktree();
    await job.finishInto();
    const report = await job.tidy(NOTHING_NEEDED);
    expect(report.left).toEqual([]);
    expect(branches()).toEqual(["main"]);
    expect(git(workshop.top, "worktree", "list").split("\n")).toHaveLength(1);
    expect(existsSync(folder())).toBe(false);
    expect(existsSync(join(workshop.top, "one.txt"))).toBe(true);
  });

  it("keeps what is merged nowhere, and the record of its branch", async () => {
    await finishOne(job, "one");
    await job.finishInto({ mode: "leave" });
    await job.tidy(NOTHING_NEEDED);
    expect(branches()).toEqual(["main", "redrive/job-1"]);
    expect(readdirSync(folder())).toEqual(["job.json"]);
  });

  it("keeps the branch for the letters, even if none has a worktree", async () => {
    await finishOne(job, "one");
    await job.finishInto();
    await job.tidy(LETTERS);
    expect(branches()).toEqual(["main", "redrive/job-1"]);
    const later = await workshop.open();
    expect(later.start).toEqual(job.start);
    await finishOne(later, "two");
    expect(await idsMerged(later)).toEqual(["one", "two"]);
  });

  it("keeps the worktree that a letter names, and removes the work of its earlier attempts", async () => {
    const [earlier, last] = [await job.acquire("one", 1), await job.acquire("one", 2)];
    for (const worktree of [earlier, last]) {
      put(worktree.path, "x", worktree.name);
      commit(worktree.path, "half the work");
      job.keep(worktree, "it failed");
    }
    const isNeeded = async ({ branch }: { readonly branch: string | null }) => branch === last.branch;
    await job.tidy({ isNeeded, hasLetters: () => true });
    expect(existsSync(earlier.path)).toBe(false);
    expect(readFileSync(join(last.path, "x"), "utf8")).toBe(last.name);
    expect(branches()).toEqual(["main", "redrive-agent/job-1/one-2", "redrive/job-1"].sort());
  });

  it("removes the commits of an attempt that never ended", async () => {
    const lost = await job.acquire("one", 1);
    put(lost.path, "x", "x");
    commit(lost.path, "half the work");
    abandon(lost);
    const other = await workshop.open();
    await other.tidy(NOTHING_NEEDED);
    expect(branches()).toEqual(["main"]);
    expect(existsSync(lost.path)).toBe(false);
  });
});

describe("a job that was tidied up", () => {
  it("starts again at the branch that has its work", async () => {
    await finishOne(job, "one");
    await job.finishInto();
    await job.tidy(NOTHING_NEEDED);
    const later = await workshop.open();
    expect(await later.tip()).toBe(git(workshop.top, "rev-parse", "main"));
    await finishOne(later, "two");
    expect((await later.finishInto()).kind).toBe("merged");
    expect(existsSync(join(workshop.top, "two.txt"))).toBe(true);
  });

  it("is found again if a user has merged and removed its branch", async () => {
    await finishOne(job, "one");
    await job.close();
    git(workshop.top, "merge", "-q", "--no-ff", "--no-edit", "redrive/job-1");
    git(workshop.top, "branch", "-d", "redrive/job-1");
    const later = await workshop.open();
    expect(await later.tip()).toBe(git(workshop.top, "rev-parse", "main"));
    expect(await idsMerged(later)).toEqual(["one"]);
  });

  it("does not start again if its branch was removed and nothing has its work", async () => {
    await finishOne(job, "one");
    await job.close();
    git(workshop.top, "branch", "-q", "-D", "redrive/job-1");
    await expect(workshop.open()).rejects.toThrow(
      "redrive/job-1, which contains the job's work, no longer exists",
    );
  });
});

describe("after a crash", () => {
  it("an unfinished worktree of the phases is created again", async () => {
    const root = await job.jobWorktree();
    await job.close();
    const gitDir = git(root, "rev-parse", "--absolute-git-dir");
    rmSync(join(gitDir, "redrive"), { recursive: true });
    rmSync(join(root, "a.txt"));
    const later = await workshop.open();
    expect(await later.jobWorktree()).toBe(root);
    expect(everythingIn(root)).toEqual(everythingIn(workshop.top));
    expect((await later.commitPhase()).kind).toBe("unchanged");
  });

  it("a record that was hidden by a process that is gone is used again", async () => {
    const lost = await job.acquire("one", 1);
    abandon(lost);
    const { pid } = spawnSync("true");
    const hidden = join(folder(), `.${lost.name}.${hashOf(thisHost())}.${pid}.abcdefgh.claim`);
    renameSync(`${lost.path}.json`, hidden);
    const other = await workshop.open();
    expect((await other.adopt()).names).toEqual([lost.name]);
    expect(readdirSync(folder()).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("the lock that an agent's git left on its branch blocks nobody", async () => {
    const lost = await job.acquire("one", 1);
    put(lost.path, "x", "x");
    commit(lost.path, "half the work");
    const lock = join(workshop.top, ".git/refs/heads", `${lost.branch}.lock`);
    writeFileSync(lock, "");
    utimesSync(lock, new Date(0), new Date(0));
    abandon(lost);
    const other = await workshop.open();
    expect((await other.adopt()).names).toEqual([lost.name]);
    expect(branches()).toEqual(["main", "redrive/job-1"]);
    expect(existsSync(lock)).toBe(false);
  });

  it("the branch of a worktree that cannot be repaired is removed with it if its work is not wanted", async () => {
    const broken = await job.acquire("one", 1);
    put(broken.path, "x", "x");
    commit(broken.path, "half the work");
    rmSync(git(broken.path, "rev-parse", "--absolute-git-dir"), { recursive: true });
    await job.release(broken, { discard: true });
    expect(branches()).toEqual(["main", "redrive/job-1"]);
    expect(existsSync(broken.path)).toBe(false);
  });
});

describe("several jobs", () => {
  it("that end at the same time are all merged", async () => {
    const jobs = await Promise.all([0, 1, 2, 3].map((number) => workshop.open(`job-${number}`)));
    for (const [number, each] of jobs.entries()) await finishOne(each, `item-${number}`);
    const ends = await Promise.all(jobs.map((each) => each.finishInto()));
    expect(ends.map(({ kind }) => kind)).toEqual(["merged", "merged", "merged", "merged"]);
    expect(readdirSync(workshop.top).filter((name) => name.startsWith("item-"))).toHaveLength(4);
    expect(git(workshop.top, "status", "--porcelain")).toBe("");
    expect(readdirSync(join(workshop.top, ".git")).filter((name) => name.includes(".lock"))).toEqual([]);
  });

  it("do not wait for one whose process is gone", async () => {
    await finishOne(job, "one");
    const { pid } = spawnSync("true");
    const gone = { host: thisHost(), pid, processStart: "1" };
    writeFileSync(join(workshop.top, ".git/redrive-merge.lock"), JSON.stringify(gone));
    expect((await job.finishInto()).kind).toBe("merged");
    expect(existsSync(join(workshop.top, ".git/redrive-merge.lock"))).toBe(false);
  });
});

describe("two runners of one job", () => {
  it("merge the same item once, even if one slept while the other did its work", async () => {
    const sleeper = await job.acquire("one", 1);
    put(sleeper.path, "sleeper", "late");
    commit(sleeper.path, "late");
    const other = await workshop.open();
    await finishOne(other, "one");
    expect((await job.merge(sleeper, "one")).kind).toBe("empty");
    expect(git(workshop.top, "ls-tree", "--name-only", "redrive/job-1")).not.toContain("sleeper");
  });
});
