/** The merge queue: every agent's commits come into the job's branch once, from several agents and processes at a time. */
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runWithNode } from "../../src/workspace/git.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { startMerging } from "./other-process.ts";
import { commit, git, idsMerged, put, userSide, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
beforeEach(() => {
  workshop = new Workshop();
});
afterEach(() => workshop.remove());

async function work(job: JobWorktrees, itemId: string, file: string, content: string) {
  const worktree = await job.acquire(itemId, 1);
  put(worktree.path, file, content);
  commit(worktree.path, `change ${file}`);
  return worktree;
}

describe("a merge", () => {
  it("brings the commits of agents into the job's branch, and changes nothing else", async () => {
    const before = userSide(workshop.top);
    const job = await workshop.open();
    const worktrees = await Promise.all(
      Array.from({ length: 6 }, (_, index) => work(job, `item ${index}`, `out/${index}.txt`, `${index}`)),
    );
    const ends = await Promise.all(
      worktrees.map((worktree) => job.merge(worktree, `Add ${worktree.itemId}`)),
    );
    expect(ends.map(({ kind }) => kind)).toEqual(Array(6).fill("merged"));
    expect(
      git(workshop.top, "ls-tree", "-r", "--name-only", "redrive/job-1", "out/").split("\n"),
    ).toHaveLength(6);
    expect(git(workshop.top, "rev-list", "--count", "--merges", "main..redrive/job-1")).toBe("6");
    expect(userSide(workshop.top)).toEqual(before);
    await Promise.all(worktrees.map((worktree) => job.release(worktree)));
    expect(git(workshop.top, "branch", "--list", "redrive-agent/*")).toBe("");
  });

  it("names the item, as the user", async () => {
    const job = await workshop.open();
    const id = 'odd "id"\nwith a line: end\ttab é 🎉';
    const end = await job.merge(await work(job, id, "x", "x"), "Do it\n\nSigned-off-by: nobody");
    expect(end).toMatchObject({ kind: "merged", uncommitted: false, commit: await job.tip() });
    expect(git(workshop.top, "log", "-1", "--format=%an <%ae> %cn %s", "redrive/job-1")).toBe(
      "Tess Ter <tess@example.org> Tess Ter Do it",
    );
    expect(
      git(workshop.top, "log", "-1", "--format=%(trailers:key=Redrive-Attempt,valueonly)", "redrive/job-1"),
    ).toBe("1\n".trim());
    expect(await idsMerged(job)).toEqual([id]);
  });

  it("is made as Redrive if git has no user", async () => {
    git(workshop.top, "config", "--unset", "user.name");
    git(workshop.top, "config", "--unset", "user.email");
    const run: typeof runWithNode = (argv, options) =>
      runWithNode(argv, {
        ...options,
        env: {
          ...options.env,
          HOME: "/nonexistent",
          XDG_CONFIG_HOME: "/nonexistent",
          GIT_CONFIG_NOSYSTEM: "1",
          EMAIL: "",
        },
      });
    const job = await JobWorktrees.open(await openRepository(workshop.top, { run }), "job-1", {
      home: workshop.home,
    });
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    expect(await job.commitAll(worktree, "left over")).toMatchObject({ kind: "committed" });
    expect((await job.merge(worktree, "one")).kind).toBe("merged");
    expect(git(workshop.top, "log", "--format=%an <%ae> %ce", "main..redrive/job-1").split("\n")).toEqual(
      Array(2).fill("Redrive <redrive@localhost> redrive@localhost"),
    );
  });

  it("of nothing is empty", async () => {
    const job = await workshop.open();
    const tip = await job.tip();
    const worktree = await job.acquire("one", 1);
    expect(await job.merge(worktree, "one")).toEqual({ kind: "empty", uncommitted: false });
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    git(worktree.path, "reset", "-q", "--hard", "HEAD~1");
    expect(await job.merge(worktree, "one")).toEqual({ kind: "empty", uncommitted: false });
    expect(await job.tip()).toBe(tip);
  });

  it("made twice adds the work once", async () => {
    const job = await workshop.open();
    const worktree = await work(job, "one", "x", "x");
    await job.merge(worktree, "one");
    const tip = await job.tip();
    expect((await job.merge(worktree, "one")).kind).toBe("empty");
    expect(await job.tip()).toBe(tip);
  });

  it("that conflicts changes nothing and names the files", async () => {
    const job = await workshop.open();
    const [first, second] = await Promise.all([
      work(job, "one", "a.txt", "one\n"),
      work(job, "two", "a.txt", "two\n"),
    ]);
    await job.merge(first, "one");
    const tip = await job.tip();
    const head = git(second.path, "rev-parse", "HEAD");
    const end = await job.merge(second, "two");
    expect(end).toMatchObject({ kind: "conflict", files: ["a.txt"] });
    expect(end.kind === "conflict" && end.detail).toContain("CONFLICT (content): Merge conflict in a.txt");
    expect(await job.tip()).toBe(tip);
    expect(git(second.path, "rev-parse", "HEAD")).toBe(head);
    expect(git(second.path, "status", "--porcelain")).toBe("");
    expect(await idsMerged(job)).toEqual(["one"]);
  });

  it("reports changes that an agent left uncommitted", async () => {
    const job = await workshop.open();
    const worktree = await work(job, "one", "x", "x");
    put(worktree.path, "forgotten", "y");
    expect(await job.merge(worktree, "one")).toMatchObject({ kind: "merged", uncommitted: true });
    expect(git(workshop.top, "ls-tree", "--name-only", "redrive/job-1", "forgotten")).toBe("");
    expect(await job.commitAll(worktree, "what was left")).toMatchObject({ kind: "committed" });
    expect(await job.merge(worktree, "one")).toMatchObject({ kind: "merged", uncommitted: false });
    expect(git(workshop.top, "ls-tree", "--name-only", "redrive/job-1", "forgotten")).toBe("forgotten");
  });

  it("of an unrelated branch is refused with git's message", async () => {
    const job = await workshop.open();
    const worktree = await job.acquire("one", 1);
    git(worktree.path, "checkout", "-q", "--orphan", "elsewhere");
    git(worktree.path, "commit", "-q", "-m", "other");
    await expect(job.merge(worktree, "one")).rejects.toMatchObject({
      code: "git_refused",
      message: expect.stringContaining("unrelated histories"),
    });
  });

  it("is refused if the job's branch was removed", async () => {
    const job = await workshop.open();
    const worktree = await work(job, "one", "x", "x");
    git(workshop.top, "update-ref", "-d", "refs/heads/redrive/job-1");
    await expect(job.merge(worktree, "one")).rejects.toMatchObject({ code: "git_refused" });
    await expect(workshop.open()).rejects.toMatchObject({ code: "git_refused" });
  });

  it("that loses the race starts again from the new tip", async () => {
    const other = await workshop.open();
    const theirs = await work(other, "theirs", "theirs", "1");
    let raced = false;
    const run: typeof runWithNode = async (argv, options) => {
      const result = await runWithNode(argv, options);
      if (argv.includes("commit-tree") && !raced) {
        raced = true;
        expect((await other.merge(theirs, "theirs")).kind).toBe("merged");
      }
      return result;
    };
    const job = await JobWorktrees.open(await openRepository(workshop.top, { run }), "job-1", {
      home: workshop.home,
    });
    expect((await job.merge(await work(job, "ours", "ours", "2"), "ours")).kind).toBe("merged");
    expect(raced).toBe(true);
    expect(await idsMerged(job)).toEqual(["ours", "theirs"]);
  });

  it("that is interrupted before the branch moves leaves no trace in it", async () => {
    const run: typeof runWithNode = async (argv, options) => {
      if (argv.includes("update-ref") && argv.includes("merge one")) throw new Error("killed");
      return runWithNode(argv, options);
    };
    const job = await JobWorktrees.open(await openRepository(workshop.top, { run }), "job-1", {
      home: workshop.home,
    });
    const worktree = await work(job, "one", "x", "x");
    const tip = await job.tip();
    await expect(job.merge(worktree, "one")).rejects.toThrow("killed");
    const again = await workshop.open();
    expect(await again.tip()).toBe(tip);
    expect(await idsMerged(again)).toEqual([]);
    expect((await again.merge(worktree, "one")).kind).toBe("merged");
  });

  it("works in two processes at a time", async () => {
    const children = ["left", "right"].map((side) => startMerging(workshop, side));
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
    expect(codes).toEqual([0, 0]);
    const job = await workshop.open();
    expect(await idsMerged(job)).toHaveLength(16);
    const files = git(workshop.top, "ls-tree", "--name-only", "redrive/job-1", "out/").split("\n");
    expect(files).toHaveLength(16);
    expect(git(workshop.top, "rev-list", "--count", "--merges", "main..redrive/job-1")).toBe("16");
  });
});

describe("uncommitted work", () => {
  it("is part of the letter", async () => {
    const job = await workshop.open();
    const worktree = await work(job, "one", "x", "x");
    put(worktree.path, "a.txt", "changed\n");
    put(worktree.path, "new.txt", "new\n");
    const artifacts = await job.artifacts(worktree);
    expect(artifacts).toMatchObject({ worktreePath: worktree.path, branchName: worktree.branch });
    expect(artifacts.head).toBe(git(worktree.path, "rev-parse", "HEAD"));
    expect(artifacts.uncommittedChanges).toContain(" M a.txt");
    expect(artifacts.uncommittedChanges).toContain("?? new.txt");
    expect(artifacts.uncommittedChanges).toMatch(/a\.txt \| 2 \+-/);
  });

  it("is cut in the letter if there is a lot of it", async () => {
    const job = await workshop.open();
    const worktree = await job.acquire("one", 1);
    for (let index = 0; index < 400; index += 1) put(worktree.path, `a-rather-long-name-${index}.txt`, "x");
    const { uncommittedChanges = "" } = await job.artifacts(worktree);
    expect(uncommittedChanges.length).toBeLessThan(8100);
    expect(uncommittedChanges).toMatch(/… \d+ more characters$/);
  });

  it("stays where it is if a hook refuses its commit", async () => {
    writeFileSync(join(workshop.top, ".git/hooks/pre-commit"), "#!/bin/sh\necho no way >&2\nexit 1\n", {
      mode: 0o755,
    });
    const job = await workshop.open();
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    expect(await job.commitAll(worktree, "work")).toEqual({ kind: "refused", detail: "no way" });
    expect(existsSync(join(worktree.path, "x"))).toBe(true);
    rmSync(join(workshop.top, ".git/hooks/pre-commit"));
    expect((await job.commitAll(worktree, "work")).kind).toBe("committed");
  });

  it("is committed although a killed git left its lock", async () => {
    const job = await workshop.open();
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    writeFileSync(join(git(worktree.path, "rev-parse", "--absolute-git-dir"), "index.lock"), "");
    expect((await job.commitAll(worktree, "work")).kind).toBe("committed");
  });
});

describe("the phases", () => {
  it("advance the job's branch by their commits, and see the agents' work afterwards", async () => {
    const job = await workshop.open();
    const root = await job.jobWorktree();
    put(root, "prepared.txt", "p");
    commit(root, "setup");
    put(root, "items.json", "[1]");
    expect(await job.commitPhase()).toMatchObject({ kind: "advanced", uncommitted: true });
    const worktree = await work(job, "one", "x", "x");
    expect(existsSync(join(worktree.path, "prepared.txt"))).toBe(true);
    await job.merge(worktree, "one");
    expect(await job.refreshJobWorktree()).toBe(root);
    expect(existsSync(join(root, "x"))).toBe(true);
    expect(existsSync(join(root, "items.json"))).toBe(true);
    expect(await job.commitPhase()).toMatchObject({ kind: "unchanged" });
    expect(await job.head({ path: root })).toBe(await job.tip());
  });

  it("do not move the branch if they rewrote its history", async () => {
    const job = await workshop.open();
    const root = await job.jobWorktree();
    git(root, "commit", "-q", "--amend", "-m", "rewritten");
    const tip = await job.tip();
    await expect(job.commitPhase()).rejects.toMatchObject({ code: "git_refused" });
    expect(await job.tip()).toBe(tip);
  });

  it("continue in the same worktree after a crash", async () => {
    const root = await (await workshop.open()).jobWorktree();
    put(root, "items.json", "[1]");
    writeFileSync(join(git(root, "rev-parse", "--absolute-git-dir"), "index.lock"), "");
    const again = await workshop.open();
    expect(await again.jobWorktree()).toBe(root);
    expect(existsSync(join(root, "items.json"))).toBe(true);
  });
});
