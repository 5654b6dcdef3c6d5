/** Writes files atomically, by a flushed temporary file and a rename. Also creates folders and sets permissions. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, opendir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { processStart, thisHost } from "./process-identity.ts";
import { randomName } from "./random.ts";

export type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

export interface WriteOptions {
  /** Whether to flush the folder too, so that the name survives a power failure. Default true; false for derived files. */
  readonly syncFolder?: boolean;
  /** The file permissions. Default 0600, because files may contain item data. */
  readonly mode?: number;
}

/** Writes a file in an existing folder. On failure the file is unchanged and no temporary file is left. */
export async function writeAtomically(
  path: string,
  content: FileContent,
  { syncFolder = true, mode = PRIVATE_FILE }: WriteOptions = {},
): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `${DRAFT}${hostHash()}-${process.pid}-${randomName(8)}`);
  try {
    await writeDraft(draft, content, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  if (syncFolder) await withFile(folder, "r", (handle) => handle.sync());
}

/**
 * Replaces a file in an existing folder without flushing it, so a power failure may lose its content. A tenth of the cost of
 * `writeAtomically`, for many small derived files.
 */
export function replaceUnflushed(path: string, content: string | Uint8Array): void {
  draftName ??= `${DRAFT}${hostHash()}-${process.pid}-${randomName(8)}`;
  const draft = join(dirname(path), draftName);
  try {
    const file = openSync(draft, "w", PRIVATE_FILE);
    try {
      fchmodSync(file, PRIVATE_FILE); // the umask may have removed permissions of the owner
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** One for the process, because nothing else runs between its creation and the rename. */
let draftName: string | undefined;

/** Writes a file atomically, but a device or pipe such as /dev/stdout directly, because a rename would replace it. */
export async function writeOut(path: string, content: FileContent): Promise<void> {
  const there = await stat(path).catch(() => null); // the write reports errors
  if (there === null || there.isFile() || there.isDirectory()) return writeAtomically(path, content);
  await withFile(path, "w", (handle) => writePieces(handle, content));
}

export async function removeStaleDrafts(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    if (!name.startsWith(DRAFT)) continue;
    const path = join(folder, name);
    if (await isStale(path, name)) await rm(path, { force: true });
  }
}

/** Short, so that a file with a long name can still have a temporary file. */
const DRAFT = ".draft-";

function writeDraft(draft: string, content: FileContent, mode: number): Promise<void> {
  return withFile(draft, "wx", async (handle) => {
    await handle.chmod(mode);
    await writePieces(handle, content);
    await handle.sync();
  });
}

async function writePieces(handle: FileHandle, content: FileContent): Promise<void> {
  if (typeof content === "string" || content instanceof Uint8Array) await handle.writeFile(content);
  else for await (const piece of content) await handle.writeFile(piece);
}

export async function withFile<T>(
  path: string,
  flags: string,
  action: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const handle = await open(path, flags, PRIVATE_FILE);
  try {
    return await action(handle);
  } finally {
    await handle.close();
  }
}

/** Identifies the machine and boot, because pids are only comparable within one boot. */
function hostHash(): string {
  return createHash("sha256").update(thisHost()).digest("hex").slice(0, 8);
}

const DRAFT_AGE_MS_MAX = 24 * 60 * 60_000;

async function isStale(path: string, name: string): Promise<boolean> {
  const [host, pid] = name.slice(DRAFT.length).split("-");
  if (host === hostHash()) return processStart(Number(pid)) === null;
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > DRAFT_AGE_MS_MAX;
}

export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

const OTHERS = 0o077;

/** Removes the permissions of other users. Returns false if that failed, as on a file system without permissions. */
export function makePrivate(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & OTHERS) === 0) return true;
  try {
    chmodSync(path, found.mode & ~OTHERS & 0o777);
  } catch {
    return false; // another user's file, or a read-only file system
  }
  return (statSync(path).mode & OTHERS) === 0;
}

/**
 * Creates a folder and its parents. Node's `recursive` option loops forever on file systems such as /proc that report a
 * missing folder although the parent exists; this function throws.
 */
export function makeFolder(path: string, mode = PRIVATE_FOLDER): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (!isFolder(path)) throw error; // another process may have created it
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Much larger than any settings or workflow file. */
const TEXT_BYTES_MAX = 16 * 1024 * 1024;
const CHUNK_BYTES = 65_536;

/**
 * Reads a small file that the user named. Throws if it is larger than 16 MiB: a device such as /dev/zero never ends, and its
 * size is unknown before it is read.
 */
export function readText(path: string): string {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    for (let size = 0; size <= TEXT_BYTES_MAX; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(file, chunk);
      if (length === 0) return Buffer.concat(chunks).toString("utf8");
      size += length;
      chunks.push(chunk.subarray(0, length));
    }
    throw new Error("the file is larger than 16 MiB");
  } finally {
    closeSync(file);
  }
}
