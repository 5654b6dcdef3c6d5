/** The name of a repository, for folders and people: that of its main checkout, also in a linked worktree. */
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";

/** `top` is the top folder of a checkout. */
export function repositoryNameOf(top: string): string {
  const commonDir = linkedCommonDir(top);
  if (commonDir === null) return basename(top) || "root";
  const name = basename(commonDir);
  return name === ".git" ? basename(dirname(commonDir)) || "root" : name.replace(/\.git$/, "");
}

/** The folder that a linked worktree shares with its repository; null for every other kind of checkout. */
function linkedCommonDir(top: string): string | null {
  const gitDir = /^gitdir: (.+)$/m.exec(textOf(resolve(top, ".git")) ?? "")?.[1];
  if (gitDir === undefined) return null;
  const folder = resolve(top, gitDir.trim());
  const shared = textOf(resolve(folder, "commondir")); // a submodule has none
  return shared === null ? null : resolve(folder, shared.trim());
}

/** Null when it is no file that can be read: `.git` is a folder in most checkouts. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
