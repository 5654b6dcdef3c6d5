/** Merges a commit into a worktree so that steps can resolve the conflicts, and checks that they have. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tryTo } from "../std/try-to.ts";
import { isAncestor } from "./branch.ts";
import { gitDirOf } from "./checkout.ts";
import { type Git, refused } from "./git.ts";
import type { KeepPaths } from "./names.ts";

type Env = Readonly<Record<string, string>>;

/** A merge that stopped with conflicts. Its files contain conflict markers. */
export interface OpenConflict {
  readonly tip: string;
  /** Empty if the merge had no conflicts after all, because the branch has moved. */
  readonly files: readonly string[];
}

/** Merges `tip` without running hooks. Conflicts are left in the files. */
export async function beginMerge(
  git: Git,
  { tip, message, env }: { readonly tip: string; readonly message: string; readonly env: Env },
): Promise<OpenConflict> {
  const args = ["merge", "--no-ff", "--no-edit", "--no-autostash", "-m", message, tip];
  const result = await git.ask(args, { env });
  if (result.exitCode === 0) return { tip, files: [] };
  const unmerged = await git.must(["diff", "--name-only", "--diff-filter=U", "-z"]);
  const files = unmerged.split("\0").filter(Boolean);
  if (files.length === 0) throw refused(args, result);
  return { tip, files };
}

/**
 * Commits the resolved merge with the user's hooks. If something is missing, undoes the merge and returns
 * what it is.
 */
export async function endMerge(
  git: Git,
  { tip, files }: OpenConflict,
  { message, keep, env }: { readonly message: string; readonly keep: KeepPaths; readonly env: Env },
): Promise<string | null> {
  const missing = (await problemOf(git, tip, files)) ?? (await commit(git, { message, keep, env }));
  const problem = missing ?? ((await isAncestor(git, tip, "HEAD")) ? null : "the merge was not completed");
  if (problem !== null) await abortMerge(git);
  return problem;
}

/** Undoes a merge that is not committed yet. Returns false if git cannot. */
export async function abortMerge(git: Git): Promise<boolean> {
  if (!isMerging(git)) return true;
  return (await git.ask(["merge", "--abort"])).exitCode === 0;
}

function isMerging(git: Git): boolean {
  return existsSync(join(gitDirOf(git.cwd), "MERGE_HEAD"));
}

async function problemOf(git: Git, tip: string, files: readonly string[]): Promise<string | null> {
  const marked: string[] = [];
  for (const file of files) {
    const text = tryTo(() => readFileSync(join(git.cwd, file), "utf8")) ?? ""; // a file may have been removed
    const before = await Promise.all(["HEAD", tip].map((at) => git.ask(["show", `${at}:${file}`])));
    const known = Math.max(...before.map(({ exitCode, stdout }) => (exitCode === 0 ? markersIn(stdout) : 0)));
    if (markersIn(text) > known) marked.push(file);
  }
  return marked.length === 0 ? null : `conflict markers are left in ${marked.join(", ")}`;
}

/** Counts the lines that open or close a conflict. A line of equals signs may be a heading. */
function markersIn(text: string): number {
  return text.match(/^(?:<{7}|>{7}|\|{7})(?: |$)/gm)?.length ?? 0;
}

/** Returns null if the merge is committed. An agent may have committed it itself. */
async function commit(
  git: Git,
  { message, keep, env }: { readonly message: string; readonly keep: KeepPaths; readonly env: Env },
): Promise<string | null> {
  const args = ["add", "-A", "--", ...keep.pathspecs];
  const added = await git.ask(args);
  if (added.exitCode !== 0) throw refused(args, added);
  if (!isMerging(git)) return null; // changes after the agent's own commit are committed with the rest
  const result = await git.asUser(["commit", "-q", "-F", "-"], { stdin: message, env });
  if (result.exitCode === 0) return null;
  return `the merge could not be committed: ${result.stderr.trim() || result.stdout.trim()}`;
}
