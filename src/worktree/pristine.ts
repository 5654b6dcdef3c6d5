/**
 * What a clean checkout looked like, kept in git's own folder of the worktree (`.git/worktrees/{name}/redrive/`): its index,
 * whose recorded times show every file that was touched since, its settings, and the folders it had. Putting it back undoes
 * whatever an item did to that folder: locks, half-done merges and rebases, index flags, settings, logs, refs of its own.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { WorkError } from "../errors.ts";

/** What stays: git's pointers, the clones of submodules, and what is kept here. */
const STAYING = new Set(["HEAD", "commondir", "gitdir", "locked", "modules", "reftable", "redrive"]);
/** Settings that a new worktree may have from the start, as those of a sparse checkout. */
const SETTINGS = ["config.worktree", "info"];

/** Git's folder of a linked worktree, from the file `.git` in it. */
export function gitDirOf(path: string): string {
  const text = readFileSync(join(path, ".git"), "utf8");
  const found = /^gitdir: (.+)\n?$/.exec(text)?.[1];
  if (found === undefined) throw new WorkError("git_refused", `${path} is not a worktree any more: its .git was changed.`);
  return resolve(path, found);
}

/** Remembers the checkout as it is now: clean. `folders` are those of its commit, parents first. */
export function savePristine(gitDir: string, folders: readonly string[]): void {
  const place = join(gitDir, "redrive");
  if (!existsSync(place)) {
    mkdirSync(place);
    for (const name of SETTINGS) copyIfThere(join(gitDir, name), join(place, name));
  }
  replace(join(place, "folders"), (draft) => writeFileSync(draft, folders.join("\0")));
  replace(join(place, "index"), (draft) => twin(join(gitDir, "index"), draft));
}

/** Puts git's folder of the worktree back; false when there is nothing to put back from. */
export function restorePristine(path: string, gitDir: string): boolean {
  const place = join(gitDir, "redrive");
  if (!existsSync(join(place, "index"))) return false;
  restorePointer(path, gitDir);
  const staying = existsSync(join(gitDir, "reftable")) ? new Set([...STAYING, "refs"]) : STAYING;
  for (const name of readdirSync(gitDir)) {
    if (!staying.has(name)) rmSync(join(gitDir, name), { recursive: true, force: true });
  }
  twin(join(place, "index"), join(gitDir, "index"));
  for (const name of SETTINGS) copyIfThere(join(place, name), join(gitDir, name));
  restoreFolders(path, readFileSync(join(place, "folders"), "utf8").split("\0").filter(Boolean));
  return true;
}

/** An item may have removed or replaced the file that says where git's folder is. */
function restorePointer(path: string, gitDir: string): void {
  const pointer = join(path, ".git");
  const stat = lstatSync(pointer, { throwIfNoEntry: false });
  if (stat?.isFile() && pointerLeadsTo(path, gitDir)) return;
  rmSync(pointer, { recursive: true, force: true });
  writeFileSync(pointer, `gitdir: ${gitDir}\n`);
}

function pointerLeadsTo(path: string, gitDir: string): boolean {
  try {
    return gitDirOf(path) === gitDir;
  } catch {
    return false;
  }
}

/** Tracked folders are folders again, not links that lead elsewhere, and have the mode of a new one. */
function restoreFolders(path: string, folders: readonly string[]): void {
  const mode = 0o777 & ~process.umask();
  for (const folder of ["", ...folders]) {
    const place = join(path, folder);
    const stat = lstatSync(place, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isDirectory()) rmSync(place, { force: true });
    else if ((stat.mode & 0o777) !== mode) chmodSync(place, mode);
  }
}

/** A hard link where there can be one: git replaces its index and never writes into it. */
function twin(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    const { atimeMs, mtimeMs } = statSync(from);
    copyFileSync(from, to);
    utimesSync(to, Math.floor(atimeMs / 1000), Math.floor(mtimeMs / 1000)); // too early is safe: git looks closer
  }
}

function replace(path: string, write: (draft: string) => void): void {
  const draft = `${path}.draft`;
  rmSync(draft, { force: true });
  write(draft);
  renameSync(draft, path);
}

function copyIfThere(from: string, to: string): void {
  if (existsSync(from)) cpSync(from, to, { recursive: true });
}
