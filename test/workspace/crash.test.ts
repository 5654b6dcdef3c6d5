/** What is found again after a crash: nothing leaks, nothing that somebody needs is taken. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentWorktree } from "../../src/workspace/pool.ts";
import { JobRegistry, type WorktreeRecord } from "../../src/workspace/registry.ts";
import { until } from "../support/until.ts";
import { startMerging } from "./other-process.ts";
import { commit, everythingIn, git, idsMerged, put, Workshop } from "./repo-kit.ts";

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

/** The record of the worktree, rewritten as if a process that has ended had it. */
function abandon({ path }: AgentWorktree, change: Partial<WorktreeRecord> = {}): void {
  const record = JSON.parse(readFileSync(`${path}.json`, "utf8")) as WorktreeRecord;
  const { pid } = spawnSync("true");
  const owner = record.owner === null ? null : { ...record.owner, pid, processStart: "1" };
  writeFileSync(`${path}.json`, JSON.stringify({ ...record, owner, ...change }));
}

describe("after a crash", () => {
  it("worktrees of a runner that is gone return to the pool, clean", async () => {
    const crashed = await workshop.open();
    const first = await crashed.acquire("one", 1);
    put(first.path, "x", "x");
    const head = commit(first.path, "half the work");
    put(first.path, "y", "y");
    abandon(first);
    const job = await workshop.open();
    const adopted = await job.adopt();
    expect(adopted.names).toEqual([first.name]);
    expect(adopted.dropped).toEqual([{ branch: first.branch, head, itemId: "one" }]);
    expect(git(workshop.top, "branch", "--list", "redrive-agent/*")).toBe("");
    const second = await job.acquire("one", 1);
    expect(second.path).toBe(first.path);
    expect(second.branch).toBe(first.branch);
    expect(everythingIn(second.path)).toEqual(everythingIn(workshop.top));
  });

  it("those of a living runner are not touched", async () => {
    const running = await workshop.open();
    const inUse = await running.acquire("one", 1);
    await running.release(await running.acquire("two", 1));
    const other = await workshop.open();
    expect((await other.adopt()).names).toEqual([]);
    expect(git(inUse.path, "branch", "--show-current")).toBe(inUse.branch);
  });

  it("those of a runner that ended normally are taken over", async () => {
    const before = await workshop.open();
    const worktree = await before.acquire("one", 1);
    await before.release(worktree);
    await before.close();
    expect((await (await workshop.open()).adopt()).names).toEqual([worktree.name]);
  });

  it("one in which a process still works is not touched", async () => {
    const crashed = await workshop.open();
    const first = await crashed.acquire("one", 1);
    const child = spawn("sleep", ["60"], { cwd: first.path });
    children.push(child);
    await once(child, "spawn");
    abandon(first);
    expect((await (await workshop.open()).adopt()).names).toEqual([]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect((await (await workshop.open()).adopt()).names).toEqual([first.name]);
  });

  it("one that was kept for a letter stays, unless there is no such letter", async () => {
    const crashed = await workshop.open();
    const kept = await crashed.acquire("one", 1);
    crashed.keep(kept, "it failed");
    const job = await workshop.open();
    expect((await job.adopt({ isNeeded: ({ itemId }) => itemId === "one" })).names).toEqual([]);
    expect((await job.adopt({ isNeeded: () => false })).names).toEqual([kept.name]);
  });

  it("an unfinished checkout is removed", async () => {
    const crashed = await workshop.open();
    const first = await crashed.acquire("one", 1);
    abandon(first);
    const gitDir = git(first.path, "rev-parse", "--absolute-git-dir");
    renameSync(join(gitDir, "redrive"), join(workshop.root, "moved"));
    const job = await workshop.open();
    await job.adopt();
    expect(existsSync(first.path)).toBe(false);
    expect(existsSync(`${first.path}.json`)).toBe(false);
    expect(git(workshop.top, "worktree", "list").split("\n")).toHaveLength(1);
  });

  it("one of several processes takes a worktree over", async () => {
    const crashed = await workshop.open();
    const first = await crashed.acquire("one", 1);
    abandon(first);
    const jobs = await Promise.all(Array.from({ length: 4 }, () => workshop.open()));
    const adopted = await Promise.all(jobs.map((job) => job.adopt()));
    expect(adopted.flatMap(({ names }) => names)).toEqual([first.name]);
  });

  it("a claim on a record that has changed meanwhile fails and does not remove it", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    const registry = new JobRegistry(join(first.path, ".."));
    const seen = registry.read(first.name);
    job.keep(first, "it failed");
    const now = registry.read(first.name);
    if (seen === null || now === null) throw new Error("there is no record");
    expect(registry.claim(seen, { ...seen, state: "free" })).toBe(false);
    expect(registry.read(first.name)).toEqual(now);
    expect(readdirSync(registry.folder).filter((name) => name.endsWith(".claim"))).toEqual([]);
  });

  it("a job is found by its branch alone if its home was removed", async () => {
    const before = await workshop.open();
    const worktree = await before.acquire("one", 1);
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    await before.merge(worktree, "one");
    renameSync(workshop.home, join(workshop.root, "away"));
    mkdirSync(workshop.home);
    commitInMain();
    const job = await workshop.open();
    expect(await idsMerged(job)).toEqual(["one"]);
    expect(job.start.startBranch).toBe("main");
  });

  it("a job continues from its start commit, whatever the user has checked out", async () => {
    const before = await workshop.open();
    const start = before.start.startCommit;
    commitInMain();
    git(workshop.top, "switch", "-q", "-c", "elsewhere");
    const job = await workshop.open();
    expect(job.start).toMatchObject({ startBranch: "main", startCommit: start });
    expect(await job.tip()).toBe(start);
  });

  it("invariant 9: a runner that is killed at any moment loses no item and repeats none", async () => {
    const all = () => Array.from({ length: 8 }, (_, index) => `left ${index}`);
    for (const merged of [1, 3, 6]) {
      const child = startMerging(workshop, "left");
      children.push(child);
      await until(`${merged} merges`, () => child.exitCode !== null || countMerges() >= merged);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    const last = startMerging(workshop, "left");
    children.push(last);
    expect(await once(last, "exit")).toEqual([0, null]);
    const job = await workshop.open();
    expect(await idsMerged(job)).toEqual(all());
    expect(countMerges()).toBe(8);
    await untilQuiet();
    await job.adopt();
    expect(git(workshop.top, "branch", "--list", "redrive-agent/*")).toBe("");
    const folders = readdirSync(join(workshop.home, "worktrees/project/job-1"), { withFileTypes: true });
    const worktrees = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(folders.filter(({ name }) => name.endsWith(".json") && name !== "job.json")).toHaveLength(
      worktrees.length,
    );
    for (const name of worktrees) {
      const second = await job.acquire(`check ${name}`, 1);
      expect(git(second.path, "status", "--porcelain", "--ignored")).toBe("");
    }
  });
});

function commitInMain(): void {
  put(workshop.top, "later.txt", "later");
  commit(workshop.top, "later");
}

/** By plumbing that does not read the books of worktrees, which the other process is just writing. */
function countMerges(): number {
  const ref = "refs/heads/redrive/job-1";
  if (git(workshop.top, "for-each-ref", ref) === "") return 0;
  return Number(git(workshop.top, "rev-list", "--count", "--merges", `main..${ref}`));
}

/** The git processes of a killed runner end by themselves. */
async function untilQuiet(): Promise<void> {
  const folder = join(workshop.home, "worktrees");
  await until("no process in the worktrees", () => {
    const { stdout } = spawnSync("sh", ["-c", `readlink /proc/[0-9]*/cwd | grep -F "${folder}" || true`], {
      encoding: "utf8",
    });
    return stdout === "";
  });
}
