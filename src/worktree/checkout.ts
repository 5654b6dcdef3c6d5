/**
 * A checkout of its own for one attempt: made, or made clean again. After `renewCheckout` no file of the item before is
 * there, ignored or not, except the paths that are kept. What an item changed in the repository itself (its settings, its
 * hooks in `.git/hooks`, branches of its own) is shared by all worktrees; git offers no way to prevent that.
 */
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { WorkError } from "../errors.ts";
import { type Git, type GitResult, refused } from "./git.ts";
import type { KeepPaths } from "./names.ts";
import { gitDirOf, restorePristine, savePristine } from "./pristine.ts";

export interface NewCheckout {
  readonly path: string;
  readonly commit: string;
  /** Made new; null detaches HEAD. */
  readonly branch: string | null;
}

/** Makes a worktree. Git takes care that several may be made at a time. */
export async function addCheckout(git: Git, { path, commit, branch }: NewCheckout): Promise<void> {
  const onto = branch === null ? ["--detach"] : ["--no-track", "-b", branch];
  await git.must(["worktree", "add", "-q", ...onto, path, commit]);
  const inside = git.in(path);
  await updateSubmodules(inside);
  savePristine(gitDirOf(path), await foldersOf(inside, commit));
}

export interface RenewedCheckout {
  readonly path: string;
  readonly branch: string;
  /** The commit to start from; read while the old files are being removed. */
  readonly commit: Promise<string>;
  readonly keep: KeepPaths;
}

/** Makes a used worktree clean, on a new branch at the commit. Throws when that cannot be done: it is then no good. */
export async function renewCheckout(git: Git, { path, branch, commit, keep }: RenewedCheckout): Promise<string> {
  const inside = git.in(path);
  const gitDir = await findGitDir(git, path);
  if (!restorePristine(path, gitDir)) throw new WorkError("git_refused", `${path} was never finished.`);
  const [touched] = await Promise.all([touchedFiles(inside), removeUntracked(inside, keep), commit.catch(() => "")]);
  for (const file of touched) removeInside(path, file);
  const start = await commit;
  const [folders] = await Promise.all([
    foldersOf(inside, start),
    inside.must(["switch", "-q", "--discard-changes", "--no-track", "-c", branch, start]),
  ]);
  await resetSubmodules(inside);
  savePristine(gitDir, folders);
  return start;
}

/** Removes a worktree, whatever state it is in, and what git knows of it. */
export async function removeCheckout(git: Git, path: string): Promise<void> {
  removeTree(path);
  const result = await git.ask(["worktree", "remove", "--force", "--force", path]);
  if (result.exitCode !== 0 && !result.stderr.includes("is not a working tree")) {
    throw refused(["worktree remove"], result);
  }
}

/** Removes a folder even when an item took the right to do so away from parts of it. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    makeWritable(path);
    rmSync(path, { recursive: true, force: true });
  }
}

/** From the file in the worktree, or from git's list when an item removed that. */
async function findGitDir(git: Git, path: string): Promise<string> {
  try {
    const gitDir = gitDirOf(path);
    if (existsSync(join(gitDir, "redrive"))) return gitDir;
  } catch {
    // found below
  }
  const commonDir = await git.must(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const all = join(commonDir, "worktrees");
  const found = readdirSync(all)
    .map((name) => join(all, name))
    .find((gitDir) => pointsTo(gitDir, join(path, ".git")));
  if (found === undefined) throw new WorkError("git_refused", `git does not know the worktree ${path} any more.`);
  return found;
}

function pointsTo(gitDir: string, pointer: string): boolean {
  try {
    return resolve(gitDir, readFileSync(join(gitDir, "gitdir"), "utf8").trim()) === pointer;
  } catch {
    return false;
  }
}

/** Every tracked file whose times, size or mode are not those of the clean checkout, even when its content is the same. */
async function touchedFiles(git: Git): Promise<string[]> {
  const list = await git.must(["diff-files", "--name-only", "-z", "--ignore-submodules=all"]);
  return list.split("\0").filter(Boolean);
}

async function removeUntracked(git: Git, keep: KeepPaths): Promise<void> {
  const args = ["clean", "-ffdxq", ...keep.cleanArgs];
  let result: GitResult = await git.ask(args);
  if (result.exitCode !== 0 || result.stderr !== "") {
    makeWritable(git.cwd);
    result = await git.ask(args);
  }
  if (result.exitCode !== 0) throw refused(args, result);
}

/** Never through a link that leads out of the worktree; git deals with such a path itself. */
function removeInside(root: string, file: string): void {
  const path = join(root, file);
  const folder = dirname(path);
  if (!existsSync(folder) || realpathSync(folder) !== join(realpathSync(root), dirname(file))) return;
  rmSync(path, { recursive: true, force: true });
}

function makeWritable(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return;
  if ((stat.mode & 0o700) !== 0o700) chmodSync(path, stat.mode | 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) makeWritable(join(path, entry.name));
  }
}

/** The folders of a commit, parents first. */
async function foldersOf(git: Git, commit: string): Promise<string[]> {
  return (await git.must(["ls-tree", "-rdz", "--name-only", commit])).split("\0").filter(Boolean);
}

/** Only those that the user has initialised: their settings are shared by all worktrees. */
async function updateSubmodules(git: Git): Promise<void> {
  if (!existsSync(join(git.cwd, ".gitmodules"))) return;
  await git.must(["submodule", "--quiet", "update", "--recursive", "--force"]);
}

async function resetSubmodules(git: Git): Promise<void> {
  if (!existsSync(join(git.cwd, ".gitmodules"))) return;
  await updateSubmodules(git);
  await git.must(["submodule", "--quiet", "foreach", "--recursive", "git reset -q --hard && git clean -ffdxq"]);
}
