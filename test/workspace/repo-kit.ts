/** Real repositories for the tests of worktrees, and what an onlooker can see of a checkout. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MergeStrategy } from "../../src/workflow/model.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

/** Nothing of the tester's own settings. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  LC_ALL: "C",
};

/** Runs git; throws with its words when it fails. */
export function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd, env: ENVIRONMENT, encoding: "utf8", stdio: "pipe" }).trimEnd();
}

/** Writes a file and its folders. */
export function put(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** Commits everything in the checkout. */
export function commit(root: string, message: string): string {
  git(root, "add", "-A");
  git(root, "commit", "-q", "-m", message);
  return git(root, "rev-parse", "HEAD");
}

export const FILES: Readonly<Record<string, string>> = {
  ".gitignore": "build/\n*.log\n",
  "a.txt": "a\n",
  "b.txt": "b\n",
  "src/one.ts": "1\n",
  "src/deep/er/two.ts": "2\n",
  "docs/page.md": "page\n",
};

/** One repository with a commit, and a home of its own. */
export class Workshop {
  readonly #directory = new TemporaryDirectory();
  readonly top: string;
  readonly home: string;

  constructor(name = "project") {
    this.top = join(this.#directory.path, "user", name);
    this.home = join(this.#directory.path, "home");
    this.makeRepository(this.top);
  }

  get root(): string {
    return this.#directory.path;
  }

  makeRepository(path: string, files: Readonly<Record<string, string>> = FILES): void {
    mkdirSync(path, { recursive: true });
    git(path, "init", "-q", "-b", "main");
    git(path, "config", "user.name", "Tess Ter");
    git(path, "config", "user.email", "tess@example.org");
    for (const [name, content] of Object.entries(files)) put(path, name, content);
    commit(path, "first");
  }

  async open(jobId = "job-1", keep: readonly string[] = [], strategy?: MergeStrategy): Promise<JobWorktrees> {
    return JobWorktrees.open(await openRepository(this.top), jobId, { home: this.home, keep, strategy });
  }

  remove(): void {
    execFileSync("chmod", ["-R", "u+rwX", this.#directory.path]);
    this.#directory.remove();
  }
}

/** Every file, link and folder of a checkout with its mode and content; git's own pointer is left out. */
export function everythingIn(root: string, below = ""): string[] {
  return readdirSync(join(root, below))
    .sort()
    .filter((name) => below !== "" || name !== ".git")
    .flatMap((name) => {
      const path = join(below, name);
      const stat = lstatSync(join(root, path));
      const mode = (stat.mode & 0o7777).toString(8);
      if (stat.isDirectory()) return [`${path}/ ${mode}`, ...everythingIn(root, path)];
      const content = stat.isSymbolicLink() ? readlinkSync(join(root, path)) : readFileSync(join(root, path));
      return [`${path} ${mode} ${createHash("sha1").update(content).digest("hex")}`];
    });
}

/** What must stay as it is while a job runs: the checkout, its index, HEAD and the branches of the user. */
export function userSide(top: string): unknown {
  return {
    files: everythingIn(top),
    status: git(top, "status", "--porcelain=v2", "--branch"),
    refs: git(top, "for-each-ref", "refs/heads")
      .split("\n")
      .filter((line) => !line.includes("refs/heads/redrive")),
  };
}

/** The ids of the items in the job's branch, sorted. */
export async function idsMerged(job: JobWorktrees): Promise<string[]> {
  const merged = await job.mergedItems();
  if (!(merged instanceof Map)) throw new Error("the items have branches of their own");
  return [...(merged as Map<string, string>).keys()].sort();
}
