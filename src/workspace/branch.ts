/** Branches that several processes update by compare-and-swap, refs read from files, and merges without a checkout. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import { systemClock } from "../std/clock.ts";
import { tryTo } from "../std/try-to.ts";
import { type Git, refused } from "./git.ts";

const TRIES_MAX = 30;
const WAIT_MS = 20;
const LOCK_MS_MAX = 1000;

export class Branch {
  readonly name: string;
  readonly #git: Git;
  readonly #commonDir: string | null;

  /**
   * `commonDir` is set for Redrive's own branches. Refs are then read from files, and stale locks are
   * removed.
   */
  constructor(git: Git, name: string, commonDir: string | null = null) {
    this.#git = git;
    this.name = name;
    this.#commonDir = commonDir;
  }

  get ref(): string {
    return `refs/heads/${this.name}`;
  }

  async read(): Promise<string | null> {
    const loose = this.#commonDir === null ? null : readLooseRef(this.#commonDir, this.ref);
    if (loose !== null) return loose;
    const { exitCode, stdout } = await this.#git.ask(["rev-parse", "-q", "--verify", `${this.ref}^{commit}`]);
    return exitCode === 0 ? stdout.trim() : null;
  }

  /** Creates the branch. Returns false when it already exists. */
  async create(commit: string): Promise<boolean> {
    return this.#change(["update-ref", this.ref, commit, ""], null); // an empty old value: the ref must not exist
  }

  /** Moves the branch from `from` to `to`. Returns false when it does not point at `from`. */
  async move(from: string, to: string, reason = "redrive"): Promise<boolean> {
    return this.#change(["update-ref", "-m", reason, this.ref, to, from], from);
  }

  async remove(from: string): Promise<boolean> {
    return this.#change(["update-ref", "-d", this.ref, from], from);
  }

  /** A refusal means that the branch has moved, or that another process holds git's lock; the latter is retried. */
  async #change(args: readonly string[], from: string | null): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const result = await this.#git.ask(args);
      if (result.exitCode === 0) return true;
      if ((await this.read()) !== from) return false;
      if (tries === TRIES_MAX) throw refused(args, result);
      if (this.#commonDir !== null) dropStaleLock(join(this.#commonDir, `${this.ref}.lock`));
      await systemClock.sleep(WAIT_MS * tries * Math.random());
    }
  }
}

function dropStaleLock(path: string): void {
  const lock = statSync(path, { throwIfNoEntry: false });
  if (lock !== undefined && Date.now() - lock.mtimeMs > LOCK_MS_MAX) rmSync(path, { force: true });
}

/** The error for a job branch that was removed by someone else. Its commits may still exist. */
export function branchGone(name: string): RedriveError {
  return new RedriveError(
    "git_refused",
    `The branch ${name}, which contains the job's work, no longer exists.`,
    {
      hint: "`git fsck --lost-found` finds its last commit; `git branch NAME COMMIT` restores the branch.",
    },
  );
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?\n?$/;

function readLooseRef(commonDir: string, ref: string): string | null {
  const text = read(join(commonDir, ref));
  return text !== null && COMMIT.test(text) ? text.trim() : null;
}

/** Returns the commit of HEAD of a linked worktree. `gitDir` is the git directory of that worktree. */
export function readHeadFile(gitDir: string): string | null {
  const text = read(join(gitDir, "HEAD"));
  if (text === null) return null;
  if (COMMIT.test(text)) return text.trim();
  const ref = /^ref: (refs\/heads\/.+)\n?$/.exec(text)?.[1];
  const common = read(join(gitDir, "commondir"));
  return ref === undefined || common === null ? null : readLooseRef(resolve(gitDir, common.trim()), ref);
}

/** Detaches HEAD of a linked worktree at the commit. Only valid for file-based refs, while no git process runs there. */
export function writeHeadFile(gitDir: string, commit: string): void {
  const draft = join(gitDir, "HEAD.redrive");
  writeFileSync(draft, `${commit}\n`);
  renameSync(draft, join(gitDir, "HEAD"));
}

/** Null when the path does not exist or is not a file. */
function read(path: string): string | null {
  return tryTo(() => readFileSync(path, "utf8")) ?? null;
}

/** Merges the trees of `ours` and `theirs`, or returns the conflicting files and git's messages, one per line. */
export async function mergeTrees(git: Git, ours: string, theirs: string) {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs];
  const result = await git.ask(args);
  const [tree = "", ...rest] = result.stdout.split("\0");
  if (result.exitCode === 0) return { kind: "clean", tree } as const;
  if (result.exitCode !== 1 || tree === "") throw refused(args, result);
  const end = rest.indexOf("");
  const [files, detail] = [rest.slice(0, end), messagesOf(rest.slice(end + 1))];
  return { kind: "conflict", files, detail } as const;
}

/** Each message is a count, that many paths, a type and a text. Only conflict messages are returned. */
function messagesOf(fields: readonly string[]): string {
  const texts: string[] = [];
  for (let at = 0; at < fields.length - 1; ) {
    const paths = Number(fields[at]);
    const [type = "", text = ""] = fields.slice(at + 1 + paths);
    if (type.startsWith("CONFLICT")) texts.push(text.trim());
    at += paths + 3;
  }
  return texts.join("\n");
}

export async function commitTree(
  git: Git,
  commit: {
    readonly tree: string;
    readonly parents: readonly string[];
    readonly message: string;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<string> {
  const { tree, parents, message, env } = commit;
  const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
  return git.must(args, { stdin: message.replaceAll("\0", ""), env });
}

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", older, newer];
  const result = await git.ask(args);
  if (result.exitCode === 0 || result.exitCode === 1) return result.exitCode === 0;
  throw refused(args, result);
}
