/** What an attempt changed in its worktree, as patches for a capsule, and the state of the repository that the job ran in. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Capsule, CapsuleChanges, CapsuleContent } from "../dead-letter/capsule.ts";
import { isFromElsewhere, NOT_READ } from "../item/imported-letter.ts";
import type { Attempt } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Letter } from "../item/letter.ts";
import { Git } from "../worktree/git.ts";
import { jobBranch } from "../worktree/names.ts";
import { contentOf } from "./capsule-files.ts";
import type { CapsuleMask } from "./capsule-mask.ts";

export interface FoundChanges {
  readonly changes: CapsuleChanges | null;
  readonly missing: readonly string[];
}

/**
 * A letter without a worktree has no changes. One whose worktree is gone, or unreadable, says so. Git is not run in a
 * folder that an imported letter names: the folder's settings could make it run programs.
 */
export async function readChanges(
  letter: Letter,
  attempts: readonly Attempt[],
  mask: CapsuleMask,
): Promise<FoundChanges> {
  const artifacts = letter.worktreeArtifacts;
  if (artifacts === undefined) return { changes: null, missing: [] };
  const { worktreePath, branchName } = artifacts;
  const bare = {
    worktree_path: worktreePath,
    branch_name: branchName,
    base: null,
    head: artifacts.head ?? null,
  };
  if (isNamedElsewhere(attempts)) return { changes: bare, missing: [`${worktreePath} ${NOT_READ}.`] };
  if (!existsSync(worktreePath)) {
    return { changes: bare, missing: [`The worktree ${worktreePath} is gone.`] };
  }
  const scratch = await mkdtemp(join(tmpdir(), "redrive-capsule-"));
  try {
    return {
      changes: { ...bare, ...(await readPatches(letter, worktreePath, { scratch, mask })) },
      missing: [],
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { changes: bare, missing: [`The changes in ${worktreePath} could not be read: ${reason}`] };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The letter has the worktree of its last failure. */
function isNamedElsewhere(attempts: readonly Attempt[]): boolean {
  const last = attempts.findLast(({ failure }) => failure !== undefined) ?? attempts.at(-1);
  return last === undefined || isFromElsewhere(last);
}

interface Desk {
  /** Patches are written here first: they are bytes, and git's answers are read as text. */
  readonly scratch: string;
  readonly mask: CapsuleMask;
}

async function readPatches(
  letter: Letter,
  worktree: string,
  { scratch, mask }: Desk,
): Promise<Partial<CapsuleChanges>> {
  const git = new Git(worktree);
  const head = await git.must(["rev-parse", "HEAD"]);
  const base = await commonBase(git, letter.jobId);
  const commits = await readCommits(git, { base, path: join(scratch, "commits") });
  const uncommitted = Buffer.concat([
    await readTracked(git, join(scratch, "tracked")),
    ...(await readNew(git, join(scratch, "new"))),
  ]);
  return {
    base,
    head,
    ...(commits.length > 0 && { commits: patchOf(commits, mask) }),
    ...(uncommitted.length > 0 && { uncommitted: patchOf(uncommitted, mask) }),
  };
}

/** Where the agent's work parts from the job's; null when the job's branch is gone. */
async function commonBase(git: Git, jobId: string): Promise<string | null> {
  const { exitCode, stdout } = await git.ask(["merge-base", "HEAD", `refs/heads/${jobBranch(jobId)}`]);
  return exitCode === 0 ? stdout.trim() : null;
}

async function readCommits(git: Git, { base, path }: { base: string | null; path: string }): Promise<Buffer> {
  if (base === null) return Buffer.alloc(0);
  await git.must(["format-patch", ...PLAIN, `--output=${path}`, `${base}..HEAD`]);
  return readIfThere(path);
}

/** Settings of the user must not change what a patch looks like. */
const PLAIN = [
  ...["--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"],
  ...["--src-prefix=a/", "--dst-prefix=b/"],
];

async function readTracked(git: Git, path: string): Promise<Buffer> {
  await git.must(["diff", ...PLAIN, `--output=${path}`, "HEAD"]);
  return readIfThere(path);
}

/** Git's index stays as it is, so each new file is compared with nothing. */
async function readNew(git: Git, path: string): Promise<readonly Buffer[]> {
  const names = (await git.must(["ls-files", "--others", "--exclude-standard", "-z"]))
    .split("\0")
    .filter(Boolean);
  const patches: Buffer[] = [];
  for (const name of names) {
    // It answers 1 when there is a difference, which there always is.
    await git.ask(["diff", ...PLAIN, `--output=${path}`, "--no-index", "--", "/dev/null", name]);
    patches.push(await readIfThere(path));
  }
  return patches;
}

async function readIfThere(path: string): Promise<Buffer> {
  return existsSync(path) ? readFile(path) : Buffer.alloc(0);
}

const PATCH_BYTES_MAX = 64 * 1024 * 1024;

/** A part of a patch cannot be applied: one that is too large is left out as a whole. */
function patchOf(patch: Buffer, mask: CapsuleMask): CapsuleContent {
  if (patch.length > PATCH_BYTES_MAX) return contentOf(Buffer.alloc(0), patch.length, patch.length);
  return contentOf(mask.bytes(patch), patch.length, 0);
}

/** Of the folder that the job ran in. Null without a repository, or without git. */
export async function readGitState({ spec }: Job): Promise<Capsule["git"]> {
  if (typeof spec.cwd !== "string" || !existsSync(spec.cwd)) return null;
  const git = new Git(spec.cwd);
  try {
    const [top = "", head = ""] = (await git.must(["rev-parse", "--show-toplevel", "HEAD"])).split("\n");
    const branch = (await git.ask(["symbolic-ref", "--short", "-q", "HEAD"])).stdout.trim();
    return { top, head, branch: branch === "" ? null : branch };
  } catch {
    return null; // it is in no repository, which is no fault
  }
}
