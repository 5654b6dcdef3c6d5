/** A branch that several processes move: each move says where the branch was, and is refused when that is not so any more. */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { WorkError } from "../errors.ts";
import { systemClock } from "../kit/clock.ts";
import { type Git, refused } from "./git.ts";
import { readLooseRef } from "./ref-file.ts";

/** What git reads as "it must not be there". */
const NO_COMMIT = "";
const TRIES_MAX = 30;
const WAIT_MS = 20;
/** Git holds the lock of a branch for a moment only. */
const LOCK_MS_MAX = 1000;

export class Branch {
  /** Without `refs/heads/`. */
  readonly name: string;
  readonly #git: Git;
  readonly #commonDir: string | null;

  /**
   * `commonDir`, for a branch that is Redrive's own, is git's folder: the branch can mostly be read there without a
   * process, and the lock of a git that was killed with its agent is taken away. Default: git is asked for all.
   */
  constructor(git: Git, name: string, commonDir: string | null = null) {
    this.#git = git;
    this.name = name;
    this.#commonDir = commonDir;
  }

  get ref(): string {
    return `refs/heads/${this.name}`;
  }

  /** The commit it points at; null when there is no such branch. */
  async read(): Promise<string | null> {
    const loose = this.#commonDir === null ? null : readLooseRef(this.#commonDir, this.ref);
    if (loose !== null) return loose;
    const { exitCode, stdout } = await this.#git.ask(["rev-parse", "-q", "--verify", `${this.ref}^{commit}`]);
    return exitCode === 0 ? stdout.trim() : null;
  }

  /** Makes it; false when it is there already. */
  async create(commit: string): Promise<boolean> {
    return this.#change(["update-ref", this.ref, commit, NO_COMMIT], null);
  }

  /** True when it was at `from` and is now at `to`; false when it was elsewhere. */
  async move(from: string, to: string, reason = "redrive"): Promise<boolean> {
    return this.#change(["update-ref", "-m", reason, this.ref, to, from], from);
  }

  /** False when it has moved since. */
  async remove(from: string): Promise<boolean> {
    return this.#change(["update-ref", "-d", this.ref, from], from);
  }

  /** A refusal means that it has moved, or that another process holds git's lock for a moment. */
  async #change(args: readonly string[], from: string | null): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const result = await this.#git.ask(args);
      if (result.exitCode === 0) return true;
      if ((await this.read()) !== from) return false;
      if (tries === TRIES_MAX) throw refused(args, result);
      this.#dropStaleLock();
      await systemClock.sleep(WAIT_MS * tries * Math.random());
    }
  }

  #dropStaleLock(): void {
    if (this.#commonDir === null) return;
    const path = join(this.#commonDir, `${this.ref}.lock`);
    const lock = statSync(path, { throwIfNoEntry: false });
    if (lock !== undefined && Date.now() - lock.mtimeMs > LOCK_MS_MAX) rmSync(path, { force: true });
  }
}

/** Somebody else removed it. Its commits may still be found. */
export function branchGone(name: string): WorkError {
  return new WorkError("git_refused", `The branch ${name} that holds the job's work is gone.`, {
    hint: "`git fsck --lost-found` finds its last commit; `git branch NAME COMMIT` brings it back.",
  });
}
