/**
 * A job's branch on a git remote, for a job that runs on several machines, each with its own clone. The
 * remote's ref is moved by compare-and-swap (`--force-with-lease`), and the local branch is a copy of it.
 */
import { RedriveError } from "../errors.ts";
import { systemClock } from "../std/clock.ts";
import { takingTurns } from "../std/turns.ts";
import { Branch, isAncestor } from "./branch.ts";
import type { Git, GitResult } from "./git.ts";
import { jobBranch } from "./names.ts";
import { openRepository } from "./repository.ts";

/** How long calls to an unreachable remote are retried before the attempt fails. */
const OUTAGE_MS_MAX = 300_000;
const WAIT_MS_MAX = 5000;
/** A call on a dead connection is aborted after this time. */
const CALL_MS_MAX = 60_000;

export class SharedBranch extends Branch {
  readonly #git: Git;
  readonly #remote: string;
  /** Serializes fetches, because concurrent ones would lock the same ref. */
  readonly #inTurn = takingTurns();

  constructor(git: Git, name: string, remote: string) {
    super(git, name);
    this.#git = git;
    this.#remote = remote;
  }

  /** Copies the branch from the remote and returns its tip. */
  override read(): Promise<string | null> {
    return this.#inTurn(() => this.#fetch());
  }

  override create(commit: string): Promise<boolean> {
    return this.#inTurn(() => this.#push("", commit));
  }

  override move(from: string, to: string): Promise<boolean> {
    return this.#inTurn(() => this.#push(from, to));
  }

  /** Removes the branch from the remote, if it is still at this commit. */
  removeFromRemote(from: string): Promise<GitResult> {
    return this.#call(["push", "-q", `--force-with-lease=${this.ref}:${from}`, this.#remote, `:${this.ref}`]);
  }

  async #fetch(): Promise<string | null> {
    return this.#whileReachable(async () => {
      const args = [
        "fetch",
        "-q",
        "--no-tags",
        "--no-write-fetch-head",
        this.#remote,
        `+${this.ref}:${this.ref}`,
      ];
      const result = await this.#call(args);
      if (result.exitCode === 0) return this.#git.must(["rev-parse", `${this.ref}^{commit}`]);
      if (/couldn't find remote ref/.test(result.stderr)) return null;
      if (isLocked(result)) return "again";
      return result;
    });
  }

  /**
   * Returns false if the remote's branch is no longer at `from`. Detects a push that succeeded although its
   * response was lost.
   */
  #push(from: string, to: string): Promise<boolean> {
    return this.#whileReachable(async () => {
      const lease = `--force-with-lease=${this.ref}:${from}`;
      const args = ["push", "-q", "--no-verify", lease, this.#remote, `${to}:${this.ref}`];
      const result = await this.#call(args);
      const tip = await this.#fetch(); // after an error, too: the push may have succeeded
      if (tip === to || (tip !== null && (await isAncestor(this.#git, to, tip)))) return true;
      if ((tip ?? "") !== from) return false;
      if (isRejected(result) && !isLocked(result)) throw rejected(this.#remote, this.name, result);
      return "again";
    });
  }

  /** Repeats the action while it returns `again` or the connection fails. */
  async #whileReachable<T>(action: () => Promise<T | GitResult | "again">): Promise<T> {
    const until = systemClock.monotonicNow() + OUTAGE_MS_MAX;
    for (let waitMs = 100; ; waitMs = Math.min(WAIT_MS_MAX, waitMs * 2)) {
      const end = await action();
      const isFailure = typeof end === "object" && end !== null && "stderr" in end;
      if (end !== "again" && !isFailure) return end as T;
      if (systemClock.monotonicNow() > until) throw unreachable(this.#remote, isFailure ? end : undefined);
      await systemClock.sleep(waitMs * (0.5 + Math.random() / 2));
    }
  }

  #call(args: readonly string[]): Promise<GitResult> {
    const slow = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=20"];
    return this.#git.ask([...slow, ...args], { timeoutMs: CALL_MS_MAX });
  }
}

function isLocked({ stderr }: GitResult): boolean {
  return /cannot lock ref|unable to update local ref|failed to update ref/.test(stderr);
}

function isRejected({ stderr }: GitResult): boolean {
  return /\[(?:remote )?rejected\]/.test(stderr);
}

function rejected(remote: string, name: string, { stderr }: GitResult): RedriveError {
  return new RedriveError(
    "git_refused",
    `The remote ${remote} rejected the branch ${name}: ${stderr.trim()}`,
    {
      hint: `Allow pushes to redrive/* on ${remote}; a rule for branches or a hook forbids them.`,
    },
  );
}

function unreachable(remote: string, result: GitResult | undefined): RedriveError {
  const why = result === undefined ? "its branch is locked" : result.stderr.trim() || "it does not answer";
  return new RedriveError("git_refused", `The remote ${remote} cannot be reached: ${why}`, {
    hint: `Try \`git fetch ${remote}\` in this clone.`,
  });
}

/**
 * Throws unless the folder is in a clone whose remote has the branch. In another repository, a worker would
 * create its own branch, and work that is recorded as done would never reach the job.
 */
export async function requireClone(cwd: string, remote: string, jobId: string): Promise<void> {
  const { git } = await openRepository(cwd).catch((error: unknown) => {
    if (!(error instanceof RedriveError)) throw error;
    throw new RedriveError(error.code, error.message, { hint: IN_A_CLONE, cause: error });
  });
  await requireRemote(git, remote);
  const branch = jobBranch(jobId);
  const ref = `refs/heads/${branch}`;
  const { exitCode } = await git.ask(["ls-remote", "--exit-code", remote, ref], { timeoutMs: CALL_MS_MAX });
  if (exitCode !== NO_SUCH_REF) return; // an unreachable remote is retried later
  const { stdout } = await git.ask(["remote", "get-url", remote]);
  const where = withoutPassword(stdout.trim());
  const message = `The remote ${remote} of this clone (${where}) does not have the branch ${branch} of the job.`;
  throw new RedriveError("git_unusable", message, { hint: IN_A_CLONE });
}

/** The exit code of `git ls-remote --exit-code` when no ref matches. */
const NO_SUCH_REF = 2;
const IN_A_CLONE =
  "Run the worker in a clone of the job's repository, with the same remote as on the machine that started the job.";

function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/)[^@/]*@/, "$1");
}

/** Throws when the clone has no such remote. */
export async function requireRemote(git: Git, remote: string): Promise<void> {
  const { exitCode } = await git.ask(["remote", "get-url", remote]);
  if (exitCode === 0) return;
  throw new RedriveError("git_unusable", `The repository ${git.cwd} has no remote "${remote}".`, {
    hint: `Add it: git remote add ${remote} URL, the same repository on every machine.`,
  });
}
