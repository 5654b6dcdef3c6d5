/**
 * The changed files and new commits of a worktree since a given commit, for `${step.files_changed}` and
 * similar variables.
 */
import type { Git } from "./git.ts";
import type { KeepPaths } from "./names.ts";

export interface Changes {
  readonly files_added: readonly string[];
  readonly files_modified: readonly string[];
  readonly files_deleted: readonly string[];
  readonly files_changed: readonly string[];
  readonly commits: readonly string[];
  readonly commit_count: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** How much differs between two commits. */
export interface Diffstat {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

export async function diffstat(git: Git, from: string, to: string): Promise<Diffstat> {
  const text = await git.must(["diff", "--no-ext-diff", "--no-renames", "--numstat", "-z", from, to]);
  const { lines, insertions, deletions } = sumsOf(text);
  return { files: lines, insertions, deletions };
}

/** Adds up the lines of `--numstat -z`. A binary file has no counts. */
function sumsOf(numstat: string): {
  readonly lines: number;
  readonly insertions: number;
  readonly deletions: number;
} {
  const lines = numstat.split("\0").filter(Boolean);
  const counts = lines.map((line) =>
    line.split("\t").map((count) => (/^\d+$/.test(count) ? Number(count) : 0)),
  );
  const sumOf = (column: number) => counts.reduce((sum, count) => sum + (count[column] ?? 0), 0);
  return { lines: lines.length, insertions: sumOf(0), deletions: sumOf(1) };
}

/**
 * Includes uncommitted changes. Paths are relative to the folder of `git`, and files outside it are ignored.
 */
export async function changesSince(git: Git, commit: string, keep: KeepPaths): Promise<Changes> {
  const files = [".", ...keep.pathspecs.slice(1)];
  const diff = ["diff", "--no-ext-diff", "--no-renames", "--relative", "-z"];
  const [named, counted, untracked, log] = await Promise.all([
    git.must([...diff, "--name-status", commit, "--", ...files]),
    git.must([...diff, "--numstat", commit, "--", ...files]),
    git.must(["ls-files", "--others", "--exclude-standard", "-z", "--", ...files]),
    git.must(["rev-list", "--reverse", `${commit}..HEAD`]),
  ]);
  const states = new Map<string, string>();
  const words = named.split("\0");
  for (let at = 0; at + 1 < words.length; at += 2) states.set(words[at + 1] ?? "", words[at] ?? "");
  for (const path of untracked.split("\0").filter(Boolean)) states.set(path, "A");
  const filesIn = (kinds: string) =>
    [...states]
      .filter(([, state]) => kinds.includes(state))
      .map(([path]) => path)
      .sort();
  const commits = log.split("\n").filter(Boolean);
  const { insertions, deletions } = sumsOf(counted);
  return {
    files_added: filesIn("A"),
    files_modified: filesIn("MTU"),
    files_deleted: filesIn("D"),
    files_changed: filesIn("AMTUD"),
    commits,
    commit_count: commits.length,
    insertions,
    deletions,
  };
}
