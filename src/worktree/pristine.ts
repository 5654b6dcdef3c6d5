/**
 * What a clean checkout looked like, kept in git's own folder of the worktree (`.git/worktrees/{name}/redrive/`): its index,
 * whose recorded times show the files that were touched since, its settings, and the modes of its files. Putting it back undoes
 * whatever an item did to that folder: locks, half-done merges and rebases, index flags, settings, logs, refs of its own.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
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
  if (found === undefined)
    throw new WorkError("git_refused", `${path} is not a worktree any more: its .git was changed.`);
  return resolve(path, found);
}

/** The permissions that new files and folders got here. */
export interface Modes {
  readonly file: number;
  readonly folder: number;
}

/** Remembers the checkout as it is now: clean. */
export function savePristine(path: string, gitDir: string): void {
  const place = join(gitDir, "redrive");
  if (!existsSync(place)) {
    mkdirSync(place);
    for (const name of SETTINGS) copyIfThere(join(gitDir, name), join(place, name));
    const modes: Modes = { file: modeOf(join(path, ".git")), folder: modeOf(path) }; // git has just made both
    writeFileSync(join(place, "modes.json"), JSON.stringify(modes));
  }
  replace(join(place, "index"), (draft) => twin(join(gitDir, "index"), draft));
}

function modeOf(path: string): number {
  return lstatSync(path).mode & 0o777;
}

/** The modes of a clean checkout. */
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

/** With its time, by which git knows which files it has to look at closely. A little too early is safe. */
function twin(from: string, to: string): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, Math.floor(atimeMs) / 1000, Math.floor(mtimeMs) / 1000);
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
