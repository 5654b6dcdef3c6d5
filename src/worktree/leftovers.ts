/** What is in a worktree when its agent has ended: where HEAD is, and what was changed and not committed. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { WorktreeArtifacts } from "../item/letter.ts";
import { type Git, refused } from "./git.ts";
import type { KeepPaths } from "./names.ts";
import { gitDirOf } from "./pristine.ts";
import { readHeadFile } from "./ref-file.ts";

const CHANGES_CHARACTERS_MAX = 8000;

export async function readHead(git: Git): Promise<string> {
  return headFromFile(git.cwd) ?? git.must(["rev-parse", "--verify", "HEAD^{commit}"]);
}

function headFromFile(path: string): string | null {
  try {
    return readHeadFile(gitDirOf(path));
  } catch {
    return null; // no linked worktree
  }
}

/** One line for each changed or new file; ignored files and kept paths are not among them. Empty: nothing to commit. */
export async function changesIn(git: Git, keep: KeepPaths): Promise<string> {
  return git.must(["status", "--short", "--untracked-files=normal", "--", ...keep.pathspecs]);
}

/** For the letter. Nothing here fails: an agent can leave a worktree that git cannot read. */
export async function artifactsOf(git: Git, branch: string, keep: KeepPaths): Promise<WorktreeArtifacts> {
  const [head, changes] = await Promise.all([
    readHead(git).catch(() => null),
    changesIn(git, keep).catch((error: Error) => error.message),
  ]);
  const stat = hasTracked(changes) ? await statOf(git, keep) : "";
  const text = [changes, stat].filter(Boolean).join("\n\n");
  return {
    worktreePath: git.cwd,
    branchName: branch,
    ...(head !== null && { head }),
    ...(text !== "" && { uncommittedChanges: cut(text) }),
  };
}

/** Whether there is more than new files. */
function hasTracked(changes: string): boolean {
  return changes.split("\n").some((line) => line !== "" && !line.startsWith("??"));
}

function statOf(git: Git, keep: KeepPaths): Promise<string> {
  return git.must(["diff", "--stat", "--no-ext-diff", "HEAD", "--", ...keep.pathspecs]).catch(() => "");
}

function cut(text: string): string {
  if (text.length <= CHANGES_CHARACTERS_MAX) return text;
  return `${text.slice(0, CHANGES_CHARACTERS_MAX)}\n… ${text.length - CHANGES_CHARACTERS_MAX} more characters`;
}

export type Committed =
  | { readonly kind: "committed"; readonly head: string }
  | { readonly kind: "nothing" }
  /** A hook or a setting of the user said no; everything is still there, uncommitted. */
  | { readonly kind: "refused"; readonly detail: string };

export interface CommitAll {
  readonly message: string;
  readonly keep: KeepPaths;
  readonly env: Readonly<Record<string, string>>;
}

/** Commits what the agent left, as the user would: hooks run. */
export async function commitAll(git: Git, { message, keep, env }: CommitAll): Promise<Committed> {
  rmSync(join(gitDirOf(git.cwd), "index.lock"), { force: true }); // its process has ended with the agent
  if ((await changesIn(git, keep)) === "") return { kind: "nothing" };
  const added = await git.ask(["add", "-A", "--", ...keep.pathspecs]);
  if (added.exitCode !== 0) throw refused(["add"], added);
  const result = await git.asUser(["commit", "-q", "-F", "-"], { stdin: message, env });
  if (result.exitCode === 0) return { kind: "committed", head: await readHead(git) };
  if ((await git.ask(["diff", "--cached", "--quiet"])).exitCode === 0) return { kind: "nothing" };
  return { kind: "refused", detail: result.stderr.trim() || result.stdout.trim() };
}
