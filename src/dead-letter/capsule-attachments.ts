/** Collects the files of a capsule: logs, agents' logs, evidence, and patches of the worktree. */

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isFromElsewhere, NOT_READ } from "../item/imported-letter.ts";
import type { Attempt } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Letter } from "../item/letter.ts";
import { withFile } from "../std/files.ts";
import { compact } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";
import { Git } from "../workspace/git.ts";
import { jobBranch } from "../workspace/names.ts";
import type { Capsule, CapsuleChanges, CapsuleContent, CapsuleFile } from "./capsule.ts";
import type { CapsuleMask } from "./make-capsule.ts";

/** The data that was read, and one sentence for each part that could not be read. */
type Found<T> = { readonly found: T; readonly missing: readonly string[] };

/** A larger file is shortened: the first and the last half of this size are kept. */
const FILE_BYTES_MAX = 2 * 1024 * 1024;
const ALL_BYTES_MAX = 32 * 1024 * 1024;

/** Reads the newest attempts first, so that old ones are omitted when the limit is reached. */
export async function readFiles(
  attempts: readonly Attempt[],
  mask: CapsuleMask,
): Promise<Found<readonly CapsuleFile[]>> {
  const files: CapsuleFile[] = [];
  const missing = attempts
    .filter(isFromElsewhere)
    .flatMap(locationsOf)
    .map(({ path }) => `${path} ${NOT_READ}.`);
  const locations = attempts
    .filter((attempt) => !isFromElsewhere(attempt))
    .toReversed()
    .flatMap(locationsOf);
  let bytes = 0;
  for (const { from, ...location } of locations) {
    if (bytes >= ALL_BYTES_MAX) {
      missing.push(`${location.path} was omitted: the capsule has reached its size limit.`);
      continue;
    }
    try {
      const content = await readCapped(from ?? location.path, mask);
      bytes += content.bytes - content.dropped_bytes;
      files.push({ ...location, ...content });
    } catch (error) {
      const what = `${basename(location.path)} of attempt ${location.attempt_number}`;
      missing.push(`${location.path} (${what}): ${messageOf(error)}`);
    }
  }
  return { found: files.toReversed(), missing };
}

type FileLocation = Pick<CapsuleFile, "kind" | "attempt_number" | "path"> & { readonly from?: string };

function locationsOf({ number: attempt_number, log, failure }: Attempt): readonly FileLocation[] {
  const evidence = (failure?.evidence ?? []).map(({ path, kept }) => {
    return compact({ kind: "evidence" as const, attempt_number, path, from: kept });
  });
  const logs = [
    { kind: "json_log", path: failure?.jsonLogLocation },
    { kind: "log", path: log ?? failure?.log },
  ] as const;
  return [
    ...evidence,
    ...logs.flatMap(({ kind, path }) => (path === undefined ? [] : [{ kind, attempt_number, path }])),
  ];
}

/** Never reads more than the limit into memory. */
async function readCapped(path: string, mask: CapsuleMask): Promise<CapsuleContent> {
  return withFile(path, "r", async (handle) => {
    const { size } = await handle.stat();
    const part = async (start: number, length: number) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start);
      return mask.bytes(buffer.subarray(0, bytesRead));
    };
    if (size <= FILE_BYTES_MAX) return contentOf(await part(0, size), size, 0);
    const half = FILE_BYTES_MAX / 2;
    const dropped = size - FILE_BYTES_MAX;
    const note = Buffer.from(`\n[... ${dropped} bytes are not in this capsule ...]\n`);
    return contentOf(
      Buffer.concat([await part(0, half), note, await part(size - half, half)]),
      size,
      dropped,
    );
  });
}

/** Stores the content as text if it is valid UTF-8. */
export function contentOf(content: Buffer, bytes: number, droppedBytes: number): CapsuleContent {
  const text = content.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(content);
  return {
    encoding: isText ? "utf8" : "base64",
    content: isText ? text : content.toString("base64"),
    bytes,
    dropped_bytes: droppedBytes,
  };
}

/** Never runs git in a folder that an imported letter names: its git configuration could run programs. */
export async function readChanges(
  letter: Letter,
  attempts: readonly Attempt[],
  mask: CapsuleMask,
): Promise<Found<CapsuleChanges | null>> {
  if (letter.worktreeArtifacts === undefined) return { found: null, missing: [] };
  const { worktreePath, branchName, head = null } = letter.worktreeArtifacts;
  const bare = { worktree_path: worktreePath, branch_name: branchName, base: null, head };
  if (isNamedElsewhere(attempts)) return { found: bare, missing: [`${worktreePath} ${NOT_READ}.`] };
  if (!existsSync(worktreePath))
    return { found: bare, missing: [`The worktree ${worktreePath} no longer exists.`] };
  const scratch = await mkdtemp(join(tmpdir(), "redrive-capsule-"));
  try {
    const patches = await readPatches(letter, worktreePath, { scratch, mask });
    return { found: { ...bare, ...patches }, missing: [] };
  } catch (error) {
    const problem = `The changes in ${worktreePath} could not be read: ${messageOf(error)}`;
    return { found: bare, missing: [problem] };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function isNamedElsewhere(attempts: readonly Attempt[]): boolean {
  const last = attempts.findLast(({ failure }) => failure !== undefined) ?? attempts.at(-1);
  return last === undefined || isFromElsewhere(last);
}

/** `scratch` is a folder for patches, because they may be binary and git's standard output is read as text. */
async function readPatches(
  letter: Letter,
  worktree: string,
  { scratch, mask }: { scratch: string; mask: CapsuleMask },
): Promise<Partial<CapsuleChanges>> {
  const git = new Git(worktree);
  const head = await git.must(["rev-parse", "HEAD"]);
  const base = await commonBase(git, letter.jobId);
  const write = async (path: string, command: string, range: string) => {
    await git.must([command, ...PLAIN, `--output=${path}`, range]);
    return readIfThere(path);
  };
  const commits =
    base === null ? Buffer.alloc(0) : await write(join(scratch, "commits"), "format-patch", `${base}..HEAD`);
  const uncommitted = Buffer.concat([
    await write(join(scratch, "tracked"), "diff", "HEAD"),
    ...(await readNew(git, join(scratch, "new"))),
  ]);
  return {
    base,
    head,
    ...(commits.length > 0 && { commits: patchOf(commits, mask) }),
    ...(uncommitted.length > 0 && { uncommitted: patchOf(uncommitted, mask) }),
  };
}

/**
 * The commit at which the agent's branch left the job's branch. If the job's branch was merged and removed,
 * it is the commit at which the agent's branch left the branch that is checked out; null if they have no
 * common history.
 */
async function commonBase(git: Git, jobId: string): Promise<string | null> {
  const worktrees = (await git.ask(["worktree", "list", "--porcelain"])).stdout;
  const main = /^HEAD ([0-9a-f]+)$/m.exec(worktrees)?.[1];
  for (const other of [`refs/heads/${jobBranch(jobId)}`, main]) {
    if (other === undefined) continue;
    const { exitCode, stdout } = await git.ask(["merge-base", "HEAD", other]);
    if (exitCode === 0) return stdout.trim();
  }
  return null;
}

/** Overrides user settings that would change the format of a patch. */
const PLAIN = [
  ...["--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"],
  ...["--src-prefix=a/", "--dst-prefix=b/"],
];

/** Compares each new file with `/dev/null`, so that git's index stays unchanged. */
async function readNew(git: Git, path: string): Promise<readonly Buffer[]> {
  const names = (await git.must(["ls-files", "--others", "--exclude-standard", "-z"]))
    .split("\0")
    .filter(Boolean);
  const patches: Buffer[] = [];
  for (const name of names) {
    // The exit code is 1, because the files differ.
    await git.ask(["diff", ...PLAIN, `--output=${path}`, "--no-index", "--", "/dev/null", name]);
    patches.push(await readIfThere(path));
  }
  return patches;
}

async function readIfThere(path: string): Promise<Buffer> {
  return existsSync(path) ? readFile(path) : Buffer.alloc(0);
}

const PATCH_BYTES_MAX = 64 * 1024 * 1024;

/** Omits a patch that is too large, because a partial patch cannot be applied. */
function patchOf(patch: Buffer, mask: CapsuleMask): CapsuleContent {
  if (patch.length > PATCH_BYTES_MAX) return contentOf(Buffer.alloc(0), patch.length, patch.length);
  return contentOf(mask.bytes(patch), patch.length, 0);
}

/**
 * Reads the git state of the job's working directory. Returns null if there is no repository or git is not
 * installed.
 */
export async function readGitState({ spec }: Job): Promise<Capsule["git"]> {
  if (typeof spec.cwd !== "string" || !existsSync(spec.cwd)) return null;
  const git = new Git(spec.cwd);
  try {
    const [top = "", head = ""] = (await git.must(["rev-parse", "--show-toplevel", "HEAD"])).split("\n");
    const branch = (await git.ask(["symbolic-ref", "--short", "-q", "HEAD"])).stdout.trim();
    return { top, head, branch: branch === "" ? null : branch };
  } catch {
    return null; // the folder is not in a repository
  }
}
