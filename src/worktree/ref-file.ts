/**
 * Refs as git's own files, where they are files, which costs no process. Whatever else a repository may have
 * (packed refs, reftable, a ref that points at another one) is answered with null: git itself has to be asked.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?\n?$/;

/** The commit of a loose ref such as `refs/heads/main`. */
export function readLooseRef(commonDir: string, ref: string): string | null {
  const text = read(join(commonDir, ref));
  return text !== null && COMMIT.test(text) ? text.trim() : null;
}

/** The commit that HEAD of a linked worktree is at; `gitDir` is git's folder of that worktree. */
export function readHeadFile(gitDir: string): string | null {
  const text = read(join(gitDir, "HEAD"));
  if (text === null) return null;
  if (COMMIT.test(text)) return text.trim();
  const ref = /^ref: (refs\/heads\/.+)\n?$/.exec(text)?.[1];
  const common = read(join(gitDir, "commondir"));
  return ref === undefined || common === null ? null : readLooseRef(resolve(gitDir, common.trim()), ref);
}

/** Detaches HEAD of a linked worktree at the commit. Only where refs are files, and while no git works there. */
export function writeHeadFile(gitDir: string, commit: string): void {
  const draft = join(gitDir, "HEAD.redrive");
  writeFileSync(draft, `${commit}\n`);
  renameSync(draft, join(gitDir, "HEAD"));
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // not there, or no file
  }
}
