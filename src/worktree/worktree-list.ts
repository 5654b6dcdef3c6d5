/** The worktrees that git knows, the user's too. */
import type { Git } from "./git.ts";

export interface GitWorktree {
  readonly path: string;
  /** Null when git cannot tell. */
  readonly head: string | null;
  /** The full ref; null when HEAD is detached. */
  readonly branch: string | null;
  /** Its folder is gone. */
  readonly isMissing: boolean;
}

export async function listGitWorktrees(git: Git): Promise<GitWorktree[]> {
  const text = await git.must(["worktree", "list", "--porcelain", "-z"]);
  return text
    .split("\0\0")
    .filter(Boolean)
    .map((block) => {
      const fields = new Map(block.split("\0").map((line) => splitOnce(line)));
      return {
        path: fields.get("worktree") ?? "",
        head: fields.get("HEAD") ?? null,
        branch: fields.get("branch") ?? null,
        isMissing: fields.has("prunable"),
      };
    });
}

function splitOnce(line: string): [string, string] {
  const space = line.indexOf(" ");
  return space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
}
