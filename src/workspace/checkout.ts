/** Creates or cleans the checkout of one attempt. `renewCheckout` removes everything except the kept paths. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import { tryTo } from "../std/try-to.ts";
import { takingTurns } from "../std/turns.ts";
import { type Git, type GitResult, refused } from "./git.ts";
import type { KeepPaths } from "./names.ts";

/** A branch to create. The second name is used if an earlier run left a branch with the first name. */
export type NewBranch = readonly [name: string, otherName: string];

/** Creates a worktree and returns its branch. Registration in git is serialized; files are written in parallel. */
export async function addCheckout(
  git: Git,
  {
    path,
    commit,
    branch,
  }: { readonly path: string; readonly commit: string; readonly branch: NewBranch | null },
): Promise<string> {
  await inTurn(() => git.must(["worktree", "add", "-q", "--no-checkout", "--detach", path, commit]));
  const inside = git.in(path);
  const name = await switchTo(inside, branch, commit);
  await updateSubmodules(inside);
  savePristine(path, gitDirOf(path));
  return name;
}

async function switchTo(git: Git, branch: NewBranch | null, commit: string): Promise<string> {
  const args = ["switch", "-q", "--discard-changes"];
  if (branch === null) return git.must([...args, "--detach", commit]);
  const [name, otherName] = branch;
  const onto = (chosen: string) => [...args, "--no-track", "-c", chosen, commit];
  const result = await git.ask(onto(name));
  if (result.exitCode === 0) return name;
  if (!/branch named .* already exists/.test(result.stderr)) throw refused(args, result);
  await git.must(onto(otherName));
  return otherName;
}

const inTurn = takingTurns();

/**
 * Cleans a used worktree and switches it to a new branch, or detaches its HEAD. The commit to start from is resolved while the old files are being
 * removed. If this throws, the worktree cannot be reused.
 */
export async function renewCheckout(
  git: Git,
  {
    path,
    branch,
    commit,
    keep,
  }: { path: string; branch: NewBranch | null; commit: Promise<string>; keep: KeepPaths },
): Promise<{ readonly base: string; readonly branch: string }> {
  const inside = git.in(path);
  const gitDir = await restoreGitDir(git, path);
  const [touched] = await Promise.all([clear(inside, gitDir, keep), commit.catch(() => "")]);
  for (const file of touched) removeInside(path, file);
  const base = await commit;
  const name = await switchTo(inside, branch, base);
  await updateSubmodules(inside, { isReset: true });
  savePristine(path, gitDir);
  return { base, branch: name };
}

/** Restores the git directory of the worktree, whatever an item changed in it, and returns its path. */
export async function restoreGitDir(git: Git, path: string): Promise<string> {
  const gitDir = await findGitDir(git, path);
  if (!isFinished(gitDir)) throw new RedriveError("git_refused", `The worktree ${path} was never completed.`);
  restorePristine(path, gitDir);
  return gitDir;
}

const ROUNDS_MAX = 5;

/** Removes untracked files, and returns the tracked files that must be restored. */
async function clear(git: Git, gitDir: string, keep: KeepPaths): Promise<string[]> {
  const modes = JSON.parse(readFileSync(join(gitDir, "redrive", "modes.json"), "utf8")) as Modes;
  for (let round = 1; ; round += 1) {
    const [changed, odd] = await Promise.all([
      touchedFiles(git, gitDir),
      findOddModes(git, modes, keep),
      removeUntracked(git, keep),
    ]);
    if (odd.folders.length === 0 || round === ROUNDS_MAX) return [...changed, ...odd.files];
    for (const folder of odd.folders) {
      const path = join(git.cwd, folder); // the removed file may have hidden more entries, so the loop checks again
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) chmodSync(path, modes.folder);
    }
  }
}

/** Finds files and folders with unusual permissions. Git compares only the executable bit. */
async function findOddModes(git: Git, { file, folder }: Modes, keep: KeepPaths) {
  const executable = file | ((file & 0o444) >> 2);
  const not = (...modes: number[]) => modes.flatMap((mode) => ["!", "-perm", mode.toString(8)]);
  const kept = ["./.git", ...keep.findPatterns].flatMap((path) => ["-path", path, "-prune", "-o"]);
  const files = ["-type", "f", ...not(file, executable), "-print0"];
  const folders = ["-type", "d", ...not(folder, folder | 0o2000), "-print0"];
  const { stdout } = await git.find([".", ...kept, ...files, "-o", ...folders]); // entries may disappear in the meantime
  const found = stdout.split("\0").filter(Boolean);
  const isFolder = (path: string) => lstatSync(join(git.cwd, path), { throwIfNoEntry: false })?.isDirectory();
  return { files: found.filter((path) => !isFolder(path)), folders: found.filter(isFolder) };
}

/** Removes a worktree in any state, and its registration in git. */
export async function removeCheckout(git: Git, path: string): Promise<void> {
  removeTree(path);
  const result = await git.ask(["worktree", "remove", "--force", "--force", path]);
  if (result.exitCode !== 0 && !result.stderr.includes("is not a working tree")) {
    throw refused(["worktree remove"], result);
  }
}

/** Removes a folder even if an item made parts of it read-only. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    makeWritable(path);
    rmSync(path, { recursive: true, force: true });
  }
}

/** Reads the path from the worktree's `.git` file, or from git's list when an item removed that file. */
async function findGitDir(git: Git, path: string): Promise<string> {
  const named = tryTo(() => gitDirOf(path));
  if (named !== undefined && existsSync(join(named, "redrive"))) return named;
  const commonDir = await git.must(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const all = join(commonDir, "worktrees");
  const found = readdirSync(all)
    .map((name) => join(all, name))
    .find((gitDir) => {
      const pointer = tryTo(() => readFileSync(join(gitDir, "gitdir"), "utf8").trim());
      return pointer !== undefined && resolve(gitDir, pointer) === join(path, ".git");
    });
  if (found === undefined)
    throw new RedriveError("git_refused", `The worktree ${path} is no longer registered in git.`);
  return found;
}

/** Returns all tracked files that have changed, including those with only a new timestamp. */
async function touchedFiles(git: Git, gitDir: string): Promise<string[]> {
  const list = await git.must(["diff-files", "--name-only", "-z", "--ignore-submodules=all"]);
  const changed = list.split("\0").filter(Boolean);
  if (!existsSync(join(gitDir, "info/sparse-checkout"))) return changed;
  // An item may have created files that the sparse checkout excludes.
  const all = await git.must(["-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files", "-t", "-z"]);
  const hidden = all.split("\0").filter((line) => line.startsWith("S "));
  return [...changed, ...hidden.map((line) => line.slice(2))];
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

/** Never follows a link that leads outside the worktree; git handles such a path itself. */
function removeInside(root: string, file: string): void {
  const path = join(root, file);
  const folder = dirname(path);
  if (!existsSync(folder) || realpathSync(folder) !== join(realpathSync(root), dirname(file))) return;
  rmSync(path, { recursive: true, force: true });
  for (let empty = folder; empty !== root && readdirSync(empty).length === 0; empty = dirname(empty))
    rmdirSync(empty);
}

function makeWritable(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return;
  if ((stat.mode & 0o700) !== 0o700) chmodSync(path, stat.mode | 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) makeWritable(join(path, entry.name));
  }
}

/** Updates only submodules that the user has initialized, because all worktrees share their settings. */
async function updateSubmodules(git: Git, { isReset = false } = {}): Promise<void> {
  if (!existsSync(join(git.cwd, ".gitmodules"))) return;
  await git.must(["submodule", "--quiet", "update", "--recursive", "--force"]);
  const clean = "git reset -q --hard && git clean -ffdxq";
  if (isReset) await git.must(["submodule", "--quiet", "foreach", "--recursive", clean]);
}

/** Entries that are not replaced: git's pointers, the clones of submodules, and the saved state. */
const STAYING = new Set(["HEAD", "commondir", "gitdir", "locked", "modules", "reftable", "redrive"]);
/** Settings that a new worktree may have initially, such as those of a sparse checkout. */
const SETTINGS = ["config.worktree", "info"];

export function gitDirOf(path: string): string {
  const text = readFileSync(join(path, ".git"), "utf8");
  const found = /^gitdir: (.+)\n?$/.exec(text)?.[1];
  if (found === undefined)
    throw new RedriveError("git_refused", `${path} is no longer a worktree: its .git file was changed.`);
  return resolve(path, found);
}

interface Modes {
  readonly file: number;
  readonly folder: number;
}

function savePristine(path: string, gitDir: string): void {
  const folder = join(gitDir, "redrive");
  if (!existsSync(folder)) {
    mkdirSync(folder);
    for (const name of SETTINGS) copyIfThere(join(gitDir, name), join(folder, name));
    const modeOf = (one: string) => lstatSync(one).mode & 0o777;
    const modes: Modes = { file: modeOf(join(path, ".git")), folder: modeOf(path) }; // git has just created both
    writeFileSync(join(folder, "modes.json"), JSON.stringify(modes));
  }
  const draft = join(folder, "index.draft");
  rmSync(draft, { force: true });
  twin(join(gitDir, "index"), draft);
  renameSync(draft, join(folder, "index"));
}

/** False when the checkout was never completed, so that no step has run in it. */
export function isFinished(gitDir: string): boolean {
  return existsSync(join(gitDir, "redrive", "index"));
}

function restorePristine(path: string, gitDir: string): void {
  const folder = join(gitDir, "redrive");
  restorePointer(path, gitDir);
  const staying = existsSync(join(gitDir, "reftable")) ? new Set([...STAYING, "refs"]) : STAYING;
  for (const name of readdirSync(gitDir)) {
    if (!staying.has(name)) rmSync(join(gitDir, name), { recursive: true, force: true });
  }
  twin(join(folder, "index"), join(gitDir, "index"));
  for (const name of SETTINGS) copyIfThere(join(folder, name), join(gitDir, name));
}

/** Rewrites the worktree's `.git` file, which an item may have removed or replaced. */
function restorePointer(path: string, gitDir: string): void {
  const pointer = join(path, ".git");
  const stat = lstatSync(pointer, { throwIfNoEntry: false });
  if (stat?.isFile() && tryTo(() => gitDirOf(path)) === gitDir) return;
  rmSync(pointer, { recursive: true, force: true });
  writeFileSync(pointer, `gitdir: ${gitDir}\n`);
}

/**
 * Copies a file with its timestamp, by which git decides which files to compare. A slightly older timestamp
 * is safe.
 */
function twin(from: string, to: string): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, Math.floor(atimeMs) / 1000, Math.floor(mtimeMs) / 1000);
}

function copyIfThere(from: string, to: string): void {
  if (existsSync(from)) cpSync(from, to, { recursive: true });
}
