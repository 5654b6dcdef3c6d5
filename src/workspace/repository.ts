/** Inspects the user's repository when a run starts, and rejects it if no work can start from it. */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { RedriveError } from "../errors.ts";
import { Git, type RunGit } from "./git.ts";
import { repositoryNameOf } from "./names.ts";

export interface Repository {
  /** The top folder of the user's checkout, which may be a linked worktree. */
  readonly top: string;
  readonly name: string;
  /** The git directory shared by all worktrees, usually `.git`. Identifies the repository. */
  readonly commonDir: string;
  /** The path from `top` to the requested folder: `""` at the top, else with a trailing slash. */
  readonly prefix: string;
  readonly startBranch: string | null;
  readonly startCommit: string;
  /** Notices for the user before the run, one sentence each. */
  readonly notes: readonly string[];
  readonly git: Git;
}

const OLDEST_GIT = [2, 38] as const; // the first version with `merge-tree --write-tree`

/** Inspects the repository of a folder. Throws `git_unusable` when no work can start from it. */
export async function openRepository(
  cwd: string,
  { run }: { readonly run?: RunGit } = {},
): Promise<Repository> {
  const here = new Git(cwd, run);
  await checkVersion(here);
  const { gitDir, ...paths } = await findPaths(here);
  const git = here.in(paths.top);
  const startCommit = await findCommit(git);
  const startBranch = await currentBranch(git);
  await refuseHalfDone(git, gitDir);
  const notes = await notesOn(git, { ...paths, gitDir, startBranch });
  return { ...paths, name: repositoryNameOf(paths.top), startBranch, startCommit, notes, git };
}

export async function currentBranch(git: Git): Promise<string | null> {
  const { exitCode, stdout } = await git.ask(["symbolic-ref", "-q", "--short", "HEAD"]);
  return exitCode === 0 ? stdout.trim() : null;
}

async function checkVersion(git: Git): Promise<void> {
  const { stdout } = await git.ask(["version"]);
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
  if (major > OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor >= OLDEST_GIT[1])) return;
  throw new RedriveError(
    "git_unusable",
    `${stdout.trim() || "This git"} is too old: version 2.38 is required.`,
    {
      hint: "Install a newer git; `isolation: none` works without one.",
    },
  );
}

type RepositoryPaths = Pick<Repository, "top" | "commonDir" | "prefix"> & { readonly gitDir: string };

async function findPaths(git: Git): Promise<RepositoryPaths> {
  const shown = ["--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
  const { exitCode, stdout, stderr } = await git.ask(["rev-parse", "--path-format=absolute", ...shown]);
  if (exitCode !== 0) throw noRepository(git.cwd, stderr.trim());
  const [isBare, isInside, gitDir = "", commonDir = ""] = stdout.split("\n");
  if (isInside !== "true") {
    const what =
      isBare === "true" ? "a bare repository, which has no checkout" : "the inside of a .git folder";
    throw new RedriveError("git_unusable", `${git.cwd} is ${what}.`, {
      hint: "Change to a checkout (`git worktree add` creates one), or use `isolation: none`.",
    });
  }
  const top = await git.must(["rev-parse", "--path-format=absolute", "--show-toplevel"]);
  const prefix = await git.must(["rev-parse", "--show-prefix"]);
  return { top, gitDir, commonDir: realpathSync(commonDir), prefix };
}

function noRepository(cwd: string, said: string): RedriveError {
  if (said.includes("not a git repository")) {
    return new RedriveError("git_unusable", `${cwd} is not in a git repository.`, {
      hint: "Run `git init` and commit, change to a repository, or use `isolation: none`.",
    });
  }
  return new RedriveError("git_unusable", `git cannot use the repository of ${cwd}: ${said}`); // e.g. safe.directory
}

async function findCommit(git: Git): Promise<string> {
  const { exitCode, stdout } = await git.ask(["rev-parse", "-q", "--verify", "HEAD^{commit}"]);
  if (exitCode === 0) return stdout.trim();
  throw new RedriveError("git_unusable", `The repository ${git.cwd} has no commit to start from.`, {
    hint: "Make a first commit; agents start from the HEAD commit.",
  });
}

const HALF_DONE: Readonly<Record<string, string>> = {
  "rebase-merge": "A rebase",
  "rebase-apply": "A rebase or `git am`",
  MERGE_HEAD: "A merge",
  CHERRY_PICK_HEAD: "A cherry-pick",
  REVERT_HEAD: "A revert",
};

async function refuseHalfDone(git: Git, gitDir: string): Promise<void> {
  for (const [file, what] of Object.entries(HALF_DONE)) {
    if (!existsSync(join(gitDir, file))) continue;
    throw new RedriveError("git_unusable", `${what} is in progress in ${git.cwd}.`, {
      hint: "Finish or abort it first; `git status` shows how.",
    });
  }
  if ((await git.must(["ls-files", "--unmerged"])) !== "") {
    throw new RedriveError("git_unusable", `${git.cwd} has files with conflicts.`, {
      hint: "Resolve them first; `git status` lists them.",
    });
  }
}

export const DETACHED = "HEAD is detached: the job's branch will not be merged automatically.";

async function notesOn(
  git: Git,
  { top, gitDir, commonDir, startBranch }: RepositoryPaths & { readonly startBranch: string | null },
): Promise<string[]> {
  const notes: string[] = [];
  const status = await git.must(["status", "--porcelain", "--ignore-submodules=dirty"]);
  const changed = status.split("\n").filter(Boolean);
  if (changed.length > 0) {
    const one = changed.length === 1;
    const changes = one ? "1 uncommitted change" : `${changed.length} uncommitted changes`;
    notes.push(`${changes} in ${top}: agents start from the commit and do not see ${one ? "it" : "them"}.`);
  }
  if (startBranch === null) {
    notes.push(DETACHED);
  }
  if (existsSync(join(top, ".gitmodules"))) {
    notes.push("Initialised submodules are checked out in each new worktree.");
  }
  if (existsSync(join(commonDir, "shallow")))
    notes.push("This is a shallow clone: older history is missing.");
  if (realpathSync(gitDir) !== commonDir) notes.push(`${top} is a linked worktree of ${commonDir}.`);
  return notes;
}

/** Throws unless a branch of this name can be created. */
export async function requireNewBranch(git: Git, name: string): Promise<void> {
  const checked = await git.ask(["check-ref-format", "--branch", name]);
  if (checked.exitCode !== 0 || checked.stdout.trim() !== name || name === "HEAD")
    throw new RedriveError("usage", `--branch: "${name}" is not a valid name of a branch.`);
  const refs = (await git.must(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"])).split("\n");
  const taken = refs.find(
    (ref) => ref === name || ref.startsWith(`${name}/`) || (ref !== "" && name.startsWith(`${ref}/`)),
  );
  if (taken === undefined) return;
  const message =
    taken === name
      ? `The branch ${name} already exists.`
      : `The branch ${name} cannot be created beside ${taken}.`;
  throw new RedriveError("usage", message, { hint: "Give another name with --branch." });
}
