/** Builds names that git accepts and that are unique: branches, item keys, repositories, and patterns of kept paths. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import { toBase32 } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";

export function jobBranch(jobId: string): string {
  return `redrive/${refPart(jobId)}`;
}

/** The ref folder of a job's agents. It cannot be below `redrive/<job>`, because that is a branch. */
export function agentBranches(jobId: string): string {
  return `redrive-agent/${refPart(jobId)}`;
}

/** The branch of one attempt. After a crash, `tag` distinguishes a second run of the same attempt. */
export function agentBranch(jobId: string, itemId: string, attempt: number, tag = ""): string {
  return `${agentBranches(jobId)}/${itemKey(itemId)}-${attempt}${tag && `-${tag}`}`;
}

/** The ref folder of the branches that `merge.strategy: branch-per-item` leaves. Redrive never removes them. */
export function itemBranches(jobId: string): string {
  return `redrive-items/${refPart(jobId)}`;
}

/**
 * The branch with the work of an item. If the item's name is not its id, the hash at the end identifies the
 * item.
 */
export function itemBranch(jobId: string, itemId: string, name = itemId): string {
  const slug = slugOf(name);
  const key = name === itemId || slug === "" ? itemKey(itemId) : `${slug}.${hashOf(itemId)}`;
  return `${itemBranches(jobId)}/${key}`;
}

/** Returns the part of a branch name that identifies the item, regardless of its display name. */
export function itemMark(branch: string): string {
  const key = branch.slice(branch.lastIndexOf("/") + 1);
  return key.slice(key.lastIndexOf(".") + 1);
}

/** All identifying parts that the branch of an item may have. */
export function itemMarks(itemId: string): readonly string[] {
  return [itemMark(itemKey(itemId)), hashOf(itemId)];
}

const KEY_CHARACTERS_MAX = 40;
const HASH_CHARACTERS = 10;

/** Converts an item id to a short, readable name that is unique even on case-insensitive file systems. */
export function itemKey(itemId: string): string {
  const slug = slugOf(itemId);
  return slug === itemId && slug !== "" ? slug : `${slug || "item"}.${hashOf(itemId)}`;
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .slice(0, KEY_CHARACTERS_MAX)
    .replace(/^-+|-+$/g, "");
}

export function hashOf(text: string): string {
  return toBase32(createHash("sha256").update(text).digest()).slice(0, HASH_CHARACTERS);
}

/** Keeps letters, digits, `-`, `_` and inner dots; encodes every other byte as `%XX`. */
function refPart(text: string): string {
  if (text === "") throw new RedriveError("usage", "A job without an id cannot have a branch.");
  return text.replace(/^[.-]|\.(?=\.|$|lock$)|[^A-Za-z0-9._-]/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

/**
 * Paths that are preserved between items, relative to the top of the worktree. `*` matches part of a name.
 */
export interface KeepPaths {
  readonly cleanArgs: readonly string[];
  /** Patterns for `find` with the start folder `.`. */
  readonly findPatterns: readonly string[];
  /** Pathspecs for everything else, for `status`, `add` and `diff`. */
  readonly pathspecs: readonly string[];
}

/** Throws for paths that are not inside the worktree. */
export function keepPaths(paths: readonly string[]): KeepPaths {
  const clean = paths.map(checkedPath);
  return {
    cleanArgs: clean.flatMap((path) => ["-e", `/${path}`]),
    findPatterns: clean.map((path) => `./${path}`),
    pathspecs: [
      ":/",
      ...clean.flatMap((path) => [`:(top,exclude,glob)${path}`, `:(top,exclude,glob)${path}/**`]),
    ],
  };
}

function checkedPath(path: string): string {
  const trimmed = path.replace(/^(\.?\/)+|\/+$/g, "");
  const parts = trimmed.split("/");
  const isInside = parts.every((part) => !["", ".", "..", ".git"].includes(part)) && !/[\0\n]/.test(trimmed);
  if (!path.startsWith("/") && isInside) return trimmed;
  throw new RedriveError("usage", `keep: "${path}" is not a path inside the worktree.`, {
    hint: "Give a path relative to the repository root, for example node_modules or packages/*/node_modules.",
  });
}

/** Returns the repository name of a checkout. `top` is its top folder. */
export function repositoryNameOf(top: string): string {
  const commonDir = linkedCommonDir(top);
  if (commonDir === null) return basename(top) || "root";
  const name = basename(commonDir);
  return name === ".git" ? basename(dirname(commonDir)) || "root" : name.replace(/\.git$/, "");
}

/** Returns the git directory that a linked worktree shares with its repository; null for any other checkout. */
function linkedCommonDir(top: string): string | null {
  const read = (path: string) => tryTo(() => readFileSync(path, "utf8")) ?? null; // `.git` is a folder in most checkouts
  const gitDir = /^gitdir: (.+)$/m.exec(read(resolve(top, ".git")) ?? "")?.[1];
  if (gitDir === undefined) return null;
  const folder = resolve(top, gitDir.trim());
  const shared = read(resolve(folder, "commondir")); // a submodule has no commondir
  return shared === null ? null : resolve(folder, shared.trim());
}
