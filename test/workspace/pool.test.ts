/** The pool: a worktree that was used is as clean as a new one, and names never collide. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fc } from "../support/properties.ts";
import { commit, everythingIn, git, put, userSide, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
beforeEach(() => {
  workshop = new Workshop();
});
afterEach(() => workshop.remove());

describe("a worktree of the pool", () => {
  it("starts at the tip of the job's branch, on its own branch, and does not affect the user's checkout", async () => {
    const before = userSide(workshop.top);
    const job = await workshop.open();
    const worktree = await job.acquire("src/one.ts", 1);
    expect(git(worktree.path, "rev-parse", "HEAD")).toBe(await job.tip());
    expect(git(worktree.path, "branch", "--show-current")).toBe(worktree.branch);
    expect(worktree.branch).toMatch(/^redrive-agent\/job-1\/src-one-ts\.[0-9a-z]{10}-1$/);
    expect(dirname(dirname(worktree.path))).toBe(join(workshop.home, "worktrees/project"));
    expect(git(worktree.path, "status", "--porcelain", "--ignored")).toBe("");
    expect(userSide(workshop.top)).toEqual(before);
  });

  it("is reused after its release, and its branch is gone", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    await job.release(first);
    expect(git(workshop.top, "branch", "--list", "redrive-agent/*")).toBe("");
    const second = await job.acquire("two", 1);
    expect(second.path).toBe(first.path);
    expect(second.branch).toBe("redrive-agent/job-1/two-1");
    expect(git(second.path, "branch", "--show-current")).toBe(second.branch);
  });

  it("has the work of the items that were merged before", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    put(first.path, "new/file.txt", "new\n");
    rmSync(join(first.path, "b.txt"));
    commit(first.path, "work");
    await job.merge(first, "one");
    await job.release(first);
    const second = await job.acquire("two", 1);
    expect(second.path).toBe(first.path);
    expect(readFileSync(join(second.path, "new/file.txt"), "utf8")).toBe("new\n");
    expect(existsSync(join(second.path, "b.txt"))).toBe(false);
    expect(second.base).toBe(await job.tip());
    expect(git(second.path, "status", "--porcelain", "--ignored")).toBe("");
  });

  it("keeps a branch with unmerged commits, unless they are not wanted", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    put(first.path, "x", "x");
    const head = commit(first.path, "unmerged");
    await job.release(first);
    expect(git(workshop.top, "rev-parse", first.branch)).toBe(head);
    const second = await job.acquire("one", 2);
    put(second.path, "x", "y");
    commit(second.path, "unwanted");
    await job.release(second, { discard: true });
    expect(git(workshop.top, "branch", "--list", second.branch)).toBe("");
  });

  it("takes another branch name if an earlier run left one of that name", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    put(first.path, "x", "x");
    commit(first.path, "unmerged");
    job.keep(first, "a letter");
    const second = await job.acquire("one", 1);
    expect(second.branch).toMatch(/^redrive-agent\/job-1\/one-1-[0-9a-z]{5}$/);
    await job.release(second);
    const third = await job.acquire("one", 1);
    expect(third.path).toBe(second.path);
    expect(third.branch).not.toBe(first.branch);
  });

  it("is never reused if it was kept", async () => {
    const job = await workshop.open();
    const kept = await job.acquire("one", 1);
    put(kept.path, "a.txt", "half done\n");
    job.keep(kept, "it failed");
    const other = await job.acquire("two", 1);
    expect(other.path).not.toBe(kept.path);
    await job.close();
    const again = await workshop.open();
    expect((await again.adopt()).names).not.toContain(kept.name);
    expect((await again.acquire("three", 1)).path).not.toBe(kept.path);
    expect(readFileSync(join(kept.path, "a.txt"), "utf8")).toBe("half done\n");
  });

  it("keeps the given paths and nothing else", async () => {
    const job = await workshop.open("job-1", ["node_modules", "build/cache", "packages/*/vendor"]);
    const first = await job.acquire("one", 1);
    put(first.path, "node_modules/x/index.js", "kept");
    put(first.path, "build/cache/1", "kept");
    put(first.path, "build/out", "gone");
    put(first.path, "packages/p/vendor/v", "kept");
    put(first.path, "packages/p/other", "gone");
    put(first.path, "src/node_modules/y", "gone");
    expect(await job.merge(first, "nothing")).toEqual({ kind: "empty", uncommitted: true });
    await job.release(first);
    const second = await job.acquire("two", 1);
    const there = ["node_modules/x/index.js", "build/cache/1", "packages/p/vendor/v"];
    expect(there.filter((path) => existsSync(join(second.path, path)))).toEqual(there);
    const gone = ["build/out", "packages/p/other", "src/node_modules"];
    expect(gone.filter((path) => existsSync(join(second.path, path)))).toEqual([]);
    expect((await job.merge(second, "nothing")).uncommitted).toBe(false);
    expect(await job.commitAll(second, "nothing")).toEqual({ kind: "nothing" });
  });

  it.each(["/etc", "../x", "a/../../b", "", ".git", "."])("refuses to keep %j", async (path) => {
    await expect(workshop.open("job-1", [path])).rejects.toMatchObject({ code: "usage" });
  });

  it("is replaced if it cannot be cleaned", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    await job.release(first);
    rmSync(first.path, { recursive: true });
    const second = await job.acquire("two", 1);
    expect(second.path).not.toBe(first.path);
    expect(everythingIn(second.path)).toEqual(everythingIn(workshop.top));
    expect(git(workshop.top, "worktree", "list")).not.toContain(basename(first.path));
  });

  it("survives an item that removed or replaced its .git", async () => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    rmSync(join(first.path, ".git"));
    git(first.path, "init", "-q");
    put(first.path, "junk", "junk");
    await job.release(first);
    const second = await job.acquire("two", 1);
    expect(everythingIn(second.path)).toEqual(everythingIn(workshop.top));
    expect(git(second.path, "rev-parse", "HEAD")).toBe(await job.tip());
  });

  it("never removes files outside through a link that an item put in place of a folder", async () => {
    const outside = join(workshop.root, "outside");
    put(outside, "one.ts", "precious\n");
    put(outside, "deep/er/two.ts", "precious\n");
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    rmSync(join(first.path, "src"), { recursive: true });
    symlinkSync(outside, join(first.path, "src"));
    await job.release(first);
    const second = await job.acquire("two", 1);
    expect(readFileSync(join(outside, "one.ts"), "utf8")).toBe("precious\n");
    expect(readFileSync(join(outside, "deep/er/two.ts"), "utf8")).toBe("precious\n");
    expect(everythingIn(second.path)).toEqual(everythingIn(workshop.top));
  });

  it("has the sparse checkout of the user", async () => {
    git(workshop.top, "sparse-checkout", "set", "src");
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    expect(existsSync(join(first.path, "docs"))).toBe(false);
    git(first.path, "sparse-checkout", "disable");
    expect(existsSync(join(first.path, "docs/page.md"))).toBe(true);
    await job.release(first);
    const second = await job.acquire("two", 1);
    expect(second.path).toBe(first.path);
    expect(existsSync(join(second.path, "docs"))).toBe(false);
    expect(git(second.path, "status", "--porcelain")).toBe("");
  });

  it("creates many at a time", async () => {
    const job = await workshop.open();
    const worktrees = await Promise.all(
      Array.from({ length: 8 }, (_, index) => job.acquire(`item ${index}`, 1)),
    );
    expect(new Set(worktrees.map(({ path }) => path)).size).toBe(8);
    await Promise.all(worktrees.map((worktree) => job.release(worktree)));
    const again = await Promise.all(
      Array.from({ length: 8 }, (_, index) => job.acquire(`other ${index}`, 1)),
    );
    expect(new Set(again.map(({ path }) => path))).toEqual(new Set(worktrees.map(({ path }) => path)));
  });
});

/** Each leaves something that the next item must not see. */
const MESSES: Readonly<Record<string, (path: string, gitDir: string) => void>> = {
  "an ignored file": (path) => put(path, "build/out.o", "o"),
  "an ignored log": (path) => put(path, "src/x.log", "l"),
  "an untracked file": (path) => put(path, "src/new.ts", "n"),
  "an empty folder": (path) => mkdirSync(join(path, "empty/er"), { recursive: true }),
  "a changed file": (path) => appendFileSync(join(path, "a.txt"), "more"),
  "a change of the same size at the same time": (path) => {
    const file = join(path, "b.txt");
    writeFileSync(file, "c\n");
    execFileSync("touch", ["-d", "2001-01-01", file]);
  },
  "a removed file": (path) => rmSync(join(path, "src/one.ts"), { force: true }),
  "a staged deletion": (path) => void git(path, "rm", "-q", "--cached", "--ignore-unmatch", "docs/page.md"),
  "a staged file": (path) => {
    put(path, "staged.txt", "s");
    git(path, "add", "staged.txt");
  },
  "an intention to add": (path) => {
    put(path, "intended.txt", "i");
    git(path, "add", "-N", "intended.txt");
  },
  "a nested repository": (path) => {
    mkdirSync(join(path, "nested/repo"), { recursive: true });
    git(join(path, "nested/repo"), "init", "-q");
    put(path, "nested/repo/x", "x");
  },
  "an executable bit": (path) => chmodIfThere(join(path, "a.txt"), 0o755),
  "a private mode": (path) => chmodIfThere(join(path, "b.txt"), 0o600),
  "a read-only file": (path) => chmodIfThere(join(path, "docs/page.md"), 0o444),
  "a read-only folder": (path) => {
    put(path, "locked/in/file", "x");
    chmodSync(join(path, "locked/in"), 0o500);
  },
  "a private tracked folder": (path) => chmodIfThere(join(path, "src/deep"), 0o700),
  "a read-only tracked folder": (path) => {
    put(path, "docs/extra.md", "x");
    chmodSync(join(path, "docs"), 0o500);
  },
  "an assumed-unchanged file": (path) => {
    git(path, "update-index", "--assume-unchanged", ".gitignore");
    appendFileSync(join(path, ".gitignore"), "more\n");
  },
  "a file skipped in the worktree": (path) => {
    git(path, "update-index", "--skip-worktree", "src/deep/er/two.ts");
    put(path, "src/deep/er/two.ts", "changed");
  },
  "a lock on the index": (_path, gitDir) => writeFileSync(join(gitDir, "index.lock"), ""),
  "a lock on HEAD": (_path, gitDir) => writeFileSync(join(gitDir, "HEAD.lock"), ""),
  "a half-done merge": (path, gitDir) =>
    writeFileSync(join(gitDir, "MERGE_HEAD"), `${git(path, "rev-parse", "HEAD")}\n`),
  "a half-done rebase": (_path, gitDir) => mkdirSync(join(gitDir, "rebase-merge"), { recursive: true }),
  "a broken index": (_path, gitDir) => writeFileSync(join(gitDir, "index"), "nonsense"),
  "a file turned into a folder": (path) => {
    rmSync(join(path, "a.txt"), { force: true, recursive: true });
    put(path, "a.txt/inner", "x");
  },
  "a folder turned into a file": (path) => {
    rmSync(join(path, "src/deep"), { force: true, recursive: true });
    put(path, "src/deep", "x");
  },
  "a link in the place of a file": (path) => {
    rmSync(join(path, "b.txt"), { force: true, recursive: true });
    symlinkSync("a.txt", join(path, "b.txt"));
  },
  "a second name for a file": (path) => {
    if (existsSync(join(path, "docs/page.md"))) linkIfFree(join(path, "docs/page.md"), join(path, "second"));
  },
  "a renamed folder": (path) => {
    if (existsSync(join(path, "src")) && !existsSync(join(path, "source")))
      renameSync(join(path, "src"), join(path, "source"));
  },
  "other attributes": (path) => put(path, ".gitattributes", "*.txt text eol=crlf\n"),
  "a commit": (path) => {
    put(path, "committed/file", "c");
    git(path, "add", "committed");
    git(path, "commit", "-q", "-m", "c", "--no-verify");
  },
  "another branch": (path) => void git(path, "checkout", "-q", "--orphan", "elsewhere"),
};

function chmodIfThere(path: string, mode: number): void {
  if (existsSync(path)) chmodSync(path, mode);
}

function linkIfFree(from: string, to: string): void {
  if (!existsSync(to)) linkSync(from, to);
}

/** A mess may find that another one was there before it, as an agent's own commands do. */
function make(mess: string, path: string, gitDir: string): void {
  try {
    MESSES[mess]?.(path, gitDir);
  } catch {
    // such as git that refuses because of a lock
  }
}

describe("a used worktree", () => {
  it.each(Object.keys(MESSES))("shows nothing of %s", async (mess) => {
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    const before = everythingIn(first.path);
    MESSES[mess]?.(first.path, git(first.path, "rev-parse", "--absolute-git-dir"));
    await job.release(first, { discard: true });
    const second = await job.acquire("two", 1);
    expect(second.path).toBe(first.path);
    expect(everythingIn(second.path)).toEqual(before);
    expect(git(second.path, "status", "--porcelain", "--ignored")).toBe("");
  });

  it("shows nothing of any of them together, repeatedly", async () => {
    const job = await workshop.open();
    const clean = everythingIn(workshop.top);
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom(...Object.keys(MESSES)), { minLength: 2, maxLength: 8 }),
        async (messes) => {
          round += 1;
          const worktree = await job.acquire(`item ${round}`, 1);
          expect(everythingIn(worktree.path)).toEqual(clean);
          expect(git(worktree.path, "ls-files", "-v")).not.toMatch(/^[^H]/m);
          expect(git(worktree.path, "rev-parse", "HEAD")).toBe(worktree.base);
          const gitDir = git(worktree.path, "rev-parse", "--absolute-git-dir");
          for (const mess of messes) make(mess, worktree.path, gitDir);
          await job.release(worktree, { discard: true });
        },
      ),
      { numRuns: 25 },
    );
    const last = await job.acquire("last", 1);
    expect(everythingIn(last.path)).toEqual(clean);
    expect(git(last.path, "status", "--porcelain", "--ignored")).toBe("");
  });
});
