/** Merging two commits without a checkout. Nothing but objects is written, so a crash in between changes nothing. */
import { type Git, refused } from "./git.ts";

export type MergedTree =
  | { readonly kind: "clean"; readonly tree: string }
  | {
      readonly kind: "conflict";
      readonly files: readonly string[];
      /** Git's own words, a line each. */
      readonly detail: string;
    };

/** The tree of `ours` and `theirs` together, or the files in which they contradict. */
export async function mergeTrees(git: Git, ours: string, theirs: string): Promise<MergedTree> {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs];
  const result = await git.ask(args);
  const [tree = "", ...rest] = result.stdout.split("\0");
  if (result.exitCode === 0) return { kind: "clean", tree };
  if (result.exitCode !== 1 || tree === "") throw refused(args, result);
  const end = rest.indexOf("");
  return { kind: "conflict", files: rest.slice(0, end), detail: messagesOf(rest.slice(end + 1)) };
}

/** Each message is: a count, that many paths, a short type, the text. Those about conflicts are wanted. */
function messagesOf(fields: readonly string[]): string {
  const texts: string[] = [];
  for (let at = 0; at < fields.length - 1; ) {
    const paths = Number(fields[at]);
    const [type = "", text = ""] = fields.slice(at + 1 + paths);
    if (type.startsWith("CONFLICT")) texts.push(text.trim());
    at += paths + 3;
  }
  return texts.join("\n");
}

export interface MergeCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Writes the commit; no branch points at it yet. */
export async function commitTree(git: Git, { tree, parents, message, env }: MergeCommit): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
  return git.must(args, { stdin: message.replaceAll("\0", ""), env });
}

export async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", older, newer];
  const result = await git.ask(args);
  if (result.exitCode === 0 || result.exitCode === 1) return result.exitCode === 0;
  throw refused(args, result);
}
