/** Creates or cleans the checkout of one attempt. After `renewCheckout` nothing of the previous item is left but the kept paths. */
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
import { WorkError } from "../errors.ts";
import { tryTo } from "../std/try-to.ts";
import { takingTurns } from "../std/turns.ts";
import { type Git, type GitResult, refused } from "./git.ts";
import type { KeepPaths } from "./names.ts";

/** A branch to be made: the second name is for when an earlier run left one of the first. */
export type NewBranch = readonly [name: string, otherName: string];

export interface NewCheckout {
  readonly path: string;
  readonly commit: string;
  readonly branch: NewBranch | null;
}

/** Makes a worktree: git's books one at a time, the files of several at once. Answers with the branch. */
export async function addCheckout(git: Git, { path, commit, branch }: NewCheckout): Promise<string> {
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

export interface RenewedCheckout {
  readonly path: string;
  readonly branch: NewBranch;
  /** The commit to start from; read while the old files are being removed. */
  readonly commit: Promise<string>;
  readonly keep: KeepPaths;
}

/** Makes a used worktree clean, on a new branch at the commit. Throws when that cannot be done: it is then no good. */
export async function renewCheckout(
  git: Git,
  { path, branch, commit, keep }: RenewedCheckout,
): Promise<{ readonly base: string; readonly branch: string }> {
  const inside = git.in(path);
  const gitDir = await restoreGitDir(git, path);
  const [touched] = await Promise.all([clear(inside, gitDir, keep), commit.catch(() => "")]);
  for (const file of touched) removeInside(path, file);
  const base = await commit;
  const name = await switchTo(inside, branch, base);
  await resetSubmodules(inside);
  savePristine(path, gitDir);
  return { base, branch: name };
}

/** Puts git's folder of the worktree back in order, whatever an item did to it, and answers where it is. */
export async function restoreGitDir(git: Git, path: string): Promise<string> {
  const gitDir = await findGitDir(git, path);
  if (!restorePristine(path, gitDir)) throw new WorkError("git_refused", `${path} was never finished.`);
  return gitDir;
}

const ROUNDS_MAX = 5;

/** Removes what is untracked, and answers which tracked files have to be written anew. */
async function clear(git: Git, gitDir: string, keep: KeepPaths): Promise<string[]> {
  const modes = readModes(gitDir);
  for (let round = 1; ; round += 1) {
    const [changed, odd] = await Promise.all([
      touchedFiles(git, gitDir),
      findOddModes(git, modes, keep),
      removeUntracked(git, keep),
    ]);
    if (odd.folders.length === 0 || round === ROUNDS_MAX) return [...changed, ...odd.files];
    for (const folder of odd.folders) {
      const path = join(git.cwd, folder); // and look again, behind it too
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) chmodSync(path, modes.folder);
    }
  }
}

interface OddModes {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/** Files and folders with unusual permissions. Git compares only one permission bit. */
async function findOddModes(git: Git, { file, folder }: Modes, keep: KeepPaths): Promise<OddModes> {
  const executable = file | ((file & 0o444) >> 2);
  const not = (...modes: number[]) => modes.flatMap((mode) => ["!", "-perm", mode.toString(8)]);
  const kept = ["./.git", ...keep.findPatterns].flatMap((path) => ["-path", path, "-prune", "-o"]);
  const files = ["-type", "f", ...not(file, executable), "-print0"];
  const folders = ["-type", "d", ...not(folder, folder | 0o2000), "-print0"];
  const { stdout } = await git.find([".", ...kept, ...files, "-o", ...folders]); // entries may vanish meanwhile
  const found = stdout.split("\0").filter(Boolean);
  const isFolder = (path: string) => lstatSync(join(git.cwd, path), { throwIfNoEntry: false })?.isDirectory();
  return { files: found.filter((path) => !isFolder(path)), folders: found.filter(isFolder) };
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
    throw new WorkError("git_refused", `git does not know the worktree ${path} any more.`);
  return found;
}

/** Every tracked file that is not as it was, also when only its times are others. */
async function touchedFiles(git: Git, gitDir: string): Promise<string[]> {
  const list = await git.must(["diff-files", "--name-only", "-z", "--ignore-submodules=all"]);
  const hidden = existsSync(join(gitDir, "info/sparse-checkout")) ? await hiddenFiles(git) : [];
  return [...list.split("\0").filter(Boolean), ...hidden];
}

/** What a sparse checkout leaves out. An item may have brought it in. */
async function hiddenFiles(git: Git): Promise<string[]> {
  const list = await git.must(["-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files", "-t", "-z"]);
  return list.split("\0").flatMap((line) => (line.startsWith("S ") ? [line.slice(2)] : []));
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

/** Only those that the user has initialised: their settings are shared by all worktrees. */
async function updateSubmodules(git: Git): Promise<void> {
  if (!existsSync(join(git.cwd, ".gitmodules"))) return;
  await git.must(["submodule", "--quiet", "update", "--recursive", "--force"]);
}

async function resetSubmodules(git: Git): Promise<void> {
  if (!existsSync(join(git.cwd, ".gitmodules"))) return;
  await updateSubmodules(git);
  const clean = "git reset -q --hard && git clean -ffdxq";
  await git.must(["submodule", "--quiet", "foreach", "--recursive", clean]);
}

/** What stays: git's pointers, the clones of submodules, and what is kept here. */
const STAYING = new Set(["HEAD", "commondir", "gitdir", "locked", "modules", "reftable", "redrive"]);
/** Settings that a new worktree may have from the start, as those of a sparse checkout. */
const SETTINGS = ["config.worktree", "info"];

export function gitDirOf(path: string): string {
  const text = readFileSync(join(path, ".git"), "utf8");
  const found = /^gitdir: (.+)\n?$/.exec(text)?.[1];
  if (found === undefined)
    throw new WorkError("git_refused", `${path} is not a worktree any more: its .git was changed.`);
  return resolve(path, found);
}

export interface Modes {
  readonly file: number;
  readonly folder: number;
}

export function savePristine(path: string, gitDir: string): void {
  const place = join(gitDir, "redrive");
  if (!existsSync(place)) {
    mkdirSync(place);
    for (const name of SETTINGS) copyIfThere(join(gitDir, name), join(place, name));
    const modes: Modes = { file: modeOf(join(path, ".git")), folder: modeOf(path) }; // git has just made both
    writeFileSync(join(place, "modes.json"), JSON.stringify(modes));
  }
  const draft = join(place, "index.draft");
  rmSync(draft, { force: true });
  twin(join(gitDir, "index"), draft);
  renameSync(draft, join(place, "index"));
}

function modeOf(path: string): number {
  return lstatSync(path).mode & 0o777;
}

export function readModes(gitDir: string): Modes {
  return JSON.parse(readFileSync(join(gitDir, "redrive", "modes.json"), "utf8")) as Modes;
}

/** False: the checkout was never finished, and no step has worked in it. */
export function isFinished(gitDir: string): boolean {
  return existsSync(join(gitDir, "redrive", "index"));
}

/** Puts git's folder of the worktree back; false when there is nothing to put back from. */
export function restorePristine(path: string, gitDir: string): boolean {
  const place = join(gitDir, "redrive");
  if (!isFinished(gitDir)) return false;
  restorePointer(path, gitDir);
  const staying = existsSync(join(gitDir, "reftable")) ? new Set([...STAYING, "refs"]) : STAYING;
  for (const name of readdirSync(gitDir)) {
    if (!staying.has(name)) rmSync(join(gitDir, name), { recursive: true, force: true });
  }
  twin(join(place, "index"), join(gitDir, "index"));
  for (const name of SETTINGS) copyIfThere(join(place, name), join(gitDir, name));
  return true;
}

/** An item may have removed or replaced the file that says where git's folder is. */
function restorePointer(path: string, gitDir: string): void {
  const pointer = join(path, ".git");
  const stat = lstatSync(pointer, { throwIfNoEntry: false });
  if (stat?.isFile() && tryTo(() => gitDirOf(path)) === gitDir) return;
  rmSync(pointer, { recursive: true, force: true });
  writeFileSync(pointer, `gitdir: ${gitDir}\n`);
}

/** With its time, by which git knows which files it has to look at closely. A little too early is safe. */
function twin(from: string, to: string): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, Math.floor(atimeMs) / 1000, Math.floor(mtimeMs) / 1000);
}

function copyIfThere(from: string, to: string): void {
  if (existsSync(from)) cpSync(from, to, { recursive: true });
}
