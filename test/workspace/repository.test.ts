/** What a run starts from: repositories of every kind, and clear words for those that will not do. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type RunGit, runWithNode } from "../../src/workspace/git.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { commit, everythingIn, git, put, Workshop } from "./repo-kit.ts";

let workshop: Workshop;
beforeEach(() => {
  workshop = new Workshop();
});
afterEach(() => {
  vi.unstubAllEnvs();
  workshop.remove();
});

function place(name: string): string {
  const path = join(workshop.root, name);
  mkdirSync(path, { recursive: true });
  return path;
}

describe("a repository", () => {
  it("is found from any folder in it", async () => {
    const repository = await openRepository(join(workshop.top, "src/deep"));
    expect(repository).toMatchObject({
      top: workshop.top,
      name: "project",
      prefix: "src/deep/",
      startBranch: "main",
      startCommit: git(workshop.top, "rev-parse", "HEAD"),
      commonDir: join(workshop.top, ".git"),
      notes: [],
    });
  });

  it("is the folder's own, whatever the environment of a hook contains", async () => {
    const other = place("other");
    workshop.makeRepository(other);
    vi.stubEnv("GIT_DIR", join(other, ".git"));
    vi.stubEnv("GIT_WORK_TREE", other);
    vi.stubEnv("GIT_INDEX_FILE", join(other, ".git/index"));
    expect((await openRepository(workshop.top)).top).toBe(workshop.top);
    const worktree = await (await workshop.open()).acquire("one", 1);
    expect(existsSync(join(worktree.path, "a.txt"))).toBe(true);
  });

  it("may have uncommitted changes, which agents do not see", async () => {
    put(workshop.top, "a.txt", "changed");
    put(workshop.top, "new.txt", "new");
    const repository = await openRepository(workshop.top);
    expect(repository.notes).toEqual([expect.stringContaining("2 uncommitted changes")]);
    const worktree = await (await workshop.open()).acquire("one", 1);
    expect(existsSync(join(worktree.path, "new.txt"))).toBe(false);
    expect(git(worktree.path, "status", "--porcelain")).toBe("");
  });

  it("may have a detached HEAD", async () => {
    git(workshop.top, "checkout", "-q", "--detach");
    const repository = await openRepository(workshop.top);
    expect(repository.startBranch).toBeNull();
    expect(repository.notes).toEqual([expect.stringContaining("detached")]);
  });

  it("may be a linked worktree of the user", async () => {
    const linked = join(workshop.root, "user", "linked");
    git(workshop.top, "worktree", "add", "-q", "-b", "feature", linked);
    put(linked, "only-here.txt", "x");
    commit(linked, "here");
    const repository = await openRepository(linked);
    expect(repository).toMatchObject({ top: linked, name: "project", startBranch: "feature" });
    expect(repository.commonDir).toBe(join(workshop.top, ".git"));
    expect(repository.notes).toEqual([expect.stringContaining("linked worktree")]);
    const job = await JobWorktrees.open(repository, "job-1", { home: workshop.home });
    const worktree = await job.acquire("one", 1);
    expect(existsSync(join(worktree.path, "only-here.txt"))).toBe(true);
  });

  it("may be a shallow clone", async () => {
    put(workshop.top, "second.txt", "2");
    commit(workshop.top, "second");
    const shallow = join(workshop.root, "shallow");
    git(workshop.root, "clone", "-q", "--depth", "1", `file://${workshop.top}`, shallow);
    git(shallow, "config", "user.name", "Tess");
    git(shallow, "config", "user.email", "tess@example.org");
    const repository = await openRepository(shallow);
    expect(repository.notes).toEqual([expect.stringContaining("shallow")]);
    const job = await JobWorktrees.open(repository, "job-1", { home: workshop.home });
    const worktree = await job.acquire("one", 1);
    put(worktree.path, "x", "x");
    commit(worktree.path, "x");
    expect((await job.merge(worktree, "one")).kind).toBe("merged");
  });

  it("may have spaces and other letters in its path, and the home too", async () => {
    const odd = new Workshop("my prøject 'n' $HOME 日本");
    try {
      const home = join(odd.root, "a home 🏠");
      const job = await JobWorktrees.open(await openRepository(odd.top), "job é/1", { home });
      const worktree = await job.acquire("päth/with space.ts", 1);
      expect(everythingIn(worktree.path)).toEqual(everythingIn(odd.top));
      put(worktree.path, "ñ.txt", "x");
      commit(worktree.path, "x");
      expect((await job.merge(worktree, "x")).kind).toBe("merged");
      await job.release(worktree);
      expect((await job.acquire("two", 1)).path).toBe(worktree.path);
      expect((await job.finishInto()).kind).toBe("merged");
    } finally {
      odd.remove();
    }
  });

  it("may have its hooks elsewhere; creating worktrees runs none of them", async () => {
    const hooks = place("hooks");
    writeFileSync(join(hooks, "post-checkout"), `#!/bin/sh\ntouch ${workshop.root}/ran\n`, { mode: 0o755 });
    writeFileSync(join(hooks, "reference-transaction"), `#!/bin/sh\ntouch ${workshop.root}/ran\n`, {
      mode: 0o755,
    });
    git(workshop.top, "config", "core.hooksPath", hooks);
    const job = await workshop.open();
    await job.release(await job.acquire("one", 1));
    await job.acquire("two", 1);
    expect(existsSync(join(workshop.root, "ran"))).toBe(false);
  });

  it("may have submodules, which exist in each worktree and are clean again in the next", async () => {
    const library = place("library");
    workshop.makeRepository(library, { "lib.txt": "lib\n" });
    git(
      workshop.top,
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "--quiet",
      "add",
      library,
      "vendor/lib",
    );
    git(workshop.top, "commit", "-q", "-m", "submodule");
    vi.stubEnv("GIT_CONFIG_COUNT", "1");
    vi.stubEnv("GIT_CONFIG_KEY_0", "protocol.file.allow");
    vi.stubEnv("GIT_CONFIG_VALUE_0", "always");
    expect((await openRepository(workshop.top)).notes).toEqual([expect.stringContaining("submodules")]);
    const job = await workshop.open();
    const first = await job.acquire("one", 1);
    expect(existsSync(join(first.path, "vendor/lib/lib.txt"))).toBe(true);
    put(first.path, "vendor/lib/lib.txt", "changed");
    put(first.path, "vendor/lib/junk.txt", "junk");
    await job.release(first);
    const second = await job.acquire("two", 1);
    expect(second.path).toBe(first.path);
    expect(git(second.path, "status", "--porcelain", "--ignored")).toBe("");
    expect(git(join(second.path, "vendor/lib"), "status", "--porcelain", "--ignored")).toBe("");
  });

  it("has its own folder even if another has the same name", async () => {
    const twin = join(workshop.root, "elsewhere/project");
    workshop.makeRepository(twin);
    const first = await (await workshop.open()).acquire("one", 1);
    const job = await JobWorktrees.open(await openRepository(twin), "job-1", { home: workshop.home });
    const second = await job.acquire("one", 1);
    expect(first.path).toContain("/worktrees/project/job-1/");
    expect(second.path).toMatch(/\/worktrees\/project-[0-9a-z]{10}\/job-1\//);
    const again = await JobWorktrees.open(await openRepository(twin), "job-1", { home: workshop.home });
    expect((await again.jobWorktree()).startsWith(join(second.path, ".."))).toBe(true);
  });
});

describe("no work starts from", () => {
  async function refusal(path: string, run?: RunGit) {
    return openRepository(path, run === undefined ? {} : { run }).then(
      () => "it was opened",
      (error: { code: string; message: string; hint?: string }) => error,
    );
  }

  it("a folder outside a repository", async () => {
    expect(await refusal(place("plain"))).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("is not in a git repository"),
      hint: expect.stringContaining("git init"),
    });
  });

  it("a bare repository", async () => {
    const bare = place("bare.git");
    git(bare, "init", "-q", "--bare");
    expect(await refusal(bare)).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("bare"),
    });
  });

  it("the inside of .git", async () => {
    expect(await refusal(join(workshop.top, ".git"))).toMatchObject({ code: "git_unusable" });
  });

  it("a repository without a commit", async () => {
    const empty = place("empty");
    git(empty, "init", "-q");
    expect(await refusal(empty)).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("no commit"),
    });
  });

  it.each(["merge", "rebase", "cherry-pick"])("the middle of a %s", async (what) => {
    git(workshop.top, "switch", "-q", "-c", "other");
    put(workshop.top, "a.txt", "other\n");
    commit(workshop.top, "other");
    git(workshop.top, "switch", "-q", "main");
    put(workshop.top, "a.txt", "main\n");
    commit(workshop.top, "main");
    expect(() => git(workshop.top, what, "other")).toThrow();
    expect(await refusal(workshop.top)).toMatchObject({
      code: "git_unusable",
      message: expect.stringMatching(new RegExp(`a ${what}.* is in progress`, "i")),
    });
  });

  it("files with conflicts", async () => {
    git(workshop.top, "switch", "-q", "-c", "other");
    put(workshop.top, "a.txt", "other\n");
    commit(workshop.top, "other");
    git(workshop.top, "switch", "-q", "main");
    put(workshop.top, "a.txt", "stashed\n");
    git(workshop.top, "stash", "-q");
    git(workshop.top, "merge", "-q", "other");
    expect(() => git(workshop.top, "stash", "pop")).toThrow();
    expect(await refusal(workshop.top)).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("conflicts"),
    });
  });

  it("a machine without git", async () => {
    const run: RunGit = (argv, options) => runWithNode(["git-that-is-not-there", ...argv.slice(1)], options);
    expect(await refusal(workshop.top, run)).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("ENOENT"),
      hint: expect.stringContaining("isolation: none"),
    });
  });

  it("a git that is too old", async () => {
    const run: RunGit = async () => ({ exitCode: 0, stdout: "git version 2.34.1\n", stderr: "" });
    expect(await refusal(workshop.top, run)).toMatchObject({
      code: "git_unusable",
      message: "git version 2.34.1 is too old: version 2.38 is required.",
    });
  });

  it("a repository that git does not trust, with git's own message", async () => {
    const run: RunGit = (argv, options) =>
      runWithNode(argv, { ...options, env: { ...options.env, GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" } });
    expect(await refusal(workshop.top, run)).toMatchObject({
      code: "git_unusable",
      message: expect.stringContaining("safe.directory"),
    });
  });

  it("a missing folder", async () => {
    expect(await refusal(join(realpathSync(workshop.root), "nowhere"))).toMatchObject({
      code: "git_refused",
    });
  });
});
